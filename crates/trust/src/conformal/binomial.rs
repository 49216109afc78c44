//! Exact intervals for proportions, from the binomial distribution.
//!
//! If h of n independent rows are hits, the Clopper-Pearson interval holds the true probability with at least the given confidence,
//! whatever it is and however small n: its ends are quantiles of Beta(h, n − h + 1) and Beta(h + 1, n − h).

use std::fmt;

use serde_json::{Value, json};
use tove_metrics::special::incomplete_beta;

use crate::input::fraction;
use crate::{Result, TrustError};

/// A share of hits among independent rows, with its Clopper-Pearson interval.
///
/// ```
/// use tove_trust::conformal::Proportion;
/// let share = Proportion::new(9, 10, 0.95)?;
/// assert!((share.low - 0.554983882971805).abs() < 1e-12 && (share.high - 0.997471421455538).abs() < 1e-12);
/// assert_eq!(share.to_string(), "90.0 % [55.5 %, 99.7 %] (9 of 10)");
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proportion {
    /// Number of hits.
    pub hits: usize,
    /// Number of rows.
    pub n: usize,
    /// hits/n.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The probability, at least, with which the interval holds the true probability.
    pub confidence: f64,
}

impl Proportion {
    /// Of this many hits.
    ///
    /// # Errors
    /// No rows, more hits than rows, or a confidence that is not between 0 and 1.
    pub fn new(hits: usize, n: usize, confidence: f64) -> Result<Proportion> {
        const WHAT: &str = "Proportion";
        let confidence = fraction(WHAT, "confidence", confidence)?;
        if n == 0 || hits > n {
            return Err(TrustError::argument(WHAT, format!("{hits} hits of {n} rows; give at least one row")));
        }
        let tail = (1.0 - confidence) / 2.0;
        let (low, high) = (lower(hits, n, tail), upper(hits, n, tail));
        Ok(Proportion { hits, n, value: hits as f64 / n as f64, low, high, confidence })
    }

    pub(crate) fn of(hits: impl IntoIterator<Item = bool>, confidence: f64) -> Result<Proportion> {
        let (mut count, mut n) = (0, 0);
        hits.into_iter().for_each(|hit| {
            count += usize::from(hit);
            n += 1;
        });
        Proportion::new(count, n, confidence)
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({"value": self.value, "low": self.low, "high": self.high, "hits": self.hits, "n": self.n, "confidence": self.confidence})
    }
}

impl fmt::Display for Proportion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| 100.0 * share;
        let (value, low, high) = (percent(self.value), percent(self.low), percent(self.high));
        write!(f, "{value:.1} % [{low:.1} %, {high:.1} %] ({} of {})", self.hits, self.n)
    }
}

/// The largest probability for which `hits` or fewer of n have at least the probability `delta`: a bound that the true probability
/// exceeds with probability at most `delta`.
///
/// ```
/// use tove_trust::conformal::binomial_upper;
/// // The rule of three: without a hit among n, at most about 3/n.
/// assert!((binomial_upper(0, 300, 0.05)? - (1.0 - 0.05f64.powf(1.0 / 300.0))).abs() < 1e-12);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// As [`Proportion::new`], for `delta`.
pub fn binomial_upper(hits: usize, n: usize, delta: f64) -> Result<f64> {
    let delta = fraction("binomial_upper", "delta", delta)?;
    Proportion::new(hits, n, 0.5)?; // the counts are checked
    Ok(upper(hits, n, delta))
}

fn lower(hits: usize, n: usize, tail: f64) -> f64 {
    if hits == 0 { 0.0 } else { beta_quantile(hits as f64, (n - hits + 1) as f64, tail) }
}

fn upper(hits: usize, n: usize, tail: f64) -> f64 {
    // 1 − the quantile of the reflected distribution, which is accurate near 1 … and near 0 the quantile itself is.
    match n - hits {
        0 => 1.0,
        misses if hits < misses => beta_quantile((hits + 1) as f64, misses as f64, 1.0 - tail),
        misses => 1.0 - beta_quantile(misses as f64, (hits + 1) as f64, tail),
    }
}

/// The range in which the coverage of one calibration set of `n` rows lies with probability `confidence`, if scores have no ties: the
/// coverage is a random number of distribution Beta(k, n + 1 − k) with k = ⌈(n + 1)(1 − α)⌉ (Vovk 2012).
///
/// ```
/// use tove_trust::conformal::coverage_range;
/// let (low, high) = coverage_range(1000, 0.1, 0.95)?;
/// assert!((low - 0.8806).abs() < 1e-3 && (high - 0.9178).abs() < 1e-3);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// α or confidence not between 0 and 1; fewer than 1/α − 1 rows.
pub fn coverage_range(n: usize, alpha: f64, confidence: f64) -> Result<(f64, f64)> {
    const WHAT: &str = "coverage_range";
    let (alpha, confidence) = (fraction(WHAT, "alpha", alpha)?, fraction(WHAT, "confidence", confidence)?);
    let k = super::quantile::rank(n, alpha);
    if k > n {
        return Err(super::quantile::too_small(WHAT, n, alpha, "the calibration set"));
    }
    let (a, b, tail) = (k as f64, (n + 1 - k) as f64, (1.0 - confidence) / 2.0);
    Ok((beta_quantile(a, b, tail), 1.0 - beta_quantile(b, a, tail)))
}

/// The x with I_x(a, b) = p, by bisection.
fn beta_quantile(a: f64, b: f64, p: f64) -> f64 {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..200 {
        // Halve the exponent first, so that tiny quantiles are found with all their digits.
        let middle = if low == 0.0 {
            high * 1e-3
        } else if high > 2.0 * low {
            (low * high).sqrt()
        } else {
            0.5 * (low + high)
        };
        if middle <= low || middle >= high || middle < 1e-300 {
            break;
        }
        if incomplete_beta(a, b, middle, 1.0 - middle) < p {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_solve_the_binomial_tails() {
        // The probability of `hits` or fewer, summed term by term.
        let tail = |hits: usize, n: usize, p: f64| -> f64 {
            let mut ln_choose = 0.0;
            let mut sum = 0.0;
            for k in 0..=hits {
                if k > 0 {
                    ln_choose += ((n - k + 1) as f64 / k as f64).ln();
                }
                sum += (ln_choose + k as f64 * p.ln() + (n - k) as f64 * (1.0 - p).ln()).exp();
            }
            sum
        };
        for (hits, n) in [(0, 5), (1, 5), (4, 5), (3, 40), (37, 40), (500, 1000), (990, 1000), (7, 100_000)] {
            let share = Proportion::new(hits, n, 0.9).expect("valid");
            assert!((tail(hits, n, share.high) - 0.05).abs() < 1e-8, "{hits} of {n}");
            if hits > 0 {
                assert!((1.0 - tail(hits - 1, n, share.low) - 0.05).abs() < 1e-8, "{hits} of {n}");
            }
        }
        assert_eq!((Proportion::new(5, 5, 0.9).unwrap().high, Proportion::new(0, 5, 0.9).unwrap().low), (1.0, 0.0));
        assert!(Proportion::new(0, 0, 0.9).is_err() && Proportion::new(2, 1, 0.9).is_err());
    }
}
