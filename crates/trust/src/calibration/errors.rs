//! Calibration errors of the predicted class and of every class.

use tove_metrics::{Binning, Bootstrap, ReliabilityBins, Score};
use tove_tensor::Tensor;

use super::smooth::Smooth;
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
/// The errors of bins are biased upwards: even a calibrated model has an ECE of about √(bins/n). The intervals show the spread around
/// the value and leave the bias. Two models are compared on the same samples and bins; whether an error is more than chance says
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
    let n = right.len();
    let equal = in_bins(WHAT, right.clone(), confidence.clone(), bins, Binning::Width, weights)?;
    let adaptive = in_bins(WHAT, right.clone(), confidence.clone(), bins, Binning::Mass, weights)?;
    let classes = usize::from(probabilities.classes() == 2)..probabilities.classes();
    let classes = classes.map(|class| class_bins(labels, probabilities, class, bins, Binning::Width, weights));
    let classes: Vec<ReliabilityBins> = classes.collect::<Result<_>>()?;
    let smooth = Smooth::new(&Tensor::from(right), &Tensor::from(confidence), weights)?;
    let codes = codes(WHAT, "labels", labels, n, probabilities.classes())?;
    let losses: Vec<[f64; 3]> = losses(probabilities, &codes, weights);
    // One pass over each resample for all figures.
    let figures = |rows: &[usize]| -> Result<Vec<f64>> {
        let (ece, mce) = equal.errors_of(rows)?;
        let class_wise = classes.iter().map(|own| Ok(own.errors_of(rows)?.0)).sum::<Result<f64>>()?;
        let [weight, brier, log_loss] = rows.iter().fold([0.0; 3], |sum, &row| {
            let own = losses[row];
            [sum[0] + own[0], sum[1] + own[0] * own[1], sum[2] + own[0] * own[2]]
        });
        let class_wise = class_wise / classes.len() as f64;
        Ok(vec![ece, mce, adaptive.errors_of(rows)?.0, class_wise, smooth.of(rows)?, brier / weight, log_loss / weight])
    };
    let scores = bootstrap.for_errors().statistics(n, figures)?;
    Ok(CalibrationErrors {
        ece: scores[0],
        mce: scores[1],
        adaptive: scores[2],
        class_wise: scores[3],
        smooth: scores[4],
        brier: scores[5],
        log_loss: scores[6],
    })
}

/// Weight, Brier score and log loss of every sample, as `brier_score` and `log_loss` of tove-metrics define them.
fn losses(p: &Probabilities, codes: &[usize], weights: Option<&Tensor>) -> Vec<[f64; 3]> {
    let weights = weights.map_or_else(|| vec![1.0; codes.len()], Tensor::to_f64_vec);
    let values = normalized(p).to_f64_vec();
    let rows = values.chunks(p.classes()).zip(codes).zip(weights);
    rows.map(|((row, &code), weight)| {
        let distance = |(class, p): (usize, &f64)| (p - f64::from(u8::from(class == code))).powi(2);
        let brier: f64 = row.iter().enumerate().map(distance).sum();
        let brier = if p.classes() == 2 { 0.5 * brier } else { brier };
        [weight, brier, -row[code].clamp(f64::EPSILON, 1.0 - f64::EPSILON).ln()]
    })
    .collect()
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
