//! Calibration errors of the predicted class and of every class.

use tove_metrics::calibration::class_wise_ece_interval;
use tove_metrics::{Binning, Bootstrap, ReliabilityBins, Score, log_loss};
use tove_tensor::Tensor;

use super::smooth_ece;
use crate::input::{codes, weights as checked};
use crate::{Probabilities, Result, TrustError};

/// Bins of the probability of the predicted class (its confidence), and of how often it is right. Of equal probabilities the first
/// class is predicted. Edges as in [`ReliabilityBins`].
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::Probabilities;
/// use tove_trust::calibration::{Binning, top_label_bins};
/// let p = Probabilities::new("example", &Tensor::from([[0.9, 0.1], [0.2, 0.8], [0.3, 0.7]]))?;
/// let bins = top_label_bins(&Tensor::from([0i64, 1, 0]), &p, 10, Binning::Width, None)?;
/// assert_eq!(bins.filled().map(|bin| bin.frequency).collect::<Vec<_>>(), [0.0, 1.0, 1.0]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Labels that are not columns of the probabilities; 0 bins; weights that are negative or all 0; lengths that differ.
pub fn top_label_bins(
    labels: &Tensor,
    probabilities: &Probabilities,
    bins: usize,
    binning: Binning,
    weights: Option<&Tensor>,
) -> Result<ReliabilityBins> {
    let (right, confidence) = top_labels("top_label_bins", labels, probabilities)?;
    in_bins("top_label_bins", right, confidence, bins, binning, weights)
}

/// Bins of the probability of one class against the rest.
///
/// # Errors
/// As [`top_label_bins`]; a class that is not a column.
pub fn class_bins(
    labels: &Tensor,
    probabilities: &Probabilities,
    class: usize,
    bins: usize,
    binning: Binning,
    weights: Option<&Tensor>,
) -> Result<ReliabilityBins> {
    const WHAT: &str = "class_bins";
    if class >= probabilities.classes() {
        let problem = format!("class {class} of {}; give the number of a column", probabilities.classes());
        return Err(TrustError::argument(WHAT, problem));
    }
    let codes = codes(WHAT, "labels", labels, probabilities.len(), probabilities.classes())?;
    let happened = codes.into_iter().map(|code| i64::from(code == class)).collect();
    in_bins(WHAT, happened, probabilities.rows().map(|row| row[class]).collect(), bins, binning, weights)
}

fn in_bins(
    what: &'static str,
    happened: Vec<i64>,
    p: Vec<f64>,
    bins: usize,
    binning: Binning,
    weights: Option<&Tensor>,
) -> Result<ReliabilityBins> {
    let weights = weights.map(|given| checked(what, Some(given), p.len())).transpose()?.map(Tensor::from);
    Ok(ReliabilityBins::new(&Tensor::from(happened), &Tensor::from(p), bins, binning, weights.as_ref())?)
}

/// Whether the predicted class is right, and its probability.
pub(super) fn top_labels(what: &'static str, labels: &Tensor, p: &Probabilities) -> Result<(Vec<i64>, Vec<f64>)> {
    let codes = codes(what, "labels", labels, p.len(), p.classes())?;
    let top = (0..p.len()).map(|sample| p.top(sample));
    Ok(top.zip(codes).map(|((class, confidence), code)| (i64::from(class == code), confidence)).unzip())
}

/// Calibration errors of one model on one set of samples, each with its bootstrap interval.
///
/// The errors of bins are biased upwards: even a calibrated model has an ECE of about √(bins/n), and so have the resamples that
/// the intervals are made of. Two models are compared on the same samples and bins; whether an error is more than chance says
/// [`consistency_test`](super::consistency_test).
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CalibrationErrors {
    /// Expected calibration error of the predicted class, in bins of equal width.
    pub ece: Score,
    /// Largest error of a bin of equal width; of bins with few samples mostly chance.
    pub mce: Score,
    /// Adaptive expected calibration error of the predicted class: bins with equal numbers of samples.
    pub adaptive: Score,
    /// Mean over classes of the expected calibration error of each class; for two classes that of the second.
    pub class_wise: Score,
    /// Smooth calibration error of the predicted class, without bins; its interval is at the bandwidth found for all samples.
    pub smooth: Score,
    /// Multi-class Brier score: the mean of (p − y)² for two classes, its sum over classes for more.
    pub brier: Score,
    /// Log loss, in nats.
    pub log_loss: Score,
}

/// All calibration errors with their intervals; samples are drawn `bootstrap.resamples` times with replacement.
///
/// # Errors
/// As [`top_label_bins`]; settings of the bootstrap out of range.
pub fn calibration_errors(
    labels: &Tensor,
    probabilities: &Probabilities,
    bins: usize,
    weights: Option<&Tensor>,
    bootstrap: &Bootstrap,
) -> Result<CalibrationErrors> {
    const WHAT: &str = "calibration_errors";
    let (right, confidence) = top_labels(WHAT, labels, probabilities)?;
    let weights = weights.map(|given| checked(WHAT, Some(given), right.len())).transpose()?.map(Tensor::from);
    let weights = weights.as_ref();
    let equal = in_bins(WHAT, right.clone(), confidence.clone(), bins, Binning::Width, weights)?;
    let adaptive = in_bins(WHAT, right.clone(), confidence.clone(), bins, Binning::Mass, weights)?;
    let (right, confidence) = (Tensor::from(right), Tensor::from(confidence));
    let codes = codes(WHAT, "labels", labels, probabilities.len(), probabilities.classes())?;
    let codes = Tensor::from(codes.into_iter().map(|code| code as i64).collect::<Vec<_>>());
    let p = normalized(probabilities);
    Ok(CalibrationErrors {
        ece: equal.ece_interval(bootstrap)?,
        mce: equal.mce_interval(bootstrap)?,
        adaptive: adaptive.ece_interval(bootstrap)?,
        class_wise: class_wise_ece_interval(&codes, &p, bins, weights, bootstrap)?,
        smooth: smooth_ece(&right, &confidence, weights, Some(bootstrap))?.error,
        brier: bootstrap.score(&codes, &p, weights, tove_metrics::brier_score)?,
        log_loss: bootstrap.score(&codes, &p, weights, log_loss)?,
    })
}

/// Rows that sum to 1 as exactly as the scores want them; those of 32-bit numbers may be further off.
pub(super) fn normalized(p: &Probabilities) -> Tensor {
    let row = |row: &[f64]| {
        let sum: f64 = row.iter().sum();
        let unit = if (sum - 1.0).abs() > 1e-9 { sum } else { 1.0 };
        row.iter().map(|p| (p / unit).min(1.0)).collect::<Vec<f64>>()
    };
    Tensor::from_vec(p.rows().flat_map(row).collect(), [p.len(), p.classes()])
}
