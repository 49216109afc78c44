//! Kernels and kernel ridge regression, beside scikit-learn.
#![allow(clippy::unwrap_used)]

mod common;

use common::{FitWeighted, assert_close, data, fixture, numbers, standardised};
use tove_learn::kernel::{is_psd, kernel_matrix, smallest_eigenvalue};
use tove_learn::{
    Fit, FittedKernelRidge, KernelFunction, KernelKind, KernelRidge, Model, Predict, Restore, Ridge, Samples,
};
use tove_tensor::{DType, Key, Tensor, num_threads, set_num_threads};

fn weights(n: usize) -> Tensor {
    Tensor::from_slice(&(0..n).map(|i| [1.0, 0.5, 2.0, 1.5, 3.0][i % 5]).collect::<Vec<f64>>())
}

fn functions() -> [(&'static str, KernelFunction); 4] {
    [
        ("linear", KernelFunction::Linear),
        ("poly", KernelFunction::Poly { gamma: 0.3, coef0: 1.0, degree: 3 }),
        ("rbf", KernelFunction::Rbf { gamma: 0.1 }),
        ("sigmoid", KernelFunction::Sigmoid { gamma: 0.1, coef0: -0.2 }),
    ]
}

#[test]
fn kernel_matrices_are_those_of_scikit_learn() {
    let all = fixture("margins.json");
    let x = standardised(&data("wine").0).narrow(0, 0, 12);
    for (name, function) in functions() {
        let expected = numbers(&all["kernels"][name]);
        assert_close(&kernel_matrix(&function, &x, &x).unwrap().to_f64_vec(), &expected, 1e-13);
        let single = kernel_matrix(&function, x.to_dtype(DType::F32), x.to_dtype(DType::F32)).unwrap();
        assert_eq!(single.dtype(), DType::F32);
        assert_close(&single.to_f64_vec(), &expected, 1e-6);
        // The definition, and a function of the user's own.
        let rows: Vec<Vec<f64>> = x.to_f64_vec().chunks(13).map(<[f64]>::to_vec).collect();
        let plain: Vec<f64> = rows.iter().flat_map(|x| rows.iter().map(|z| function.of(x, z))).collect();
        assert_close(&plain, &expected, 1e-13);
        let custom = KernelFunction::custom(move |x, z| function.of(x, z));
        assert_close(&kernel_matrix(&custom, &x, &x).unwrap().to_f64_vec(), &expected, 1e-13);
    }
}

#[test]
fn close_points_far_from_the_origin_keep_their_digits() {
    // Distances of 1e-3 at coordinates around 1e4: the squared norms alone have lost everything in f32, and most in f64.
    let offsets = Key::new(1).uniform([300, 5], DType::F64) * 1e-3;
    let x = &offsets + 1e4;
    let exact: Vec<f64> = {
        let rows = x.to_f64_vec();
        let square = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        rows.chunks(5)
            .flat_map(|a| rows.chunks(5).map(move |b| (a, b)))
            .map(|(a, b)| (-1e5 * square(a, b)).exp())
            .collect()
    };
    let k = kernel_matrix(&KernelFunction::Rbf { gamma: 1e5 }, &x, &x).unwrap();
    assert_close(&k.to_f64_vec(), &exact, 1e-9);
    // Two near-duplicates among spread points: their distance comes from the differences.
    let mut spread = (Key::new(2).normal([64, 8], DType::F64) * 100.0).to_f64_vec();
    for column in 0..8 {
        spread[8 + column] = spread[column] + 1e-4;
    }
    let spread = Tensor::from_vec(spread, [64, 8]);
    let k = kernel_matrix(&KernelFunction::Rbf { gamma: 1e7 }, &spread, &spread).unwrap();
    let exact = (-1e7 * 8e-8f64).exp();
    assert!((k.at::<f64>(&[0, 1]) - exact).abs() < 1e-8, "{} {exact}", k.at::<f64>(&[0, 1]));
    assert_eq!(k.at::<f64>(&[5, 5]), 1.0);
}

#[test]
fn kernel_ridge_is_that_of_scikit_learn() {
    let all = fixture("margins.json");
    let (x, y) = data("diabetes");
    let x = standardised(&x);
    let column = x.narrow(1, 2, 1);
    let both = Tensor::concat(&[&y.to_dtype(DType::F64).reshape([442, 1]), &(&column * &column)], 1);
    let head = x.narrow(0, 0, 40);
    for case in all["ridge"].as_array().unwrap() {
        let mut settings = KernelRidge::default().alpha(2.0).degree(2);
        settings = settings.gamma(case["gamma"].as_f64()).coef0(case["coef0"].as_f64().unwrap());
        settings.kernel = match case["kernel"].as_str().unwrap() {
            "linear" => KernelKind::Linear,
            "poly" => KernelKind::Poly,
            "rbf" => KernelKind::Rbf,
            _ => KernelKind::Sigmoid,
        };
        let target = if case["several"] == true { &both } else { &y };
        let model = match case["weighted"] == true {
            true => settings.fit_weighted(&x, target, &weights(442)),
            false => settings.fit(&x, target),
        };
        let model = model.unwrap();
        let predicted = model.predict(&head).unwrap();
        assert_eq!(predicted.rank(), target.rank());
        assert_close(&predicted.to_f64_vec(), &numbers(&case["predict"]), 1e-8);
        let dual = model.dual_coef().unwrap().narrow(0, 0, 40);
        assert_close(&dual.to_f64_vec(), &numbers(&case["dual"]), 1e-8);
    }
}

#[test]
fn a_custom_kernel_is_fitted_and_given_again_when_the_model_is_read() {
    let (x, y) = data("diabetes");
    let x = standardised(&x);
    let kernel = KernelFunction::custom(|x, z| (1.0 + x.iter().zip(z).map(|(x, z)| x * z).sum::<f64>()).powi(2));
    let settings = KernelRidge::default().alpha(3.0);
    let model = settings.fit_with(&kernel, &Samples::new(&x, &y).unwrap()).unwrap();
    let named = settings.kernel(KernelKind::Poly).degree(2).gamma(Some(1.0)).fit(&x, &y).unwrap();
    assert_close(&model.predict(&x).unwrap().to_f64_vec(), &named.predict(&x).unwrap().to_f64_vec(), 1e-9);
    let record = model.record();
    assert!(FittedKernelRidge::restore(&record).unwrap_err().to_string().contains("restore_with"));
    let back = FittedKernelRidge::restore_with(&record, Some(&kernel)).unwrap();
    assert_eq!(back.predict(&x).unwrap().to_f64_vec(), model.predict(&x).unwrap().to_f64_vec());
}

#[test]
fn a_singular_system_is_solved_and_said_so() {
    let x = Tensor::from([[1.0], [1.0], [2.0]]);
    let model = KernelRidge::default().alpha(0.0).fit(&x, &Tensor::from([1.0, 1.0, 2.0])).unwrap();
    assert_close(&model.predict(&x).unwrap().to_f64_vec(), &[1.0, 1.0, 2.0], 1e-7);
    assert!(!model.summary().warnings.is_empty());
}

#[test]
fn kernel_matrices_do_not_depend_on_the_number_of_threads() {
    let x = Key::new(5).normal([700, 33], DType::F32);
    let before = num_threads();
    let values: Vec<Vec<f32>> = [1, 2, 3, 8]
        .into_iter()
        .map(|threads| {
            set_num_threads(threads);
            kernel_matrix(&KernelFunction::Rbf { gamma: 0.02 }, &x, &x).unwrap().to_vec::<f32>()
        })
        .collect();
    set_num_threads(before);
    assert!(values.iter().all(|value| *value == values[0]));
}

/// F28: the linear kernel is ridge regression; scikit-learn's predictions; positive semidefinite matrices; the polynomial
/// kernel is an inner product of explicit features.
#[test]
fn f28_kernels_and_kernel_ridge() {
    let (x, y) = data("diabetes");
    let (x, y) = (standardised(&x), y.to_dtype(DType::F64));
    let lambda = 3.0;
    let model = KernelRidge::default().alpha(lambda).fit(&x, &y).unwrap();
    let alpha = model.dual_coef().unwrap();
    // w = Xᵀα solves (XᵀX + λI) w = Xᵀy.
    let w = x.t().matmul(&alpha);
    let primal = (x.t().matmul(&x) + Tensor::eye(10, DType::F64) * lambda).solve(&x.t().matmul(&y));
    assert_close(&w.to_f64_vec(), &primal.to_f64_vec(), 1e-8);
    assert_close(&model.predict(&x).unwrap().to_f64_vec(), &x.matmul(&primal).to_f64_vec(), 1e-8);
    let ridge = Ridge::default().alpha(lambda).fit_intercept(false).fit(&x, &y).unwrap();
    assert_close(&w.to_f64_vec(), &ridge.coef().to_f64_vec(), 1e-8);
    assert_close(&model.predict(&x).unwrap().to_f64_vec(), &ridge.predict(&x).unwrap().to_f64_vec(), 1e-8);
    // scikit-learn to 1e-6, for each kernel.
    let all = fixture("margins.json");
    let cases = all["ridge"].as_array().unwrap();
    for case in cases.iter().filter(|case| case["weighted"] == false && case["several"] == false) {
        let kind = ["linear", "poly", "rbf", "sigmoid"].iter().position(|name| case["kernel"] == *name).unwrap();
        let kind = [KernelKind::Linear, KernelKind::Poly, KernelKind::Rbf, KernelKind::Sigmoid][kind];
        let settings = KernelRidge::default().alpha(2.0).degree(2).kernel(kind).gamma(case["gamma"].as_f64());
        let model = settings.coef0(case["coef0"].as_f64().unwrap()).fit(&x, &y).unwrap();
        let predicted = model.predict(x.narrow(0, 0, 40)).unwrap();
        assert_close(&predicted.to_f64_vec(), &numbers(&case["predict"]), 1e-6);
    }
    // Positive semidefinite, where they must be; tanh need not be.
    for (name, function) in functions() {
        let part = x.narrow(0, 0, 120);
        let k = kernel_matrix(&function, &part, &part).unwrap();
        if name != "sigmoid" {
            assert!(smallest_eigenvalue(&k).unwrap() >= -1e-10 * k.abs().max().item::<f64>().max(1.0), "{name}");
            assert!(is_psd(&k, 1e-10).unwrap());
        } else {
            assert!(!is_psd(&k, 1e-10).unwrap());
        }
    }
    let small = kernel_matrix(&KernelFunction::Rbf { gamma: 0.1 }, &x, &x).unwrap();
    assert!(smallest_eigenvalue(&small).unwrap() >= -1e-10);
    // The bound itself, not relative to the entries, for the other kernels: on rows of length 1 no entry exceeds 1, so that
    // the rounding of eigenvalues, about n · 2e-16 · ‖K‖ ≤ 200 · 2e-16 · 200, stays below it.
    let part = x.narrow(0, 0, 200).contiguous();
    let unit = &part / (&part * &part).sum_axes(&[1], true).sqrt();
    for function in [KernelFunction::Linear, KernelFunction::Poly { gamma: 0.5, coef0: 0.5, degree: 3 }] {
        let k = kernel_matrix(&function, &unit, &unit).unwrap();
        assert!(k.abs().max().item::<f64>() <= 1.0 + 1e-12);
        assert!(smallest_eigenvalue(&k).unwrap() >= -1e-10, "{function:?}");
    }
    // (1 + x·z)² = φ(x)·φ(z) with φ = (1, √2 xᵢ, xᵢ², √2 xᵢxⱼ).
    let explicit: Vec<Vec<f64>> = x.to_f64_vec().chunks(10).map(degree_two).collect();
    let phi = Tensor::from_vec(explicit.concat(), [442, explicit[0].len()]);
    let k = kernel_matrix(&KernelFunction::Poly { gamma: 1.0, coef0: 1.0, degree: 2 }, &x, &x).unwrap();
    assert_close(&k.to_f64_vec(), &phi.matmul(&phi.t()).to_f64_vec(), 1e-12);
    let settings = KernelRidge::default().alpha(lambda);
    let implicit = settings.clone().kernel(KernelKind::Poly).degree(2).gamma(Some(1.0)).fit(&x, &y).unwrap();
    let linear = settings.fit(&phi, &y).unwrap();
    assert_close(&implicit.predict(&x).unwrap().to_f64_vec(), &linear.predict(&phi).unwrap().to_f64_vec(), 1e-8);
}

fn degree_two(x: &[f64]) -> Vec<f64> {
    let root = 2f64.sqrt();
    let mut phi = vec![1.0];
    for (i, &a) in x.iter().enumerate() {
        phi.extend([root * a, a * a]);
        phi.extend(x[i + 1..].iter().map(|&b| root * a * b));
    }
    phi
}
