//! H35: dropout; and weight decay of a net's weights without its biases.

use tove_nn::{Dropout, Layer, Linear, Mlp, ModuleExt, Pass, Rng};
use tove_optim::{Adam, AdamW, Group, Optimizer, Sgd, bias_or_norm};
use tove_tensor::{DType, Key, Tensor};

use crate::support::{TOL64, case, close, error, near};

fn net() -> Mlp {
    let mut net = Mlp::new(&[3, 5, 2], &mut Rng::new(1));
    net.to_dtype(DType::F64).unwrap();
    net
}

fn loss(net: &Mlp, step: u64) -> Tensor {
    net.forward(&Key::new(step).normal([8, 3], DType::F64), &Pass::eval()).unwrap().square().mean()
}

/// Ten steps; with `penalty` the loss has (λ/2) Σ ‖W‖² added, over weights only.
fn trained(rule: &mut dyn Optimizer, penalty: f64) -> Vec<(String, Tensor)> {
    let mut net = net();
    for step in 0..10 {
        let squares = net.layers.iter().map(|layer| layer.weight.square().sum());
        let squares = squares.reduce(|a, b| a + b).unwrap();
        (loss(&net, step) + squares * (penalty / 2.0)).backward();
        rule.step(&mut net.parameters_mut()).unwrap();
    }
    net.state()
}

/// Biases are left out of the decay.
fn no_biases() -> Group {
    let names: Vec<String> = net().named_parameters().into_iter().map(|(name, _)| name).collect();
    Group::matching(&names, bias_or_norm).weight_decay(0.0)
}

#[test]
fn decay_equals_the_penalty_for_plain_descent_and_not_for_adam() {
    let (rate, decay) = (0.1, 0.3);
    let mut sgd = Sgd::new(rate).with(|settings| settings.weight_decay(decay)).groups(&[no_biases()]).unwrap();
    let (decayed, penalised) = (trained(&mut sgd, 0.0), trained(&mut Sgd::new(rate), decay));
    for ((_, a), (_, b)) in decayed.iter().zip(&penalised) {
        close(a, b, TOL64);
    }
    let mut adamw = AdamW::new(rate).with(|settings| settings.weight_decay(decay)).groups(&[no_biases()]).unwrap();
    let (decayed, penalised) = (trained(&mut adamw, 0.0), trained(&mut Adam::new(rate), decay));
    let differ = |suffix: &str| {
        decayed
            .iter()
            .zip(&penalised)
            .filter(|((name, _), _)| name.ends_with(suffix))
            .all(|(a, b)| error(&a.1, &b.1) > 1e-3)
    };
    assert!(differ("weight"));
}

#[test]
fn without_a_gradient_weights_shrink_by_the_same_factor_each_step() {
    let (rate, decay) = (0.1, 0.3);
    let sgd = Sgd::new(rate).with(|settings| settings.weight_decay(decay)).groups(&[no_biases()]).unwrap();
    let adamw = AdamW::new(rate).with(|settings| settings.weight_decay(decay)).groups(&[no_biases()]).unwrap();
    for mut rule in [Box::new(sgd) as Box<dyn Optimizer>, Box::new(adamw)] {
        let mut net = net();
        let before = net.state();
        for step in 1..=5 {
            net.parameters().iter().for_each(|parameter| parameter.set_grad(Some(parameter.detach().zeros_like())));
            rule.step(&mut net.parameters_mut()).unwrap();
            for ((name, old), (_, new)) in before.iter().zip(net.state()) {
                let factor = if name.ends_with("bias") { 1.0 } else { (1.0 - rate * decay).powi(step) };
                close(&new, &(old * factor), TOL64);
            }
        }
    }
}

#[test]
fn h35_expected_pre_activations_are_equal_in_both_phases() {
    let linear = Linear::new(40, 3, &mut Rng::new(2)); // with a bias, which is not scaled
    let x = Key::new(3).uniform([1, 40], DType::F32);
    let plain = linear.forward(&x, &Pass::eval()).unwrap();
    for dropout in [Dropout::new(0.4), Dropout::original(0.4)] {
        let through = |pass: &Pass| linear.forward(&dropout.forward(&x, pass).unwrap(), pass).unwrap().detach();
        let (rounds, mut sum) = (20_000u64, vec![0.0; 3]);
        for round in 0..rounds {
            let y = through(&Pass::train(Key::new(100 + round)));
            sum.iter_mut().zip(y.to_f64_vec()).for_each(|(sum, y)| *sum += y / rounds as f64);
        }
        let test = through(&Pass::eval());
        for (mean, test) in sum.iter().zip(test.to_f64_vec()) {
            // The deviation of one draw is below 0.5, that of the mean below 0.0035.
            near(*mean, test, 0.015);
        }
        assert_eq!(test.to_vec::<f32>(), through(&Pass::eval()).to_vec::<f32>()); // nothing random
        // The inverted kind does nothing at test; the original kind scales the incoming weights by q, not the bias.
        let q = if dropout.scaling == tove_nn::DropoutScaling::Training { 1.0 } else { 0.6 };
        let bias = linear.bias.clone().unwrap().detach();
        close(&test, &((plain.detach() - &bias) * q + &bias), 1e-6);
    }
}

#[test]
fn h35_statistics_equal_pytorchs() {
    for p in [0.1, 0.5, 0.8] {
        let case = case(&format!("dropout {p}"));
        let ones = Tensor::ones([1_000_000], DType::F32);
        let y = Dropout::new(p).forward(&ones, &Pass::train(Key::new(4))).unwrap();
        let zeros = y.eq_scalar(0.0).to_dtype(DType::F64).mean().item::<f64>();
        let y = y.to_dtype(DType::F64);
        // Two samples of a million each: five standard errors of a share are 0.0035.
        near(zeros, case.output("zeros").scalar(), 0.0035);
        near(y.mean().item(), case.output("mean").scalar(), 0.0035 / (1.0 - p));
        near(y.std(1).item(), case.output("deviation").scalar(), 0.01);
        near(y.max().item(), case.output("kept").scalar(), 1e-5);
        // The original kind drops as often, and keeps values as they are.
        let y = Dropout::original(p).forward(&ones, &Pass::train(Key::new(4))).unwrap();
        near(1.0 - f64::from(y.mean().item::<f32>()), p, 0.0025);
        assert_eq!(y.max().item::<f32>(), 1.0);
    }
}

#[test]
fn h35_a_probability_is_checked_in_both_phases() {
    for pass in [Pass::eval(), Pass::train(Key::new(0))] {
        for p in [-0.1, 1.5, f64::NAN] {
            let wrong = Dropout::original(p).forward(&Tensor::from([1.0f32]), &pass).unwrap_err().to_string();
            assert!(wrong.contains("lies in [0, 1]"), "{wrong}");
        }
    }
}
