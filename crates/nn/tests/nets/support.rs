//! Reference values as tensors, and comparisons by the tolerances of the syllabus.

#[path = "../../../tensor/tests/common/mod.rs"]
mod fixtures;

use std::sync::LazyLock;

pub use fixtures::{Array, Case, Fixture};
use tove_data::TensorDataset;
use tove_nn::{Layer, ModuleExt, Pass};
use tove_tensor::{DType, Key, Tensor};

pub const TOL32: f64 = 1e-5;
pub const TOL64: f64 = 1e-10;

static LAYERS: LazyLock<Fixture> = LazyLock::new(|| fixtures::load("layers"));

static SIGNAL: LazyLock<Fixture> = LazyLock::new(|| fixtures::load("signal"));

/// SciPy's cross-correlations and convolutions.
pub fn signal() -> &'static Fixture {
    &SIGNAL
}

/// A case of `layers.json`.
pub fn case(name: &str) -> &'static Case {
    LAYERS.case(name)
}

/// All cases of `layers.json` whose name begins so.
pub fn cases(start: &str) -> Vec<&'static Case> {
    LAYERS.cases_starting(start)
}

/// A reference array in f32.
pub fn tensor(array: &Array) -> Tensor {
    Tensor::from_vec(array.to_f32(), array.shape.clone())
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

/// Norm-wise relative error, with an absolute term for data near 0.
pub fn error(found: &Tensor, expected: &Tensor) -> f64 {
    assert_eq!(found.shape(), expected.shape());
    let (a, b) = (found.to_f64_vec(), expected.to_f64_vec());
    norm(a.iter().zip(&b).map(|(a, b)| a - b)) / norm(b.into_iter()).max(1.0)
}

#[track_caller]
pub fn close(found: &Tensor, expected: &Tensor, tolerance: f64) {
    let error = error(found, expected);
    assert!(error <= tolerance, "error {error:e} in {:?}", found.dims());
}

#[track_caller]
pub fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected} within {tolerance:e}");
}

/// Gives `layer` the parameters of a case and compares its output and all gradients with the case's, to `tol32`.
#[track_caller]
pub fn agrees<L: Layer>(layer: &mut L, case: &Case, pass: &Pass) {
    let names: Vec<String> = layer.named_parameters().into_iter().map(|(name, _)| name).collect();
    let state: Vec<(String, Tensor)> =
        names.into_iter().map(|name| (name.clone(), tensor(case.input(&name)))).collect();
    assert_eq!(layer.load_matching(&state).unwrap().len(), layer.named_buffers().len());
    let x = tensor(case.input("x")).requires_grad();
    let y = layer.forward(&x, pass).unwrap();
    close(&y, &tensor(case.output("y")), TOL32);
    (&y * &tensor(case.input("upstream"))).sum().backward();
    close(&x.grad().unwrap(), &tensor(case.grad("x")), TOL32);
    for (name, parameter) in layer.named_parameters() {
        close(&parameter.grad().unwrap(), &tensor(case.grad(&name)), TOL32);
    }
}

/// Points uniform on a square, in the class 1 where the signs of their coordinates differ. The axes are kept clear.
pub fn xor(count: usize, seed: u64) -> TensorDataset {
    let x = Key::new(seed).uniform([count, 2], DType::F32) * 2.0 - 1.0;
    let x = &x + &(x.sign() * 0.2);
    let label = |point: &[f32]| i64::from((point[0] > 0.0) != (point[1] > 0.0));
    let y: Vec<i64> = x.to_vec::<f32>().chunks(2).map(label).collect();
    TensorDataset::new(x, Tensor::from(y)).unwrap()
}

/// Two half circles that reach into each other, with a little noise.
pub fn moons(count: usize, seed: u64) -> TensorDataset {
    let noise = Key::new(seed).normal([count, 2], DType::F32).to_vec::<f32>();
    let angle = Key::new(seed + 1).uniform([count], DType::F32).to_vec::<f32>();
    let points = (0..count).flat_map(|i| {
        let (sin, cos) = (angle[i] * std::f32::consts::PI).sin_cos();
        let [x, y] = if i % 2 == 0 { [cos, sin] } else { [1.0 - cos, 0.5 - sin] };
        [x + 0.05 * noise[2 * i], y + 0.05 * noise[2 * i + 1]]
    });
    let x = Tensor::from_vec(points.collect(), [count, 2]);
    let y: Vec<i64> = (0..count as i64).map(|i| i % 2).collect();
    TensorDataset::new(x, Tensor::from(y)).unwrap()
}
