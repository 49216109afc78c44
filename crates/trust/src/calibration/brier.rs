//! The Brier score in parts (Murphy 1973; within-bin parts by Stephenson, Coelho and Jolliffe 2008).
//!
//! With samples in bins k of weight w_k, mean probability p_k and frequency f_k, and the frequency f of all samples,
//!
//! Brier = Σ (w_k/w)(p_k − f_k)² − Σ (w_k/w)(f_k − f)² + f(1 − f) + V − C,
//!
//! where V is the variance of the probabilities within bins and C twice their covariance with the events. The first three are called
//! reliability, resolution and uncertainty. Without V − C the sum is the score only if all probabilities of a bin are equal.

use tove_metrics::{Binning, Bootstrap, Score};
use tove_tensor::Tensor;

use super::class_bins;
use crate::input::{codes, weights as checked};
use crate::{Probabilities, Result, TrustError};

const WHAT: &str = "brier_decomposition";

/// The Brier score and its parts, each with its interval: score = reliability − resolution + uncertainty + variance − covariance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BrierDecomposition {
    /// The score itself: the mean of (p − y)² for two classes, its sum over classes for more.
    pub brier: Score,
    /// Squared distance of probabilities and frequencies; 0 for a calibrated model, up to chance.
    pub reliability: Score,
    /// Squared distance of the frequencies of bins from that of all samples: what the model knows; larger is better.
    pub resolution: Score,
    /// The score of a model that always predicts the frequencies of the classes.
    pub uncertainty: Score,
    /// Variance of the probabilities within bins.
    pub variance: Score,
    /// Twice the covariance of probabilities and events within bins: what the bins hide of the resolution.
    pub covariance: Score,
}

/// Sums of the samples of one bin of one class.
#[derive(Clone, Copy, Default)]
struct Sums {
    w: f64,
    p: f64,
    y: f64,
    pp: f64,
    py: f64,
}

/// The Brier score in parts, with bootstrap intervals (bins stay those of all samples). For more than two classes the parts are
/// summed over the classes against the rest.
///
/// ```
/// use tove_metrics::Bootstrap;
/// use tove_tensor::Tensor;
/// use tove_trust::Probabilities;
/// use tove_trust::calibration::{Binning, brier_decomposition};
/// let p = Probabilities::new("example", &Tensor::from([0.1, 0.3, 0.35, 0.8, 0.9]))?;
/// let parts = brier_decomposition(&Tensor::from([0i64, 0, 1, 1, 1]), &p, 5, Binning::Width, None, &Bootstrap::new(1))?;
/// let sum = parts.reliability.value - parts.resolution.value + parts.uncertainty.value + parts.variance.value
///     - parts.covariance.value;
/// assert!((parts.brier.value - sum).abs() < 1e-15 && (parts.uncertainty.value - 0.24).abs() < 1e-15);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Labels that are not columns of the probabilities; 0 bins; weights that are negative or all 0; lengths that differ; settings
/// of the bootstrap out of range.
pub fn brier_decomposition(
    labels: &Tensor,
    p: &Probabilities,
    bins: usize,
    binning: Binning,
    weights: Option<&Tensor>,
    bootstrap: &Bootstrap,
) -> Result<BrierDecomposition> {
    let (n, m) = (p.len(), p.classes());
    let labels_of = codes(WHAT, "labels", labels, n, m)?;
    let w = checked(WHAT, weights, n)?;
    let first = usize::from(m == 2);
    let places = (first..m).map(|class| Ok(class_bins(labels, p, class, bins, binning, weights)?.places().collect()));
    let places: Vec<Vec<usize>> = places.collect::<Result<_>>()?;
    let parts = |rows: &[usize]| -> Result<Vec<f64>> {
        let total: f64 = rows.iter().map(|&row| w[row]).sum();
        if total <= 0.0 {
            return Err(TrustError::data(WHAT, "a resample has no weight", "give more samples some weight"));
        }
        let mut parts = vec![0.0; 6];
        for (class, places) in (first..m).zip(&places) {
            let mut sums = vec![Sums::default(); bins];
            for &row in rows {
                let (w, p, y) = (w[row], p.row(row)[class], f64::from(u8::from(labels_of[row] == class)));
                let sum = &mut sums[places[row]];
                sum.w += w;
                sum.p += w * p;
                sum.y += w * y;
                sum.pp += w * p * p;
                sum.py += w * p * y;
            }
            let frequency = sums.iter().map(|sum| sum.y).sum::<f64>() / total;
            parts[3] += frequency * (1.0 - frequency);
            for Sums { w, p, y, pp, py } in sums.into_iter().filter(|sum| sum.w > 0.0) {
                parts[0] += (pp - 2.0 * py + y) / total;
                parts[1] += (p - y) * (p - y) / (w * total);
                parts[2] += w * (y / w - frequency).powi(2) / total;
                parts[4] += (pp - p * p / w).max(0.0) / total;
                parts[5] += 2.0 * (py - p * y / w) / total;
            }
        }
        Ok(parts)
    };
    let scores = bootstrap.statistics(n, parts)?;
    Ok(BrierDecomposition {
        brier: scores[0],
        reliability: scores[1],
        resolution: scores[2],
        uncertainty: scores[3],
        variance: scores[4],
        covariance: scores[5],
    })
}
