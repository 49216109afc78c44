//! Principal components by all solvers, in pieces, of sparse rows; the best approximation of lower rank.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, fixture, matrix, numbers};
use tove_learn::decomposition::{IncrementalPca, Nmf, Pca, SvdSolver, TruncatedSvd, low_rank};
use tove_learn::{Csr, Fit, Learner, PartialFit, Samples, Transform};
use tove_tensor::{DType, Key, Tensor};

/// Rows with turned signs where that brings them nearer to the expected ones.
fn assert_same_directions(found: &Tensor, expected: &[f64], tolerance: f64) {
    let d = found.dims()[1];
    for (own, wanted) in found.to_f64_vec().chunks(d).zip(expected.chunks(d)) {
        let sign = own.iter().zip(wanted).map(|(a, b)| a * b).sum::<f64>().signum();
        assert_close(&own.iter().map(|x| sign * x).collect::<Vec<_>>(), wanted, tolerance);
    }
}

/// Components up to sign and variances of scikit-learn; scores are not correlated.
#[test]
fn l12_principal_components_by_singular_values() {
    let expected = &fixture("unsupervised.json")["pca"]["all"];
    let (x, _) = data("iris");
    let x = x.to_dtype(DType::F64);
    for solver in [SvdSolver::Auto, SvdSolver::Full, SvdSolver::CovarianceEigh, SvdSolver::Randomized] {
        let model = Pca::default().svd_solver(solver).fit(&x, None).unwrap();
        assert_same_directions(model.components(), &numbers(&expected["components"]), 1e-8);
        assert_close(&model.explained_variance().to_f64_vec(), &numbers(&expected["explained_variance"]), 1e-8);
        assert_close(&model.singular_values().to_f64_vec(), &numbers(&expected["singular_values"]), 1e-8);
        let scores = model.transform(&x).unwrap();
        let covariance = (scores.t().matmul(&scores) / 149.0).to_f64_vec();
        for (place, value) in covariance.iter().enumerate() {
            let wanted = if place % 5 == 0 { model.explained_variance().to_f64_vec()[place / 5] } else { 0.0 };
            assert!((value - wanted).abs() < 1e-10, "{place}: {value}");
        }
        let white = Pca::default().svd_solver(solver).whiten(true).fit(&x, None).unwrap().transform(&x).unwrap();
        let covariance = white.t().matmul(&white) / 149.0;
        assert_close(&covariance.to_f64_vec(), &Tensor::eye(4, DType::F64).to_f64_vec(), 1e-8);
        let back = model.inverse_transform(&scores).unwrap();
        assert!((&back - &x).abs().max().item::<f64>() < 1e-10);
    }
}

/// ‖X − X_K‖² = Σ sᵢ² over what is left out, and no other matrix of that rank is nearer.
#[test]
fn l13_best_approximation_of_lower_rank() {
    let x = Key::new(1).normal([30, 12], DType::F64).matmul(&Key::new(2).normal([12, 20], DType::F64));
    let square = |gap: &Tensor| (gap * gap).sum().item::<f64>();
    for k in [1, 3, 7, 11, 20] {
        let best = low_rank(&x, k).unwrap();
        let found = square(&(&x - best.matrix().unwrap()));
        assert!((found - best.error).abs() <= 1e-8 * square(&x), "{k}: {found} {}", best.error);
        assert_eq!(best.singular_values.len(), 20);
        for seed in 0..50 {
            // A random column space with the best coefficients for it, and small changes of the best matrix.
            let columns = Key::new(100 + seed).normal([30, k], DType::F64);
            let other = columns.matmul(&tove_tensor::linalg::lstsq(&columns, &x, None).unwrap().solution);
            assert!(square(&(&x - other)) >= best.error - 1e-8 * square(&x));
            let left = &best.left + Key::new(200 + seed).normal([30, k], DType::F64) * 0.01;
            assert!(square(&(&x - left.matmul(&best.right))) >= best.error - 1e-8 * square(&x));
        }
        // PCA of centered data leaves the same error.
        let centered = &x - x.mean_axes(&[0], true);
        let pca = Pca::default().n_components(k.into()).fit(&centered, None).unwrap();
        let back = pca.inverse_transform(pca.transform(&centered).unwrap()).unwrap();
        assert!(
            (square(&(&centered - back)) - low_rank(&centered, k).unwrap().error).abs() <= 1e-8 * square(&centered)
        );
    }
    assert!(low_rank(&x, 0).is_err() && low_rank(&x, 21).is_err() && low_rank(&(&x * f64::NAN), 2).is_err());
}

#[test]
fn truncated_singular_values_are_those_of_scikit_learn() {
    let expected = &fixture("mixtures.json")["svd"];
    let x = matrix(&expected["x"]);
    let sparse = Csr::from_dense(&x).unwrap();
    let settings = TruncatedSvd::default().n_components(5).n_iter(40);
    for model in [settings.fit(&x, None).unwrap(), settings.fit(&sparse, None).unwrap()] {
        assert_close(&model.singular_values().to_f64_vec(), &numbers(&expected["singular_values"]), 1e-8);
        assert_same_directions(model.components(), &numbers(&expected["components"]), 1e-4);
        assert_close(&model.explained_variance().to_f64_vec(), &numbers(&expected["explained_variance"]), 1e-6);
        let ratio = numbers(&expected["explained_variance_ratio"]);
        assert_close(&model.explained_variance_ratio().to_f64_vec(), &ratio, 1e-6);
        let (a, b) = (model.transform(&x).unwrap(), model.transform(&sparse).unwrap());
        assert_close(&a.to_f64_vec(), &b.to_f64_vec(), 1e-12);
    }
    assert!(TruncatedSvd::default().n_components(41).fit(&x, None).is_err());
}

#[test]
fn pieces_lead_to_the_components_of_scikit_learn() {
    let expected = &fixture("mixtures.json")["incremental"];
    let (x, _) = data("iris");
    let x = x.to_dtype(DType::F64);
    let mut learner = IncrementalPca::default().n_components(Some(3)).learner(&[]).unwrap();
    assert!(learner.model().is_err());
    for part in 0..3 {
        learner.learn(&Samples::unlabeled(x.narrow(0, part * 50, 50)).unwrap()).unwrap();
    }
    let model = learner.model().unwrap();
    assert_same_directions(model.components(), &numbers(&expected["components"]), 1e-8);
    for (found, name) in [
        (model.mean(), "mean"),
        (model.var(), "var"),
        (model.explained_variance(), "explained_variance"),
        (model.explained_variance_ratio(), "explained_variance_ratio"),
        (model.singular_values(), "singular_values"),
    ] {
        assert_close(&found.to_f64_vec(), &numbers(&expected[name]), 1e-8);
    }
    // What earlier pieces had along forgotten directions counts here, and not in scikit-learn.
    let whole: f64 = model.var().to_f64_vec().iter().sum::<f64>() * 150.0 / 149.0;
    let rest = whole - model.explained_variance().to_f64_vec().iter().sum::<f64>();
    assert!((model.noise_variance() - rest).abs() < 1e-12 && rest > expected["noise_variance"].as_f64().unwrap());
    // With all directions kept, pieces give what all data give.
    let all = IncrementalPca::default().batch_size(Some(7)).fit(&x, None).unwrap();
    let whole = Pca::default().fit(&x, None).unwrap();
    assert_close(&all.explained_variance().to_f64_vec(), &whole.explained_variance().to_f64_vec(), 1e-10);
    let mut short = IncrementalPca::default().n_components(Some(3)).learner(&[]).unwrap();
    assert!(short.learn(&Samples::unlabeled(x.narrow(0, 0, 2)).unwrap()).is_err());
    assert!(learner.learn(&Samples::unlabeled(x.narrow(1, 0, 2)).unwrap()).is_err());
}

/// Wide and tall matrices, where a randomized search replaces all singular values.
#[test]
fn a_random_subspace_finds_the_largest_directions() {
    let scales: Vec<f64> = (0..600).map(|i| 0.9f64.powi(i)).collect();
    let x = Key::new(3).normal([700, 600], DType::F64) * Tensor::from_slice(&scales);
    let random = Pca::default().n_components(5.into()).fit(&x, None).unwrap();
    let full = Pca::default().n_components(5.into()).svd_solver(SvdSolver::Full).fit(&x, None).unwrap();
    assert_close(&random.explained_variance().to_f64_vec(), &full.explained_variance().to_f64_vec(), 1e-8);
    assert_close(&random.explained_variance_ratio().to_f64_vec(), &full.explained_variance_ratio().to_f64_vec(), 1e-8);
    assert_close(&[random.noise_variance()], &[full.noise_variance()], 1e-8);
    let share = Pca::default().n_components(0.9.into()).svd_solver(SvdSolver::Randomized).fit(&x, None).unwrap_err();
    assert!(share.to_string().contains("svd_solver"), "{share}");
    // Single precision, far from 0: means and products keep their digits.
    let single = (&x + 100.0).to_dtype(DType::F32);
    let small = Pca::default().n_components(5.into()).svd_solver(SvdSolver::CovarianceEigh).fit(&single, None).unwrap();
    assert_close(&small.explained_variance().to_f64_vec(), &full.explained_variance().to_f64_vec(), 1e-4);
}

/// Parts without negative numbers: scikit-learn's error from its own start is reached, and rows are made of parts again.
#[test]
fn parts_without_negative_numbers() {
    let (w, h) = (Key::new(5).uniform([80, 4], DType::F64), Key::new(6).uniform([4, 30], DType::F64));
    let x = w.matmul(&h);
    let model = Nmf::default().n_components(4).tol(1e-8).max_iter(5000).fit(&x, None).unwrap();
    let norm = (&x * &x).sum().item::<f64>().sqrt();
    assert!(model.reconstruction_err() < 1e-3 * norm, "{}", model.reconstruction_err());
    let shares = model.transform(&x).unwrap();
    let nonnegative = |tensor: &Tensor| tensor.to_f64_vec().iter().all(|&value| value >= 0.0);
    assert!(nonnegative(&shares) && nonnegative(model.components()));
    assert!((model.inverse_transform(&shares).unwrap() - &x).abs().max().item::<f64>() < 1e-2);
    let expected = &fixture("mixtures.json")["nmf"];
    let counts = matrix(&fixture("mixtures.json")["svd"]["x"]);
    let found = Nmf::default().n_components(5).tol(1e-6).max_iter(5000).fit(&counts, None).unwrap();
    let wanted = expected["reconstruction_err"].as_f64().unwrap();
    assert!((found.reconstruction_err() - wanted).abs() < 5e-3 * wanted, "{} {wanted}", found.reconstruction_err());
    let negative = Nmf::default().fit(&(&x - 0.5), None).unwrap_err();
    assert!(negative.to_string().contains("is negative"), "{negative}");
    assert!(model.transform(&(&x - 5.0)).is_err() && Nmf::default().n_components(31).fit(&x, None).is_err());
    assert_eq!(Nmf::default().fit(Tensor::zeros([5, 4], DType::F64), None).unwrap().reconstruction_err(), 0.0);
}
