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

use tove_tensor::Tensor;

use crate::classification::check_range;
pub use crate::consistency::{
    class_wise_ece, class_wise_ece_interval, consistency_p_value, normal_two_sided, spiegelhalter_z,
};
use crate::read::{View, Weights, check_scores, dense};
use crate::score::Sum;
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

    /// The expected calibration error with a bootstrap interval. Edges stay those of all samples. The interval is the spread around
    /// the value ([`Bootstrap::for_errors`]), whose bias it does not remove.
    ///
    /// # Errors
    /// Settings of the bootstrap out of range.
    pub fn ece_interval(&self, bootstrap: &Bootstrap) -> Result<Score> {
        let resampled =
            bootstrap.for_errors().statistic(self.len(), |rows| Ok::<f64, MetricError>(self.errors_of(rows)?.0))?;
        Ok(self.ece().with_interval(resampled.low, resampled.high, bootstrap.confidence))
    }

    /// The maximum calibration error with a bootstrap interval; as [`ReliabilityBins::ece_interval`].
    ///
    /// # Errors
    /// Settings of the bootstrap out of range.
    pub fn mce_interval(&self, bootstrap: &Bootstrap) -> Result<Score> {
        let resampled =
            bootstrap.for_errors().statistic(self.len(), |rows| Ok::<f64, MetricError>(self.errors_of(rows)?.1))?;
        Ok(self.mce().with_interval(resampled.low, resampled.high, bootstrap.confidence))
    }

    /// The expected and the maximum calibration error of these samples (numbers may repeat), in the same bins: for bootstraps of
    /// several scores at once.
    ///
    /// # Errors
    /// Samples without weight; a sample that does not exist.
    pub fn errors_of(&self, rows: &[usize]) -> Result<(f64, f64)> {
        if let Some(row) = rows.iter().find(|row| **row >= self.samples.len()) {
            let problem = format!("sample {row} of {}; give numbers from 0", self.samples.len());
            return Err(MetricError::parameter("ReliabilityBins", problem));
        }
        let (sums, total) = self.resampled(rows)?;
        let largest = |sum: &(f64, f64)| if sum.0 > 0.0 { (sum.1 / sum.0).abs() } else { 0.0 };
        Ok((sums.iter().map(|sum| sum.1.abs()).sum::<f64>() / total, sums.iter().map(largest).fold(0.0, f64::max)))
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
pub(crate) fn edges(p: &[f64], bins: usize, binning: Binning) -> Vec<f64> {
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
pub(crate) fn place(edges: &[f64], p: f64) -> usize {
    edges[1..edges.len() - 1].partition_point(|edge| *edge < p)
}
