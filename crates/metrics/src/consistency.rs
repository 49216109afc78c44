//! Tests of calibration, and the calibration error of every class that one of them looks at.

use tove_tensor::random::fill_uniform;
use tove_tensor::{Key, Tensor};

use crate::bootstrap::in_order;
use crate::calibration::{edges, place};
use crate::probability::Judged;
use crate::score::Sum;
use crate::special::normal_cdf;
use crate::{Binning, Bootstrap, MetricError, Result, Score};

/// Spiegelhalter's (1986) statistic: the Brier score minus what it is expected to be if the probabilities are right, over the
/// standard deviation it has then. Standard normal for large n under calibration; |z| > 1.96 refutes it at 5 %.
///
/// For C classes the score of a sample is Σₖ (pₖ − yₖ)², with mean 1 − Σ pₖ² and variance 4 (Σ pₖ³ − (Σ pₖ²)²); for two classes it is
/// Spiegelhalter's z. Errors that cancel in the score, as of a model that is too sure for some samples and not sure enough for
/// others, are not seen: use [`consistency_p_value`] for those.
///
/// ```
/// use tove_metrics::spiegelhalter_z;
/// use tove_tensor::Tensor;
/// let z = spiegelhalter_z(&Tensor::from([0i64, 1, 1, 1]), &Tensor::from([0.9, 0.9, 0.9, 0.9]), None)?;
/// assert!((z - 0.6 / (4.0 * 0.8 * 0.8 * 0.9 * 0.1f64).sqrt() * 0.8).abs() < 1e-12);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`log_loss`](crate::log_loss); probabilities that are all 0 or 1, for which there is no variance.
pub fn spiegelhalter_z(truth: &Tensor, probabilities: &Tensor, weights: Option<&Tensor>) -> Result<f64> {
    let judged = Judged::new("spiegelhalter_z", truth, probabilities, weights)?;
    let (mut above, mut variance) = (Sum::default(), Sum::default());
    judged.each(|row, class, weight| {
        let (squares, cubes) = row.iter().fold((0.0, 0.0), |(two, three), p| (two + p * p, three + p * p * p));
        // The score minus its mean is 2 (Σ p² − p of the true class).
        above.add(weight * (squares - row[class]));
        variance.add(weight * weight * (cubes - squares * squares).max(0.0));
    })?;
    if variance.value() <= 0.0 {
        let problem =
            "all probabilities are 0 or 1, so there is no variance to compare with; use `consistency_p_value`";
        return Err(MetricError::parameter("spiegelhalter_z", problem));
    }
    Ok(above.value() / variance.value().sqrt())
}

/// P(|Z| ≥ |z|) of a standard normal Z.
///
/// ```
/// assert!((tove_metrics::calibration::normal_two_sided(1.96) - 0.05).abs() < 1e-4);
/// ```
pub fn normal_two_sided(z: f64) -> f64 {
    2.0 * normal_cdf(-z.abs())
}

/// The expected calibration error of every class, averaged over classes; for two classes that of the second alone, whose bins
/// mirror those of the first.
///
/// # Errors
/// As [`log_loss`](crate::log_loss) and [`ReliabilityBins::new`](crate::ReliabilityBins::new).
pub fn class_wise_ece(truth: &Tensor, probabilities: &Tensor, bins: usize, weights: Option<&Tensor>) -> Result<Score> {
    let places = ClassPlaces::new("class_wise_ece", truth, probabilities, bins, weights)?;
    Ok(Score::plain(places.error(places.truth.iter().copied()), places.truth.len()))
}

/// [`class_wise_ece`] with a bootstrap interval: the spread around the value ([`Bootstrap::for_errors`]), whose bias it does not remove.
///
/// # Errors
/// As [`class_wise_ece`]; settings of the bootstrap out of range.
pub fn class_wise_ece_interval(
    truth: &Tensor,
    probabilities: &Tensor,
    bins: usize,
    weights: Option<&Tensor>,
    bootstrap: &Bootstrap,
) -> Result<Score> {
    let places = ClassPlaces::new("class_wise_ece_interval", truth, probabilities, bins, weights)?;
    let resampled = bootstrap.for_errors().statistic(places.truth.len(), |rows| places.resampled(rows))?;
    let score = Score::plain(places.error(places.truth.iter().copied()), places.truth.len());
    Ok(score.with_interval(resampled.low, resampled.high, bootstrap.confidence))
}

/// How likely a calibrated model has a class-wise ECE ([`class_wise_ece`]) at least as large as this one: labels are drawn from the
/// probabilities `resamples` times, and the p-value is (1 + how often the error is as large) / (1 + resamples) (consistency
/// resampling; Bröcker and Smith 2007).
///
/// Exact for every n if samples are independent and were not used to fit model or calibration: a calibrated model has a p-value of
/// at most α with probability at most α. A large p-value says that these samples do not refute calibration, not that it holds.
///
/// ```
/// use tove_metrics::calibration::consistency_p_value;
/// use tove_tensor::Tensor;
/// let (truth, p) = (Tensor::from(vec![0i64, 1, 0, 1, 0, 1, 0, 1]), Tensor::from(vec![0.95; 8]));
/// assert!(consistency_p_value(&truth, &p, 10, None, 999, 1)? < 0.01);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`class_wise_ece`]; no resamples.
pub fn consistency_p_value(
    truth: &Tensor,
    probabilities: &Tensor,
    bins: usize,
    weights: Option<&Tensor>,
    resamples: usize,
    seed: u64,
) -> Result<f64> {
    const WHAT: &str = "consistency_p_value";
    if !(1..=10_000_000).contains(&resamples) {
        return Err(MetricError::parameter(WHAT, format!("{resamples} resamples; give at least one, better 1000")));
    }
    let places = ClassPlaces::new(WHAT, truth, probabilities, bins, weights)?;
    let error = places.error(places.truth.iter().copied());
    let key = Key::new(seed);
    let drawn = in_order(resamples, |resample| {
        let mut uniform = vec![0.0f64; places.truth.len()];
        fill_uniform(key.fold(resample as u64), &mut uniform);
        places.error(uniform.iter().enumerate().map(|(i, &u)| places.draw(i, u)))
    });
    // Equal up to rounding counts as equal.
    let as_large = drawn.iter().filter(|drawn| **drawn >= error - 1e-12).count();
    Ok((1 + as_large) as f64 / (1 + resamples) as f64)
}

/// The bins of every sample for every class.
struct ClassPlaces {
    truth: Vec<u32>,
    classes: usize,
    bins: usize,
    /// Row-major (n, C): the bin among those of all classes.
    places: Vec<u32>,
    /// Cumulated probabilities (n, C).
    cumulated: Vec<f64>,
    weights: Vec<f64>,
    /// −Σ weight × probability of each bin.
    expected: Vec<f64>,
    total: f64,
}

impl ClassPlaces {
    fn new(
        what: &'static str,
        truth: &Tensor,
        p: &Tensor,
        bins: usize,
        weights: Option<&Tensor>,
    ) -> Result<ClassPlaces> {
        if !(1..=100_000).contains(&bins) {
            return Err(MetricError::parameter(what, format!("{bins} bins; give 1 to 100000")));
        }
        let judged = Judged::new(what, truth, p, weights)?;
        let (n, classes, edges) = (judged.n, judged.classes.max(2), edges(&[], bins, Binning::Width));
        let mut sums = vec![Sum::default(); classes * bins];
        let mut own = ClassPlaces {
            truth: Vec::with_capacity(n),
            classes,
            bins,
            places: Vec::with_capacity(n * classes),
            cumulated: Vec::with_capacity(n * classes),
            weights: Vec::with_capacity(n),
            expected: Vec::new(),
            total: judged.weights.total,
        };
        judged.each(|row, class, weight| {
            own.truth.push(class as u32);
            own.weights.push(weight);
            let mut sum = 0.0;
            for (class, &p) in row.iter().enumerate() {
                let at = class * bins + place(&edges, p);
                own.places.push(at as u32);
                sums[at].add(-weight * p);
                sum += p;
                own.cumulated.push(sum);
            }
        })?;
        own.expected = sums.into_iter().map(Sum::value).collect();
        Ok(own)
    }

    /// The error if these were the true classes.
    fn error(&self, truth: impl Iterator<Item = u32>) -> f64 {
        let mut gaps = self.expected.clone();
        for (i, class) in truth.enumerate() {
            gaps[self.places[i * self.classes + class as usize] as usize] += self.weights[i];
        }
        self.mean(&gaps, self.total)
    }

    /// The error of these samples.
    fn resampled(&self, rows: &[usize]) -> Result<f64> {
        let (mut gaps, mut total) = (vec![0.0; self.classes * self.bins], 0.0);
        for &i in rows {
            let (weight, mut below) = (self.weights[i], 0.0);
            total += weight;
            for at in i * self.classes..(i + 1) * self.classes {
                gaps[self.places[at] as usize] -= weight * (self.cumulated[at] - below);
                below = self.cumulated[at];
            }
            gaps[self.places[i * self.classes + self.truth[i] as usize] as usize] += weight;
        }
        if total > 0.0 {
            return Ok(self.mean(&gaps, total));
        }
        Err(MetricError::parameter("class_wise_ece", "a resample has no weight; give more samples some weight"))
    }

    /// The error of these gaps, averaged over classes.
    fn mean(&self, gaps: &[f64], total: f64) -> f64 {
        let first = if self.classes == 2 { self.bins } else { 0 };
        let counted = if self.classes == 2 { 1.0 } else { self.classes as f64 };
        gaps[first..].iter().map(|gap| gap.abs()).sum::<f64>() / (total * counted)
    }

    /// The class of sample `i` for a uniform number.
    fn draw(&self, i: usize, u: f64) -> u32 {
        let row = &self.cumulated[i * self.classes..(i + 1) * self.classes];
        let at = u * row[self.classes - 1];
        // Classes of probability 0 are never drawn.
        row.iter().position(|sum| *sum > at).unwrap_or(self.classes - 1) as u32
    }
}
