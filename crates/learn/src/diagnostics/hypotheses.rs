//! Hypothesis tests. Each returns the statistic and its p-value.
//!
//! ```
//! use tove_learn::diagnostics::hypotheses::{chi_square_tail, kolmogorov_smirnov, ljung_box};
//! let (d, p) = kolmogorov_smirnov(&[0.1, 0.4, 0.7], &[0.2, 0.5, 0.6]);
//! assert!((d - 1.0 / 3.0).abs() < 1e-15 && p > 0.9);
//! assert!((chi_square_tail(3.841458820694124, 1.0) - 0.05).abs() < 1e-12);
//! let wave: Vec<f64> = (0..100).map(|i| f64::from(i / 10 % 2)).collect();
//! assert!(ljung_box(&wave, 5).1 < 1e-6);
//! ```

use tove_tensor::Tensor;

/// Kolmogorov-Smirnov test that two samples have the same distribution: D = sup |F₁ − F₂| of the empirical
/// distributions, and its p-value by Kolmogorov's limit 2 Σ (−1)ʲ⁻¹ exp(−2j²λ²) at λ = (√m + 0.12 + 0.11/√m) D with m =
/// n₁n₂/(n₁ + n₂) (Stephens 1970). Ties make the test conservative.
pub fn kolmogorov_smirnov(a: &[f64], b: &[f64]) -> (f64, f64) {
    let sorted = |values: &[f64]| {
        let mut values: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (a, b) = (sorted(a), sorted(b));
    if a.is_empty() || b.is_empty() {
        return (0.0, 1.0);
    }
    let (mut i, mut j, mut largest) = (0, 0, 0.0f64);
    while i < a.len() && j < b.len() {
        let value = a[i].min(b[j]);
        while i < a.len() && a[i] <= value {
            i += 1;
        }
        while j < b.len() && b[j] <= value {
            j += 1;
        }
        largest = largest.max((i as f64 / a.len() as f64 - j as f64 / b.len() as f64).abs());
    }
    let root = (a.len() as f64 * b.len() as f64 / (a.len() + b.len()) as f64).sqrt();
    (largest, kolmogorov_tail((root + 0.12 + 0.11 / root) * largest))
}

/// P(K ≥ λ) for Kolmogorov's distribution.
pub fn kolmogorov_tail(lambda: f64) -> f64 {
    if lambda < 1e-8 {
        return 1.0;
    }
    if lambda < 1.18 {
        // The dual form of the theta function converges fast here: 1 − √(2π)/λ Σ exp(−(2j−1)²π²/(8λ²)).
        let q = (-std::f64::consts::PI.powi(2) / (8.0 * lambda * lambda)).exp();
        let sum = q + q.powi(9) + q.powi(25) + q.powi(49);
        return 1.0 - (2.0 * std::f64::consts::PI).sqrt() / lambda * sum;
    }
    let term = |j: f64| (-2.0 * j * j * lambda * lambda).exp();
    (2.0 * (term(1.0) - term(2.0) + term(3.0) - term(4.0))).clamp(0.0, 1.0)
}

/// P(X ≥ x) for a χ²-distributed X.
pub fn chi_square_tail(x: f64, freedom: f64) -> f64 {
    if x <= 0.0 || freedom <= 0.0 {
        return 1.0;
    }
    upper_gamma(freedom / 2.0, x / 2.0)
}

/// Γ(a, x)/Γ(a): by the series of its complement for small x, otherwise by its continued fraction (Lentz).
fn upper_gamma(a: f64, x: f64) -> f64 {
    let front = (a * x.ln() - x - Tensor::scalar(a).lgamma().item::<f64>()).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        for _ in 0..10_000 {
            n += 1.0;
            term *= x / n;
            sum += term;
            if term < sum * 1e-17 {
                break;
            }
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    const TINY: f64 = 1e-300;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut h = d;
    for i in 1..10_000 {
        let step = -(i as f64) * (i as f64 - a);
        b += 2.0;
        let guard = |value: f64| if value.abs() < TINY { TINY } else { value };
        d = 1.0 / guard(step * d + b);
        c = guard(b + step / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    (front * h).clamp(0.0, 1.0)
}

/// Ljung-Box test for autocorrelation: Q = n(n + 2) Σₖ ρₖ²/(n − k) over `lags` autocorrelations ρₖ, compared with χ²
/// with as many degrees of freedom (Ljung and Box 1978). A constant series gives (0, 1).
pub fn ljung_box(series: &[f64], lags: usize) -> (f64, f64) {
    let n = series.len();
    let lags = lags.min(n.saturating_sub(1));
    let mean = series.iter().sum::<f64>() / n as f64;
    let off: Vec<f64> = series.iter().map(|value| value - mean).collect();
    let spread: f64 = off.iter().map(|x| x * x).sum();
    let size = series.iter().fold(0.0f64, |size, value| size.max(value.abs()));
    if lags == 0 || spread <= (1e-14 * size).powi(2) * n as f64 {
        return (0.0, 1.0);
    }
    let term = |k: usize| {
        let rho = off[k..].iter().zip(&off).map(|(a, b)| a * b).sum::<f64>() / spread;
        rho * rho / (n - k) as f64
    };
    let q = n as f64 * (n as f64 + 2.0) * (1..=lags).map(term).sum::<f64>();
    (q, chi_square_tail(q, lags as f64))
}

/// χ² test that two samples have the same category proportions: Σ (observed − expected)²/expected over the contingency
/// table, with categories − 1 degrees of freedom.
pub fn chi_square_shares(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (total_a, total_b): (f64, f64) = (a.iter().sum(), b.iter().sum());
    let total = total_a + total_b;
    let (mut statistic, mut kinds) = (0.0, 0.0);
    for (&a, &b) in a.iter().zip(b).filter(|(a, b)| **a + **b > 0.0) {
        let (expected_a, expected_b) = ((a + b) * total_a / total, (a + b) * total_b / total);
        statistic += (a - expected_a).powi(2) / expected_a + (b - expected_b).powi(2) / expected_b;
        kinds += 1.0;
    }
    if kinds < 2.0 || total_a == 0.0 || total_b == 0.0 {
        return (0.0, 1.0);
    }
    (statistic, chi_square_tail(statistic, kinds - 1.0))
}
