//! Calibration: do events that are given probability p happen with frequency p?
//!
//! Samples are put into bins by their probability. In bin b let w_b be the weight of its samples (their number, without weights),
//! p_b their mean probability and f_b the frequency of the event. The expected calibration error is ECE = Σ (w_b / w) |f_b − p_b|,
//! the maximum calibration error MCE = max |f_b − p_b|; empty bins add nothing (Naeini et al. 2015; Guo et al. 2017).
//!
//! **Edges.** B bins have B + 1 edges. A bin is (a, b]: without its lower edge, with its upper one; the first is [a, b], so that 0.0
//! is in the first bin, 1.0 in the last, and every probability in exactly one. This is the rule of scikit-learn's
//! `calibration_curve`, whose edges are taken over to the last bit. (netcal's bins are [a, b); torchmetrics' too, with one
//! more bin for 1.0.) Edges of [`Binning::Mass`] are quantiles of the probabilities, which ignore weights; equal probabilities stay
//! in one bin, so bins can differ in size or be empty.
//!
//! **ECE is biased**: by chance f_b differs from p_b even for a calibrated model, so the ECE of n samples is about √(B/n) too large when
//! the true error is 0. Compare it with [`consistency_p_value`], not with 0.
//!
//! ```
//! use tove_metrics::{Binning, ReliabilityBins};
//! use tove_tensor::Tensor;
//! let (happened, p) = (Tensor::from([0i64, 1, 1, 0]), Tensor::from([0.9, 0.9, 0.9, 0.9]));
//! let bins = ReliabilityBins::new(&happened, &p, 10, Binning::Width, None)?;
//! assert!((bins.ece().value - 0.4).abs() < 1e-15); // confidence 0.9, accuracy 0.5
//! # Ok::<(), tove_metrics::MetricError>(())
//! ```

use tove_tensor::random::fill_uniform;
use tove_tensor::{Key, Tensor};

use crate::bootstrap::in_order;
use crate::classification::check_range;
use crate::probability::Judged;
use crate::read::{View, Weights, check_scores, dense};
use crate::score::Sum;
use crate::special::normal_cdf;
use crate::{Bootstrap, MetricError, Result, Score, wilson};

/// How the edges of bins are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binning {
    /// Bins of equal width over [0, 1].
    #[default]
    Width,
    /// Bins with equal numbers of samples: quantiles of the probabilities.
    Mass,
}

/// One bin of probabilities.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationBin {
    /// Lower edge; not in the bin, except in the first.
    pub low: f64,
    /// Upper edge, in the bin.
    pub high: f64,
    /// Number of samples.
    pub count: usize,
    /// Sum of their weights.
    pub weight: f64,
    /// Mean probability; the middle of the bin if it is empty.
    pub mean: f64,
    /// Frequency of the event; 0 if it is empty.
    pub frequency: f64,
}

impl CalibrationBin {
    /// Wilson's interval of the frequency, from the number of samples; [0, 1] for an empty bin.
    ///
    /// # Errors
    /// A confidence that is not between 0 and 1.
    pub fn interval(&self, confidence: f64) -> Result<(f64, f64)> {
        match self.count {
            0 => wilson(0.5, 1.0, confidence).map(|_| (0.0, 1.0)),
            count => wilson((self.frequency * count as f64).min(count as f64), count as f64, confidence),
        }
    }
}

/// One sample in its bin.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Placed {
    bin: u32,
    weight: f64,
    /// Weight times (event − probability).
    gap: f64,
}

/// Samples in bins by their probability; see the [module](self) for the edges.
#[derive(Clone, Debug, PartialEq)]
pub struct ReliabilityBins {
    bins: Vec<CalibrationBin>,
    samples: Vec<Placed>,
    weight: f64,
}

impl ReliabilityBins {
    /// Puts samples into `bins` bins: whether the event happened (0 or 1), and its probability.
    ///
    /// # Errors
    /// No samples; 0 bins or more than 100,000; lengths that differ; a probability outside [0, 1]; outcomes other than 0 and 1;
    /// weights that are negative or all 0.
    pub fn new(
        happened: &Tensor,
        probabilities: &Tensor,
        bins: usize,
        binning: Binning,
        weights: Option<&Tensor>,
    ) -> Result<ReliabilityBins> {
        const WHAT: &str = "ReliabilityBins";
        let (n, _) = check_scores(WHAT, happened, probabilities, true)?;
        if probabilities.rank() != 1 || !(1..=100_000).contains(&bins) || n > u32::MAX as usize {
            let given = format!("{bins} bins for probabilities of shape {}", probabilities.shape());
            return Err(MetricError::parameter(
                WHAT,
                format!("{given}; give 1 to 100000 bins and one probability each"),
            ));
        }
        let weights = Weights::new(WHAT, weights, n)?;
        let weight = weights.get()?;
        let (happened, probabilities) = (dense(happened), dense(probabilities));
        let (happened, view) = (View::of(&happened)?, View::of(&probabilities)?);
        check_range(WHAT, &happened, n, 2)?;
        let p: Vec<f64> = (0..n).map(|i| view.real(i)).collect();
        if let Some(index) = p.iter().position(|p| !(0.0..=1.0).contains(p)) {
            let expected = "probabilities lie between 0 and 1; apply softmax or sigmoid to scores first";
            return Err(MetricError::Value { what: WHAT, argument: "probability", index, value: p[index], expected });
        }
        let edges = edges(&p, bins, binning);
        let mut sums = vec![(0usize, Sum::default(), Sum::default(), Sum::default()); bins];
        let mut samples = Vec::with_capacity(n);
        for (i, &p) in p.iter().enumerate() {
            let (bin, w, event) = (place(&edges, p), weight(i), happened.whole(i) as f64);
            let (count, weights, means, events) = &mut sums[bin];
            *count += 1;
            weights.add(w);
            means.add(w * p);
            events.add(w * event);
            samples.push(Placed { bin: bin as u32, weight: w, gap: w * (event - p) });
        }
        let bin = |(i, (count, weight, mean, events)): (usize, &(usize, Sum, Sum, Sum))| {
            let (low, high, weight) = (edges[i], edges[i + 1], weight.value());
            let empty = weight == 0.0;
            let mean = if empty { 0.5 * (low + high) } else { mean.value() / weight };
            let frequency = if empty { 0.0 } else { events.value() / weight };
            CalibrationBin { low, high, count: *count, weight, mean, frequency }
        };
        Ok(ReliabilityBins { bins: sums.iter().enumerate().map(bin).collect(), samples, weight: weights.total })
    }

    /// The bins, from low to high, empty ones included.
    pub fn bins(&self) -> &[CalibrationBin] {
        &self.bins
    }

    /// The bins that have weight: the points of a reliability diagram, as scikit-learn's `calibration_curve` returns them.
    pub fn filled(&self) -> impl Iterator<Item = &CalibrationBin> {
        self.bins.iter().filter(|bin| bin.weight > 0.0)
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.samples.len()
    }

    /// Whether there are no samples; never true.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The bin of each sample.
    pub fn places(&self) -> impl Iterator<Item = usize> + '_ {
        self.samples.iter().map(|sample| sample.bin as usize)
    }

    /// The expected calibration error Σ (w_b / w) |f_b − p_b|.
    pub fn ece(&self) -> Score {
        let gap = |bin: &CalibrationBin| bin.weight / self.weight * (bin.frequency - bin.mean).abs();
        Score::plain(self.filled().map(gap).sum(), self.len())
    }

    /// The maximum calibration error max |f_b − p_b|.
    pub fn mce(&self) -> Score {
        let gap = |bin: &CalibrationBin| (bin.frequency - bin.mean).abs();
        Score::plain(self.filled().map(gap).fold(0.0, f64::max), self.len())
    }

    /// The expected calibration error with a bootstrap interval. Edges stay those of all samples. The interval is of the error of n
    /// samples, bias included.
    ///
    /// # Errors
    /// Settings of the bootstrap out of range.
    pub fn ece_interval(&self, bootstrap: &Bootstrap) -> Result<Score> {
        let resampled = bootstrap.statistic(self.len(), |rows| {
            let (sums, total) = self.resampled(rows)?;
            Ok::<f64, MetricError>(sums.iter().map(|sum| sum.1.abs()).sum::<f64>() / total)
        })?;
        Ok(self.ece().with_interval(resampled.low, resampled.high, bootstrap.confidence))
    }

    /// The maximum calibration error with a bootstrap interval; as [`ReliabilityBins::ece_interval`].
    ///
    /// # Errors
    /// Settings of the bootstrap out of range.
    pub fn mce_interval(&self, bootstrap: &Bootstrap) -> Result<Score> {
        let resampled = bootstrap.statistic(self.len(), |rows| {
            let gap = |sum: &(f64, f64)| if sum.0 > 0.0 { (sum.1 / sum.0).abs() } else { 0.0 };
            Ok::<f64, MetricError>(self.resampled(rows)?.0.iter().map(gap).fold(0.0, f64::max))
        })?;
        Ok(self.mce().with_interval(resampled.low, resampled.high, bootstrap.confidence))
    }

    /// Weight and gap of each bin for these samples, and the weight of all: a sum over samples, without sorting again.
    fn resampled(&self, rows: &[usize]) -> Result<(Vec<(f64, f64)>, f64)> {
        let mut sums = vec![(0.0, 0.0); self.bins.len()];
        for &row in rows {
            let sample = &self.samples[row];
            let sum = &mut sums[sample.bin as usize];
            *sum = (sum.0 + sample.weight, sum.1 + sample.gap);
        }
        let total = sums.iter().map(|sum| sum.0).sum();
        if total > 0.0 {
            return Ok((sums, total));
        }
        Err(MetricError::parameter("ReliabilityBins", "a resample has no weight; give more samples some weight"))
    }
}

/// The edges of bins, as numpy's `linspace` and `percentile` compute them.
fn edges(p: &[f64], bins: usize, binning: Binning) -> Vec<f64> {
    let even = |i: usize| if i == bins { 1.0 } else { i as f64 * (1.0 / bins as f64) };
    if binning == Binning::Width {
        return (0..=bins).map(even).collect();
    }
    let mut sorted = p.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len() - 1;
    let quantile = |i: usize| {
        let at = last as f64 * (even(i) * 100.0 / 100.0);
        let (below, part) = ((at.floor() as usize).min(last), at.fract());
        let (a, b) = (sorted[below], sorted[(below + 1).min(last)]);
        if part >= 0.5 { b - (b - a) * (1.0 - part) } else { a + (b - a) * part }
    };
    (0..=bins).map(quantile).collect()
}

/// The bin (a, b] that a probability is in; the first has its lower edge, too.
fn place(edges: &[f64], p: f64) -> usize {
    edges[1..edges.len() - 1].partition_point(|edge| *edge < p)
}

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
/// As [`log_loss`](crate::log_loss) and [`ReliabilityBins::new`].
pub fn class_wise_ece(truth: &Tensor, probabilities: &Tensor, bins: usize, weights: Option<&Tensor>) -> Result<Score> {
    let places = ClassPlaces::new("class_wise_ece", truth, probabilities, bins, weights)?;
    Ok(Score::plain(places.error(places.truth.iter().copied()), places.truth.len()))
}

/// [`class_wise_ece`] with a bootstrap interval, which is of the error of n samples, bias included.
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
    let resampled = bootstrap.statistic(places.truth.len(), |rows| places.resampled(rows))?;
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
