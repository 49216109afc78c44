//! Rules with a rate per coordinate, and their settings: C28 to C34.

mod common;

use common::{TOL64, close, follows_torch, scattered, step_with_gradient};
use tove_optim::settings::{Hyperparameters, SettingError};
use tove_optim::{
    Adagrad, Adam, AdamSettings, AdamW, AdamWSettings, Lbfgs, NesterovLookAhead, NesterovLookAheadSettings, Optimizer,
    RmsProp, RmsPropSettings, Sgd, SgdSettings,
};
use tove_tensor::Tensor;

fn leaf(values: &[f64]) -> Tensor {
    Tensor::from_slice(values).requires_grad()
}

#[test]
fn c28_adagrad_rates_never_rise() {
    follows_torch("adagrad", Adagrad::new(0.1));
    let (mut theta, mut rule) = (leaf(&[0.0; 6]), Adagrad::new(0.1));
    let mut before = vec![0.0; 6];
    for step in 0..50 {
        let old = theta.detach().to_vec::<f64>();
        let gradient = scattered(6, f64::from(step) * 0.29);
        step_with_gradient(&mut rule, &mut theta, &gradient);
        let sum = rule.kept(0, "sum").expect("a sum").to_vec::<f64>();
        assert!(sum.iter().zip(&before).all(|(now, before)| now >= before), "step {step}");
        // Against the gradient, not along it.
        let new = theta.detach().to_vec::<f64>();
        assert!((0..6).all(|i| (new[i] - old[i]) * gradient[i] <= 0.0));
        before = sum;
    }
}

#[test]
fn c29_rms_prop_recovers_from_large_gradients() {
    follows_torch("rmsprop", RmsProp::new(0.01).with(|s| s.beta(0.95)));
    let rates = |rule: &mut dyn Optimizer, slot: &str| -> Vec<f64> {
        let mut theta = leaf(&[0.0]);
        let gradients = [vec![100.0; 5], vec![0.01; 300]].concat();
        let mut rate = |gradient: f64| {
            step_with_gradient(rule, &mut theta, &[gradient]);
            1.0 / rule.state().tensors[&format!("0.{slot}")].item::<f64>().sqrt()
        };
        gradients.into_iter().map(&mut rate).collect()
    };
    let (rms_prop, adagrad) =
        (rates(&mut RmsProp::new(0.01).with(|s| s.beta(0.9)), "mean_square"), rates(&mut Adagrad::new(0.01), "sum"));
    assert!(rms_prop[304] > 1000.0 * rms_prop[4], "{} and {}", rms_prop[4], rms_prop[304]);
    assert!(adagrad[304] <= adagrad[4]);
}

#[test]
fn c30_rms_prop_with_momentum() {
    follows_torch("rmsprop_momentum", RmsProp::new(0.002).with(|s| s.beta(0.95).momentum(0.9)));
    follows_torch("rmsprop_momentum", RmsProp::new(0.002).with(|s| s.beta(0.95).momentum(0.9).rate_in_velocity(true)));
}

/// By hand, with β₁ = 0.9, β₂ = 0.999, η = 0.1, ν = 0 and the gradients 1, 2, −1:
/// v = 0.1, 0.29, 0.161 and a = 0.001, 0.004999, 0.005994001.
#[test]
fn c31_adam_without_correction() {
    let plain = AdamSettings::default().learning_rate(0.1).epsilon(0.0).bias_correction(false);
    let (mut theta, mut rule) = (leaf(&[0.0]), Adam::build(plain.clone()).expect("right settings"));
    let traced = [(1.0, 0.1, 0.001), (2.0, 0.29, 0.004999), (-1.0, 0.161, 0.005994001f64)];
    let mut by_hand = 0.0;
    for (gradient, v, a) in traced {
        step_with_gradient(&mut rule, &mut theta, &[gradient]);
        by_hand -= 0.1 * v / a.sqrt();
        close("v", &rule.kept(0, "mean").expect("v").to_vec::<f64>(), &[v], TOL64);
        close("a", &rule.kept(0, "mean_square").expect("a").to_vec::<f64>(), &[a], TOL64);
        close("θ", &theta.detach().to_vec::<f64>(), &[by_hand], TOL64);
    }
    // The first step is 0.1 · 0.1 / √0.001.
    let first_step = |settings: AdamSettings| {
        let mut theta = leaf(&[0.0]);
        step_with_gradient(&mut Adam::build(settings).expect("right settings"), &mut theta, &[1.0]);
        theta.item::<f64>()
    };
    assert!((first_step(plain.clone()) + 0.316_227_766_016_838).abs() < 1e-12);
    assert!((first_step(plain.bias_correction(true)) + 0.1).abs() < 1e-12);
}

#[test]
fn c32_adam_with_correction() {
    follows_torch("adam", Adam::new(0.01));
    for scale in [1e-6, 1e-3, 1.0, 1e3, 1e6] {
        let (mut theta, mut rule) = (leaf(&[0.0, 0.0]), Adam::new(0.25).with(|s| s.epsilon(0.0)));
        step_with_gradient(&mut rule, &mut theta, &[scale, -3.0 * scale]);
        close("first step", &theta.detach().to_vec::<f64>(), &[-0.25, 0.25], 1e-12);
    }
}

#[test]
fn c33_means_that_start_at_zero_are_too_small() {
    for (beta1, beta2, ratio) in [(0.9, 0.999, 3.162), (0.99, 0.99, 0.100)] {
        let settings = AdamSettings::default().beta1(beta1).beta2(beta2).epsilon(0.0).learning_rate(0.01);
        let (mut theta, mut rule) = (leaf(&[0.0]), Adam::build(settings.clone()).expect("right settings"));
        let gradient = 1.7;
        for t in 1..=2000 {
            step_with_gradient(&mut rule, &mut theta, &[gradient]);
            let v = rule.kept(0, "mean").expect("v").item::<f64>();
            let correction = 1.0 - f64::powi(beta1, t);
            assert!((v - correction * gradient).abs() < 1e-10 * v, "t = {t}");
        }
        // The corrections tend to 1; β stays.
        assert!((1.0 - f64::powi(beta1, 2000) - 1.0).abs() < 1e-8 && rule.settings().beta1 == beta1);
        let first = |settings: AdamSettings| {
            let mut theta = leaf(&[0.0]);
            step_with_gradient(&mut Adam::build(settings).expect("right settings"), &mut theta, &[gradient]);
            theta.item::<f64>().abs()
        };
        let found = first(settings.clone().bias_correction(false)) / first(settings);
        assert!((found - ratio).abs() < 5e-4, "({beta1}, {beta2}): {found}");
        assert!((found - (1.0 - beta1) / f64::sqrt(1.0 - beta2)).abs() < 1e-9);
    }
}

#[test]
fn c34_every_optimiser_lists_its_hyperparameters() {
    let all: Vec<Box<dyn Optimizer>> = vec![
        Box::new(Sgd::default()),
        Box::new(NesterovLookAhead::default()),
        Box::new(Adagrad::default()),
        Box::new(RmsProp::default()),
        Box::new(Adam::default()),
        Box::new(AdamW::default()),
        Box::new(Lbfgs::default()),
    ];
    for optimizer in &all {
        let schema = optimizer.hyperparameters().schema();
        assert_eq!(schema.name, optimizer.name());
        for entry in &schema.hyperparameters {
            assert!(!entry.doc.is_empty());
            let is_real = entry.kind == tove_optim::settings::Kind::Real;
            assert!(!is_real || entry.range.is_some(), "{}: {} has no range", schema.name, entry.name);
        }
        let names: Vec<&str> = schema.hyperparameters.iter().map(|entry| entry.name).collect();
        assert!(names.contains(&"learning_rate") || schema.name == "Lbfgs", "{names:?}");
        optimizer.hyperparameters().validate().expect("defaults are right");
    }

    let at_fault = |result: Result<(), SettingError>| match result {
        Err(SettingError::Range { field, .. }) => field,
        other => panic!("{other:?} is no error of a range"),
    };
    for wrong in [1.0, 1.5, -0.1, f64::NAN] {
        assert_eq!(at_fault(SgdSettings::default().momentum(wrong).validate()), "momentum");
        assert_eq!(at_fault(NesterovLookAheadSettings::default().momentum(wrong).validate()), "momentum");
        assert_eq!(at_fault(RmsPropSettings::default().beta(wrong).validate()), "beta");
        assert_eq!(at_fault(RmsPropSettings::default().momentum(wrong).validate()), "momentum");
        assert_eq!(at_fault(AdamSettings::default().beta1(wrong).validate()), "beta1");
        assert_eq!(at_fault(AdamSettings::default().beta2(wrong).validate()), "beta2");
        assert_eq!(at_fault(AdamWSettings::default().beta2(wrong).validate()), "beta2");
    }
    // A negative step is refused by every optimiser at its next step, whatever way it was set.
    for mut optimizer in all {
        optimizer.set_learning_rate(-0.1);
        let error = optimizer.hyperparameters().validate().expect_err("a negative step");
        assert!(matches!(error, SettingError::Range { .. }), "{error}");
        let mut w = leaf(&[1.0]);
        let mut loss = |parameters: &[&mut Tensor]| {
            parameters[0].square().sum().backward();
            Ok(1.0)
        };
        let error = optimizer.step_with(&mut [&mut w], &mut loss).expect_err("a negative step");
        assert!(error.to_string().contains("is -0.1, but it must lie in"), "{error}");
        assert_eq!(w.item::<f64>(), 1.0);
    }
    assert!(matches!(SgdSettings::default().nesterov(true).validate(), Err(SettingError::Conflict { .. })));
}

/// One table of defaults: the papers' and PyTorch's.
#[test]
fn defaults_are_the_usual_ones() {
    let text = |settings: &dyn Hyperparameters| settings.to_json();
    let adam = text(&AdamSettings::default());
    assert_eq!((&adam["learning_rate"], &adam["beta1"], &adam["beta2"]), (&0.001.into(), &0.9.into(), &0.999.into()));
    assert_eq!((&adam["epsilon"], &adam["weight_decay"]), (&1e-8.into(), &0.0.into()));
    assert_eq!(text(&AdamWSettings::default())["weight_decay"], 0.01);
    let rms_prop = text(&RmsPropSettings::default());
    assert_eq!(
        (&rms_prop["learning_rate"], &rms_prop["beta"], &rms_prop["epsilon"]),
        (&0.01.into(), &0.99.into(), &1e-8.into())
    );
    let adagrad = text(Adagrad::default().settings());
    assert_eq!((&adagrad["learning_rate"], &adagrad["epsilon"]), (&0.01.into(), &1e-10.into()));
    let sgd = text(&SgdSettings::default());
    assert_eq!(
        (&sgd["learning_rate"], &sgd["momentum"], &sgd["weight_decay"]),
        (&0.001.into(), &0.0.into(), &0.0.into())
    );
}
