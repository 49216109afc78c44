//! Student's t distribution: tail probabilities by the incomplete beta function, quantiles by bisection.
//!
//! P(|T| ≥ t) = I_x(ν/2, ½) with x = ν/(ν + t²).

use tove_metrics::special::incomplete_beta;

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
