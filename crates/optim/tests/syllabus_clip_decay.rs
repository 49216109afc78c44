//! Clipping (C35), weight decay (H30), and step sizes that fall (a part of C37).

mod common;

use common::{TOL32, TOL64, close, fixture, numbers, scattered, step_with_gradient};
use tove_optim::{
    Adam, AdamW, DivergenceWatch, Group, Optimizer, Schedule, Sgd, bias_or_norm, clip_norm, clip_value, gradient_norm,
};
use tove_tensor::{DType, Key, Tensor};

fn leaf(values: &[f64]) -> Tensor {
    Tensor::from_slice(values).requires_grad()
}

/// A wall of slope −50 to the left of −3 and a dip around 0 that is flat far away.
fn cliff_slope(x: f64) -> f64 {
    x / 4.0 * (-x * x / 8.0).exp() - 50.0 / (1.0 + (40.0 * (x + 3.0)).exp())
}

#[test]
fn c35_clipping_keeps_the_direction_and_survives_a_cliff() {
    // Direction and norm, f64, over two parameters.
    for (limit, scale) in [(0.5, 3.0), (1e-3, 1e5), (10.0, 1e-3)] {
        let gradients =
            [scattered(300, 0.1), scattered(50, 0.7)].map(|g| g.iter().map(|g| g * scale).collect::<Vec<f64>>());
        let parameters = [leaf(&vec![0.0; 300]), leaf(&vec![0.0; 50])];
        parameters.iter().zip(&gradients).for_each(|(p, g)| p.set_grad(Some(Tensor::from_slice(g))));
        let before = gradients.concat();
        let norm = before.iter().map(|g| g * g).sum::<f64>().sqrt();
        let reported = clip_norm(&parameters, limit).expect("finite gradients");
        assert!((reported - norm).abs() < TOL64 * norm);
        let after: Vec<f64> = parameters.iter().flat_map(|p| p.grad().expect("a gradient").to_vec::<f64>()).collect();
        let wanted = norm.min(limit);
        assert!((gradient_norm(&parameters).expect("finite") - wanted).abs() < TOL64 * wanted);
        let cosine = before.iter().zip(&after).map(|(a, b)| a * b).sum::<f64>() / norm / wanted;
        assert!((cosine - 1.0).abs() < TOL64);
    }
    // Beside PyTorch, f32.
    for case in fixture("torch_optimizers")["clipping"].as_array().expect("cases") {
        let single = |value| numbers(value).iter().map(|&x| x as f32).collect::<Vec<f32>>();
        let parameters: Vec<Tensor> = case["before"]
            .as_array()
            .expect("gradients")
            .iter()
            .map(|gradient| {
                let gradient = Tensor::from_slice(&single(gradient));
                let parameter = gradient.zeros_like().requires_grad();
                parameter.set_grad(Some(gradient));
                parameter
            })
            .collect();
        let norm = clip_norm(&parameters, case["limit"].as_f64().expect("a limit")).expect("finite gradients");
        close("norm", &[norm], &[case["norm"].as_f64().expect("a norm")], TOL32);
        for (parameter, after) in parameters.iter().zip(case["after"].as_array().expect("gradients")) {
            close("gradient", &parameter.grad().expect("a gradient").to_f64_vec(), &numbers(after), TOL32);
        }
    }
    // On the cliff.
    let run = |limit: Option<f64>| {
        let (mut x, mut sgd) = (leaf(&[-3.1]), Sgd::new(1.0));
        for _ in 0..200 {
            x.set_grad(Some(Tensor::from([cliff_slope(x.item::<f64>())])));
            limit.map(|limit| clip_norm(&[&x], limit).expect("finite gradients"));
            sgd.step(&mut [&mut x]).expect("a step");
        }
        x.item::<f64>()
    };
    let (thrown, kept) = (run(None), run(Some(1.0)));
    assert!(thrown > 20.0, "the unclipped run ends at {thrown}");
    assert!(kept.abs() < 1e-6, "the clipped run ends at {kept}");
}

#[test]
fn gradients_that_are_not_finite_are_reported_and_kept() {
    let parameter = leaf(&[0.0, 0.0]);
    parameter.set_grad(Some(Tensor::from([f64::NAN, 1.0])));
    let error = clip_norm(&[&parameter], 1.0).expect_err("not a number");
    assert!(error.is_data() && error.to_string().contains("lower the learning rate"), "{error}");
    assert_eq!(parameter.grad().expect("still there").to_vec::<f64>()[1], 1.0);
    assert!(clip_norm(&[&parameter], 0.0).is_err() && clip_value(&[&parameter], f64::NAN).is_err());
    for size in [1e-200, 1e200] {
        parameter.set_grad(Some(Tensor::from([3.0 * size, 4.0 * size])));
        close("norm", &[gradient_norm(&[&parameter]).expect("finite")], &[5.0 * size], 1e-15);
    }
    assert_eq!(gradient_norm(&[leaf(&[1.0])]).expect("none"), 0.0);
}

#[test]
fn h30_weight_decay_is_the_penalty_for_plain_descent_and_not_for_adam() {
    let (rate, lambda) = (0.1, 0.3);
    let start = scattered(8, 0.4);
    let gradient = |w: &[f64], seed: f64| -> Vec<f64> {
        w.iter().zip(scattered(8, seed)).map(|(w, noise)| 2.0 * w.sin() + noise).collect()
    };
    let penalised =
        |w: &[f64], seed: f64| -> Vec<f64> { gradient(w, seed).iter().zip(w).map(|(g, w)| g + lambda * w).collect() };
    let run = |rule: &mut dyn Optimizer, slope: &dyn Fn(&[f64], f64) -> Vec<f64>| {
        let mut w = leaf(&start);
        for step in 0..30 {
            let values = w.detach().to_vec::<f64>();
            step_with_gradient(rule, &mut w, &slope(&values, f64::from(step) * 0.31));
        }
        w.detach().to_vec::<f64>()
    };
    let decayed = run(&mut Sgd::new(rate).with(|s| s.weight_decay(lambda)), &gradient);
    close("Sgd", &decayed, &run(&mut Sgd::new(rate), &penalised), TOL64);
    // And by the formula w ← (1 − η λ) w − η g.
    let mut by_formula = start.clone();
    for step in 0..30 {
        let g = gradient(&by_formula, f64::from(step) * 0.31);
        by_formula.iter_mut().zip(g).for_each(|(w, g)| *w = (1.0 - rate * lambda) * *w - rate * g);
    }
    close("formula", &decayed, &by_formula, TOL64);

    let decoupled = run(&mut AdamW::new(rate).with(|s| s.weight_decay(lambda)), &gradient);
    let penalty = run(&mut Adam::new(rate), &penalised);
    let coupled = run(&mut Adam::new(rate).with(|s| s.weight_decay(lambda)), &gradient);
    close("Adam's own decay is the penalty", &coupled, &penalty, TOL64);
    let distance = decoupled.iter().zip(&penalty).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    assert!(distance > 1e-2, "AdamW and the penalty differ by {distance} only");

    // A gradient of zero leaves the shrinking alone; biases are left out by their group.
    let group = [Group::matching(&["layer.weight", "layer.bias"], bias_or_norm).weight_decay(0.0)];
    let sgd = Sgd::new(rate).with(|s| s.weight_decay(lambda)).groups(&group).expect("a right group");
    let adam_w = AdamW::new(rate).with(|s| s.weight_decay(lambda)).groups(&group).expect("a right group");
    for mut rule in [Box::new(sgd) as Box<dyn Optimizer>, Box::new(adam_w)] {
        let (mut weight, mut bias) = (leaf(&[1.0, -4.0]), leaf(&[1.0, -4.0]));
        for step in 1..=20 {
            for parameter in [&weight, &bias] {
                parameter.set_grad(Some(Tensor::from([0.0, 0.0])));
            }
            rule.step(&mut [&mut weight, &mut bias]).expect("a step");
            let shrunk = f64::powi(1.0 - rate * lambda, step);
            close(rule.name(), &weight.detach().to_vec::<f64>(), &[shrunk, -4.0 * shrunk], TOL64);
            assert_eq!(bias.detach().to_vec::<f64>(), [1.0, -4.0]);
        }
    }
}

/// Single samples of a noisy line in three variables; the distance of the last weights from the true ones.
#[test]
fn falling_steps_converge_where_constant_ones_stall() {
    let truth = [1.0, -2.0, 0.5];
    let run = |schedule: Schedule, steps: usize| -> f64 {
        let x = Key::new(3).normal([steps, 3], DType::F64).to_vec::<f64>();
        let noise = Key::new(4).normal([steps], DType::F64).to_vec::<f64>();
        let (mut w, mut sgd, mut watch) = (leaf(&[0.0; 3]), Sgd::default(), DivergenceWatch::new(1e6));
        for (step, (x, noise)) in x.chunks(3).zip(noise).enumerate() {
            let y = x.iter().zip(truth).map(|(x, w)| x * w).sum::<f64>() + noise;
            let error = x.iter().zip(w.detach().to_vec::<f64>()).map(|(x, w)| x * w).sum::<f64>() - y;
            watch.observe(1.0 + error * error).expect("no divergence");
            schedule.apply(&mut sgd, 0.1, step as u64).expect("a right schedule");
            step_with_gradient(&mut sgd, &mut w, &x.iter().map(|x| error * x).collect::<Vec<f64>>());
        }
        w.detach().to_vec::<f64>().iter().zip(truth).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    let falling = Schedule::Reciprocal { delay: 20.0 };
    let (early, late) = (run(falling.clone(), 500), run(falling, 50_000));
    let (floor, still) = (run(Schedule::Constant, 500), run(Schedule::Constant, 50_000));
    println!("falling {early} then {late}; constant {floor} then {still}");
    assert!(late < 0.02 && late < early / 2.0, "falling steps: {early} then {late}");
    assert!(still > 0.05, "constant steps should stall at their noise floor: {still}");
}

/// Features of sizes 1 and 100: the number of steps of gradient descent, each with its best constant step.
#[test]
fn standardised_features_need_fewer_steps() {
    let (a, b) = (scattered(60, 0.2), scattered(60, 0.9));
    let count = |scale: f64| -> usize {
        let rows: Vec<f64> = a.iter().zip(&b).flat_map(|(a, b)| [*a, scale * b]).collect();
        let x = Tensor::from_vec(rows, [60, 2]);
        let y = x.matmul(&Tensor::from([1.0, 1.0 / scale]));
        let spectrum = x.t().matmul(&x).eigvalsh().to_vec::<f64>();
        let mut sgd = Sgd::new(60.0 / (spectrum[0] + spectrum[1]));
        let mut w = leaf(&[0.0, 0.0]);
        for step in 0..200_000 {
            let error = x.matmul(&w) - &y;
            if error.detach().to_vec::<f64>().iter().all(|error| error.abs() < 1e-6) {
                return step;
            }
            error.square().mean().backward();
            sgd.step(&mut [&mut w]).expect("a step");
        }
        200_000
    };
    let (scaled, raw) = (count(1.0), count(100.0));
    println!("{scaled} steps standardised, {raw} raw");
    assert!(100 * scaled < raw);
}
