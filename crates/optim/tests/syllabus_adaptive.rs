//! Rules with a rate per coordinate, and their settings: C28 to C34.

mod common;

use common::{TOL64, adds_nu_outside_the_root, close, follows_torch, scattered, step_with_gradient};
use serde_json::{Value, json};
use tove_optim::settings::{Hyperparameters, SettingError};
use tove_optim::{
    Adagrad, AdagradSettings, Adam, AdamSettings, AdamW, AdamWSettings, Lbfgs, LbfgsSettings, NesterovLookAhead,
    NesterovLookAheadSettings, Optimizer, RmsProp, RmsPropSettings, Sgd, SgdSettings,
};
use tove_tensor::Tensor;

fn leaf(values: &[f64]) -> Tensor {
    Tensor::from_slice(values).requires_grad()
}

#[test]
fn c28_adagrad_rates_never_rise() {
    follows_torch("adagrad", Adagrad::new(0.1));
    adds_nu_outside_the_root("adagrad", |nu| Adagrad::new(0.1).with(|s| s.epsilon(nu)));
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
        // So the rate of each coordinate, η / (√a + ν), never rises; it is what the step was made with.
        let rates = |sums: &[f64]| sums.iter().map(|a| 0.1 / (a.sqrt() + 1e-10)).collect::<Vec<f64>>();
        let (now, then) = (rates(&sum), rates(&before));
        assert!(now.iter().zip(&then).all(|(now, then)| now <= then), "step {step}");
        let made: Vec<f64> = (0..6).map(|i| old[i] - now[i] * gradient[i]).collect();
        close("θ", &new, &made, TOL64);
        before = sum;
    }
}

#[test]
fn c29_rms_prop_recovers_from_large_gradients() {
    follows_torch("rmsprop", RmsProp::new(0.01).with(|s| s.beta(0.95)));
    adds_nu_outside_the_root("rmsprop", |nu| RmsProp::new(0.01).with(|s| s.beta(0.95).epsilon(nu)));
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
    for inside in [false, true] {
        let rule = |s: RmsPropSettings, nu: f64| s.beta(0.95).momentum(0.9).rate_in_velocity(inside).epsilon(nu);
        adds_nu_outside_the_root("rmsprop_momentum", |nu| RmsProp::new(0.002).with(|s| rule(s, nu)));
    }
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
    // With ν = 0.1 and 0.01 beside the root, not under it.
    for nu in [0.1, 0.01] {
        let settings = plain.clone().epsilon(nu);
        let (mut theta, mut rule) = (leaf(&[0.0]), Adam::build(settings).expect("right settings"));
        let (mut outside, mut inside) = (0.0, 0.0);
        for (gradient, v, a) in traced {
            step_with_gradient(&mut rule, &mut theta, &[gradient]);
            outside -= 0.1 * v / (a.sqrt() + nu);
            inside -= 0.1 * v / (a + nu).sqrt();
            close("θ", &theta.detach().to_vec::<f64>(), &[outside], TOL64);
            assert!((outside - inside).abs() > 1e-3);
        }
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
    adds_nu_outside_the_root("adam", |nu| Adam::new(0.01).with(|s| s.epsilon(nu)));
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
            let is_real = entry.kind == tove_optim::settings::ValueKind::Real;
            assert!(!is_real || entry.range.is_some(), "{}: {} has no range", schema.name, entry.name);
        }
        let names: Vec<&str> = schema.hyperparameters.iter().map(|entry| entry.name).collect();
        assert!(names.contains(&"learning_rate") || schema.name == "Lbfgs", "{names:?}");
        optimizer.hyperparameters().validate().expect("defaults are right");
    }

    // Names, defaults and ranges, written out.
    let table = table();
    assert_eq!(
        all.iter().map(|optimizer| optimizer.name()).collect::<Vec<_>>(),
        table.iter().map(|t| t.0).collect::<Vec<_>>()
    );
    for (optimizer, (name, _, entries)) in all.iter().zip(&table) {
        let listed = &optimizer.hyperparameters().schema().hyperparameters;
        assert_eq!(listed.len(), entries.len(), "{name}");
        for (listed, (field, default, range)) in listed.iter().zip(entries) {
            assert_eq!((listed.name, listed.default.to_json()), (*field, default.clone()), "{name}");
            let found = listed.range.map(|range| range.to_string()).unwrap_or_default();
            assert_eq!(found, *range, "{name}: {field}");
            // One step of L-BFGS takes up to 20 iterations, as in PyTorch; a whole minimization is not stopped so soon.
            let held = if (*name, *field) == ("Lbfgs", "max_iterations") { json!(20) } else { default.clone() };
            assert_eq!(optimizer.hyperparameters().value(field).expect("a value").to_json(), held, "{name}: {field}");
        }
    }
    // Every number outside its range is an error that names the field, by text and by value. The rates of decay are those in
    // [0, 1).
    let mut rates = Vec::new();
    for (name, new, entries) in &table {
        for (field, _, range) in entries {
            let wrong: &[&str] = match *range {
                "[0, 1)" => &["1", "1.5", "-0.1", "NaN", "inf"],
                "[0, inf)" => &["-0.1", "NaN", "inf"],
                "(0, 1)" => &["0", "1", "-0.1", "NaN"],
                "(0, 0.5)" => &["0", "0.5", "NaN"],
                "(0, inf)" => &["0", "-0.1", "NaN", "inf"],
                _ => &[],
            };
            for text in wrong {
                let mut settings = new();
                let result = settings.parse(field, text).and_then(|()| settings.validate());
                let Err(SettingError::Range { field: at_fault, .. }) = &result else {
                    panic!("{name}: {field} = {text} gives {result:?}")
                };
                assert_eq!(at_fault.to_string(), field.to_string(), "{name}");
            }
            if *range == "[0, 1)" {
                rates.push(format!("{name}.{field}"));
                for text in ["0", "0.5", "0.9999"] {
                    let mut settings = new();
                    settings.parse(field, text).and_then(|()| settings.validate()).expect("inside the range");
                }
            }
        }
    }
    let known = "Sgd.momentum NesterovLookAhead.momentum RmsProp.beta RmsProp.momentum Adam.beta1 Adam.beta2 AdamW.beta1 AdamW.beta2";
    assert_eq!(rates.join(" "), known);
    // The same through the setters, which take any number.
    for wrong in [1.0, 1.5, -0.1, f64::NAN] {
        let results = [
            SgdSettings::default().momentum(wrong).validate(),
            NesterovLookAheadSettings::default().momentum(wrong).validate(),
            RmsPropSettings::default().beta(wrong).validate(),
            RmsPropSettings::default().momentum(wrong).validate(),
            AdamSettings::default().beta1(wrong).validate(),
            AdamSettings::default().beta2(wrong).validate(),
            AdamWSettings::default().beta1(wrong).validate(),
            AdamWSettings::default().beta2(wrong).validate(),
        ];
        assert!(results.iter().all(|result| matches!(result, Err(SettingError::Range { .. }))), "{results:?}");
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

/// Name, settings, and per hyperparameter its name, default and range. The defaults are the papers' and PyTorch's.
type Table = Vec<(&'static str, fn() -> Box<dyn Hyperparameters>, Vec<(&'static str, Value, &'static str)>)>;

fn table() -> Table {
    let rate = |default: f64| ("learning_rate", json!(default), "[0, inf)");
    let decay = |default: f64| ("weight_decay", json!(default), "[0, inf)");
    let switch = |name: &'static str, default: bool| (name, json!(default), "");
    let adam = |weight_decay: f64| {
        vec![
            rate(0.001),
            ("beta1", json!(0.9), "[0, 1)"),
            ("beta2", json!(0.999), "[0, 1)"),
            ("epsilon", json!(1e-8), "[0, inf)"),
            decay(weight_decay),
            switch("bias_correction", true),
        ]
    };
    vec![
        (
            "Sgd",
            || Box::new(SgdSettings::default()),
            vec![
                rate(0.001),
                ("momentum", json!(0.0), "[0, 1)"),
                decay(0.0),
                switch("nesterov", false),
                switch("rate_in_velocity", false),
            ],
        ),
        (
            "NesterovLookAhead",
            || Box::new(NesterovLookAheadSettings::default()),
            vec![rate(0.001), ("momentum", json!(0.9), "[0, 1)"), decay(0.0)],
        ),
        (
            "Adagrad",
            || Box::new(AdagradSettings::default()),
            vec![
                rate(0.01),
                ("epsilon", json!(1e-10), "[0, inf)"),
                decay(0.0),
                ("initial_sum", json!(0.0), "[0, inf)"),
            ],
        ),
        (
            "RmsProp",
            || Box::new(RmsPropSettings::default()),
            vec![
                rate(0.01),
                ("beta", json!(0.99), "[0, 1)"),
                ("epsilon", json!(1e-8), "[0, inf)"),
                decay(0.0),
                ("momentum", json!(0.0), "[0, 1)"),
                switch("centered", false),
                switch("rate_in_velocity", false),
            ],
        ),
        ("Adam", || Box::new(AdamSettings::default()), adam(0.0)),
        ("AdamW", || Box::new(AdamWSettings::default()), adam(0.01)),
        (
            "Lbfgs",
            || Box::new(LbfgsSettings::default()),
            vec![
                ("history", json!(10), "[1, inf)"),
                ("max_iterations", json!(15_000), ""),
                ("max_evaluations", json!(15_000), "[1, inf)"),
                ("gradient_tolerance", json!(1e-5), "[0, inf)"),
                ("value_tolerance", json!(2.220446049250313e-9), "[0, inf)"),
                ("decrease", json!(1e-3), "(0, 0.5)"),
                ("curvature", json!(0.9), "(0, 1)"),
                ("initial_step", json!(1.0), "(0, inf)"),
                ("search_evaluations", json!(20), "[1, inf)"),
            ],
        ),
    ]
}
