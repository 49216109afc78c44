//! The order statistic behind every guarantee of this module.
//!
//! If the scores s₁, …, sₙ of calibration rows and the score of a new row are exchangeable (independent rows of one distribution
//! are), the new score is at most the k-th smallest of the n with probability at least k/(n + 1), so k = ⌈(n + 1)(1 − α)⌉ gives
//! 1 − α; and at most 1 − α + 1/(n + 1) if ties have probability 0 (Vovk et al. 2005; Lei et al. 2018). It is not the empirical
//! (1 − α)-quantile, which covers too little.
//!
//! In terms of p-values, an answer is kept if (1 + the number of calibration scores that are at least its own)/(n + 1) is *above* α.
//! MAPIE and puncc agree; crepes keeps p-values equal to α too, so its sets are larger where (n + 1)α is a whole number.

use tove_tensor::Tensor;

use crate::input::{fraction, reals};
use crate::{Result, TrustError};

/// A product this close to a whole number, relative to it, counts as that number: 0.29 · 100 is 28.999999999999996.
const ROUNDING: f64 = 1e-12;

/// ⌊x⌋, where rounding errors just below a whole number do not count.
pub(crate) fn floor(x: f64) -> f64 {
    let near = x.round();
    if (x - near).abs() <= ROUNDING * near.abs().max(1.0) { near } else { x.floor() }
}

/// ⌈x⌉, where rounding errors just above a whole number do not count.
pub(crate) fn ceil(x: f64) -> f64 {
    -floor(-x)
}

/// k = ⌈(n + 1)(1 − α)⌉; above n if the sample is too small.
pub(super) fn rank(n: usize, alpha: f64) -> usize {
    (n + 1).saturating_sub(floor((n + 1) as f64 * alpha) as usize).max(1)
}

/// The smallest calibration set that gives coverage 1 − α: the least n with (n + 1)α ≥ 1.
///
/// ```
/// use tove_trust::conformal::needed_size;
/// assert_eq!((needed_size(0.1)?, needed_size(0.05)?, needed_size(0.01)?), (9, 19, 99));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// If α is not between 0 and 1.
pub fn needed_size(alpha: f64) -> Result<usize> {
    let alpha = fraction("needed_size", "alpha", alpha)?;
    Ok(needed(alpha))
}

pub(super) fn needed(alpha: f64) -> usize {
    (ceil(1.0 / alpha) as usize).saturating_sub(1).max(1)
}

/// The ⌈(n + 1)(1 − α)⌉-th smallest of n calibration scores: a new score of the same distribution is at most this with
/// probability at least 1 − α.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::conformal::quantile_of_scores;
/// let scores = Tensor::from([5.0, 1.0, 2.0, 3.0, 4.0, 9.0, 8.0, 7.0, 6.0]);
/// assert_eq!(quantile_of_scores(&scores, 0.2)?, 8.0); // the 8th of 9; the plain 80 % quantile is between 7 and 8
/// let error = quantile_of_scores(&scores, 0.05).unwrap_err();
/// assert!(error.to_string().contains("at least 19"));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// No scores, or scores that are not finite; α not between 0 and 1; fewer than 1/α − 1 scores, for which no finite bound holds
/// with that probability.
pub fn quantile_of_scores(scores: &Tensor, alpha: f64) -> Result<f64> {
    const WHAT: &str = "quantile_of_scores";
    let alpha = fraction(WHAT, "alpha", alpha)?;
    order_statistic(WHAT, reals(WHAT, "scores", scores)?, alpha, "the calibration set")
}

/// As [`quantile_of_scores`]; `whose` names the rows in the message.
pub(super) fn order_statistic(what: &'static str, mut scores: Vec<f64>, alpha: f64, whose: &str) -> Result<f64> {
    let (n, k) = (scores.len(), rank(scores.len(), alpha));
    if k > n {
        return Err(too_small(what, n, alpha, whose));
    }
    Ok(*scores.select_nth_unstable_by(k - 1, f64::total_cmp).1)
}

#[cold]
pub(super) fn too_small(what: &'static str, n: usize, alpha: f64, whose: &str) -> TrustError {
    let needed = needed(alpha);
    let rows = if n == 1 { "row" } else { "rows" };
    let problem = format!(
        "{whose} has {n} {rows}, but alpha = {alpha} needs at least {needed}: with fewer, only the set of all answers is sure to \
         hold the truth with probability {}",
        1.0 - alpha
    );
    let least = 1.0 / (n + 1) as f64;
    let fix = if n == 0 {
        format!("give at least {needed} rows")
    } else {
        format!("give at least {needed} rows, or an alpha of at least {least:.4}")
    };
    TrustError::data(what, problem, fix)
}

/// Scores in rising order with the sums of their weights, for quantiles that depend on the weight of the new row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WeightedScores {
    scores: Vec<f64>,
    /// Weight of all scores up to this one.
    sums: Vec<f64>,
}

impl WeightedScores {
    /// Sorts pairs of scores and weights. Scores without weight are dropped, equal scores are joined.
    pub(super) fn new(scores: &[f64], weights: &[f64]) -> WeightedScores {
        let mut pairs: Vec<(f64, f64)> =
            scores.iter().copied().zip(weights.iter().copied()).filter(|pair| pair.1 > 0.0).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sorted = WeightedScores { scores: Vec::new(), sums: Vec::new() };
        let mut sum = 0.0;
        for (score, weight) in pairs {
            sum += weight;
            if sorted.scores.last() == Some(&score) {
                sorted.sums.pop();
                sorted.scores.pop();
            }
            sorted.scores.push(score);
            sorted.sums.push(sum);
        }
        sorted
    }

    /// From their parts, if these are valid.
    pub(super) fn restore(scores: Vec<f64>, sums: Vec<f64>) -> Option<WeightedScores> {
        let rising = |values: &[f64]| values.windows(2).all(|pair| pair[0] < pair[1]);
        let valid = !scores.is_empty() && scores.len() == sums.len() && sums[0] > 0.0;
        (valid && rising(&scores) && sums.windows(2).all(|pair| pair[0] <= pair[1]))
            .then_some(WeightedScores { scores, sums })
    }

    pub(super) fn parts(&self) -> (&[f64], &[f64]) {
        (&self.scores, &self.sums)
    }

    /// The smallest score s with Σ{wᵢ : sᵢ ≤ s} ≥ (1 − α)(Σwᵢ + w); +∞ if there is none: the new row weighs more than the share α
    /// of all (Tibshirani et al. 2019).
    pub(super) fn quantile(&self, alpha: f64, weight: f64) -> f64 {
        let total = self.sums.last().copied().unwrap_or(0.0) + weight;
        let wanted = (1.0 - alpha) * total * (1.0 - ROUNDING);
        let place = self.sums.partition_point(|&sum| sum < wanted);
        self.scores.get(place).copied().unwrap_or(f64::INFINITY)
    }

    /// (Σw)²/Σw², the number of equally weighted rows that tell as much.
    pub(super) fn effective(&self) -> f64 {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let mut last = 0.0;
        let squares: f64 = self.sums.iter().map(|&sum| (sum - std::mem::replace(&mut last, sum)).powi(2)).sum();
        total * (total / squares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_exact_where_products_are_rounded() {
        // (n + 1)(1 − α) in exact arithmetic.
        for (n, alpha, k) in
            [(9, 0.1, 9), (99, 0.29, 71), (99, 0.05, 95), (999, 0.001, 999), (8, 0.1, 9), (10, 0.1, 10)]
        {
            assert_eq!(rank(n, alpha), k, "{n} {alpha}");
        }
        for percent in 1..100usize {
            let alpha = percent as f64 / 100.0;
            for n in 1..500 {
                assert_eq!(rank(n, alpha), ((n + 1) * (100 - percent)).div_ceil(100), "{n} {alpha}");
                assert_eq!(needed(alpha), (100usize.div_ceil(percent) - 1).max(1), "{alpha}");
            }
        }
    }

    #[test]
    fn equal_weights_give_the_order_statistic() {
        let scores: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 50)).collect();
        let weighted = WeightedScores::new(&scores, &[2.5; 50]);
        for alpha in [0.02, 0.05, 0.1, 0.3, 0.5] {
            let plain = order_statistic("test", scores.clone(), alpha, "the set").unwrap_or(f64::INFINITY);
            assert_eq!(weighted.quantile(alpha, 2.5), plain, "{alpha}");
        }
        assert!((weighted.effective() - 50.0).abs() < 1e-9);
        assert_eq!(weighted.quantile(0.1, 1e9), f64::INFINITY);
    }
}
