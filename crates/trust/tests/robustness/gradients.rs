//! Input gradients.

use tove_nn::{
    BlockConfig, Conv2d, Flatten, Layer, Linear, MaxPool2d, Mlp, ModuleExt, Nonlinearity, Pass, Rng, Sequential,
    TransformerEncoder,
};
use tove_tensor::{DType, Key, Tensor, TryOps, TryUnary, meter};
use tove_trust::Result;
use tove_trust::robustness::{AttackLoss, DifferentiableModel, QueryModel, input_gradient, score_gradient};

use crate::toys::{labels, normal, rows, small_net};

const LOSSES: [AttackLoss; 3] = [AttackLoss::CrossEntropy, AttackLoss::Margin, AttackLoss::Logistic];

/// The loss by definition, in plain numbers.
fn loss_of(scores: &[f64], label: usize, loss: AttackLoss) -> f64 {
    let others = scores.iter().enumerate().filter(|(class, _)| *class != label).map(|(_, z)| *z);
    let margin = others.fold(f64::NEG_INFINITY, f64::max) - scores[label];
    match loss {
        AttackLoss::CrossEntropy => {
            let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            top + scores.iter().map(|z| (z - top).exp()).sum::<f64>().ln() - scores[label]
        }
        AttackLoss::Margin => margin,
        AttackLoss::Logistic => margin.max(0.0) + (-margin.abs()).exp().ln_1p(),
    }
}

/// Compares with central differences (h = 1e-5) of the loss by definition, norm-wise to 1e-6.
pub fn check_by_differences(model: &dyn DifferentiableModel, x: &Tensor, truth: &[usize]) {
    let width = x.numel() / x.dims()[0];
    for loss in LOSSES {
        let slopes = input_gradient(model, x, &labels(truth), loss).unwrap();
        assert_eq!(slopes.dims(), x.dims());
        let value = |x: &Tensor, row: usize| {
            let scores = model.scores(x).unwrap();
            let scores = match scores.dims() {
                [_, m] if *m > 1 => rows(&scores)[row].clone(),
                _ => vec![0.0, scores.to_f64_vec()[row]],
            };
            loss_of(&scores, truth[row], loss)
        };
        let (mut gap, mut size) = (0.0, 0.0);
        for (index, slope) in slopes.to_f64_vec().into_iter().enumerate() {
            let moved = |by: f64| {
                let mut values = x.to_f64_vec();
                values[index] += by;
                value(&Tensor::from_vec(values, x.dims()), index / width)
            };
            let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            gap += (slope - numeric) * (slope - numeric);
            size += numeric * numeric;
        }
        assert!(gap.sqrt() <= 1e-6 * size.sqrt(), "{loss:?}: {:e} of {:e}", gap.sqrt(), size.sqrt());
    }
}

/// A net in double precision.
fn doubled<N: ModuleExt>(mut net: N) -> N {
    for parameter in net.parameters_mut() {
        *parameter = parameter.detach().to_dtype(DType::F64).requires_grad();
    }
    net
}

#[test]
fn k10_input_gradients_equal_differences_and_leave_parameters_alone() {
    let x = normal(4, 5, 1);
    check_by_differences(&small_net(5, 2), &x, &[0, 2, 1, 1]);
    let mut rng = Rng::new(3);
    let mlp = doubled(Mlp::new(&[5, 12, 12, 3], &mut rng).activation(Nonlinearity::Tanh));
    let model = |x: &Tensor| -> Result<Tensor> { Ok(mlp.forward(x, &Pass::eval())?) };
    let weights: Vec<Vec<f64>> = mlp.parameters().iter().map(|w| w.to_f64_vec()).collect();
    check_by_differences(&model, &x, &[0, 2, 1, 1]);
    for (parameter, before) in mlp.parameters().into_iter().zip(weights) {
        assert!(parameter.grad().is_none() && parameter.is_leaf());
        assert_eq!(parameter.to_f64_vec(), before);
    }
    // A gradient that was there stays as it was.
    mlp.layers[0].weight.set_grad(Some(mlp.layers[0].weight.detach().full_like(7.0)));
    input_gradient(&model, &x, &labels(&[0, 1, 2, 0]), AttackLoss::CrossEntropy).unwrap();
    assert!(mlp.layers[0].weight.grad().unwrap().to_f64_vec().iter().all(|&g| g == 7.0));
    // The direction: for y = +1 a step up the loss lowers g, for y = −1 it raises g.
    let w = normal(5, 1, 4);
    let g = |x: &Tensor| -> Result<Tensor> { Ok(x.try_matmul(&w)?.tanh()) };
    for (y, rises) in [(1usize, false), (0, true)] {
        let slope = input_gradient(&g, &x, &labels(&[y; 4]), AttackLoss::Logistic).unwrap();
        let (before, after) = (g(&x).unwrap().to_f64_vec(), g(&(&x + &(slope * 1e-3))).unwrap().to_f64_vec());
        assert!(before.iter().zip(after).all(|(before, after)| (after > *before) == rises && after != *before));
    }
    // l'(y g) y ∇g with l(m) = ln(1 + e^−m), against the formula.
    let slope = input_gradient(&g, &x, &labels(&[1, 0, 1, 0]), AttackLoss::CrossEntropy).unwrap();
    for ((row, slope), y) in rows(&x).iter().zip(rows(&slope)).zip([1.0, -1.0, 1.0, -1.0]) {
        let z: f64 = row.iter().zip(w.to_f64_vec()).map(|(x, w)| x * w).sum();
        let factor = y * -(1.0 / (1.0 + (y * z.tanh()).exp())) * (1.0 - z.tanh() * z.tanh());
        let expected = w.to_f64_vec().into_iter().map(|w| factor * w);
        assert!(slope.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}

#[test]
fn convolutional_nets_and_transformers_have_input_gradients() {
    let mut rng = Rng::new(5);
    let convolution = doubled(
        Sequential::new()
            .add(Conv2d::new(1, 4, 3, &mut rng))
            .add(Nonlinearity::Gelu)
            .add(MaxPool2d::new(2))
            .add(Flatten::new())
            .add(Linear::new(36, 3, &mut rng)),
    );
    let model = |x: &Tensor| -> Result<Tensor> { Ok(convolution.forward(x, &Pass::eval())?) };
    let x = Key::new(6).normal([2, 1, 8, 8], DType::F64);
    check_by_differences(&model, &x, &[0, 2]);
    // A transformer on embeddings: (n, tokens, width), the mean of the tokens to the classes.
    let encoder = doubled(TransformerEncoder::new(1, &BlockConfig::new(8, 2), &mut rng).unwrap());
    let head = doubled(Linear::new(8, 3, &mut rng));
    let model = |x: &Tensor| -> Result<Tensor> {
        let tokens = encoder.forward(x, &Pass::eval())?;
        Ok(head.forward(&tokens.try_mean_axes(&[1], false)?, &Pass::eval())?)
    };
    check_by_differences(&model, &Key::new(7).normal([2, 4, 8], DType::F64), &[1, 2]);
}

#[test]
fn scores_of_a_regression_have_a_gradient() {
    let x = normal(3, 4, 8);
    let model = |x: &Tensor| -> Result<Tensor> { Ok(x.try_square()?.try_sum_axes(&[1], false)?) };
    let slope = score_gradient(&model, &x, |scores| Ok(scores.try_sum()?)).unwrap();
    assert_eq!(slope.to_vec::<f64>(), (&x * 2.0).to_vec::<f64>());
    assert!(score_gradient(&model, &x, |scores| Ok(scores.clone())).is_err());
    assert_eq!(model.query_labels(&x).unwrap(), [1, 1, 1]);
}

#[test]
fn gradients_by_the_input_do_not_pay_for_those_of_parameters() {
    let net = Mlp::new(&[256, 256, 256, 10], &mut Rng::new(1));
    let model = |x: &Tensor| -> Result<Tensor> { Ok(net.forward(x, &Pass::eval())?) };
    let (x, y) = (Key::new(2).normal([64, 256], DType::F32), labels(&[3; 64]));
    let (_, forward) = meter::measure(|| model(&x).unwrap());
    let (_, both) = meter::measure(|| input_gradient(&model, &x, &y, AttackLoss::CrossEntropy).unwrap());
    let times = both.flops() as f64 / forward.flops() as f64;
    // Forward and one product back per layer; three with the gradients of the weights.
    assert!((1.9..2.2).contains(&times), "{times}");
}
