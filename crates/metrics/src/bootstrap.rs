//! Bootstrap intervals of any score (Efron 1979): the score is computed again on samples drawn with replacement from the given
//! ones, as many as there are.
//!
//! **Percentile**: quantiles of the resampled scores. **BCa** (Efron 1987): the same with levels corrected for the bias of the
//! resampled scores and for a spread that depends on the value; the acceleration comes from leaving out each of at most 200 groups
//! of samples in turn (single samples if there are no more). **Centered**: percentiles moved to the score.
//!
//! Assumptions: samples are independent, were not used to fit the model, and are enough that the given ones stand for the
//! distribution; the promised confidence holds approximately, for large n. Scores at the end of their range, such as an accuracy of
//! 1, get an interval that is too short: use [`clopper_pearson`](crate::clopper_pearson) for fractions.
//!
//! Resample r draws from a key of the seed and r, so that results do not depend on the number of threads.
//!
//! ```
//! use tove_metrics::{Bootstrap, average_precision};
//! use tove_tensor::Tensor;
//! let (truth, scores) = (Tensor::from([0i64, 0, 1, 1, 0, 1]), Tensor::from([0.1, 0.4, 0.35, 0.8, 0.2, 0.9]));
//! let score = Bootstrap::new(7).score(&truth, &scores, None, average_precision)?;
//! assert!(score.low < score.value && score.high == 1.0 && score.interval().is_some());
//! # Ok::<(), tove_metrics::MetricError>(())
//! ```

use std::sync::{Mutex, PoisonError};

use tove_tensor::random::fill_integers;
use tove_tensor::{DType, Key, Tensor};

use crate::binomial::check_confidence;
use crate::read::dense;
use crate::special::{normal_cdf, normal_quantile};
use crate::{MetricError, Result, Score};

const WHAT: &str = "Bootstrap";
/// Groups that are left out in turn for the acceleration.
const GROUPS: usize = 200;

/// How an interval is made from resampled scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BootstrapMethod {
    /// Quantiles of the resampled scores.
    #[default]
    Percentile,
    /// Quantiles at levels corrected for bias and acceleration.
    Bca,
    /// Quantiles of the resampled scores, moved so that their mean is the score, and not below 0: the spread of scores that are
    /// biased and not negative, such as calibration errors, whose resamples all lie above the score.
    Centered,
}

/// Settings of the bootstrap, with the functions that compute intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bootstrap {
    /// Number of resamples; 1000.
    pub resamples: usize,
    /// The probability with which the interval should hold the true value; 0.95.
    pub confidence: f64,
    /// How the interval is made.
    pub method: BootstrapMethod,
    /// Seed of the draws.
    pub seed: u64,
}

impl Bootstrap {
    /// 1000 resamples, percentile intervals at 95 %.
    pub fn new(seed: u64) -> Bootstrap {
        Bootstrap { resamples: 1000, confidence: 0.95, method: BootstrapMethod::Percentile, seed }
    }

    /// With another number of resamples.
    #[must_use]
    pub fn resamples(self, resamples: usize) -> Bootstrap {
        Bootstrap { resamples, ..self }
    }

    /// With another confidence.
    #[must_use]
    pub fn confidence(self, confidence: f64) -> Bootstrap {
        Bootstrap { confidence, ..self }
    }

    /// With another method.
    #[must_use]
    pub fn method(self, method: BootstrapMethod) -> Bootstrap {
        Bootstrap { method, ..self }
    }

    /// A score of this crate, or any function with the same arguments, with its interval. Samples are drawn together with their
    /// predictions and weights.
    ///
    /// # Errors
    /// Errors of the score; settings out of range; predictions or weights of another length than the truth; a score that is not
    /// defined for more than a tenth of the resamples, such as an area under ROC with one positive sample (the others are
    /// left out).
    pub fn score(
        &self,
        truth: &Tensor,
        prediction: &Tensor,
        weights: Option<&Tensor>,
        metric: impl Fn(&Tensor, &Tensor, Option<&Tensor>) -> Result<Score> + Sync,
    ) -> Result<Score> {
        let whole = metric(truth, prediction, weights)?;
        let n = truth.dims().first().copied().unwrap_or(0);
        for (argument, tensor) in [("predictions", Some(prediction)), ("weights", weights)] {
            if tensor.is_some_and(|tensor| tensor.dims().first() != Some(&n)) {
                return Err(MetricError::parameter(WHAT, format!("{argument} that are not one per sample of {n}")));
            }
        }
        let (truth, prediction, weights) = (dense(truth), dense(prediction), weights.map(dense));
        self.statistic(n, |rows| {
            let (truth, prediction) = (take(&truth, rows)?, take(&prediction, rows)?);
            let weights = weights.as_ref().map(|weights| take(weights, rows)).transpose()?;
            Ok::<f64, MetricError>(metric(&truth, &prediction, weights.as_ref())?.value)
        })
        .map(|score| whole.with_interval(score.low, score.high, self.confidence))
    }

    /// Any statistic of `n` samples with its interval, given as a function of the numbers of the samples (with repetitions).
    ///
    /// ```
    /// use tove_metrics::{Bootstrap, MetricError};
    /// let values: Vec<f64> = (0..100).map(|i| f64::from(i % 10)).collect();
    /// let mean = |rows: &[usize]| Ok::<f64, MetricError>(rows.iter().map(|&i| values[i]).sum::<f64>() / rows.len() as f64);
    /// let score = Bootstrap::new(1).statistic(100, mean)?;
    /// assert!(score.value == 4.5 && score.low > 3.7 && score.high < 5.3);
    /// # Ok::<(), MetricError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Bootstrap::score`].
    pub fn statistic<E: From<MetricError> + Send>(
        &self,
        n: usize,
        statistic: impl Fn(&[usize]) -> Result<f64, E> + Sync,
    ) -> Result<Score, E> {
        let one = self.statistics(n, |rows| statistic(rows).map(|value| vec![value]))?;
        // There is one score for each value of the statistic.
        Ok(one[0])
    }

    /// Several statistics of the same samples with their intervals, each on its own (not all at once), from the same resamples.
    ///
    /// # Errors
    /// As [`Bootstrap::score`].
    pub fn statistics<E: From<MetricError> + Send>(
        &self,
        n: usize,
        statistics: impl Fn(&[usize]) -> Result<Vec<f64>, E> + Sync,
    ) -> Result<Vec<Score>, E> {
        self.check(n)?;
        let all: Vec<usize> = (0..n).collect();
        let values = statistics(&all)?;
        let key = Key::new(self.seed);
        let drawn = in_order(self.resamples, |resample| {
            let mut rows = vec![0i64; n];
            // The range is not empty: there is a sample.
            let _ = fill_integers(key.fold(resample as u64), 0, n as i64, &mut rows);
            statistics(&rows.into_iter().map(|row| row as usize).collect::<Vec<usize>>())
        });
        let resampled = defined(drawn)?;
        let groups = if self.method == BootstrapMethod::Bca && n > 1 { n.min(GROUPS) } else { 0 };
        let without = defined(in_order(groups, |group| {
            statistics(&all.iter().copied().filter(|row| row % groups != group).collect::<Vec<usize>>())
        }))?;
        let column = |rows: &[Vec<f64>], place: usize| rows.iter().map(|row| row[place]).collect::<Vec<f64>>();
        let score = |(place, &value): (usize, &f64)| {
            let (low, high) = match self.method {
                BootstrapMethod::Percentile => self.percentile(column(&resampled, place)),
                BootstrapMethod::Bca => self.corrected(value, column(&resampled, place), &column(&without, place)),
                BootstrapMethod::Centered => self.centered(value, column(&resampled, place)),
            };
            Score::plain(value, n).with_interval(low, high, self.confidence)
        };
        Ok(values.iter().enumerate().map(score).collect())
    }

    /// The interval of statistics that were resampled elsewhere: `resampled` from bootstrap samples, by percentiles.
    pub fn percentile(&self, mut resampled: Vec<f64>) -> (f64, f64) {
        resampled.sort_unstable_by(f64::total_cmp);
        let tail = 0.5 * (1.0 - self.confidence);
        (quantile(&resampled, tail), quantile(&resampled, 1.0 - tail))
    }

    /// The percentile interval around the value.
    fn centered(&self, value: f64, resampled: Vec<f64>) -> (f64, f64) {
        let bias = resampled.iter().sum::<f64>() / resampled.len() as f64 - value;
        let (low, high) = self.percentile(resampled);
        // A skewed distribution may have its mean outside of the interval.
        ((low - bias).min(value).max(0.0), (high - bias).max(value))
    }

    /// The same settings for a biased score that is not negative: centered intervals instead of percentiles.
    #[must_use]
    pub fn for_errors(self) -> Bootstrap {
        match self.method {
            BootstrapMethod::Percentile => self.method(BootstrapMethod::Centered),
            _ => self,
        }
    }

    /// The BCa interval: levels Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))), z₀ from the share of resampled values below the value, a from the
    /// skewness of the values without each group.
    fn corrected(&self, value: f64, mut resampled: Vec<f64>, without: &[f64]) -> (f64, f64) {
        resampled.sort_unstable_by(f64::total_cmp);
        let below =
            resampled.partition_point(|other| *other < value) + resampled.partition_point(|other| *other <= value);
        let count = resampled.len() as f64;
        // Away from 0 and 1, where the correction would be infinite.
        let share = (0.5 * below as f64).clamp(0.5, count - 0.5) / count;
        let mean = without.iter().sum::<f64>() / without.len().max(1) as f64;
        let sum = |power: i32| without.iter().map(|other| (mean - other).powi(power)).sum::<f64>();
        let spread = sum(2).powf(1.5);
        let acceleration = if spread > 0.0 { sum(3) / (6.0 * spread) } else { 0.0 };
        let bias = normal_quantile(share);
        let tail = 0.5 * (1.0 - self.confidence);
        let level = |z: f64| {
            let moved = bias + z;
            let level = normal_cdf(bias + moved / (1.0 - acceleration * moved));
            if level.is_finite() { level.clamp(0.0, 1.0) } else { f64::from(u8::from(z > 0.0)) }
        };
        let z = normal_quantile(1.0 - tail);
        (quantile(&resampled, level(-z)), quantile(&resampled, level(z)))
    }

    fn check(&self, n: usize) -> Result<()> {
        check_confidence(WHAT, self.confidence)?;
        if n == 0 {
            return Err(MetricError::Empty(WHAT));
        }
        let needed = 2.0 / (1.0 - self.confidence);
        if (self.resamples as f64) < needed - 1e-9 || self.resamples > 10_000_000 {
            let problem = format!("{} resamples; give at least {:.0}, better 1000", self.resamples, needed.ceil());
            return Err(MetricError::parameter(WHAT, problem));
        }
        Ok(())
    }
}

/// Rows of a row-major tensor.
fn take(tensor: &Tensor, rows: &[usize]) -> Result<Tensor> {
    let width: usize = tensor.dims()[1..].iter().product();
    let mut dims = tensor.dims().to_vec();
    dims[0] = rows.len();
    macro_rules! gather {
        ($t:ty) => {{
            let all = tensor.as_slice::<$t>()?;
            let taken: Vec<$t> = rows.iter().flat_map(|row| &all[row * width..(row + 1) * width]).copied().collect();
            Tensor::try_from_vec(taken, dims)?
        }};
    }
    Ok(match tensor.dtype() {
        DType::F32 => gather!(f32),
        DType::F64 => gather!(f64),
        DType::I64 => gather!(i64),
        DType::U8 => gather!(u8),
        DType::Bool => gather!(bool),
    })
}

/// `work(0) … work(tasks − 1)` in parallel, results in order.
pub(crate) fn in_order<T: Send>(tasks: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let slots: Vec<Mutex<Option<T>>> = (0..tasks).map(|_| Mutex::new(None)).collect();
    tove_tensor::pool::parallel_for(tasks, &|task| {
        *slots[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(work(task));
    });
    slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// The resamples for which all values are defined, if they are most of them; else the first error.
fn defined<E: From<MetricError>>(results: Vec<Result<Vec<f64>, E>>) -> Result<Vec<Vec<f64>>, E> {
    let (total, mut values, mut first) = (results.len(), Vec::with_capacity(results.len()), None);
    for result in results {
        match result {
            Ok(row) if !row.iter().any(|value| value.is_nan()) => values.push(row),
            Ok(_) => {}
            Err(error) => first = first.or(Some(error)),
        }
    }
    if 10 * values.len() >= 9 * total {
        return Ok(values);
    }
    Err(first.unwrap_or_else(|| {
        let problem = "the score is NaN for more than a tenth of the resamples; give more samples";
        E::from(MetricError::parameter(WHAT, problem))
    }))
}

/// The quantile of sorted values, linear between them.
pub(crate) fn quantile(sorted: &[f64], level: f64) -> f64 {
    let place = level * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = (below + 1).min(sorted.len() - 1);
    let (low, high) = (sorted[below], sorted[above]);
    if low == high { low } else { low + part * (high - low) }
}
