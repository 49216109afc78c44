//! Intervals of a probability, from the number of successes among n independent trials.
//!
//! **Clopper and Pearson (1934)**: the probabilities that neither tail of the binomial distribution rejects at (1 − confidence)/2.
//! The interval holds the true probability at least as often as promised, for every n. **Wilson (1927)**: the probabilities that
//! the normal approximation does not reject; shorter, and close to the promise on average, but not for every probability.
//!
//! ```
//! use tove_metrics::{clopper_pearson, wilson};
//! let (low, high) = clopper_pearson(0, 10, 0.95)?;
//! assert!(low == 0.0 && (high - 0.308_497_1).abs() < 1e-7);
//! let (low, high) = wilson(5.0, 10.0, 0.95)?;
//! assert!((low - 0.236_593_1).abs() < 1e-7 && (high - 0.763_406_9).abs() < 1e-7);
//! # Ok::<(), tove_metrics::MetricError>(())
//! ```

use crate::special::{incomplete_beta, normal_quantile};
use crate::{MetricError, Result};

/// The exact interval of Clopper and Pearson.
///
/// # Errors
/// No trials, more successes than trials, or a confidence that is not between 0 and 1.
pub fn clopper_pearson(successes: usize, trials: usize, confidence: f64) -> Result<(f64, f64)> {
    check("clopper_pearson", successes as f64, trials as f64, confidence)?;
    let (k, n, tail) = (successes as f64, trials as f64, 0.5 * (1.0 - confidence));
    let low = if successes == 0 { 0.0 } else { root(|p| incomplete_beta(k, n - k + 1.0, p, 1.0 - p) < tail) };
    // 1 − I_p(k + 1, n − k), which is small there, is I_{1−p}(n − k, k + 1).
    let above = |q: f64| incomplete_beta(n - k, k + 1.0, q, 1.0 - q) < tail;
    let high = if successes == trials { 1.0 } else { 1.0 - root(above) };
    Ok((low, high))
}

/// Wilson's score interval. Successes and trials may be sums of weights.
///
/// # Errors
/// As [`clopper_pearson`].
pub fn wilson(successes: f64, trials: f64, confidence: f64) -> Result<(f64, f64)> {
    check("wilson", successes, trials, confidence)?;
    let (f, n) = (successes / trials, trials);
    let z = normal_quantile(0.5 + 0.5 * confidence.min(1.0 - 1e-7));
    let middle = f + z * z / (2.0 * n);
    let half = z * (f * (1.0 - f) / n + z * z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + z * z / n;
    let low = if successes == 0.0 { 0.0 } else { ((middle - half) / whole).max(0.0) };
    let high = if successes == trials { 1.0 } else { ((middle + half) / whole).min(1.0) };
    Ok((low, high))
}

fn check(what: &'static str, successes: f64, trials: f64, confidence: f64) -> Result<()> {
    if !(trials > 0.0 && trials.is_finite()) {
        return Err(MetricError::parameter(what, format!("{trials} trials; give at least one")));
    }
    if !(0.0..=trials).contains(&successes) {
        let problem = format!("{successes} successes in {trials} trials; give at most as many as trials");
        return Err(MetricError::parameter(what, problem));
    }
    check_confidence(what, confidence)
}

pub(crate) fn check_confidence(what: &'static str, confidence: f64) -> Result<()> {
    if confidence > 0.0 && confidence < 1.0 {
        return Ok(());
    }
    Err(MetricError::parameter(
        what,
        format!("confidence is {confidence}; give a number between 0 and 1, such as 0.95"),
    ))
}

/// The point in [0, 1] at which a condition ends to hold, by bisection to full precision.
fn root(before: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..1100 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if before(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}
