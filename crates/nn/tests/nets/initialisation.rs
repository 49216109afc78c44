//! H21 to H23: the scale of first values.

use tove_nn::{Init, Layer, Mlp, Nonlinearity, Pass, Rng, fans, gradient_norms};
use tove_tensor::{DType, Key, Tensor};

use crate::support::{case, near};

const WIDTH: usize = 100;

fn deep(rule: Init, phi: Nonlinearity, seed: u64) -> Mlp {
    let mut rng = Rng::new(seed);
    Mlp::new(&[WIDTH; 21], &mut rng).activation(phi).init(rule, &mut rng).unwrap()
}

/// Variances of the outputs of the affine layers, and norms of the gradients of their weights, first layer first.
fn report(net: &Mlp) -> (Vec<f64>, Vec<f64>) {
    let pass = Pass::train(Key::new(0)).recording();
    let y = net.forward(&Key::new(9).normal([64, WIDTH], DType::F32), &pass).unwrap();
    y.mean().backward();
    let moments = pass.into_record().moments(net).unwrap();
    let variances = moments.iter().filter(|row| row.kind == "Linear").map(|row| row.variance).collect();
    let norms = gradient_norms(net).into_iter().filter(|(name, _)| name.ends_with("weight"));
    (variances, norms.map(|(_, norm)| norm).collect())
}

#[test]
fn h21_small_values_shrink_large_ones_blow_up_and_xavier_stays_flat() {
    let (small, norms) = report(&deep(Init::Normal(0.01), Nonlinearity::Identity, 1));
    assert_eq!(small.len(), 20);
    assert!(small.windows(2).all(|pair| pair[1] < 0.05 * pair[0]) && small[19] < 1e-35, "{small:?}");
    assert!(norms.iter().all(|&norm| norm < 1e-15), "{norms:?}");
    let (large, norms) = report(&deep(Init::Normal(1.0), Nonlinearity::Identity, 1));
    assert!(large.windows(2).all(|pair| pair[1] > 20.0 * pair[0]) && large[19] > 1e35, "{large:?}");
    assert!(norms.iter().all(|&norm| norm > 1e15), "{norms:?}");
    let (flat, norms) = report(&deep(Init::XavierNormal(1.0), Nonlinearity::Identity, 1));
    let spread = |values: &[f64]| {
        values.iter().fold(0.0, |a: f64, &b| a.max(b)) / values.iter().fold(f64::MAX, |a: f64, &b| a.min(b))
    };
    assert!(flat.iter().all(|variance| (0.3..3.0).contains(variance)), "{flat:?}");
    assert!(spread(&norms) < 5.0, "{norms:?}");
}

#[test]
fn h21_large_values_saturate_tanh() {
    let net = deep(Init::Normal(1.0), Nonlinearity::Tanh, 2);
    let pass = Pass::eval().recording();
    net.forward(&Key::new(9).normal([64, WIDTH], DType::F32), &pass).unwrap();
    let record = pass.into_record();
    for layer in [0, 18] {
        let units = record.output(&net, &format!("activations.{layer}")).unwrap();
        let share = units.detach().abs().gt_scalar(0.9).to_dtype(DType::F32).mean().item::<f32>();
        assert!(share > 0.8, "{share}");
    }
    let (_, norms) = report(&deep(Init::XavierNormal(1.0), Nonlinearity::Tanh, 2));
    assert!(norms[0] > 0.05 * norms[19], "{norms:?}"); // no such thing with Xavier's
}

#[test]
fn h22_variance_of_a_product() {
    let draw = |seed: u64, mean: f64, deviation: f64| Key::new(seed).normal([1_000_000], DType::F64) * deviation + mean;
    for (mean_w, mean_h) in [(0.0, 0.0), (0.7, 0.0), (0.0, -1.5), (0.7, -1.5)] {
        let (w, h) = (draw(1, mean_w, 0.5), draw(2, mean_h, 2.0));
        let (var_w, var_h): (f64, f64) = (0.25, 4.0);
        let expected = mean_w * mean_w * var_h + mean_h * mean_h * var_w + var_w * var_h;
        near((w * h).var(1).item::<f64>() / expected, 1.0, 0.02);
    }
}

#[test]
fn h22_variances_wanted_forward_backward_and_between() {
    let (inputs, outputs) = (400, 100);
    let (x, g) = (Key::new(3).normal([200, inputs], DType::F64), Key::new(4).normal([200, outputs], DType::F64));
    let through = |rule: Init| {
        let w = rule.draw([outputs, inputs], Key::new(5), DType::F64).unwrap();
        (x.matmul(&w.t()).var(1).item::<f64>(), g.matmul(&w).var(1).item::<f64>())
    };
    let (forward, _) = through(Init::Normal((1.0 / inputs as f64).sqrt()));
    near(forward, 1.0, 0.02);
    let (_, backward) = through(Init::Normal((1.0 / outputs as f64).sqrt()));
    near(backward, 1.0, 0.02);
    let (forward, backward) = through(Init::XavierNormal(1.0));
    near(forward, 2.0 * 400.0 / 500.0, 0.04);
    near(backward, 2.0 * 100.0 / 500.0, 0.01);
}

fn draw_as(name: &str) -> Vec<(Tensor, f64, f64)> {
    let rule = match name {
        "xavier uniform" => Init::XavierUniform(1.5),
        "xavier normal" => Init::XavierNormal(1.5),
        "he uniform" => Init::HeUniform,
        "he normal" => Init::HeNormal,
        _ => Init::InverseRoot,
    };
    let of = |rank: usize| {
        let case = case(&format!("init {name} {rank}"));
        let shape: Vec<usize> = case.integers("shape").unwrap().into_iter().map(|size| size as usize).collect();
        let (inputs, outputs) = fans(&shape);
        assert_eq!(case.output("fans").to_i64(), [inputs as i64, outputs as i64]);
        let w = rule.draw(shape, Key::new(6), DType::F64).unwrap();
        (w, case.output("largest").scalar(), case.output("deviation").scalar())
    };
    [2, 4].map(of).into()
}

/// A million draws: the largest of a uniform rule lies within 1e-4 of the bound, deviations within 0.5 %.
#[track_caller]
fn equals_torch(name: &str, bounded: bool) {
    for (w, largest, deviation) in draw_as(name) {
        near(w.std(1).item::<f64>() / deviation, 1.0, 5e-3);
        near(w.mean().item::<f64>() / deviation, 0.0, 5e-3);
        if bounded {
            near(w.abs().max().item::<f64>() / largest, 1.0, 1e-4);
        }
    }
}

#[test]
fn h22_xavier_equals_pytorch() {
    equals_torch("xavier uniform", true);
    equals_torch("xavier normal", false);
    for rule in [Init::XavierUniform(1.0), Init::XavierNormal(1.0)] {
        let w = rule.draw([300, 500], Key::new(8), DType::F64).unwrap();
        near(w.var(1).item::<f64>() / (2.0 / 800.0), 1.0, 0.02);
    }
}

#[test]
fn h23_he_equals_pytorch() {
    equals_torch("he uniform", true);
    equals_torch("he normal", false);
    equals_torch("inverse root", true); // what its layers begin with
}

#[test]
fn h23_second_moments_stay_over_twenty_layers_of_rectifiers() {
    let (draws, layers, width) = (200, 20, 256);
    let mut moments = vec![0.0; layers];
    for draw in 0..draws {
        let key = Key::new(1000 + draw);
        let mut h = key.fold(99).normal([8, width], DType::F32);
        for (layer, moment) in moments.iter_mut().enumerate() {
            let w = Init::HeNormal.draw([width, width], key.fold(layer as u64), DType::F32).unwrap();
            h = h.matmul(&w.t()).relu();
            *moment += f64::from(h.square().mean().item::<f32>()) / draws as f64;
        }
    }
    assert!(moments.iter().all(|moment| (moment - 1.0).abs() < 0.1), "{moments:?}");
}
