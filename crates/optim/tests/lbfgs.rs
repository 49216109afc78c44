//! L-BFGS: convergence, cost beside SciPy's, reasons for stopping, the optimiser's face.

mod common;

use common::{TOL64, close, fixture, numbers};
use tove_optim::lbfgs::StopReason;
use tove_optim::{Lbfgs, LbfgsSettings, Optimizer};
use tove_tensor::Tensor;

type Problem = Box<dyn FnMut(&[f64], &mut [f64]) -> f64>;

fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> f64 {
    gradient.fill(0.0);
    let mut value = 0.0;
    for i in 0..x.len() - 1 {
        let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
        value += a * a + 100.0 * b * b;
        gradient[i] -= 2.0 * a + 400.0 * x[i] * b;
        gradient[i + 1] += 200.0 * b;
    }
    value
}

fn quadratic(condition: f64, size: usize) -> Problem {
    let h: Vec<f64> = (0..size).map(|i| condition.powf(i as f64 / (size - 1) as f64)).collect();
    Box::new(move |x, gradient| {
        let mut value = 0.0;
        for i in 0..h.len() {
            gradient[i] = h[i] * (x[i] - 1.0);
            value += 0.5 * gradient[i] * (x[i] - 1.0);
        }
        value
    })
}

/// The formulas of `scipy_lbfgs.py`.
fn logistic(rows: usize, columns: usize, strength: f64) -> Problem {
    let x: Vec<Vec<f64>> = (0..rows)
        .map(|i| {
            let entry = |j: usize| {
                let (i, j) = (i as f64, j as f64);
                (1.0 + 0.7 * i * (j + 1.0) + 0.3 * j).sin() * (1.0 + j % 3.0)
            };
            (0..columns).map(entry).collect()
        })
        .collect();
    let label = |i: usize| if (0.9 * i as f64).cos() + 0.5 * x[i][0] > 0.0 { 1.0 } else { -1.0 };
    let y: Vec<f64> = (0..rows).map(label).collect();
    Box::new(move |w, gradient| {
        let mut value = 0.5 * strength * w.iter().map(|w| w * w).sum::<f64>();
        gradient.iter_mut().zip(w).for_each(|(g, w)| *g = strength * w);
        for (x, y) in x.iter().zip(&y) {
            let margin = y * x.iter().zip(w).map(|(x, w)| x * w).sum::<f64>();
            value += ((-margin.abs()).exp().ln_1p() + (-margin).max(0.0)) / rows as f64;
            let slope = -y / (1.0 + margin.exp()) / rows as f64;
            gradient.iter_mut().zip(x).for_each(|(g, x)| *g += slope * x);
        }
        value
    })
}

fn tight() -> LbfgsSettings {
    LbfgsSettings::default().gradient_tolerance(1e-6).value_tolerance(0.0)
}

/// Evaluations are compared with SciPy's at the same tolerances: no more than a tenth above on any problem.
#[test]
fn as_few_evaluations_as_scipy() {
    let fixture = fixture("scipy_lbfgs");
    let valley: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { -1.2 } else { 1.0 }).collect();
    let problems: [(&str, Problem, Vec<f64>); 4] = [
        ("rosenbrock_100", Box::new(rosenbrock), valley),
        ("quadratic_1e4", quadratic(1e4, 100), vec![0.0; 100]),
        ("quadratic_1e6", quadratic(1e6, 100), vec![0.0; 100]),
        ("logistic", logistic(200, 20, 1e-3), vec![0.0; 20]),
    ];
    for (name, mut f, start) in problems {
        let reference = &fixture["problems"][name];
        let mut calls = 0;
        let minimum = tight()
            .minimize(
                |x, g| {
                    calls += 1;
                    f(x, g)
                },
                &start,
            )
            .expect("a run");
        let theirs = reference["evaluations"].as_u64().expect("a count") as usize;
        println!(
            "{name}: {} iterations, {} evaluations; SciPy {} and {theirs}",
            minimum.iterations, minimum.evaluations, reference["iterations"]
        );
        assert_eq!((minimum.reason, minimum.evaluations), (StopReason::GradientSmall, calls), "{name}");
        assert!(minimum.gradient_size <= 1e-6, "{name}");
        close(name, &minimum.x, &numbers(&reference["x"]), 1e-4);
        assert!(10 * minimum.evaluations <= 11 * theirs, "{name}: {} evaluations, SciPy {theirs}", minimum.evaluations);
    }
}

#[test]
fn gradients_become_as_small_as_rounding_allows() {
    let minimum = tight().gradient_tolerance(1e-12).minimize(logistic(200, 20, 1e-3), &[0.0; 20]).expect("a run");
    assert!(minimum.gradient_size < 1e-10, "{}: {:?}", minimum.gradient_size, minimum.reason);
    let minimum = tight().gradient_tolerance(1e-12).minimize(rosenbrock, &[-1.2, 1.0]).expect("a run");
    assert_eq!(minimum.reason, StopReason::GradientSmall);
    close("the valley's floor", &minimum.x, &[1.0, 1.0], TOL64);
}

#[test]
fn every_reason_for_stopping_is_named() {
    let run = |settings: LbfgsSettings| settings.minimize(rosenbrock, &[-1.2, 1.0]).expect("a run");
    let limited = run(tight().max_iterations(3));
    assert_eq!((limited.reason, limited.iterations, limited.converged()), (StopReason::IterationLimit, 3, false));
    let limited = run(tight().max_evaluations(5));
    assert_eq!((limited.reason, limited.evaluations), (StopReason::EvaluationLimit, 5));
    assert_eq!(run(LbfgsSettings::default().gradient_tolerance(0.0)).reason, StopReason::ValueStalled);
    let wrong_way = |x: &[f64], gradient: &mut [f64]| {
        gradient[0] = -2.0 * x[0];
        x[0] * x[0]
    };
    assert_eq!(tight().minimize(wrong_way, &[1.0]).expect("a run").reason, StopReason::NoProgress);
    let done = tight().minimize(rosenbrock, &[1.0, 1.0]).expect("a run");
    assert_eq!((done.reason, done.iterations, done.evaluations), (StopReason::GradientSmall, 0, 1));
}

#[test]
fn bad_starts_and_settings_are_errors() {
    let error = tight().minimize(|_, _| f64::NAN, &[1.0]).expect_err("not finite");
    assert!(error.is_data() && error.to_string().contains("begin elsewhere"), "{error}");
    let error = tight().curvature(1.5).minimize(rosenbrock, &[1.0, 2.0]).expect_err("out of range");
    assert!(error.to_string().contains("curvature is 1.5, but it must lie in (0, 1)"), "{error}");
    let several = tight().minimize_tensor(|x| x.square(), &Tensor::from([1.0, 2.0])).expect_err("two elements");
    assert!(several.to_string().contains("one element"), "{several}");
    assert!(tight().minimize_tensor(|x| x.sum(), &Tensor::from([1.0f32])).is_err());
}

#[test]
fn a_barrier_is_not_crossed() {
    // x - ln x has its minimum at 1 and no value at or below 0.
    let f = |x: &[f64], gradient: &mut [f64]| {
        gradient[0] = 1.0 - 1.0 / x[0];
        x[0] - x[0].ln()
    };
    let minimum = tight().initial_step(100.0).minimize(f, &[5.0]).expect("a run");
    assert!((minimum.x[0] - 1.0).abs() < 1e-5, "{minimum:?}");
}

fn valley(parameters: &[&mut Tensor]) -> tove_tensor::Result<f64> {
    let (x, y) = (&*parameters[0], &*parameters[1]);
    let loss = ((1.0 - x).square() + (y - x.square()).square() * 100.0).sum();
    loss.backward();
    Ok(loss.to_f64_vec()[0])
}

#[test]
fn the_optimiser_trains_leaves_and_goes_on_from_its_state() {
    let leaf = |value: f64| Tensor::from([value]).requires_grad();
    let (mut x, mut y) = (leaf(-1.2), leaf(1.0));
    let mut lbfgs = Lbfgs::build(tight().max_iterations(5).gradient_tolerance(1e-9)).expect("right settings");
    for _ in 0..3 {
        lbfgs.step_with(&mut [&mut x, &mut y], &mut valley).expect("a step");
    }
    let (mut x2, mut y2) = (x.requires_grad(), y.requires_grad());
    let mut again = Lbfgs::default();
    again.load_state(&lbfgs.state()).expect("its own state");
    for _ in 0..20 {
        lbfgs.step_with(&mut [&mut x, &mut y], &mut valley).expect("a step");
        again.step_with(&mut [&mut x2, &mut y2], &mut valley).expect("a step");
        assert_eq!((x.item::<f64>(), y.item::<f64>()), (x2.item::<f64>(), y2.item::<f64>()));
    }
    close("minimum", &[x.item::<f64>(), y.item::<f64>()], &[1.0, 1.0], 1e-8);
    assert_eq!(lbfgs.reason(), Some(StopReason::GradientSmall));
    assert!(lbfgs.step(&mut [&mut x]).expect_err("no loss").to_string().contains("step_with"));
}

#[test]
fn an_error_in_the_loss_leaves_the_best_point() {
    let mut x = Tensor::from([3.0f32, -2.0]).requires_grad();
    let mut calls = 0;
    let result = Lbfgs::default().step_with(&mut [&mut x], &mut |parameters| {
        calls += 1;
        let loss = parameters[0].square().sum();
        loss.backward();
        if calls == 2 {
            Err(tove_tensor::Error::Data { op: "loss", problem: "lost".into() })
        } else {
            Ok(f64::from(loss.item::<f32>()))
        }
    });
    assert!(result.is_err());
    assert_eq!(x.detach().to_vec::<f32>(), [3.0, -2.0]);
}
