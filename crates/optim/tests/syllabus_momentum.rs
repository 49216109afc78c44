//! Gradient descent and momentum: C4 and C23 to C27.

mod common;

use common::{TOL64, close, follows_torch, scattered, step_with_gradient};
use tove_optim::{DivergenceWatch, NesterovLookAhead, NesterovLookAheadSettings, Optimizer, Sgd, SgdSettings};
use tove_tensor::{Key, Tensor};

/// Curvatures of the test quadratic ½ Σ hᵢ xᵢ²; its condition number is 100.
const CURVATURES: [f64; 2] = [1.0, 100.0];

fn quadratic(x: &Tensor) -> Tensor {
    (x.square() * Tensor::from(CURVATURES)).sum() * 0.5
}

/// The points of a run from (1, 1) until the distance from the minimum is below 1e-6.
fn descend(optimizer: &mut dyn Optimizer) -> Vec<[f64; 2]> {
    let mut x = Tensor::from([1.0, 1.0]).requires_grad();
    let mut points = vec![[1.0, 1.0]];
    while points.len() < 5000 {
        let x_now = x.detach().to_vec::<f64>();
        if x_now[0].hypot(x_now[1]) < 1e-6 {
            break;
        }
        let mut loss = |parameters: &[&mut Tensor]| {
            let value = quadratic(parameters[0]);
            value.backward();
            Ok(value.item::<f64>())
        };
        optimizer.step_with(&mut [&mut x], &mut loss).expect("a step");
        let x_now = x.detach().to_vec::<f64>();
        points.push([x_now[0], x_now[1]]);
    }
    points
}

/// Σ |angle between one step and the next|.
fn turning(points: &[[f64; 2]]) -> f64 {
    let steps: Vec<[f64; 2]> = points.windows(2).map(|p| [p[1][0] - p[0][0], p[1][1] - p[0][1]]).collect();
    let angle = |a: [f64; 2], b: [f64; 2]| (a[0] * b[1] - a[1] * b[0]).atan2(a[0] * b[0] + a[1] * b[1]).abs();
    steps.windows(2).map(|pair| angle(pair[0], pair[1])).sum()
}

#[test]
fn c4_gradient_descent_falls_below_two_over_l_and_diverges_above() {
    let largest = 100.0;
    let run = |rate: f64| -> (Vec<f64>, Option<String>) {
        let (mut x, mut sgd, mut watch) =
            (Tensor::from([1.0, 1.0]).requires_grad(), Sgd::new(rate), DivergenceWatch::default());
        let mut values = Vec::new();
        for _ in 0..500 {
            let loss = quadratic(&x);
            values.push(loss.item::<f64>());
            if let Err(report) = watch.observe(loss.item::<f64>()) {
                return (values, Some(report.to_string()));
            }
            loss.backward();
            sgd.step(&mut [&mut x]).expect("a step");
        }
        (values, None)
    };
    for share in [0.01, 0.5, 0.9, 0.99] {
        let (values, report) = run(share * 2.0 / largest);
        assert!(report.is_none() && values.windows(2).all(|pair| pair[1] < pair[0]), "η = {share} · 2 / L");
    }
    for share in [1.01, 1.1, 2.0, 10.0] {
        let (values, report) = run(share * 2.0 / largest);
        let report = report.expect("divergence is reported");
        assert!(report.contains("diverges: lower the learning rate"), "{report}");
        assert!(values.last() > values.first(), "η = {share} · 2 / L");
    }
    follows_torch("sgd", Sgd::new(0.1));
}

/// Rates: gradient descent with 2 / (L + m), the best there is for it; momentum with 1 / L and 0.9.
#[test]
fn c23_momentum_is_quicker_straighter_and_leaves_shallow_wells() {
    follows_torch("sgd_momentum", Sgd::new(0.05).with(|s| s.momentum(0.9)));

    let plain = descend(&mut Sgd::new(2.0 / 101.0));
    let momentum = descend(&mut Sgd::new(0.01).with(|s| s.momentum(0.9)));
    println!("steps: {} and {}; turning {} and {}", plain.len(), momentum.len(), turning(&plain), turning(&momentum));
    assert!(momentum.len() < plain.len() && plain.len() < 5000);
    assert!(turning(&momentum) < turning(&plain));

    // x²/10 + 0.3 (1 − cos 3x): a shallow well near 1.9, a deep one at 0, and a bar between them.
    let slope = |x: f64| x / 5.0 + 0.9 * (3.0 * x).sin();
    let settle = |mut rule: Sgd| {
        let mut x = Tensor::from([2.9]).requires_grad();
        for _ in 0..2000 {
            let gradient = slope(x.item::<f64>());
            step_with_gradient(&mut rule, &mut x, &[gradient]);
        }
        x.item::<f64>()
    };
    let (stuck, free) = (settle(Sgd::new(0.02)), settle(Sgd::new(0.02).with(|s| s.momentum(0.95))));
    assert!(slope(stuck).abs() < 1e-9 && (1.5..2.1).contains(&stuck), "{stuck}");
    assert!(free.abs() < 1e-6, "{free}");
}

#[test]
fn c24_the_velocity_is_the_sum_of_past_gradients() {
    let (alpha, count) = (0.85, 40);
    let settings = SgdSettings::default().momentum(alpha).rate_in_velocity(true);
    let constant = vec![0.1; count];
    let varying: Vec<f64> = (0..count).map(|i| 0.1 / (1.0 + i as f64 / 3.0)).collect();
    for rates in [constant, varying] {
        let gradients: Vec<Vec<f64>> = (0..count).map(|i| scattered(5, i as f64 * 0.37)).collect();
        let mut theta = Tensor::from(vec![0.0; 5]).requires_grad();
        let mut sgd = Sgd::build(settings.clone()).expect("right settings");
        for k in 0..count {
            let before = theta.detach().to_vec::<f64>();
            sgd.set_learning_rate(rates[k]);
            step_with_gradient(&mut sgd, &mut theta, &gradients[k]);
            let sum =
                |j: usize| -> f64 { (0..=k).map(|i| -alpha.powi((k - i) as i32) * rates[i] * gradients[i][j]).sum() };
            let unrolled: Vec<f64> = (0..5).map(sum).collect();
            // The rule keeps −v.
            let velocity: Vec<f64> =
                sgd.kept(0, "velocity").expect("momentum").to_vec::<f64>().iter().map(|u| -u).collect();
            close("velocity", &velocity, &unrolled, TOL64);
            let moved: Vec<f64> = theta.detach().to_vec::<f64>().iter().zip(&before).map(|(a, b)| a - b).collect();
            close("step", &moved, &unrolled, 1e-9); // a difference of larger numbers
        }
    }
}

#[test]
fn c25_expected_path_under_independent_gradients() {
    let (alpha, eps, mu) = (0.9, 0.1, 2.0);
    let expected = |t: i32| -eps * mu * (1..=t).map(|i| (1.0 - f64::powi(alpha, i)) / (1.0 - alpha)).sum::<f64>();
    assert!((expected(5) + 2.62882).abs() < 1e-12);
    let rule = || Sgd::new(eps).with(|s| s.momentum(alpha));

    // The path is linear in the gradients, so that the mean gradient gives the mean path.
    let (mut mean, mut sgd) = (Tensor::from([0.0]).requires_grad(), rule());
    let mut path = vec![0.0];
    for t in 1..=200 {
        step_with_gradient(&mut sgd, &mut mean, &[mu]);
        path.push(mean.item::<f64>());
        assert!((mean.item::<f64>() - expected(t)).abs() < 1e-10 * expected(t).abs());
    }
    let drift = path[200] - path[199];
    assert!((drift + eps * mu / (1.0 - alpha)).abs() < 1e-8, "{drift}");

    // 20,000 independent runs, side by side in one tensor.
    let runs = 20_000;
    let (mut many, mut sgd) = (Tensor::from(vec![0.0; runs]).requires_grad(), rule());
    for t in 0..5 {
        let noise = Key::new(100 + t).normal([runs], tove_tensor::DType::F64);
        step_with_gradient(&mut sgd, &mut many, &(noise * 3.0 + mu).to_vec::<f64>());
    }
    let ends = many.detach().to_vec::<f64>();
    let average = ends.iter().sum::<f64>() / runs as f64;
    let variance = ends.iter().map(|x| (x - average).powi(2)).sum::<f64>() / (runs - 1) as f64;
    let error = (variance / runs as f64).sqrt();
    assert!((average - expected(5)).abs() < 3.0 * error, "{average} ± {error}");
}

fn look_ahead(rate: f64, momentum: f64) -> NesterovLookAhead {
    let settings = NesterovLookAheadSettings::default().learning_rate(rate).momentum(momentum);
    NesterovLookAhead::build(settings).expect("right settings")
}

/// Rates on the quadratic of C23 (curvatures 1 and 100): 1 / L = 0.01 and momentum 0.9, for momentum and for Nesterov.
#[test]
fn c26_nesterov_looks_ahead() {
    let (eps, alpha) = (0.01, 0.9);
    let points = descend(&mut look_ahead(eps, alpha));
    let (mut theta, mut v) = ([1.0, 1.0], [0.0, 0.0]);
    for point in &points[1..] {
        for i in 0..2 {
            let ahead = theta[i] + alpha * v[i];
            v[i] = alpha * v[i] - eps * CURVATURES[i] * ahead;
            theta[i] += v[i];
        }
        // The data are of size 1; so is the absolute part of the tolerance.
        assert!((0..2).all(|i| (point[i] - theta[i]).abs() <= TOL64), "{point:?} is not {theta:?}");
    }
    let momentum = descend(&mut Sgd::new(eps).with(|s| s.momentum(alpha)));
    println!("momentum {} steps, Nesterov {}", momentum.len() - 1, points.len() - 1);
    assert!(points.len() <= momentum.len());

    // A loss that is no quadratic, Σ ln cosh(A θ) + ‖θ‖² / 20, two leaves, a penalty, and a step size that changes: the
    // plain loop, with ∇ ln cosh = tanh, gives the same points and velocities.
    let a: Vec<Vec<f64>> = (0..4).map(|row| scattered(5, f64::from(row))).collect();
    let gradient = |x: &[f64]| -> Vec<f64> {
        let slopes: Vec<f64> = a.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum::<f64>().tanh()).collect();
        (0..5).map(|j| x[j] / 10.0 + slopes.iter().zip(&a).map(|(slope, row)| slope * row[j]).sum::<f64>()).collect()
    };
    let (decay, start) = (0.03, scattered(5, 9.0));
    let settings = NesterovLookAheadSettings::default().momentum(alpha).weight_decay(decay);
    let mut rule = NesterovLookAhead::build(settings).expect("right settings");
    let (mut x, mut v) = (start.clone(), vec![0.0; 5]);
    let mut leaves = [start[..2].to_vec(), start[2..].to_vec()].map(|part| Tensor::from(part).requires_grad());
    let matrix = Tensor::from_vec(a.concat(), [4, 5]);
    for t in 0..200 {
        let eps = 0.2 / (1.0 + f64::from(t) / 50.0);
        let ahead: Vec<f64> = x.iter().zip(&v).map(|(x, v)| x + alpha * v).collect();
        let g = gradient(&ahead);
        for j in 0..5 {
            v[j] = alpha * v[j] - eps * (g[j] + decay * ahead[j]);
            x[j] += v[j];
        }
        rule.set_learning_rate(eps);
        let [first, second] = &mut leaves;
        let mut loss = |parameters: &[&mut Tensor]| {
            let theta = Tensor::concat(&[&*parameters[0], &*parameters[1]], 0);
            let product = matrix.matmul(&theta);
            // ln cosh z = z + softplus(−2 z) − ln 2
            let loss = (&product + (&product * -2.0).softplus()).sum() + theta.square().sum() * 0.05;
            loss.backward();
            Ok(loss.item::<f64>())
        };
        rule.step_with(&mut [first, second], &mut loss).expect("a step");
        let joined = |part: &dyn Fn(usize) -> Vec<f64>| [part(0), part(1)].concat();
        // Points and velocities fall to 0, and are judged by the size of the points at first, which is 1.
        let near = |ours: &[f64], theirs: &[f64]| ours.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= TOL64);
        let (points, velocities) =
            (joined(&|i| leaves[i].detach().to_vec()), joined(&|i| rule.velocity(i).expect("a velocity").to_vec()));
        assert!(near(&points, &x) && near(&velocities, &v), "step {t}: {points:?} is not {x:?}");
    }

    let mut w = Tensor::from([1.0]).requires_grad();
    let mut rule = look_ahead(0.1, 0.9);
    assert!(rule.step(&mut [&mut w]).expect_err("not ahead").to_string().contains("look_ahead"));
}

#[test]
fn c27_the_shifted_form_is_the_same_method() {
    let (eps, alpha) = (0.01, 0.9);
    let mut ahead = look_ahead(eps, alpha);
    let mut shifted = Sgd::new(eps).with(|s| s.momentum(alpha).nesterov(true).rate_in_velocity(true));
    let (mut theta, mut tilde) = (Tensor::from([1.0, -2.0]).requires_grad(), Tensor::from([1.0, -2.0]).requires_grad());
    for step in 0..200 {
        // A step size that changes: the forms agree all the same.
        let rate = eps / (1.0 + f64::from(step) / 100.0);
        ahead.set_learning_rate(rate);
        shifted.set_learning_rate(rate);
        ahead.look_ahead(&mut [&mut theta]).expect("a half step");
        quadratic(&theta).backward();
        ahead.step(&mut [&mut theta]).expect("a half step");
        quadratic(&tilde).backward();
        shifted.step(&mut [&mut tilde]).expect("a step");
        let velocity = ahead.velocity(0).expect("a velocity").to_vec::<f64>();
        let point = theta.detach().to_vec::<f64>();
        let moved: Vec<f64> = point.iter().zip(&velocity).map(|(theta, v)| theta + alpha * v).collect();
        close("θ̃ = θ + α v", &tilde.detach().to_vec::<f64>(), &moved, TOL64);
    }
    follows_torch("sgd_nesterov", Sgd::new(0.05).with(|s| s.momentum(0.9).nesterov(true)));
    follows_torch("sgd_nesterov", Sgd::new(0.05).with(|s| s.momentum(0.9).nesterov(true).rate_in_velocity(true)));
}
