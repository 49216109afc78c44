//! Student's t distribution: tail probabilities by the incomplete beta function, quantiles by bisection.
//!
//! P(|T| ≥ t) = I_x(ν/2, ½) with x = ν/(ν + t²).

use tove_tensor::Tensor;

/// P(|T| ≥ |t|) for a t-distributed T.
///
/// ```
/// use tove_learn::diagnostics::student_two_sided;
/// // With one degree of freedom it is Cauchy's: 1 − (2/π) arctan t.
/// assert!((student_two_sided(1.0, 1.0) - 0.5).abs() < 1e-14);
/// ```
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_nan() || freedom.is_nan() || freedom <= 0.0 {
        return f64::NAN;
    }
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + square), square / (freedom + square))
}

/// The t with P(|T| ≥ t) = `tail`, for a probability between 0 and 1.
///
/// ```
/// use tove_learn::diagnostics::student_critical;
/// assert!((student_critical(0.05, 10.0) - 2.228_138_851_986_274).abs() < 1e-11);
/// ```
pub fn student_critical(tail: f64, freedom: f64) -> f64 {
    if !(tail > 0.0 && tail <= 1.0) || freedom.is_nan() || freedom <= 0.0 {
        return if tail == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    let (mut low, mut high) = (0.0, 1.0);
    while student_two_sided(high, freedom) > tail && high < 1e300 {
        (low, high) = (high, high * 2.0);
    }
    // The tail decreases with t, so bisection is safe; 200 halvings always reach full precision.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if student_two_sided(middle, freedom) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// Half the width of the 95 % confidence interval of the mean difference between two models scored on the same k folds: the
/// corrected resampled t-test (Nadeau and Bengio, 2003), whose variance s² (1/k + 1/(k − 1)) accounts for overlapping training
/// sets. `None` with fewer than two folds or lists of different lengths.
///
/// ```
/// use tove_learn::diagnostics::paired_margin;
/// // s = 1, k = 2, one degree of freedom: √(½ + 1) · 12.706.
/// let margin = paired_margin(&[1.0, 1.0 + 2f64.sqrt()], &[0.0, 0.0]).unwrap();
/// assert!((margin - 1.5f64.sqrt() * 12.706_204_736_432_1).abs() < 1e-9);
/// ```
pub fn paired_margin(first: &[f64], second: &[f64]) -> Option<f64> {
    if first.len() < 2 || second.len() != first.len() {
        return None;
    }
    let k = first.len() as f64;
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let mean = differences.iter().sum::<f64>() / k;
    let variance = differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (k - 1.0);
    Some(student_critical(0.05, k - 1.0) * (variance * (1.0 / k + 1.0 / (k - 1.0))).sqrt())
}

fn ln_gamma(x: f64) -> f64 {
    Tensor::scalar(x).lgamma().item::<f64>()
}

/// I_x(a, b), with y = 1 − x passed separately to avoid cancellation; by Lentz's continued fraction on the side that
/// converges.
fn incomplete_beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 || y <= 0.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * y.ln()).exp();
    if x < (a + 1.0) / (a + b + 2.0) { front * fraction(a, b, x) / a } else { 1.0 - front * fraction(b, a, y) / b }
}

fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let guard = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / guard(1.0 - (a + b) * x / (a + 1.0));
    let mut h = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / guard(1.0 + even * d);
        c = guard(1.0 + even / c);
        h *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / guard(1.0 + odd * d);
        c = guard(1.0 + odd / c);
        h *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}
