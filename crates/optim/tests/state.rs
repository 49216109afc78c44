//! State of optimizers: slots that do not fit, settings that change between steps, why L-BFGS stopped.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use tove_optim::rules::{Step, StepRule};
use tove_optim::settings::Hyperparameters;
use tove_optim::{
    Adagrad, AdagradSettings, Adam, AdamSettings, AdamW, AdamWSettings, Lbfgs, LbfgsSettings, NesterovLookAhead,
    NesterovLookAheadSettings, Optimizer, RmsProp, RmsPropSettings, Sgd, SgdSettings, non_finite_gradient,
};
use tove_tensor::Tensor;

/// A state with too few or too many tensors is an error, and the parameter stays where it is.
fn refuses_other_counts<R: StepRule>(rule: &R) {
    let step = Step { number: 1, learning_rate: 0.1, weight_decay: 0.0 };
    let gradient = Tensor::from([1.0, 2.0]);
    for count in 0..5 {
        let mut parameter = Tensor::from([3.0, 4.0]).requires_grad();
        let mut state = vec![gradient.zeros_like(); count];
        let result = rule.update(step, &mut parameter, &gradient, &mut state);
        if count == rule.slots().len() {
            result.unwrap();
            assert_ne!(parameter.to_vec::<f64>(), [3.0, 4.0], "{}", R::NAME);
        } else {
            let error = result.unwrap_err().to_string();
            let words = format!("has {count} tensors for a parameter, and the rule keeps {}", rule.slots().len());
            assert!(error.contains(R::NAME) && error.contains(&words), "{error}");
            assert_eq!(parameter.to_vec::<f64>(), [3.0, 4.0], "{}", R::NAME);
        }
    }
}

#[test]
fn a_wrong_number_of_slots_is_an_error_under_every_rule() {
    refuses_other_counts(&AdamSettings::default());
    refuses_other_counts(&AdamWSettings::default());
    refuses_other_counts(&AdagradSettings::default());
    refuses_other_counts(&NesterovLookAheadSettings::default());
    for momentum in [0.0, 0.9] {
        refuses_other_counts(&SgdSettings::default().momentum(momentum));
        for centered in [false, true] {
            refuses_other_counts(&RmsPropSettings::default().momentum(momentum).centered(centered));
        }
    }
}

/// Gradients that differ from step to step.
fn gradient(step: u32) -> Tensor {
    Tensor::from([1.0 + f64::from(step), -0.5 * f64::from(step), 0.25])
}

fn run(rule: &mut dyn Optimizer, w: &mut Tensor, steps: std::ops::Range<u32>) {
    for step in steps {
        rule.look_ahead(&mut [&mut *w]).unwrap();
        w.set_grad(Some(gradient(step)));
        rule.step(&mut [&mut *w]).unwrap();
    }
}

fn start() -> Tensor {
    Tensor::from([1.0, -2.0, 0.5]).requires_grad()
}

/// RMSProp's mean of gradients is not taken for a velocity when the settings change, although both are the second slot.
#[test]
fn slots_are_found_by_name_when_settings_change() {
    let mut rule = RmsProp::new(0.01).with(|settings| settings.centered(true));
    let mut w = start();
    run(&mut rule, &mut w, 0..3);
    let square = rule.kept(0, "mean_square").unwrap().to_vec::<f64>();
    let mut rule = rule.with(|settings| settings.centered(false).momentum(0.9));
    w.set_grad(Some(gradient(3)));
    let before = w.to_vec::<f64>();
    rule.step(&mut [&mut w]).unwrap();
    for index in 0..3 {
        let g = gradient(3).to_vec::<f64>()[index];
        let square = 0.99 * square[index] + 0.01 * g * g;
        let velocity = g / (square.sqrt() + 1e-8); // it starts at 0
        assert!((w.to_vec::<f64>()[index] - (before[index] - 0.01 * velocity)).abs() < 1e-12);
    }
}

/// Settings may change between steps: the next step is that of an optimizer with the new settings and the old state.
#[test]
fn changed_settings_keep_the_state() {
    type Case = (Box<dyn Optimizer>, Box<dyn Optimizer>, serde_json::Value);
    let rules: Vec<Case> = vec![
        (
            Box::new(Adam::new(0.1)),
            Box::new(Adam::new(0.1).with(|s| s.beta1(0.5).weight_decay(0.2))),
            json!({"beta1": 0.5, "weight_decay": 0.2}),
        ),
        (
            Box::new(AdamW::new(0.1)),
            Box::new(AdamW::new(0.1).with(|s| s.beta2(0.9).weight_decay(0.5))),
            json!({"beta2": 0.9, "weight_decay": 0.5}),
        ),
        (
            Box::new(Sgd::new(0.1).with(|s| s.momentum(0.9))),
            Box::new(Sgd::new(0.1).with(|s| s.momentum(0.5))),
            json!({"momentum": 0.5}),
        ),
        (Box::new(Adagrad::new(0.1)), Box::new(Adagrad::new(0.1).with(|s| s.epsilon(0.1))), json!({"epsilon": 0.1})),
        (
            Box::new(NesterovLookAhead::new(0.1)),
            Box::new(
                NesterovLookAhead::build(NesterovLookAheadSettings::default().learning_rate(0.1).momentum(0.5))
                    .unwrap(),
            ),
            json!({"momentum": 0.5}),
        ),
    ];
    for (mut rule, mut other, settings) in rules {
        let mut w = start();
        run(&mut *rule, &mut w, 0..4);
        let mut state = rule.state();
        rule.set_hyperparameters(&settings).unwrap();
        // The same by way of a state whose settings are the other's.
        state.settings = other.hyperparameters().to_json();
        other.load_state(&state).unwrap();
        let mut copy = w.detach().requires_grad();
        run(&mut *rule, &mut w, 4..8);
        run(&mut *other, &mut copy, 4..8);
        assert_eq!(w.to_vec::<f64>(), copy.to_vec::<f64>(), "{}", rule.name());
        assert_eq!(rule.hyperparameters().to_json(), other.hyperparameters().to_json());
        // A bad value changes nothing.
        let before = rule.hyperparameters().to_json();
        assert!(rule.set_hyperparameters(&json!({"learning_rate": -1.0})).is_err());
        assert_eq!(rule.hyperparameters().to_json(), before);
    }
}

/// From plain descent to momentum: the velocity starts with the change.
#[test]
fn momentum_may_begin_in_the_middle_of_a_run() {
    let (mut w, mut rule) = (start(), Sgd::new(0.1));
    run(&mut rule, &mut w, 0..2);
    rule.set_hyperparameters(&json!({"momentum": 0.9})).unwrap();
    let (mut fresh, mut other) = (w.detach().requires_grad(), Sgd::new(0.1).with(|s| s.momentum(0.9)));
    run(&mut rule, &mut w, 2..6);
    run(&mut other, &mut fresh, 2..6);
    assert_eq!(w.to_vec::<f64>(), fresh.to_vec::<f64>());
}

fn bowl(parameters: &[&mut Tensor]) -> tove_tensor::Result<f64> {
    let loss = (parameters[0].square() * Tensor::from([1.0, 50.0, 3.0])).sum();
    loss.backward();
    Ok(loss.item::<f64>())
}

#[test]
fn l_bfgs_remembers_that_it_converged() {
    let settings = || LbfgsSettings::default().max_iterations(200).gradient_tolerance(1e-3).value_tolerance(0.0);
    let (mut w, mut rule) = (start(), Lbfgs::build(settings()).unwrap());
    rule.step_with(&mut [&mut w], &mut bowl).unwrap();
    assert!(rule.converged());
    let mut again = Lbfgs::build(settings()).unwrap();
    assert!(!again.converged());
    again.load_state(&rule.state()).unwrap();
    assert!(again.converged() && again.reason() == rule.reason());
    // The same settings change nothing; a smaller tolerance asks for more.
    again.set_hyperparameters(&settings().to_json()).unwrap();
    assert!(again.converged());
    again.set_hyperparameters(&settings().gradient_tolerance(1e-9).to_json()).unwrap();
    assert!(!again.converged());
    again.step_with(&mut [&mut w], &mut bowl).unwrap();
    assert!(again.converged() && w.abs().max().item::<f64>() < 1e-9);
}

#[test]
fn l_bfgs_keeps_its_newest_pairs_in_a_shorter_history() {
    let (mut w, mut rule) = (start(), Lbfgs::build(LbfgsSettings::default().max_iterations(3)).unwrap());
    rule.step_with(&mut [&mut w], &mut bowl).unwrap();
    let long = rule.state();
    let pairs = long.tensors.keys().filter(|name| name.ends_with(".step")).count();
    assert!(pairs >= 2, "{:?}", long.tensors.keys());
    rule.set_hyperparameters(&json!({"history": 1})).unwrap();
    let short = rule.state();
    assert_eq!(short.tensors.len(), 2);
    let newest = long.tensors[&format!("{}.step", pairs - 1)].to_vec::<f64>();
    assert_eq!(short.tensors["0.step"].to_vec::<f64>(), newest);
}

#[test]
fn gradients_that_are_not_finite_are_found() {
    let leaf = |gradient: Option<f64>| {
        let w = Tensor::from([0.0, 0.0]).requires_grad();
        w.set_grad(gradient.map(|g| Tensor::from([0.5, g])));
        w
    };
    let check = |gradients: &[Option<f64>]| {
        let leaves: Vec<Tensor> = gradients.iter().map(|&gradient| leaf(gradient)).collect();
        non_finite_gradient(&leaves).unwrap()
    };
    assert_eq!(check(&[Some(1.0), None, Some(-1e300)]), None);
    assert_eq!(check(&[Some(1e200), Some(f64::NAN), Some(f64::NAN)]), Some(1));
    for odd in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        assert_eq!(check(&[None, Some(0.0), Some(odd)]), Some(2));
    }
}
