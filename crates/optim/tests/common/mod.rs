//! What the tests share: the fixtures, the comparison of vectors, and the linear model of the trajectories.

// Each test program compiles this module for itself and uses a part of it.
#![allow(dead_code)]

use serde_json::Value;
use tove_optim::Optimizer;
use tove_tensor::Tensor;

/// Reads `tests/fixtures/NAME.json`.
pub fn fixture(name: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A list of numbers of a fixture.
pub fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// ‖a − b‖ ≤ tolerance · ‖b‖.
pub fn close(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len(), "{what}");
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let distance = norm(&mut a.iter().zip(b).map(|(a, b)| a - b));
    let size = norm(&mut b.iter().copied());
    assert!(distance <= tolerance * size, "{what}: {a:?} is not {b:?}, by {}", distance / size);
}

/// The single-precision tolerance of the syllabus.
pub const TOL32: f64 = 1e-5;
/// The double-precision tolerance of the syllabus.
pub const TOL64: f64 = 1e-10;

/// Runs the optimiser on the linear model of `torch_optimizers.py` and compares every point kept there.
pub fn follows_torch(name: &str, mut optimizer: impl Optimizer) {
    let fixture = fixture("torch_optimizers");
    let data = &fixture["data"];
    let tensor = |key: &str, shape: &[usize]| {
        Tensor::from_vec(numbers(&data[key]).iter().map(|&x| x as f32).collect(), shape.to_vec())
    };
    let (x, y) = (tensor("x", &[24, 5]), tensor("y", &[24, 3]));
    let (mut w, mut b) = (tensor("w", &[3, 5]).requires_grad(), tensor("b", &[3]).requires_grad());
    let points = fixture["trajectories"][name].as_array().unwrap_or_else(|| panic!("no trajectory {name}"));
    let mut points = points.iter().peekable();
    for step in 1..=1000u64 {
        let rows = 6 * (step as usize % 4);
        let (x, y) = (x.narrow(0, rows, 6), y.narrow(0, rows, 6));
        let loss = (x.matmul(&w.t()) + &b - &y).square().mean();
        loss.backward();
        optimizer.step(&mut [&mut w, &mut b]).expect("a step");
        if let Some(point) = points.next_if(|point| point["step"] == step) {
            close(&format!("{name}: w after {step}"), &w.detach().to_f64_vec(), &numbers(&point["w"]), TOL32);
            close(&format!("{name}: b after {step}"), &b.detach().to_f64_vec(), &numbers(&point["b"]), TOL32);
        }
    }
    assert!(points.next().is_none(), "{name}: points are left over");
}

/// Runs the optimiser for ν = 0.1 and 0.01 beside PyTorch's, and shows that the trajectory with ν inside the root is another
/// one, by more than a hundred times the tolerance.
pub fn adds_nu_outside_the_root<O: Optimizer>(name: &str, with_nu: impl Fn(f64) -> O) {
    let fixture = fixture("torch_optimizers");
    for nu in [0.1, 0.01] {
        let case = format!("{name}_nu_{nu}");
        follows_torch(&case, with_nu(nu));
        let last = |kind: &str| numbers(&fixture[kind][case.as_str()].as_array().expect("a trajectory")[3]["w"]);
        let (outside, inside) = (last("trajectories"), last("nu_inside"));
        let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
        let apart = norm(&mut outside.iter().zip(&inside).map(|(a, b)| a - b)) / norm(&mut outside.iter().copied());
        assert!(apart > 100.0 * TOL32, "{case}: {apart}");
    }
}

/// One step with this gradient.
pub fn step_with_gradient(optimizer: &mut dyn Optimizer, parameter: &mut Tensor, gradient: &[f64]) {
    parameter.set_grad(Some(Tensor::from_slice(gradient)));
    optimizer.step(&mut [parameter]).expect("a step");
}

/// Plain numbers that look random: multiples of the golden ratio, between −1/2 and 1/2.
pub fn scattered(count: usize, seed: f64) -> Vec<f64> {
    (0..count).map(|i| (seed + i as f64 * 0.618_033_988_749_895).fract() - 0.5).collect()
}
