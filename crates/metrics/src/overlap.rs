//! Scores of the overlap of predicted and true members of a class, averaged over classes: F-beta and Jaccard.
//!
//! Fβ = (1 + β²)TP/((1 + β²)TP + β²FN + FP), the harmonic mean in which recall counts β times as much as precision;
//! Jaccard = TP/(TP + FN + FP), intersection over union. Where a denominator is 0 the score is 0.

use std::collections::BTreeMap;

use tove_tensor::Tensor;

use crate::classification::{Average, Counts, count};
use crate::score::Sum;
use crate::{MetricError, Result};

/// A part over a whole per class, averaged as asked.
fn averaged(
    what: &'static str,
    counts: &BTreeMap<i64, Counts>,
    average: Average,
    ratio: impl Fn(f64, f64, f64) -> (f64, f64),
) -> Result<f64> {
    let score = |counts: &Counts| {
        let (part, whole) = ratio(counts.both.value(), counts.predicted.value(), counts.actual.value());
        if whole > 0.0 { part / whole } else { 0.0 }
    };
    match average {
        Average::Class(class) => counts.get(&class).map(score).ok_or_else(|| {
            MetricError::parameter(what, format!("class {class} occurs neither in truth nor in prediction"))
        }),
        Average::Macro => Ok(counts.values().map(score).collect::<Sum>().value() / counts.len() as f64),
        Average::Weighted => {
            let total = counts.values().map(|counts| counts.actual.value()).collect::<Sum>().value();
            let terms = counts.values().map(|counts| counts.actual.value() / total * score(counts));
            Ok(terms.collect::<Sum>().value())
        }
        Average::Micro => Ok(score(&Counts::total(counts.values()))),
    }
}

/// F-beta, averaged over classes as `average` says; β = 1 is F1, β = 0 precision, β = ∞ recall. β = 2 weighs
/// recall higher, β = 0.5 precision.
///
/// ```
/// use tove_metrics::{Average, fbeta};
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([0i64, 0, 1, 1]), Tensor::from([0i64, 1, 1, 1]));
/// let f2 = fbeta(&truth, &guess, 2.0, Average::Class(1), None)?; // precision 2/3, recall 1
/// assert!((f2 - 10.0 / 11.0).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`accuracy`](crate::accuracy); if β is negative or NaN; or if the class asked for does not occur.
pub fn fbeta(
    truth: &Tensor,
    prediction: &Tensor,
    beta: f64,
    average: Average,
    weights: Option<&Tensor>,
) -> Result<f64> {
    const WHAT: &str = "fbeta";
    if beta.is_nan() || beta < 0.0 {
        return Err(MetricError::parameter(WHAT, format!("beta is {beta}; give a number of at least 0")));
    }
    // β²/(1 + β²) and its complement, which huge β do not overflow.
    let recall = if beta > 1.0 { 1.0 / (1.0 + beta.powi(-2)) } else { beta * beta / (1.0 + beta * beta) };
    let counts = count(WHAT, truth, prediction, weights)?;
    averaged(WHAT, &counts, average, |both, predicted, actual| (both, recall * actual + (1.0 - recall) * predicted))
}

/// The Jaccard index, averaged over classes as `average` says.
///
/// ```
/// use tove_metrics::{Average, jaccard};
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([0i64, 0, 1, 1]), Tensor::from([0i64, 1, 1, 1]));
/// assert_eq!(jaccard(&truth, &guess, Average::Class(0), None)?, 0.5);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`accuracy`](crate::accuracy); or if the class asked for does not occur.
pub fn jaccard(truth: &Tensor, prediction: &Tensor, average: Average, weights: Option<&Tensor>) -> Result<f64> {
    const WHAT: &str = "jaccard";
    let counts = count(WHAT, truth, prediction, weights)?;
    averaged(WHAT, &counts, average, |both, predicted, actual| (both, predicted + (actual - both)))
}
