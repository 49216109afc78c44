//! Errors measured by medians and quantiles, which are robust to outliers.

use tove_tensor::Tensor;

use crate::regression::{by_output, explained};
use crate::{MetricError, Result, Score};

/// The quantile of level `q` of weighted values: the first whose share of the weight, with all below it, reaches q; halfway to
/// the next where it is reached exactly, so that q = 1/2 is the usual median.
fn weighted_quantile(values: impl Iterator<Item = (f64, f64)>, q: f64) -> f64 {
    let mut values: Vec<(f64, f64)> = values.filter(|&(_, weight)| weight > 0.0).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut total = 0.0;
    let reached: Vec<f64> = values
        .iter()
        .map(|&(_, weight)| {
            total += weight;
            total
        })
        .collect();
    let wanted = q * 100.0 / 100.0 * total; // rounded as scikit-learn does, where levels are percentages
    let Some(last) = values.len().checked_sub(1) else { return f64::NAN };
    let place = reached.partition_point(|&reached| reached < wanted).min(last);
    if wanted == 0.0 || reached[place] - wanted > f64::EPSILON {
        return values[place].0;
    }
    let next = values[(place + 1).min(last)].0;
    values[place].0 / 2.0 + next / 2.0
}

/// The median of |y − ŷ|; the plain mean over outputs. With weights it is the weighted median.
///
/// ```
/// use tove_metrics::median_absolute_error;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([1.0, 2.0, 3.0, 4.0]), Tensor::from([1.5, 2.0, 4.0, 400.0]));
/// assert_eq!(median_absolute_error(&truth, &guess, None)?.value, 0.75);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`mean_squared_error`](crate::mean_squared_error).
pub fn median_absolute_error(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    by_output("median_absolute_error", truth, prediction, weights, |truth, prediction, weights| {
        let weight = weights.get()?;
        Ok(weighted_quantile((0..truth.len()).map(|i| ((truth[i] - prediction[i]).abs(), weight(i))), 0.5))
    })
}

/// α(y − ŷ) above the prediction, (1 − α)(ŷ − y) below it: lowest, on average, for the α-quantile.
pub fn pinball(truth: f64, prediction: f64, alpha: f64) -> f64 {
    let off = truth - prediction;
    if off >= 0.0 { alpha * off } else { (alpha - 1.0) * off }
}

fn check_alpha(what: &'static str, alpha: f64) -> Result<()> {
    if (0.0..=1.0).contains(&alpha) {
        return Ok(());
    }
    Err(MetricError::parameter(what, format!("alpha is {alpha}; give the level of a quantile, from 0 to 1")))
}

/// mean of [`pinball`], the loss of quantile regression; for α = 1/2 it is half of the mean absolute error.
///
/// ```
/// use tove_metrics::mean_pinball_loss;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([1.0, 2.0]), Tensor::from([0.0, 4.0]));
/// assert!((mean_pinball_loss(&truth, &guess, 0.9, None)?.value - 0.55).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`mean_squared_error`](crate::mean_squared_error); or if α lies outside of \[0, 1\].
pub fn mean_pinball_loss(truth: &Tensor, prediction: &Tensor, alpha: f64, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "mean_pinball_loss";
    check_alpha(WHAT, alpha)?;
    by_output(WHAT, truth, prediction, weights, |truth, prediction, weights| {
        weights.mean(truth.len(), |i| pinball(truth[i], prediction[i], alpha))
    })
}

/// The part of the pinball loss of the constant α-quantile that a prediction explains; for a constant truth 1 if the prediction
/// is right everywhere, 0 otherwise.
///
/// # Errors
/// As [`mean_pinball_loss`]; or if there is one sample only.
pub fn d2_pinball_score(truth: &Tensor, prediction: &Tensor, alpha: f64, weights: Option<&Tensor>) -> Result<Score> {
    d2("d2_pinball_score", truth, prediction, alpha, weights)
}

/// The part of the mean absolute error of the constant median that a prediction explains: R² with absolute in place of squared
/// errors.
///
/// ```
/// use tove_metrics::d2_absolute_error_score;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([1.0, 2.0, 2.0]));
/// assert_eq!(d2_absolute_error_score(&truth, &guess, None)?.value, 0.5);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`d2_pinball_score`].
pub fn d2_absolute_error_score(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    d2("d2_absolute_error_score", truth, prediction, 0.5, weights)
}

fn d2(what: &'static str, truth: &Tensor, prediction: &Tensor, alpha: f64, weights: Option<&Tensor>) -> Result<Score> {
    check_alpha(what, alpha)?;
    by_output(what, truth, prediction, weights, |truth, prediction, weights| {
        if truth.len() < 2 {
            return Err(MetricError::parameter(what, "one sample leaves nothing to explain; give at least two"));
        }
        let constant = quantile(truth, alpha, weights.get()?);
        let left = weights.mean(truth.len(), |i| pinball(truth[i], prediction[i], alpha))?;
        Ok(explained(left, weights.mean(truth.len(), |i| pinball(truth[i], constant, alpha))?))
    })
}

/// The α-quantile of weighted values, as [`d2_pinball_score`] takes it; NaN without values of positive weight.
pub fn quantile(values: &[f64], alpha: f64, weight: impl Fn(usize) -> f64) -> f64 {
    weighted_quantile((0..values.len()).map(|i| (values[i], weight(i))), alpha)
}
