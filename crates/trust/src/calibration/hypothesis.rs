//! Statistical tests of calibration.

use tove_metrics::calibration::{class_wise_ece, consistency_p_value, normal_two_sided};
use tove_metrics::spiegelhalter_z;
use tove_tensor::Tensor;

use super::errors::normalized;
use crate::input::{codes, weights as checked};
use crate::{Probabilities, Result};

/// The result of a test whose null hypothesis is that the model is calibrated. A small p-value refutes calibration; a large one does
/// not prove it: it says that these samples show no more error than a calibrated model would.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CalibrationTest {
    /// The statistic.
    pub statistic: f64,
    /// The probability under calibration of a statistic at least as extreme.
    pub p_value: f64,
    /// Number of samples.
    pub n: usize,
}

/// Spiegelhalter's (1986) z: the Brier score minus its expectation under calibration, in standard deviations. The p-value is that of
/// the normal distribution, for some hundred samples or more. Sees whether a model is too sure or not sure enough on the whole.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::Probabilities;
/// use tove_trust::calibration::spiegelhalter_test;
/// let p = Probabilities::new("example", &Tensor::from(vec![0.99; 100]))?;
/// let labels = Tensor::from((0..100).map(|i| i64::from(i >= 10)).collect::<Vec<_>>()); // 90 % right
/// assert!(spiegelhalter_test(&labels, &p, None)?.p_value < 1e-6);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Labels that are not columns of the probabilities; weights that are negative or all 0; lengths that differ; probabilities
/// that are all 0 or 1.
pub fn spiegelhalter_test(labels: &Tensor, p: &Probabilities, weights: Option<&Tensor>) -> Result<CalibrationTest> {
    let (labels, weights) = arguments("spiegelhalter_test", labels, p, weights)?;
    let statistic = spiegelhalter_z(&labels, &normalized(p), weights.as_ref())?;
    Ok(CalibrationTest { statistic, p_value: normal_two_sided(statistic), n: p.len() })
}

/// Consistency resampling (Bröcker and Smith 2007): the class-wise ECE against those of labels that are drawn from the
/// probabilities, `resamples` times. The p-value is exact for any number of samples, and sees errors that Spiegelhalter's z does not:
/// those of single bins, of opposite signs. It is the test of a [`CalibrationCheck`](super::CalibrationCheck).
///
/// # Errors
/// As [`spiegelhalter_test`], except that probabilities may be 0 and 1; no bins or resamples.
pub fn consistency_test(
    labels: &Tensor,
    p: &Probabilities,
    bins: usize,
    weights: Option<&Tensor>,
    resamples: usize,
    seed: u64,
) -> Result<CalibrationTest> {
    let (labels, weights) = arguments("consistency_test", labels, p, weights)?;
    let (weights, values) = (weights.as_ref(), normalized(p));
    let p_value = consistency_p_value(&labels, &values, bins, weights, resamples, seed)?;
    Ok(CalibrationTest { statistic: class_wise_ece(&labels, &values, bins, weights)?.value, p_value, n: p.len() })
}

fn arguments(
    what: &'static str,
    labels: &Tensor,
    p: &Probabilities,
    weights: Option<&Tensor>,
) -> Result<(Tensor, Option<Tensor>)> {
    let codes = codes(what, "labels", labels, p.len(), p.classes())?;
    let weights = weights.map(|given| checked(what, Some(given), p.len())).transpose()?.map(Tensor::from);
    Ok((Tensor::from(codes.into_iter().map(|code| code as i64).collect::<Vec<_>>()), weights))
}
