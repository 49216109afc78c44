//! A score with its sample size and, where the quantity is bounded, an interval.
//!
//! **Hoeffding's inequality.** The mean m of n independent values in [a, b] with expectation μ satisfies
//! P(|m − μ| ≥ ε) ≤ 2 exp(−2nε²/(b − a)²). Setting the right side to δ gives ε = (b − a) √(ln(2/δ)/(2n)): with probability
//! at least 1 − δ the interval m ± ε holds μ, whatever the distribution. For a weighted mean n becomes (Σw)²/Σw². The
//! samples must not have been used to fit the model.
//!
//! ```
//! use tove_metrics::hoeffding;
//! assert!((hoeffding(1000.0, 1.0, 0.05) - 0.042947).abs() < 1e-6);
//! ```

use std::fmt;

use crate::{MetricError, Result, clopper_pearson};

/// δ unless another confidence is asked for.
const DELTA: f64 = 0.05;

/// Half the width of Hoeffding's interval for the mean of `n` values in a range of width `width`, missed with probability
/// at most `delta`: width · √(ln(2/δ)/(2n)).
pub fn hoeffding(n: f64, width: f64, delta: f64) -> f64 {
    width * ((2.0 / delta).ln() / (2.0 * n)).sqrt()
}

/// Half the width of the intervals that hold the means of all of `models` models at once, missed by any of them with
/// probability at most `delta`: width · √(ln(2K/δ)/(2n)), by the union bound over K models that were fixed before looking.
///
/// ```
/// use tove_metrics::hoeffding_union;
/// assert!((hoeffding_union(1000.0, 1.0, 0.05, 100) - 0.064397).abs() < 1e-6);
/// ```
pub fn hoeffding_union(n: f64, width: f64, delta: f64, models: usize) -> f64 {
    hoeffding(n, width, delta / models as f64)
}

/// A value, the number of samples behind it, and an interval that holds the true value with the given confidence.
///
/// Scores that are not means of bounded quantities (R², log loss, areas under curves ...) have no such interval: low and
/// high are −∞ and +∞, which is certain, so the confidence is 1.
///
/// ```
/// use tove_metrics::Score;
/// let score = Score::bounded(0.93, 1000, 1000.0, (0.0, 1.0));
/// assert_eq!(score.to_string(), "0.9300 [0.8871, 0.9729] (n = 1000, 95 %)");
/// assert!(score.with_confidence(0.99).low < score.low);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Score {
    /// The score itself.
    pub value: f64,
    /// Number of samples.
    pub n: usize,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// The probability, at least, with which the interval holds the true value.
    pub confidence: f64,
    basis: Basis,
}

/// What the interval is made from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Basis {
    /// There is no interval.
    Nothing,
    /// Hoeffding's inequality, for this effective sample size and range of one value.
    Mean(f64, f64, f64),
    /// It was given.
    Given,
}

impl Score {
    /// The mean of `n` values in `range`, with Hoeffding's interval at 95 %, cut off at the range. `effective` is
    /// (Σw)²/Σw², which is `n` without weights.
    pub fn bounded(value: f64, n: usize, effective: f64, range: (f64, f64)) -> Score {
        let basis = Basis::Mean(effective, range.0, range.1);
        Score { value, n, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence: 1.0, basis }
            .with_confidence(1.0 - DELTA)
    }

    /// A value without an interval.
    pub fn plain(value: f64, n: usize) -> Score {
        Score { value, n, low: f64::NEG_INFINITY, high: f64::INFINITY, confidence: 1.0, basis: Basis::Nothing }
    }

    /// The same score with an interval that was computed otherwise, such as by [`Bootstrap`](crate::Bootstrap).
    #[must_use]
    pub fn with_interval(self, low: f64, high: f64, confidence: f64) -> Score {
        Score { low, high, confidence, basis: Basis::Given, ..self }
    }

    /// The same score with the exact interval of Clopper and Pearson, for a fraction of `n` samples without weights, such as an
    /// accuracy: shorter than Hoeffding's, and still with at least the given confidence.
    ///
    /// ```
    /// let score = tove_metrics::Score::bounded(0.93, 1000, 1000.0, (0.0, 1.0)).exact(0.95)?;
    /// assert_eq!(score.to_string(), "0.9300 [0.9124, 0.9450] (n = 1000, 95 %)");
    /// # Ok::<(), tove_metrics::MetricError>(())
    /// ```
    ///
    /// # Errors
    /// A score that is not a fraction of its samples, or weighted; a confidence outside (0, 1).
    pub fn exact(self, confidence: f64) -> Result<Score> {
        let count = (self.value * self.n as f64).round();
        let fraction = (self.value * self.n as f64 - count).abs() < 1e-9 * self.n as f64;
        let plain = matches!(self.basis, Basis::Mean(effective, 0.0, 1.0) if effective == self.n as f64);
        if !(plain && fraction) {
            let problem =
                "the exact interval is for fractions of samples without weights; use `Bootstrap` for other scores";
            return Err(MetricError::parameter("Score::exact", problem));
        }
        let (low, high) = clopper_pearson(count as usize, self.n, confidence)?;
        Ok(self.with_interval(low, high, confidence))
    }

    /// The same score with Hoeffding's interval for another confidence, below 1; unchanged when there is none.
    #[must_use]
    pub fn with_confidence(self, confidence: f64) -> Score {
        let Basis::Mean(n, least, most) = self.basis else { return self };
        // Without a chance to miss there is only the range itself; a NaN ends here too.
        let epsilon =
            if confidence < 1.0 { hoeffding(n, most - least, (1.0 - confidence).min(1.0)) } else { f64::INFINITY };
        let (low, high) = ((self.value - epsilon).max(least), (self.value + epsilon).min(most));
        Score { low, high, confidence, ..self }
    }

    /// Minus the score, for errors where the greater has to be the better.
    ///
    /// ```
    /// let loss = tove_metrics::Score::bounded(0.2, 100, 100.0, (0.0, 1.0)).negated();
    /// assert!(loss.value == -0.2 && (loss.high + 0.2 - tove_metrics::hoeffding(100.0, 1.0, 0.05)).abs() < 1e-12);
    /// ```
    #[must_use]
    pub fn negated(self) -> Score {
        let basis = match self.basis {
            Basis::Mean(n, least, most) => Basis::Mean(n, -most, -least),
            other => other,
        };
        Score { value: -self.value, low: -self.high, high: -self.low, basis, ..self }
    }

    /// The interval, if there is one.
    pub fn interval(&self) -> Option<(f64, f64)> {
        (self.basis != Basis::Nothing).then_some((self.low, self.high))
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(4);
        match self.interval() {
            Some((low, high)) => {
                let percent = 100.0 * self.confidence;
                write!(f, "{:.digits$} [{low:.digits$}, {high:.digits$}] (n = {}, {percent} %)", self.value, self.n)
            }
            None => write!(f, "{:.digits$} (n = {})", self.value, self.n),
        }
    }
}

/// A sum that carries along what rounding lost (Neumaier 1974): its error does not grow with the number of terms.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        let total = self.sum + value;
        self.lost +=
            if self.sum.abs() >= value.abs() { (self.sum - total) + value } else { (value - total) + self.sum };
        self.sum = total;
    }

    pub(crate) fn value(self) -> f64 {
        // An infinite sum has lost NaN; the sum itself is the answer then.
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

impl FromIterator<f64> for Sum {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Sum {
        let mut sum = Sum::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }
}

/// A running mean for training loops: feed it batch by batch, ask at any time.
///
/// ```
/// use tove_metrics::Mean;
/// let mut loss = Mean::new();
/// loss.add_batch(0.5, 32); // mean over 32 samples
/// loss.add_batch(0.2, 16);
/// assert!((loss.value().unwrap() - 0.4).abs() < 1e-15);
/// assert_eq!((loss.n(), Mean::new().value()), (48, None));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    total: Sum,
    n: usize,
}

impl Mean {
    /// The mean of nothing yet.
    pub fn new() -> Mean {
        Mean::default()
    }

    /// Adds one value.
    pub fn add(&mut self, value: f64) {
        self.add_batch(value, 1);
    }

    /// Adds `n` values of which only the mean is known.
    pub fn add_batch(&mut self, mean: f64, n: usize) {
        if n > 0 {
            self.total.add(mean * n as f64);
            self.n += n;
        }
    }

    /// Adds all that another mean has seen.
    pub fn merge(&mut self, other: &Mean) {
        self.total.add(other.total.value());
        self.n += other.n;
    }

    /// Number of values.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The mean; none of nothing.
    pub fn value(&self) -> Option<f64> {
        (self.n > 0).then(|| self.total.value() / self.n as f64)
    }

    /// The mean with Hoeffding's interval, for values that lie in `range`.
    ///
    /// ```
    /// let mut hits = tove_metrics::Mean::new();
    /// (0..100).for_each(|i| hits.add(f64::from(u8::from(i % 10 != 0))));
    /// assert_eq!(hits.score(0.0, 1.0).map(|score| score.n), Some(100));
    /// ```
    pub fn score(&self, least: f64, most: f64) -> Option<Score> {
        self.value().map(|value| Score::bounded(value, self.n, self.n as f64, (least, most)))
    }

    /// Forgets everything.
    pub fn reset(&mut self) {
        *self = Mean::default();
    }
}
