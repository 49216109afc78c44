//! The ways that are taken for large or wide tables: the same answers as the plain ways, and the same bits for any number of
//! threads.
#![allow(clippy::unwrap_used)]

mod common;

use common::FitWeighted;
use tove_learn::linear::{ElasticNet, Lasso, Precompute, Ridge, RidgeSolver};
use tove_learn::logistic::Solver;
use tove_learn::{Csr, Fit, LogisticRegression, Model, Penalty, RobustScaler, StandardScaler, Transform};
use tove_tensor::pool::set_num_threads;
use tove_tensor::{DType, Key, Tensor};

fn normal(seed: u64, shape: &[usize]) -> Tensor {
    Key::new(seed).normal(shape, DType::F64)
}

/// The largest difference, relative to the largest entry.
fn gap(a: &[f64], b: &[f64]) -> f64 {
    let most = b.iter().fold(0.0f64, |most, b| most.max(b.abs()));
    a.iter().zip(b).fold(0.0f64, |gap, (a, b)| gap.max((a - b).abs())) / most
}

/// Runs the same work on one and on three threads.
fn on_any_threads(work: impl Fn() -> Vec<f64>) -> Vec<f64> {
    set_num_threads(1);
    let one = work();
    set_num_threads(3);
    let three = work();
    set_num_threads(0);
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
    assert_eq!(bits(&one), bits(&three), "the result depends on the number of threads");
    one
}

#[test]
fn ridge_in_mixed_precision_is_ridge_in_double_precision() {
    let (n, d) = (1000, 420);
    let w = normal(1, &[d]);
    let x = &normal(2, &[n, d]) * &(normal(3, &[d]).exp() * 10.0) + &(normal(4, &[d]) * 100.0);
    let y = x.matmul(&w) + &normal(5, &[n]);
    let both = Tensor::concat(&[&y.reshape([n, 1]), &(&y * &y).reshape([n, 1])], 1);
    let weights = Key::new(6).uniform([n], DType::F64) + 0.1;
    let parts = |model: &tove_learn::linear::FittedRidge| {
        model.coef().to_f64_vec().into_iter().chain(model.intercept().to_f64_vec()).collect::<Vec<f64>>()
    };
    let check = |x: &Tensor, y: &Tensor, weights: Option<&Tensor>, settings: &Ridge, tolerance: f64| {
        let fit = |solver| {
            let settings = settings.clone().solver(solver);
            match weights {
                Some(weights) => parts(&settings.fit_weighted(x, y, weights).unwrap()),
                None => parts(&settings.fit(x, y).unwrap()),
            }
        };
        let mixed = on_any_threads(|| fit(RidgeSolver::Auto));
        let far = gap(&mixed, &fit(RidgeSolver::Cholesky));
        assert!(far < tolerance, "{far:e}");
    };
    check(&x, &y, None, &Ridge::default(), 1e-10);
    check(&x, &y, Some(&weights), &Ridge::default().alpha(10.0), 1e-10);
    check(&x, &both, None, &Ridge::default().fit_intercept(false), 1e-10);
    let single = x.to_dtype(DType::F32);
    check(&single, &y.to_dtype(DType::F32), None, &Ridge::default(), 1e-6);
    // Near-dependent columns, where single precision cannot help: the answer is that of double precision all the same.
    let twins = Tensor::concat(&[&x, &(&x.narrow(1, 0, 20) + &(normal(7, &[n, 20]) * 1e-5))], 1);
    check(&twins, &y, None, &Ridge::default().alpha(1e-6), 1e-6);
    // A column of one value has the coefficient 0.
    let constant = Tensor::concat(&[&x, &Tensor::full([n, 1], 7.5, DType::F64)], 1);
    assert_eq!(Ridge::default().fit(&constant, &y).unwrap().coef().to_f64_vec()[d], 0.0);
}

#[test]
fn a_working_set_ends_where_rounds_over_all_columns_do() {
    let (n, d) = (60, 500);
    let x = &normal(11, &[n, d]) + &(normal(12, &[d]) * 3.0);
    let truth = Tensor::from((0..d).map(|j| if j % 100 == 0 { 2.0 } else { 0.0 }).collect::<Vec<f64>>());
    let y = x.matmul(&truth) + &normal(13, &[n]);
    let weights = Key::new(14).uniform([n], DType::F64) + 0.1;
    let cases = [
        ElasticNet::default().alpha(0.3).l1_ratio(1.0),
        ElasticNet::default().alpha(0.15).l1_ratio(1.0),
        ElasticNet::default().alpha(0.1).l1_ratio(0.5),
        ElasticNet::default().alpha(0.3).l1_ratio(1.0).positive(true),
        ElasticNet::default().alpha(0.3).l1_ratio(0.9).fit_intercept(false),
    ];
    for settings in cases {
        let settings = settings.tol(1e-10).max_iter(100_000);
        for weights in [None, Some(&weights)] {
            let fit = |precompute| {
                let settings = settings.clone().precompute(precompute);
                match weights {
                    Some(weights) => settings.fit_weighted(&x, &y, weights).unwrap(),
                    None => settings.fit(&x, &y).unwrap(),
                }
            };
            let all = fit(Precompute::Always);
            let own = on_any_threads(|| fit(Precompute::Never).coef().to_f64_vec());
            assert!(gap(&own, &all.coef().to_f64_vec()) < 1e-3, "{settings:?} {}", gap(&own, &all.coef().to_f64_vec()));
            let (found, wanted) = (fit(Precompute::Never), all.summary().objective.unwrap());
            assert!(found.summary().converged, "{settings:?}");
            let objective = found.summary().objective.unwrap();
            assert!((objective - wanted).abs() <= 1e-8 * wanted, "{settings:?}: {objective} for {wanted}");
        }
    }
    // A path, each penalty from the one before; and single precision.
    let path = |precompute| Lasso::default().precompute(precompute).tol(1e-10).path(&x, &y, 10, 0.1).unwrap();
    let (own, all) = (path(Precompute::Never), path(Precompute::Always));
    assert!(gap(&own.coefs.to_f64_vec(), &all.coefs.to_f64_vec()) < 1e-3);
    let single = Lasso::default().alpha(0.3).tol(1e-10).fit(x.to_dtype(DType::F32), &y.to_dtype(DType::F32)).unwrap();
    let double = Lasso::default().alpha(0.3).tol(1e-10).fit(&x, &y).unwrap();
    assert!(gap(&single.coef().to_f64_vec(), &double.coef().to_f64_vec()) < 1e-3);
    // Too few rounds are told.
    tove_learn::on_warning(|_| {});
    assert!(!Lasso::default().alpha(0.001).tol(1e-14).max_iter(2).fit(&x, &y).unwrap().summary().converged);
}

#[test]
fn scalers_learn_exactly_around_a_large_mean_and_skip_gaps() {
    let n = 20_000;
    let base = normal(21, &[n, 5]).to_f64_vec();
    // Means of 0, 1e9 and -1e-3; a constant; and a column whose first rows are far from the rest.
    let value = |i: usize, j: usize| match j {
        0 => base[5 * i],
        1 => 1e9 + base[5 * i + 1],
        2 => -1e-3 + 1e-6 * base[5 * i + 2],
        3 => 0.1,
        _ if i < 300 => 1e6,
        _ => base[5 * i + 4],
    };
    let table: Vec<f64> = (0..n * 5).map(|k| value(k / 5, k % 5)).collect();
    let x = Tensor::from_vec(table.clone(), [n, 5]);
    let scaler = StandardScaler::default().fit(&x, None).unwrap();
    for j in 0..5 {
        let column: Vec<f64> = (0..n).map(|i| table[5 * i + j]).collect();
        let mean = column.iter().map(|x| x - column[0]).sum::<f64>() / n as f64 + column[0];
        let var = column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64;
        assert!((scaler.mean()[j] - mean).abs() <= 1e-12 * var.sqrt() + 2e-16 * mean.abs(), "{j}");
        assert!((scaler.var()[j] - var).abs() <= 1e-10 * var, "{j}: {} {var}", scaler.var()[j]);
    }
    assert_eq!((scaler.var()[3], scaler.scale()[3]), (0.0, 1.0));
    let robust = RobustScaler::default().fit(&x, None).unwrap();
    on_any_threads(|| StandardScaler::default().fit(&x, None).unwrap().transform(&x).unwrap().to_f64_vec());
    on_any_threads(|| RobustScaler::default().fit(&x, None).unwrap().transform(&x).unwrap().to_f64_vec());

    // A gap in every column takes its row out of that column alone; weights count.
    let mut gaps = table.clone();
    (0..5).for_each(|j| gaps[5 * (7 + j) + j] = f64::NAN);
    let holed = StandardScaler::default().fit(Tensor::from_vec(gaps.clone(), [n, 5]), None).unwrap();
    for j in 0..3 {
        let kept: Vec<f64> = (0..n).filter(|&i| i != 7 + j).map(|i| table[5 * i + j]).collect();
        let mean = kept.iter().map(|x| x - kept[0]).sum::<f64>() / kept.len() as f64 + kept[0];
        assert!((holed.mean()[j] - mean).abs() <= 1e-12 * holed.scale()[j] + 2e-16 * mean.abs(), "{j}");
    }
    let mut infinite = table;
    infinite[5 * 1234 + 2] = f64::NEG_INFINITY;
    let infinite = Tensor::from_vec(infinite, [n, 5]);
    for problem in [
        StandardScaler::default().fit(&infinite, None).map(drop).unwrap_err().to_string(),
        RobustScaler::default().fit(&infinite, None).map(drop).unwrap_err().to_string(),
    ] {
        assert!(problem.contains("row 1234, column 2"), "{problem}");
    }
    // Medians and quartiles are those of sorted columns, bit for bit.
    for j in 0..5 {
        let mut column: Vec<f64> = (0..n).map(|i| value(i, j)).collect();
        column.sort_unstable_by(f64::total_cmp);
        let at = |share: f64| {
            let place = share * (n - 1) as f64;
            let below = place.floor() as usize;
            column[below] + (column[below + 1] - column[below]) * (place - below as f64)
        };
        assert_eq!(robust.centre()[j], at(0.5), "{j}");
        assert_eq!(robust.scale()[j], if j == 3 { 1.0 } else { at(0.75) - at(0.25) }, "{j}");
    }
}

#[test]
fn saga_over_sparse_rows_of_two_classes_ends_at_the_optimum() {
    let (n, d) = (400, 40);
    let dense =
        (normal(31, &[n, d]).to_f64_vec().iter()).map(|x| if x.abs() > 1.2 { *x } else { 0.0 }).collect::<Vec<f64>>();
    let x = Tensor::from_vec(dense, [n, d]);
    let noise = normal(32, &[n]);
    let score = x.matmul(&normal(33, &[d])) + &(noise * 2.0);
    let y = Tensor::from(score.to_f64_vec().iter().map(|s| i64::from(*s > 0.0)).collect::<Vec<i64>>());
    let sparse = Csr::from_dense(&x).unwrap();
    let weights = Key::new(34).uniform([n], DType::F64) + 0.5;
    // A strong penalty makes the scale of the weights fall fast, so that it has to be taken up again within a pass.
    for c in [1e-6, 0.02, 1.0] {
        let settings = LogisticRegression::default().penalty(Penalty::L2).c(c).tol(1e-10).max_iter(20_000);
        let newton = settings.clone().solver(Solver::Newton).fit_weighted(&sparse, &y, &weights).unwrap();
        let saga = settings.solver(Solver::Saga).fit_weighted(&sparse, &y, &weights).unwrap();
        assert!(saga.summary().converged);
        assert!(gap(&saga.coef().to_f64_vec(), &newton.coef().to_f64_vec()) < 1e-7, "c = {c}");
        let off = (saga.intercept().to_f64_vec()[0] - newton.intercept().to_f64_vec()[0]).abs();
        assert!(off < 1e-7, "c = {c}: {off}");
        // The curve has a value for each pass and one for the start, and falls.
        let curve = &saga.summary().curve;
        assert_eq!(curve.len(), saga.summary().iterations + 1);
        assert!(curve.last() < curve.first() && curve.iter().all(|value| value.is_finite()));
    }
}

#[test]
fn a_start_from_a_part_of_the_samples_leads_to_the_optimum_of_all() {
    let (n, d) = (24_000, 30);
    let x = &normal(41, &[n, d]) + &(normal(42, &[d]) * 2.0);
    let score = x.matmul(&(normal(43, &[d]) * 0.3)) + &(normal(44, &[n]) * 2.0);
    let y: Vec<i64> = score.to_f64_vec().iter().map(|s| i64::from(*s > 0.0)).collect();
    let weights = Key::new(45).uniform([n], DType::F64);
    // Samples in the order of their classes, too; and a class that the part does not have.
    let mut order: Vec<i64> = (0..n as i64).collect();
    order.sort_by_key(|&i| y[i as usize]);
    let sorted = x.index_select(0, &Tensor::from(order.clone()));
    let sorted_y: Vec<i64> = order.iter().map(|&i| y[i as usize]).collect();
    let rare: Vec<i64> = (0..n).map(|i| i64::from(i % 4000 == 1)).collect();
    for (x, y) in [(&x, y), (&sorted, sorted_y), (&x, rare)] {
        let y = Tensor::from(y);
        for penalty in [Penalty::L2, Penalty::None] {
            let settings = LogisticRegression::default().penalty(penalty).tol(1e-9).max_iter(1000);
            let newton = settings.clone().solver(Solver::Newton).fit_weighted(x, &y, &weights).unwrap();
            let lbfgs = settings.clone().solver(Solver::Lbfgs);
            let found = on_any_threads(|| lbfgs.fit_weighted(x, &y, &weights).unwrap().coef().to_f64_vec());
            assert!(gap(&found, &newton.coef().to_f64_vec()) < 1e-5, "{penalty:?}");
            // Few passes are left for all samples.
            let model = LogisticRegression::default().penalty(penalty).solver(Solver::Lbfgs).fit(x, &y).unwrap();
            assert!(model.summary().converged && model.summary().residual.unwrap() <= 1e-4);
        }
    }
}
