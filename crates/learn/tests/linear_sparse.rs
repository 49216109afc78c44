//! Lasso and elastic net, robust and Bayesian regressions against scikit-learn.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FitWeighted, assert_close, fixture, large, matrix, numbers};
use serde_json::Value;
use tove_learn::linear::{
    BayesianRidge, ElasticNet, HuberRegressor, Lasso, LinearRegression, Precompute, QuantileRegressor, Ridge,
};
use tove_learn::{Csr, Fit, Model, Predict};
use tove_tensor::{DType, Key, Tensor};

fn cases() -> Vec<(String, Tensor, Tensor, Value)> {
    let all = fixture("linear.json");
    let cases = all["cases"].as_object().unwrap();
    cases
        .iter()
        .map(|(name, case)| {
            let (x, y) = if name == "diabetes" {
                common::data("diabetes")
            } else {
                (matrix(&case["x"]), Tensor::from_slice(&numbers(&case["y"])))
            };
            (name.clone(), x, y, case.clone())
        })
        .collect()
}

/// (1/2n)‖y − Xw − b‖² + α ρ‖w‖₁ + (α/2)(1 − ρ)‖w‖².
fn objective(x: &Tensor, y: &Tensor, w: &[f64], b: f64, alpha: f64, ratio: f64) -> f64 {
    let residual = &(&x.matmul(&Tensor::from_slice(w)) + b) - y;
    let l1: f64 = w.iter().map(|w| w.abs()).sum();
    let l2: f64 = w.iter().map(|w| w * w).sum();
    0.5 * residual.square().mean().item::<f64>() + alpha * (ratio * l1 + 0.5 * (1.0 - ratio) * l2)
}

#[test]
fn lasso_and_elastic_net_like_scikit_learn_in_both_modes_dense_and_sparse() {
    for (name, x, y, case) in cases() {
        for (key, ratio, positive) in [("lasso", 1.0, false), ("positive", 1.0, true), ("elastic", 0.4, false)] {
            let Some(wanted) = case.get(key) else { continue };
            let alpha = wanted["alpha"].as_f64().unwrap();
            let (coef, intercept) = (numbers(&wanted["coef"]), numbers(&wanted["intercept"])[0]);
            let best = objective(&x, &y, &coef, intercept, alpha, ratio);
            for precompute in [Precompute::Always, Precompute::Never] {
                let net = ElasticNet::default().alpha(alpha).l1_ratio(ratio).positive(positive).precompute(precompute);
                let net = net.tol(1e-14).max_iter(1_000_000);
                for sparse in [false, true] {
                    let model =
                        if sparse { net.fit(Csr::from_dense(&x).unwrap(), &y) } else { net.fit(&x, &y) }.unwrap();
                    let found = model.coef().to_f64_vec();
                    let value = objective(&x, &y, &found, model.intercept().item::<f64>(), alpha, ratio);
                    println!(
                        "{name} {key} {precompute:?} {sparse}: {} rounds, {value} against {best}",
                        model.summary().iterations
                    );
                    assert!(value <= best * (1.0 + 1e-10) + 1e-12, "{name} {key}: {value} against {best}");
                    if name != "collinear" || key == "elastic" {
                        assert_close(&found, &coef, 1e-6);
                    }
                    assert!(!positive || found.iter().all(|&w| w >= 0.0));
                    let reported = model.summary().objective.unwrap();
                    assert!((reported - value).abs() <= 1e-9 * (1.0 + value), "{reported} against {value}");
                }
            }
        }
    }
}

/// With the default stopping rule the objective lies within the gap of the minimum.
#[test]
fn the_default_tolerance_bounds_the_distance_from_the_minimum() {
    let (x, y) = common::data("diabetes");
    for alpha in [0.01, 0.1, 1.0] {
        let model = Lasso::default().alpha(alpha).fit(&x, &y).unwrap();
        let exact = Lasso::default().alpha(alpha).tol(1e-14).max_iter(1_000_000).fit(&x, &y).unwrap();
        let gap = model.summary().residual.unwrap();
        let distance = model.summary().objective.unwrap() - exact.summary().objective.unwrap();
        assert!(model.summary().converged && (-1e-12..=gap * (1.0 + 1e-9)).contains(&distance), "{distance} {gap}");
        let spread = y.var_axes(&[0], 0, false).item::<f64>();
        assert!(gap <= 1e-4 * spread);
    }
    let early = Lasso::default().alpha(0.001).max_iter(2).tol(1e-12).fit(&x, &y).unwrap();
    assert!(!early.summary().converged && early.summary().warnings[0].contains("max_iter"));
}

#[test]
fn paths_like_scikit_learn() {
    let (x, y) = common::data("diabetes");
    let wanted = &fixture("linear.json")["path"];
    for precompute in [Precompute::Always, Precompute::Never] {
        let lasso = Lasso::default().tol(1e-12).max_iter(100_000).precompute(precompute);
        let path = lasso.path(&x, &y, 30, 1e-3).unwrap();
        assert_close(&path.alphas, &numbers(&wanted["alphas"]), 1e-12);
        assert_close(&path.coefs.to_f64_vec(), &numbers(&wanted["coefs"]), 1e-5);
        let limit = 1e-12 * y.square().sum().item::<f64>();
        assert!(path.gaps.iter().all(|&gap| gap <= limit));
        let net = ElasticNet::default().l1_ratio(0.5).tol(1e-12).max_iter(100_000).precompute(precompute);
        let path = net.path(&x, &y, 10, 1e-2).unwrap();
        assert_close(&path.alphas, &numbers(&wanted["enet_alphas"]), 1e-12);
        assert_close(&path.coefs.to_f64_vec(), &numbers(&wanted["enet_coefs"]), 1e-5);
    }
    assert!(Lasso::default().path(&x, &y, 0, 0.5).is_err());
}

#[test]
fn weighted_models_like_scikit_learn() {
    let all = fixture("linear.json");
    let x = matrix(&all["cases"]["plain"]["x"]);
    let y = Tensor::from_slice(&numbers(&all["cases"]["plain"]["y"]));
    let case = &all["weighted"];
    let w = Tensor::from_slice(&numbers(&case["weights"]));
    for precompute in [Precompute::Always, Precompute::Never] {
        let net = ElasticNet::default().alpha(0.1).l1_ratio(0.7).tol(1e-14).max_iter(100_000).precompute(precompute);
        assert_close(
            &net.fit_weighted(&x, &y, &w).unwrap().coef().to_f64_vec(),
            &numbers(&case["elastic"]["coef"]),
            1e-7,
        );
    }
    let bayes = BayesianRidge::default().tol(1e-10).max_iter(3000).fit_weighted(&x, &y, &w).unwrap();
    assert_close(&bayes.coef().to_f64_vec(), &numbers(&case["bayes"]["coef"]), 1e-8);
    assert_close(
        &[bayes.alpha(), bayes.lambda()],
        &[case["bayes"]["alpha"].as_f64().unwrap(), case["bayes"]["lambda"].as_f64().unwrap()],
        1e-7,
    );
    let huber = HuberRegressor::default().alpha(0.1).tol(1e-9).max_iter(1000).fit_weighted(&x, &y, &w).unwrap();
    assert_close(&huber.coef().to_f64_vec(), &numbers(&case["huber"]["coef"]), 1e-5);
    assert_close(&[huber.scale()], &numbers(&case["huber"]["scale"]), 1e-5);
    let quantile = QuantileRegressor::default().alpha(0.01).quantile(0.3).fit_weighted(&x, &y, &w).unwrap();
    assert_close(&quantile.coef().to_f64_vec(), &numbers(&case["quantile"]["coef"]), 1e-6);
}

/// Σσ + H((y − Xw − b)/σ)σ + α‖w‖² as scikit-learn has it.
fn huber_objective(x: &Tensor, y: &Tensor, w: &[f64], b: f64, sigma: f64) -> f64 {
    let predicted = (&x.matmul(&Tensor::from_slice(w)) + b).to_f64_vec();
    let one = |(p, y): (&f64, &f64)| {
        let z = ((y - p) / sigma).abs();
        sigma + sigma * if z <= 1.35 { z * z } else { 2.0 * 1.35 * z - 1.35 * 1.35 }
    };
    predicted.iter().zip(&y.to_f64_vec()).map(one).sum::<f64>() + 1e-4 * w.iter().map(|w| w * w).sum::<f64>()
}

#[test]
fn huber_like_scikit_learn() {
    for (name, x, y, case) in cases() {
        let Some(wanted) = case.get("huber") else { continue };
        let z = common::standardised(&x);
        let mut broken = y.to_f64_vec();
        broken.iter_mut().step_by(9).for_each(|y| *y += 300.0);
        let broken = Tensor::from_slice(&broken);
        let model = HuberRegressor::default().tol(1e-8).max_iter(1000).fit(&z, &broken).unwrap();
        let (coef, scale) = (numbers(&wanted["coef"]), wanted["scale"].as_f64().unwrap());
        let theirs = huber_objective(&z, &broken, &coef, numbers(&wanted["intercept"])[0], scale);
        let found = model.coef().to_f64_vec();
        let mine = huber_objective(&z, &broken, &found, model.intercept().item::<f64>(), model.scale());
        println!("{name}: {mine} against {theirs} in {} iterations", model.summary().iterations);
        assert!(mine <= theirs * (1.0 + 1e-10), "{mine} against {theirs}");
        assert!((model.summary().objective.unwrap() - mine).abs() < 1e-8 * mine);
        assert_close(&found, &coef, 1e-3);
        assert_close(&[model.scale()], &[scale], 1e-3);
        assert_eq!(model.outliers().len(), wanted["outliers"].as_u64().unwrap() as usize);
    }
}

fn pinball(x: &Tensor, y: &Tensor, w: &[f64], b: f64, q: f64, alpha: f64) -> f64 {
    let predicted = (&x.matmul(&Tensor::from_slice(w)) + b).to_f64_vec();
    let y = y.to_f64_vec();
    let one = |(p, y): (&f64, &f64)| if y >= p { q * (y - p) } else { (1.0 - q) * (p - y) };
    predicted.iter().zip(&y).map(one).sum::<f64>() / y.len() as f64 + alpha * w.iter().map(|w| w.abs()).sum::<f64>()
}

#[test]
fn quantiles_like_scikit_learns_simplex() {
    for (name, x, y, case) in cases() {
        let Some(wanted) = case.get("quantile") else { continue };
        for entry in wanted.as_array().unwrap() {
            let (q, alpha) = (entry["quantile"].as_f64().unwrap(), entry["alpha"].as_f64().unwrap());
            let model = QuantileRegressor::default().quantile(q).alpha(alpha).fit(&x, &y).unwrap();
            let (coef, intercept) = (numbers(&entry["coef"]), numbers(&entry["intercept"])[0]);
            let found = model.coef().to_f64_vec();
            let (mine, theirs) = (
                pinball(&x, &y, &found, model.intercept().item::<f64>(), q, alpha),
                pinball(&x, &y, &coef, intercept, q, alpha),
            );
            println!(
                "{name} {q} {alpha}: {mine} against {theirs}, {} steps, gap {:e}",
                model.summary().iterations,
                model.summary().residual.unwrap()
            );
            assert!(mine <= theirs * (1.0 + 1e-8), "{mine} against {theirs}");
            assert!((model.summary().objective.unwrap() - mine).abs() <= 1e-8 * (1.0 + mine));
            assert_close(&found, &coef, 1e-6);
            assert!(model.summary().converged);
        }
    }
}

#[test]
fn bayesian_ridge_like_scikit_learn() {
    for (name, x, y, case) in cases() {
        let Some(wanted) = case.get("bayes") else { continue };
        let model = BayesianRidge::default().tol(1e-10).max_iter(3000).fit(&x, &y).unwrap();
        let value = |key: &str| wanted[key].as_f64().unwrap();
        println!("{name}: α {} λ {} after {}", model.alpha(), model.lambda(), model.summary().iterations);
        assert_close(&[model.alpha() / value("alpha"), model.lambda() / value("lambda")], &[1.0, 1.0], 1e-6);
        assert_close(&model.coef().to_f64_vec(), &numbers(&wanted["coef"]), 1e-7);
        assert_close(&model.sigma().to_f64_vec(), &numbers(&wanted["sigma"]), 1e-6);
        assert_close(&[model.log_evidence()], &[value("score")], 1e-6);
        let (mean, std) = model.predict_with_std(x.narrow(0, 0, 5)).unwrap();
        assert_close(&mean.to_f64_vec(), &numbers(&wanted["mean"]), 1e-7);
        assert_close(&std.to_f64_vec(), &numbers(&wanted["std"]), 1e-7);
        let default = BayesianRidge::default().fit(&x, &y).unwrap();
        let wanted = &case["bayes_default"];
        assert_eq!(default.summary().iterations as u64, wanted["iterations"].as_u64().unwrap(), "{name}");
        assert_close(&default.coef().to_f64_vec(), &numbers(&wanted["coef"]), 1e-8);
    }
}

/// With fixed precisions the posterior is the conjugate closed form, and its mean the ridge with α = λ/α.
#[test]
fn fixed_precisions_give_the_conjugate_posterior() {
    let (x, y) = (Key::new(5).normal([20, 3], DType::F64), Key::new(6).normal([20], DType::F64));
    let bayes =
        BayesianRidge::default().evidence(false).alpha_init(Some(4.0)).lambda_init(Some(0.5)).fit_intercept(false);
    let model = bayes.fit(&x, &y).unwrap();
    let precision = &(&x.t().matmul(&x) * 4.0) + &(&Tensor::eye(3, DType::F64) * 0.5);
    let covariance = precision.inverse();
    let mean = covariance.matmul(&x.t().matmul(&y)) * 4.0;
    assert_close(&model.sigma().to_f64_vec(), &covariance.to_f64_vec(), 1e-12);
    assert_close(&model.coef().to_f64_vec(), &mean.to_f64_vec(), 1e-12);
    let ridge = Ridge::default().alpha(0.125).fit_intercept(false).fit(&x, &y).unwrap();
    assert_close(&ridge.coef().to_f64_vec(), &mean.to_f64_vec(), 1e-12);
    let at = Tensor::from([[1.0, -2.0, 0.5]]);
    let variance = at.matmul(&covariance).matmul(&at.t()).item::<f64>() + 0.25;
    let (_, std) = model.predict_with_std(&at).unwrap();
    assert_close(&std.to_f64_vec(), &[variance.sqrt()], 1e-12);
}

#[test]
fn wide_sparse_lasso_is_not_centred_in_memory_and_agrees_with_dense() {
    let (n, d) = (80usize, 400usize);
    let x = Key::new(7).normal([n, d], DType::F64).to_f64_vec();
    let x: Vec<f64> = x.iter().map(|&x| if x > 1.3 { x } else { 0.0 }).collect();
    let x = Tensor::from_vec(x, [n, d]);
    let y = &(&x.narrow(1, 0, 1).reshape([n]) * 2.0) + &(&Key::new(8).normal([n], DType::F64) * 0.1);
    let lasso = Lasso::default().alpha(0.02).tol(1e-12).max_iter(100_000);
    let dense = lasso.fit(&x, &y).unwrap();
    let sparse = lasso.fit(Csr::from_dense(&x).unwrap(), &y).unwrap();
    assert_close(&sparse.coef().to_f64_vec(), &dense.coef().to_f64_vec(), 1e-6);
    let zeros = dense.coef().to_f64_vec().iter().filter(|&&w| w == 0.0).count();
    assert!(zeros > d / 2, "{zeros}");
}

#[test]
fn california_housing_like_scikit_learn() {
    let Some(folder) = large("california-housing") else { return };
    let (x, y) = common::table(&folder.join("california_housing.csv"));
    let wanted = &fixture("linear.json")["california"];
    let lasso = Lasso::default().alpha(0.01).tol(1e-12).max_iter(100_000).fit(&x, &y).unwrap();
    assert_close(&lasso.coef().to_f64_vec(), &numbers(&wanted["lasso"]["coef"]), 1e-6);
    let bayes = BayesianRidge::default().tol(1e-10).fit(&x, &y).unwrap();
    assert_close(&bayes.coef().to_f64_vec(), &numbers(&wanted["bayes"]["coef"]), 1e-8);
    let plain = LinearRegression::default().fit(&x, &y).unwrap();
    let r2 = plain.score(&x, &y).unwrap().value;
    assert!((r2 - 0.6062).abs() < 1e-3, "{r2}");
}
