//! The forms of the soft margin and their duality.
#![allow(clippy::unwrap_used)]

mod common;

use common::{assert_close, data, standardised};
use tove_learn::svm::HingeLoss;
use tove_learn::{Fit, KernelKind, LinearSvc, Svc};
use tove_lessons::soft_margin as margin;
use tove_tensor::{DType, Key, Tensor};

/// Breast cancer, standardised, with labels ±1.
fn cancer() -> (Tensor, Tensor) {
    let (x, y) = data("breast_cancer");
    let signs: Vec<i64> = y.to_f64_vec().iter().map(|&label| if label == 1.0 { 1 } else { -1 }).collect();
    (standardised(&x), Tensor::from_slice(&signs))
}

/// Two clouds that a plane through the origin separates.
fn separable() -> (Tensor, Tensor) {
    let noise = Key::new(8).normal([40, 2], DType::F64).to_f64_vec();
    let row = |(i, noise): (usize, &[f64])| {
        let side = if i % 2 == 0 { 1.0 } else { -1.0 };
        [side * 4.0 + noise[0], side * 2.0 + noise[1]]
    };
    let rows = noise.chunks(2).enumerate().flat_map(row);
    let labels: Vec<i64> = (0..40).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect();
    (Tensor::from_vec(rows.collect::<Vec<f64>>(), [40, 2]), Tensor::from_slice(&labels))
}

fn margins(x: &Tensor, y: &Tensor, w: &[f64]) -> Vec<f64> {
    let f = x.matmul(&Tensor::from_slice(w)).to_f64_vec();
    f.iter().zip(y.to_f64_vec()).map(|(f, y)| f * y).collect()
}

/// F26: constrained and hinge form give the same w; that of scikit-learn's machines with C = 1/(λN), through our own ones,
/// which the fixtures tie to it; slacks are hinge values; λ → 0 gives the maximum margin.
#[test]
fn f26_hard_and_soft_margin() {
    let (x, y) = cancer();
    let n = y.numel() as f64;
    for lambda in [0.1, 0.01] {
        let direct = margin::constrained(&x, &y, lambda).unwrap();
        let dual = margin::dual(&x, &y, lambda, 1e-12).unwrap();
        assert_close(&direct.w, &dual.w, 1e-5);
        assert!((direct.objective - margin::hinge_objective(&x, &y, &dual.w, lambda).unwrap()).abs() < 1e-8);
        assert_close(&direct.slack, &margin::slacks(&x, &y, &direct.w).unwrap(), 1e-6);
        // The erratum: the constraint is on the product y wᵀx, not on a difference.
        let products = margins(&x, &y, &direct.w);
        assert!(products.iter().zip(&direct.slack).all(|(product, slack)| *product >= 1.0 - slack - 1e-9));
        let svc = LinearSvc::default().loss(HingeLoss::Hinge).fit_intercept(false).c(1.0 / (lambda * n));
        let linear = svc.tol(1e-8).max_iter(1_000_000).fit(&x, &y).unwrap();
        assert_close(&linear.coef().to_f64_vec(), &direct.w, 1e-5);
    }
    // scikit-learn's LinearSVC and SVC with C = 1/(λN), from the script.
    let all = common::fixture("margins.json");
    for case in all["textbook"].as_array().unwrap() {
        let lambda = case["lambda"].as_f64().unwrap();
        let direct = margin::constrained(&x, &y, lambda).unwrap();
        assert_close(&direct.w, &common::numbers(&case["linear_svc"]), 1e-3);
        let homogeneous = Tensor::concat(&[&x, &(&x * -1.0)], 0);
        let both = Tensor::from_slice(&[y.to_vec::<i64>(), y.to_vec::<i64>().iter().map(|y| -y).collect()].concat());
        // With each sample mirrored the optimal intercept is 0, so that SVC solves the form without one.
        let svc =
            Svc::default().kernel(KernelKind::Linear).c(0.5 / (lambda * n)).tol(1e-8).fit(&homogeneous, &both).unwrap();
        let w = svc.dual_coef().unwrap().matmul(&svc.support_vectors().to_dense().unwrap()).to_f64_vec();
        assert_close(&w, &common::numbers(&case["svc"]), 1e-3);
        assert_close(&w, &direct.w, 1e-3);
    }
    // The maximum margin, by looking in all directions of the plane.
    let (x, y) = separable();
    let hard = margin::hard(&x, &y).unwrap();
    let width = 1.0 / hard.iter().map(|w| w * w).sum::<f64>().sqrt();
    let by_angle = (0..200_000).map(|i| {
        let angle = i as f64 * std::f64::consts::TAU / 200_000.0;
        margins(&x, &y, &[angle.cos(), angle.sin()]).into_iter().fold(f64::INFINITY, f64::min)
    });
    let widest = by_angle.fold(f64::NEG_INFINITY, f64::max);
    assert!((width - widest).abs() < 1e-6 * widest, "{width} {widest}");
    let mut before = f64::INFINITY;
    for lambda in [1.0, 1e-1, 1e-2, 1e-3, 1e-5] {
        let soft = margin::constrained(&x, &y, lambda).unwrap().w;
        let away = common::error(&soft, &hard);
        assert!(away <= before + 1e-9);
        before = away;
    }
    assert!(before < 1e-5, "{before}");
    assert!(margins(&x, &y, &hard).iter().all(|margin| *margin > 1.0 - 1e-6));
}

/// F27: subgradients and dual ascent; a gap below 1e-4; α = 0 away from the margin; w from α.
#[test]
fn f27_training_and_duality() {
    let (x, y) = cancer();
    let (n, lambda) = (y.numel() as f64, 0.01);
    let ascent = margin::dual(&x, &y, lambda, 1e-8).unwrap();
    assert!(ascent.gap < 1e-4 && ascent.gap >= -1e-12, "{}", ascent.gap);
    assert!(ascent.alpha.iter().all(|alpha| (0.0..=1.0).contains(alpha)));
    // w = 1/(λN) Σ αyx.
    let signed: Vec<f64> = ascent.alpha.iter().zip(y.to_f64_vec()).map(|(alpha, y)| alpha * y / (lambda * n)).collect();
    let rebuilt = x.t().matmul(&Tensor::from_slice(&signed)).to_f64_vec();
    assert_close(&rebuilt, &ascent.w, 1e-12);
    // Support vectors are those on or inside the margin.
    let mut support = 0;
    for (margin, &alpha) in margins(&x, &y, &ascent.w).iter().zip(&ascent.alpha) {
        if *margin > 1.0 + 1e-4 {
            assert_eq!(alpha, 0.0);
        }
        if *margin < 1.0 - 1e-4 {
            assert_eq!(alpha, 1.0);
        }
        support += usize::from(alpha > 0.0);
    }
    assert!(support > 20 && support < 400, "{support}");
    // Any α bounds the optimum from below, any w from above.
    let direct = margin::constrained(&x, &y, lambda).unwrap();
    assert!(ascent.dual <= direct.objective + 1e-12 && direct.objective <= ascent.primal + 1e-9);
    assert_close(&direct.alpha, &ascent.alpha, 1e-3);
    // Stochastic subgradients come as close as was asked of the gap, and closer with more steps.
    let value = |steps| {
        let w = margin::subgradient(&x, &y, lambda, steps, Key::new(1)).unwrap();
        margin::hinge_objective(&x, &y, &w, lambda).unwrap()
    };
    let (early, late) = (value(5_000) - ascent.dual, value(10_000_000) - ascent.dual);
    assert!(late < early && late < 1e-4 && late > 0.0, "{early} {late}");
    let again = margin::subgradient(&x, &y, lambda, 5_000, Key::new(1)).unwrap();
    assert_eq!(again, margin::subgradient(&x, &y, lambda, 5_000, Key::new(1)).unwrap());
}

#[test]
fn wrong_labels_and_penalties_are_refused() {
    let (x, _) = separable();
    let error = margin::dual(&x, &Tensor::full([40], 2.0, DType::I64), 0.1, 1e-6).unwrap_err().to_string();
    assert!(error.contains("−1 or 1"), "{error}");
    let (x, y) = separable();
    assert!(margin::constrained(&x, &y, 0.0).unwrap_err().to_string().contains("positive"));
    let flipped = Tensor::from_slice(
        &y.to_vec::<i64>().iter().enumerate().map(|(i, y)| if i < 3 { -y } else { *y }).collect::<Vec<_>>(),
    );
    assert!(margin::hard(&x, &flipped).unwrap_err().to_string().contains("separates"));
}
