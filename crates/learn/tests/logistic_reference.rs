//! Logistic and softmax regression against scikit-learn and statsmodels, and on hard data.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FitWeighted, assert_close, data, fixture, numbers, standardised};
use serde_json::Value;
use tove_learn::{
    Algorithm, ClassWeight, Csr, Fit, FittedLogisticRegression, LearnError, LogisticRegression, Model, Penalty,
    Predict, Rows, Samples, Solver,
};
use tove_tensor::io::read_npz;
use tove_tensor::{DType, Tensor};

fn exact() -> LogisticRegression {
    LogisticRegression::default().tol(1e-11).max_iter(2000)
}

fn compare(model: &FittedLogisticRegression, x: impl Into<Rows>, expected: &Value, tolerance: f64) {
    let x = x.into();
    let first = x.take(&(0..20).collect::<Vec<_>>()).unwrap();
    assert_close(&model.predict_proba(first).unwrap().to_f64_vec(), &numbers(&expected["proba"]), tolerance);
    assert_close(&model.coef().to_f64_vec(), &numbers(&expected["coef"]), 10.0 * tolerance);
    assert_close(&model.intercept().to_f64_vec(), &centred(&numbers(&expected["intercept"])), 10.0 * tolerance);
    let (found, wanted) = (model.summary().objective.unwrap(), expected["objective"].as_f64().unwrap());
    assert!(found <= wanted + 1e-9, "objective {found} above {wanted}");
}

/// Intercepts of a softmax are known up to a common shift; tove's and newton-cg's sum to 0.
fn centred(intercepts: &[f64]) -> Vec<f64> {
    let mean = if intercepts.len() > 1 { intercepts.iter().sum::<f64>() / intercepts.len() as f64 } else { 0.0 };
    intercepts.iter().map(|b| b - mean).collect()
}

#[test]
fn small_sets_agree_with_scikit_learn_for_every_solver() {
    let expected = fixture("logistic.json");
    for name in ["iris", "wine", "breast_cancer"] {
        let (x, y) = data(name);
        let x = standardised(&x);
        for solver in [Solver::Auto, Solver::Newton, Solver::Lbfgs] {
            let model = exact().solver(solver).fit(&x, &y).unwrap();
            compare(&model, &x, &expected[name], 1e-7);
            let weights = Tensor::from((0..y.numel()).map(|i| 1.0 + (i % 3) as f64).collect::<Vec<_>>());
            let model = exact().solver(solver).c(0.5).fit_weighted(&x, &y, &weights).unwrap();
            compare(&model, &x, &expected[format!("{name}_weighted")], 1e-7);
            let model = exact().solver(solver).class_weight(ClassWeight::Balanced).fit(&x, &y).unwrap();
            compare(&model, &x, &expected[format!("{name}_balanced")], 1e-7);
            let model = exact().solver(solver).fit_intercept(false).fit(&x, &y).unwrap();
            compare(&model, &x, &expected[format!("{name}_bare")], 1e-7);
        }
    }
}

#[test]
fn lasso_and_elastic_net_penalties_agree_and_their_zeros_are_zeros() {
    let expected = fixture("logistic.json");
    for name in ["iris", "wine", "breast_cancer"] {
        let (x, y) = data(name);
        let x = standardised(&x);
        for solver in [Solver::Newton, Solver::Lbfgs] {
            let tol = if solver == Solver::Newton { 1e-10 } else { 1e-7 };
            let settings = exact().solver(solver).c(0.3).tol(tol);
            let lasso = settings.clone().penalty(Penalty::L1).fit(&x, &y).unwrap();
            assert!(lasso.summary().converged, "{name} {solver:?} {:?}", lasso.summary());
            compare(&lasso, &x, &expected[format!("{name}_l1")], 1e-4);
            let wanted = numbers(&expected[format!("{name}_l1")]["coef"]);
            let zeros = |values: &[f64]| values.iter().filter(|&&w| w == 0.0).count();
            let (found, wanted) = (zeros(&lasso.coef().to_f64_vec()), zeros(&wanted));
            assert!(found > 0 && found.abs_diff(wanted) <= 1, "{name} {solver:?}: {found} zeros, {wanted} wanted");
            let elastic = settings.penalty(Penalty::Elasticnet).l1_ratio(0.5).fit(&x, &y).unwrap();
            compare(&elastic, &x, &expected[format!("{name}_elastic")], 1e-4);
        }
    }
}

#[test]
fn tables_with_texts_agree_dense_sparse_and_single() {
    let expected = fixture("logistic.json");
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/logistic.npz");
    let arrays = read_npz(path).unwrap();
    for name in ["german", "adult"] {
        let get = |part: &str| arrays.iter().find(|(key, _)| *key == format!("{name}_{part}")).unwrap().1.clone();
        let (single, y) = (get("x"), get("y"));
        let x = single.to_dtype(DType::F64);
        let csr = Csr::from_dense(&x).unwrap();
        let wanted = &expected[name];
        for solver in [Solver::Newton, Solver::Lbfgs] {
            compare(&exact().tol(1e-9).solver(solver).fit(&x, &y).unwrap(), &x, wanted, 1e-5);
            compare(&exact().tol(1e-9).solver(solver).fit(&csr, &y).unwrap(), &csr, wanted, 1e-5);
        }
        let plain = LogisticRegression::default().fit(&x, &y).unwrap();
        let (found, theirs) = (plain.summary().objective.unwrap(), wanted["default_objective"].as_f64().unwrap());
        println!("{name}: default objective {found:.9}, scikit-learn's {theirs:.9}");
        assert!(found <= theirs + 1e-6);
        let model = LogisticRegression::default().tol(1e-5).fit(&single, &y).unwrap();
        let p = model.predict_proba(&single).unwrap().to_f64_vec();
        assert_close(&p[..40], &numbers(&wanted["proba"]), 1e-2);
        let lasso = exact().penalty(Penalty::L1).c(0.1).tol(1e-8).fit(&x, &y).unwrap();
        let (found, theirs) =
            (lasso.summary().objective.unwrap(), expected[format!("{name}_l1")]["objective"].as_f64());
        println!("{name}: l1 objective {found:.9}, scikit-learn's {:.9}", theirs.unwrap());
        assert!(found <= theirs.unwrap() + 1e-9, "{found} {theirs:?}");
    }
}

#[test]
fn wide_sparse_rows_agree() {
    let wanted = &fixture("logistic.json")["sparse"];
    let list = |name: &str| numbers(&wanted[name]);
    let csr = Csr::new(
        list("indptr").iter().map(|&i| i as usize).collect(),
        list("indices").iter().map(|&i| i as u32).collect(),
        Tensor::from(list("values")),
        2000,
    )
    .unwrap();
    let y = Tensor::from(list("y").iter().map(|&y| y as i64).collect::<Vec<_>>());
    let model = exact().tol(1e-9).fit(&csr, &y).unwrap();
    assert!(
        model.summary().converged
            && model.summary().objective.unwrap() <= wanted["objective"].as_f64().unwrap() + 1e-12
    );
    let first = csr.take(&(0..20).collect::<Vec<_>>()).unwrap();
    assert_close(&model.predict_proba(&first).unwrap().to_f64_vec(), &list("proba"), 1e-6);
    let dense = exact().tol(1e-9).fit(csr.to_dense().unwrap(), &y).unwrap();
    assert_close(&dense.coef().to_f64_vec(), &model.coef().to_f64_vec(), 1e-6);
    let lasso = LogisticRegression::default().penalty(Penalty::L1).max_iter(1000).fit(&csr, &y).unwrap();
    assert!(lasso.summary().converged);
    let zeros = lasso.coef().to_f64_vec().iter().filter(|&&w| w == 0.0).count();
    assert!(zeros > 3000, "{zeros} zeros of 6000");
}

#[test]
fn without_a_penalty_statsmodels_is_met() {
    let expected = fixture("logistic.json");
    let (x, y) = data("iris");
    let (two, labels) = (x.narrow(1, 0, 2).contiguous(), y.to_vec::<i64>());
    let upper: Vec<i64> = (50..150).collect();
    let overlap = two.index_select(0, &Tensor::from(upper.clone()));
    let classes = Tensor::from(upper.iter().map(|&i| labels[i as usize] - 1).collect::<Vec<_>>());
    for solver in [Solver::Newton, Solver::Lbfgs] {
        let model = exact().penalty(Penalty::None).solver(solver).fit(&overlap, &classes).unwrap();
        let mut found = model.intercept().to_f64_vec();
        found.extend(model.coef().to_f64_vec());
        assert_close(&found, &numbers(&expected["logit"]["parameters"]), 1e-7);
        let nll = model.summary().objective.unwrap() * 100.0;
        assert!((nll - expected["logit"]["nll"].as_f64().unwrap()).abs() < 1e-7);
        assert!(model.summary().warnings.is_empty(), "{:?}", model.summary().warnings);
    }
    // Setosa is separable from the others: the likelihood has no maximum, tove comes at least as low and says why.
    let model = exact().penalty(Penalty::None).max_iter(100).fit(&two, &y).unwrap();
    assert!(model.summary().objective.unwrap() * 150.0 <= expected["mnlogit"]["nll"].as_f64().unwrap() + 1e-4);
    assert!(model.summary().warnings.iter().any(|text| text.contains("separa")), "{:?}", model.summary());
}

#[test]
fn badly_scaled_columns_reach_a_lower_objective_than_lbfgs() {
    let expected = fixture("logistic.json");
    for name in ["wine", "breast_cancer"] {
        let (x, y) = data(name);
        let theirs = expected[format!("{name}_raw")]["objective"].as_f64().unwrap();
        for solver in [Solver::Auto, Solver::Lbfgs] {
            let model = LogisticRegression::default().solver(solver).fit(&x, &y).unwrap();
            let found = model.summary().objective.unwrap();
            println!("{name} raw, {solver:?}: {found:.6} after {}, lbfgs {theirs:.6}", model.summary().iterations);
            assert!(model.summary().converged && found < theirs);
        }
        // Columns of 1e8 and 1e-8 times their size, and constant ones.
        let (n, d) = (x.dims()[0], x.dims()[1]);
        let scale = Tensor::from((0..d).map(|i| if i % 2 == 0 { 1e8 } else { 1e-6 }).collect::<Vec<_>>());
        let hard = Tensor::concat(&[&(&standardised(&x) * &scale), &Tensor::full([n, 2], 7.0, DType::F64)], 1);
        for solver in [Solver::Newton, Solver::Lbfgs] {
            let model = LogisticRegression::default().solver(solver).max_iter(1000).fit(&hard, &y).unwrap();
            assert!(model.coef().to_f64_vec().iter().all(|w| w.is_finite()));
            assert!(model.score(&hard, &y).unwrap().value > 0.9, "{solver:?} {:?}", model.summary());
        }
    }
}

#[test]
fn one_class_and_a_limit_of_iterations_are_told() {
    let (x, y) = data("iris");
    let one = LogisticRegression::default().fit(&x, &y.zeros_like());
    assert!(matches!(one, Err(LearnError::OneClass { class: 0, samples: 150, .. })));
    let short = LogisticRegression::default().max_iter(2).tol(1e-12).fit(&x, &y).unwrap();
    assert!(!short.summary().converged && short.summary().warnings[0].contains("not converged after 2 iterations"));
}

#[test]
fn large_problems_have_the_same_bits_for_any_number_of_threads_and_both_newtons_agree() {
    let n = 3000;
    let x = tove_tensor::Key::new(1).normal([n, 200], DType::F64);
    let y = Tensor::from((0..n).map(|i| (i * 7919 / 13 % 9) as i64).collect::<Vec<_>>());
    let fit = |solver, threads| {
        tove_tensor::set_num_threads(threads);
        LogisticRegression::default().solver(solver).tol(1e-8).fit(&x, &y).unwrap()
    };
    let before = tove_tensor::num_threads();
    let first = fit(Solver::Lbfgs, 1);
    for threads in [2, 3, 8] {
        assert_eq!(fit(Solver::Lbfgs, threads).coef().to_vec::<f64>(), first.coef().to_vec::<f64>());
    }
    let products = fit(Solver::Newton, 2); // 1809 parameters: by products with the Hessian
    tove_tensor::set_num_threads(before);
    assert!(products.summary().converged && products.summary().iterations < 12);
    assert_close(&products.coef().to_f64_vec(), &first.coef().to_f64_vec(), 1e-6);
    let one = x.narrow(0, 17, 1).contiguous();
    let all = first.decision_function(&x).unwrap().to_f64_vec();
    assert_eq!(first.decision_function(&one).unwrap().to_f64_vec(), all[17 * 9..18 * 9]);
}

/// Features of this magnitude whose two or three classes a line separates.
fn large(scale: f64, classes: i64, dtype: DType) -> (Tensor, Tensor) {
    let rows: Vec<[f64; 2]> = (0..60).map(|i| [f64::from(i % 20) - 9.5, f64::from(i * 7 % 11) - 5.0]).collect();
    let class = |row: &[f64; 2]| if classes == 2 { i64::from(row[0] > 0.0) } else { ((row[0] + 9.5) / 7.0) as i64 };
    let y = Tensor::from(rows.iter().map(class).collect::<Vec<i64>>());
    let x = Tensor::from_vec(rows.iter().flatten().map(|x| x / 10.0 * scale).collect::<Vec<f64>>(), [60, 2]);
    (x.to_dtype(dtype), y)
}

#[test]
fn features_whose_squares_overflow_end_in_an_answer_or_a_typed_error_for_every_solver() {
    tove_learn::on_warning(|_| {});
    let doubles = [1e100, 1e150, 1e153, 1e154, 1e155, 1e200, 1e300, 1.7e308].map(|scale| (scale, DType::F64));
    let singles = [1e15, 1e18, 1e19, 1e20, 1e30, 1e37, 3.4e38].map(|scale| (scale, DType::F32));
    let (mut answers, mut refusals, mut problems) = (0, 0, Vec::new());
    for (scale, dtype) in doubles.into_iter().chain(singles) {
        for classes in [2, 3] {
            let (x, y) = large(scale, classes, dtype);
            for solver in [Solver::Auto, Solver::Newton, Solver::Lbfgs, Solver::Saga] {
                for penalty in [Penalty::None, Penalty::L2, Penalty::L1, Penalty::Elasticnet] {
                    let what = format!("{scale:e} {dtype} {classes} classes {solver:?} {penalty:?}");
                    let settings = LogisticRegression::default().solver(solver).penalty(penalty).l1_ratio(0.5);
                    // Without the checks before a fit, which refuse such features at once.
                    match settings.train(&Samples::new(&x, &y).unwrap()) {
                        Err(LearnError::Data { problem, .. }) if problem.contains("overflow") => refusals += 1,
                        Err(error) => problems.push(format!("{what}: {error}")),
                        Ok(model) => {
                            answers += 1;
                            let p = model.predict_proba(&x).unwrap().to_f64_vec();
                            if !p.iter().chain(&model.coef().to_f64_vec()).all(|value| value.is_finite()) {
                                problems.push(format!("{what}: not finite"));
                            }
                            // A fit that calls itself converged has learned classes that a line separates. (In single
                            // precision the loss may be level to rounding before that.)
                            let right = model.predict(&x).unwrap().to_vec::<i64>() == y.to_vec::<i64>();
                            let exact = dtype == DType::F64 && solver != Solver::Saga;
                            if exact && model.summary().converged && !right {
                                problems.push(format!("{what}: converged to a wrong answer"));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert!(answers > 0 && refusals > 0, "{answers} answers, {refusals} refusals");
}
