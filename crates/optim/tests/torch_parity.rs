//! Every rule beside PyTorch's, over a thousand steps of a linear model in single precision; schedules beside PyTorch's.

mod common;

use common::{close, fixture, follows_torch, numbers};
use tove_optim::{Adagrad, Adam, AdamW, ReduceOnPlateau, ReduceOnPlateauSettings, RmsProp, Schedule, Sgd};

#[test]
fn gradient_descent() {
    follows_torch("sgd", Sgd::new(0.1));
    follows_torch("sgd_momentum", Sgd::new(0.05).with(|s| s.momentum(0.9)));
    follows_torch("sgd_nesterov", Sgd::new(0.05).with(|s| s.momentum(0.9).nesterov(true)));
    follows_torch("sgd_decay", Sgd::new(0.05).with(|s| s.momentum(0.8).weight_decay(0.1)));
}

#[test]
fn adagrad() {
    follows_torch("adagrad", Adagrad::new(0.1));
    follows_torch("adagrad_decay", Adagrad::new(0.1).with(|s| s.weight_decay(0.1).initial_sum(0.5).epsilon(1e-6)));
}

#[test]
fn rms_prop() {
    follows_torch("rmsprop", RmsProp::new(0.01).with(|s| s.beta(0.95)));
    follows_torch("rmsprop_momentum", RmsProp::new(0.002).with(|s| s.beta(0.95).momentum(0.9)));
    follows_torch("rmsprop_centered", RmsProp::new(0.002).with(|s| s.beta(0.9).centered(true).epsilon(1e-3)));
    let all = RmsProp::new(0.002).with(|s| s.beta(0.9).centered(true).momentum(0.5).weight_decay(0.1).epsilon(1e-3));
    follows_torch("rmsprop_all", all);
}

#[test]
fn adam() {
    follows_torch("adam", Adam::new(0.01));
    follows_torch("adam_decay", Adam::new(0.01).with(|s| s.beta1(0.8).beta2(0.99).weight_decay(0.1)));
    follows_torch("adamw", AdamW::new(0.01).with(|s| s.weight_decay(0.1)));
}

#[test]
fn schedules() {
    let fixture = fixture("torch_optimizers");
    let warm = Schedule::WarmUp { steps: 8, start: 0.2, then: Box::new(Schedule::cosine(32)) };
    let schedules = [
        ("step", Schedule::Step { every: 7, factor: 0.3 }),
        ("exponential", Schedule::Exponential { factor: 0.93 }),
        ("cosine", Schedule::Cosine { steps: 39, floor: 0.1 }),
        ("warm_up_cosine", warm),
        ("one_cycle", Schedule::one_cycle(40)),
    ];
    for (name, schedule) in schedules {
        let ours: Vec<f64> = (0..40).map(|step| schedule.factor(step)).collect();
        let theirs = numbers(&fixture["schedules"][name]);
        // Theirs is a product of forty roundings.
        ours.iter().zip(&theirs).enumerate().for_each(|(step, (ours, theirs))| {
            assert!((ours - theirs).abs() < 1e-13, "{name} at {step}: {ours} and {theirs}");
        });
    }
}

#[test]
fn reductions_on_a_plateau() {
    let plateau = &fixture("torch_optimizers")["plateau"];
    let settings = ReduceOnPlateauSettings::default().factor(0.5).patience(3).cooldown(2).floor(0.1);
    let mut rule = ReduceOnPlateau::build(settings).expect("right settings");
    let ours: Vec<f64> = numbers(&plateau["losses"]).iter().map(|&loss| rule.observe(loss)).collect();
    close("factors", &ours, &numbers(&plateau["factors"]), 1e-15);
    assert!(ours.windows(2).any(|pair| pair[1] < pair[0]));
}
