//! Gaussian mixtures beside scikit-learn's, and what expectation and maximization promise.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, fixture, matrix, numbers};
use tove_learn::cluster::KMeans;
use tove_learn::mixture::{CovarianceType, FittedGaussianMixture, GaussianMixture, MixtureInit};
use tove_learn::{Fit, LearnError, Model, Predict, Stop, restore};
use tove_optim::settings::Choice;
use tove_tensor::{DType, Key, Tensor};

fn rows(value: &serde_json::Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(numbers).collect()
}

/// Two overlapping groups of different shapes in the plane.
fn groups(n: usize) -> Tensor {
    let noise = Key::new(31).normal([n, 2], DType::F64).to_f64_vec();
    let row = |(i, z): (usize, &[f64])| match i % 3 {
        0 => [2.0 + 0.5 * z[0], 1.0 + 1.2 * z[1] + 0.3 * z[0]],
        _ => [z[0], -1.0 + 0.4 * z[1] - 0.5 * z[0]],
    };
    Tensor::from_vec(noise.chunks(2).enumerate().flat_map(row).collect::<Vec<f64>>(), [n, 2])
}

fn fitted(kind: CovarianceType) -> FittedGaussianMixture {
    let all = fixture("mixtures.json");
    let settings = GaussianMixture::default().n_components(3).covariance_type(kind).tol(1e-10).max_iter(2000);
    settings.means_init(Some(rows(&all["start"]))).fit(matrix(&all["x"]), None).unwrap()
}

/// Densities integrate to 1 and are those of scikit-learn, by log-sum-exp.
#[test]
fn l10_densities_of_gaussian_mixtures() {
    let all = fixture("mixtures.json");
    let x = matrix(&all["x"]);
    for case in all["mixtures"].as_array().unwrap() {
        let kind = CovarianceType::from_name(case["kind"].as_str().unwrap()).unwrap();
        // The very parameters of scikit-learn: the density is compared, not the fit.
        let settings = GaussianMixture::default().n_components(3).covariance_type(kind);
        let shape = fitted(kind).covariances().unwrap().dims().to_vec();
        let model = FittedGaussianMixture::from_parameters(
            &settings,
            &Tensor::from_slice(&numbers(&case["weights"])),
            &matrix(&case["means"]),
            &Tensor::from_vec(numbers(&case["covariances"]), shape),
        )
        .unwrap();
        assert_close(&model.score_samples(&x).unwrap().to_f64_vec(), &numbers(&case["score_samples"]), 1e-8);
        assert_close(&model.predict_proba(&x).unwrap().to_f64_vec(), &numbers(&case["proba"]), 1e-8);
        assert_close(&[model.bic(&x).unwrap()], &[case["bic"].as_f64().unwrap()], 1e-8);
        assert_close(&[model.aic(&x).unwrap()], &[case["aic"].as_f64().unwrap()], 1e-8);
        // So far away that all densities are 0 as doubles: logarithms are finite, and shares sum to 1.
        let far = Tensor::full([1, 4], 1e4, DType::F64);
        assert!(model.score_samples(&far).unwrap().item::<f64>() < -1e6);
        assert!((model.predict_proba(&far).unwrap().sum().item::<f64>() - 1.0).abs() < 1e-9);
    }
    // A sum over a fine grid around two groups in the plane.
    let x = groups(200);
    for &kind in CovarianceType::ALL {
        let model = GaussianMixture::default().n_components(2).covariance_type(kind).fit(&x, None).unwrap();
        let (steps, low, width) = (400, -12.0, 24.0 / 400.0);
        let grid: Vec<f64> = (0..steps * steps)
            .flat_map(|i| [low + width * (0.5 + (i / steps) as f64), low + width * (0.5 + (i % steps) as f64)])
            .collect();
        let logs = model.score_samples(Tensor::from_vec(grid, [steps * steps, 2])).unwrap().to_f64_vec();
        let whole: f64 = logs.iter().map(|log| log.exp() * width * width).sum();
        assert!((whole - 1.0).abs() < 1e-6, "{kind:?}: {whole}");
    }
}

/// The log-likelihood never falls, the bound is tight after the expectation step, scikit-learn's result from the same start, k-means
/// as variances go to 0, and a floor against collapse.
#[test]
fn l11_expectation_and_maximization() {
    let all = fixture("mixtures.json");
    let x = matrix(&all["x"]);
    for case in all["mixtures"].as_array().unwrap() {
        let kind = CovarianceType::from_name(case["kind"].as_str().unwrap()).unwrap();
        let model = fitted(kind);
        assert_close(model.weights(), &numbers(&case["weights"]), 1e-5);
        assert_close(&model.means().unwrap().to_f64_vec(), &numbers(&case["means"]), 1e-5);
        assert_close(&model.covariances().unwrap().to_f64_vec(), &numbers(&case["covariances"]), 1e-5);
        assert_close(&[model.lower_bound()], &[case["lower_bound"].as_f64().unwrap()], 1e-5);
        let curve = &model.summary().curve;
        assert!(curve.len() > 3 && model.summary().converged && model.summary().stop == Some(Stop::Tolerance));
        // The floor is added after each maximization, so that the smallest steps may fall by as much.
        let exact = GaussianMixture::default().n_components(3).covariance_type(kind).tol(1e-9).reg_covar(0.0);
        let exact = exact.means_init(Some(rows(&all["start"]))).max_iter(500).fit(&x, None).unwrap();
        let curve = &exact.summary().curve;
        assert!(curve.len() > 3 && curve.windows(2).all(|two| two[1] >= two[0] - 1e-12), "{curve:?}");
    }
    // ln p(x) = Σ q ln (π N / q) for the shares q of the expectation step, and less for any other shares.
    let plane = groups(100);
    let model = GaussianMixture::default().n_components(2).fit(&plane, None).unwrap();
    let (shares, logs) =
        (model.predict_proba(&plane).unwrap().to_f64_vec(), model.score_samples(&plane).unwrap().to_f64_vec());
    let joint = joint(&model, &plane.to_f64_vec());
    let bound = |q: &[f64], joint: &[f64]| q.iter().zip(joint).map(|(q, joint)| q * (joint - q.ln())).sum::<f64>();
    for ((q, joint), log) in shares.chunks(2).zip(joint.chunks(2)).zip(logs) {
        assert!((bound(q, joint) - log).abs() < 1e-9);
        assert!(bound(&[0.37, 0.63], joint) < log + 1e-12);
    }
    // Equal weights and one small variance: shares are 0 or 1, means are those of k-means, step by step.
    let settings = GaussianMixture::default().n_components(3).covariance_type(CovarianceType::Spherical);
    let mut means = matrix(&all["start"]);
    for step in 1..=12 {
        let (weights, variances) = (Tensor::full([3], 1.0 / 3.0, DType::F64), Tensor::full([3], 1e-7, DType::F64));
        let model = FittedGaussianMixture::from_parameters(&settings, &weights, &means, &variances).unwrap();
        let q = model.predict_proba(&x).unwrap();
        assert!(q.to_f64_vec().iter().all(|&q| !(1e-9..=1.0 - 1e-9).contains(&q)));
        means = q.t().matmul(&x) / q.sum_axes(&[0], false).reshape([3, 1]);
        let hard = KMeans::default().n_clusters(3).tol(0.0).max_iter(step);
        let hard = tove_learn::quietly(|| hard.initial_centers(Some(rows(&all["start"]))).fit(&x, None)).unwrap();
        assert_close(&means.to_f64_vec(), &hard.cluster_centers().to_f64_vec(), 1e-10);
    }
    // Three copies of a point far away draw a component onto them.
    let copies = Tensor::concat(&[&plane, &Tensor::full([3, 2], 50.0, DType::F64)], 0);
    let start = Some(vec![vec![0.0, 0.0], vec![50.0, 50.0]]);
    for &kind in CovarianceType::ALL {
        let settings = GaussianMixture::default().n_components(2).covariance_type(kind).means_init(start.clone());
        let held = settings.clone().reg_covar(1e-4).fit(&copies, None).unwrap();
        let covariances = held.covariances().unwrap().to_f64_vec();
        // The variances of the component on the copies are the floor; a tied covariance is that of all rows.
        let floor: &[usize] = match kind {
            CovarianceType::Full => &[4, 7],
            CovarianceType::Diag => &[2, 3],
            CovarianceType::Spherical => &[1],
            CovarianceType::Tied => &[],
        };
        assert!(floor.iter().all(|&at| (covariances[at] - 1e-4).abs() < 1e-8), "{kind:?}: {covariances:?}");
        assert!(held.score_samples(&copies).unwrap().to_f64_vec().iter().all(|log| log.is_finite()));
        let free = settings.reg_covar(0.0).fit(&copies, None);
        if kind != CovarianceType::Tied {
            let error = free.unwrap_err();
            assert!(matches!(error, LearnError::Data { .. }) && error.to_string().contains("reg_covar"), "{error}");
        }
    }
}

/// ln π + ln N(x | μ, Σ) by the formula, for two full components in the plane.
fn joint(model: &FittedGaussianMixture, x: &[f64]) -> Vec<f64> {
    let (means, covariances) = (model.means().unwrap().to_f64_vec(), model.covariances().unwrap().to_f64_vec());
    let mut all = Vec::new();
    for row in x.chunks(2) {
        for k in 0..2 {
            let (c, gap) = (&covariances[4 * k..4 * k + 4], [row[0] - means[2 * k], row[1] - means[2 * k + 1]]);
            let determinant = c[0] * c[3] - c[1] * c[2];
            let square = (c[3] * gap[0] * gap[0] - 2.0 * c[1] * gap[0] * gap[1] + c[0] * gap[1] * gap[1]) / determinant;
            all.push(model.weights()[k].ln() - std::f64::consts::TAU.ln() - 0.5 * determinant.ln() - 0.5 * square);
        }
    }
    all
}

#[test]
fn samples_of_a_mixture_have_its_moments() {
    for &kind in CovarianceType::ALL {
        let model = GaussianMixture::default().n_components(2).covariance_type(kind).fit(groups(300), None).unwrap();
        let (x, labels) = model.sample(40_000, 5).unwrap();
        let share = labels.to_vec::<i64>().iter().filter(|&&label| label == 0).count() as f64 / 40_000.0;
        assert!((share - model.weights()[0]).abs() < 0.01);
        let again = GaussianMixture::default().n_components(2).covariance_type(kind).tol(1e-7);
        let again = again.means_init(Some(rows(&serde_json::json!([
            model.means().unwrap().get(0).to_f64_vec(),
            model.means().unwrap().get(1).to_f64_vec()
        ]))));
        let again = again.max_iter(500).fit(&x, None).unwrap();
        assert_close(&again.means().unwrap().to_f64_vec(), &model.means().unwrap().to_f64_vec(), 0.05);
        assert_close(&again.covariances().unwrap().to_f64_vec(), &model.covariances().unwrap().to_f64_vec(), 0.05);
        assert_eq!(model.sample(10, 5).unwrap().0.to_f64_vec(), x.narrow(0, 0, 10).to_f64_vec()[..].to_vec());
    }
    assert!(fitted(CovarianceType::Full).sample(0, 1).is_err());
}

#[test]
fn all_starts_lead_somewhere_and_odd_data_are_refused() {
    let x = groups(150);
    for &init in MixtureInit::ALL {
        let model =
            GaussianMixture::default().n_components(2).init_params(init).n_init(5).max_iter(500).fit(&x, None).unwrap();
        assert!(
            model.bic(&x).unwrap() < GaussianMixture::default().fit(&x, None).unwrap().bic(&x).unwrap(),
            "{init:?}"
        );
        let back = restore(&model.record()).unwrap();
        assert_eq!(back.predict_proba(&x).unwrap().to_f64_vec(), model.predict_proba(&x).unwrap().to_f64_vec());
    }
    let many = GaussianMixture::default().n_components(4).fit(x.narrow(0, 0, 3), None).unwrap_err();
    assert!(matches!(many, LearnError::TooFew { .. }), "{many}");
    assert!(GaussianMixture::default().fit(x.narrow(0, 0, 1), None).is_err());
    let same = Tensor::ones([10, 2], DType::F64);
    assert!(GaussianMixture::default().fit(&same, None).unwrap().score_samples(&same).is_ok());
    let singular = GaussianMixture::default().reg_covar(0.0).fit(&same, None).unwrap_err();
    assert!(singular.to_string().contains("singular"), "{singular}");
    assert!(GaussianMixture::default().n_components(2).means_init(Some(vec![vec![0.0]])).fit(&x, None).is_err());
    let settings = GaussianMixture::default().n_components(1);
    let (one, zero) = (Tensor::ones([1], DType::F64), Tensor::zeros([1, 2], DType::F64));
    let negative = Tensor::from([[[1.0, 0.0], [0.0, -1.0]]]);
    assert!(FittedGaussianMixture::from_parameters(&settings, &one, &zero, &negative).is_err());
    let far =
        GaussianMixture::default().fit(&x, None).unwrap().score_samples(Tensor::from([[1e200, 0.0]])).unwrap_err();
    assert!(far.to_string().contains("row 0"), "{far}");
}
