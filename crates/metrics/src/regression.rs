//! Metrics of regression.
//!
//! Truth and prediction have the same shape, (n) or (n, outputs); errors are averaged over samples and outputs. (n)
//! against (n, 1) is an error, not a broadcast.

use tove_tensor::Tensor;

use crate::read::{View, Weights, check_same, dense};
use crate::score::Sum;
use crate::{MetricError, Result, Score};

/// The weighted mean over samples of the mean over outputs of a function of the residual.
fn mean_of(
    what: &'static str,
    truth: &Tensor,
    prediction: &Tensor,
    weights: Option<&Tensor>,
    value: impl Fn(f64) -> f64,
) -> Result<Score> {
    let n = check_same(what, truth, prediction)?;
    let outputs = truth.numel() / n;
    let weights = Weights::new(what, weights, n)?;
    let (truth, prediction) = (dense(truth), dense(prediction));
    let (truth, prediction) = (View::of(&truth)?, View::of(&prediction)?);
    let residual = |i: usize| truth.real(i) - prediction.real(i);
    let sample = |i: usize| (i * outputs..(i + 1) * outputs).map(|i| value(residual(i))).sum::<f64>() / outputs as f64;
    Ok(Score::plain(weights.mean(n, sample)?, n))
}

/// A power of two near the largest magnitude, where squares of the numbers would overflow or vanish; otherwise 1. Dividing by it is
/// exact.
fn unit<'v>(values: impl IntoIterator<Item = &'v View<'v>>, n: usize) -> f64 {
    let largest = |view: &View<'_>| (0..n).map(|i| view.real(i).abs()).fold(0.0, f64::max);
    let largest = values.into_iter().map(largest).fold(0.0, f64::max);
    if largest == 0.0 || !largest.is_finite() || (1e-100..1e100).contains(&largest) {
        return 1.0;
    }
    f64::exp2(largest.log2().floor().clamp(-1000.0, 1000.0))
}

/// mean (y − ŷ)².
///
/// ```
/// use tove_metrics::mean_squared_error;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([3.0, -0.5, 2.0, 7.0]), Tensor::from([2.5, 0.0, 2.0, 8.0]));
/// assert_eq!(mean_squared_error(&truth, &guess, None)?.value, 0.375);
/// assert!(mean_squared_error(&truth, &guess.reshape([4, 1]), None).is_err());
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If there are no samples, shapes differ, or a number is NaN.
pub fn mean_squared_error(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    mean_of("mean_squared_error", truth, prediction, weights, |residual| residual * residual)
}

/// √ mean (y − ŷ)², over samples and outputs together.
///
/// # Errors
/// As [`mean_squared_error`].
pub fn root_mean_squared_error(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    let (dense_truth, dense_prediction) = (dense(truth), dense(prediction));
    let unit = unit(&[View::of(&dense_truth)?, View::of(&dense_prediction)?], truth.numel().min(prediction.numel()));
    let square = |residual: f64| (residual / unit) * (residual / unit);
    let score = mean_of("root_mean_squared_error", truth, prediction, weights, square)?;
    Ok(Score::plain(unit * score.value.sqrt(), score.n))
}

/// mean |y − ŷ|.
///
/// # Errors
/// As [`mean_squared_error`].
pub fn mean_absolute_error(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    mean_of("mean_absolute_error", truth, prediction, weights, f64::abs)
}

/// R² = 1 − Σ(y − ŷ)²/Σ(y − ȳ)², the part of the variance that is explained; the plain mean over outputs. For a constant
/// truth it is 1 if the prediction is right everywhere, 0 otherwise, as in scikit-learn.
///
/// ```
/// use tove_metrics::r2_score;
/// use tove_tensor::Tensor;
/// let truth = Tensor::from([1.0, 2.0, 3.0]);
/// assert_eq!(r2_score(&truth, &Tensor::from([2.0, 2.0, 2.0]), None)?.value, 0.0);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`mean_squared_error`]; or if there is one sample only, which has no variance.
pub fn r2_score(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "r2_score";
    let n = check_same(WHAT, truth, prediction)?;
    if n < 2 {
        return Err(MetricError::parameter(WHAT, "one sample has no variance to explain; give at least two"));
    }
    let outputs = truth.numel() / n;
    let weights = Weights::new(WHAT, weights, n)?;
    let (truth, prediction) = (dense(truth), dense(prediction));
    let (truth, prediction) = (View::of(&truth)?, View::of(&prediction)?);
    let mut total = Sum::default();
    let unit = unit([&truth, &prediction], n * outputs);
    for output in 0..outputs {
        let place = |i: usize| i * outputs + output;
        let mean = weights.mean(n, |i| truth.real(place(i)) / unit)?;
        let square = |x: f64| x * x;
        let left = weights.mean(n, |i| square(truth.real(place(i)) / unit - prediction.real(place(i)) / unit))?;
        let variance = weights.mean(n, |i| square(truth.real(place(i)) / unit - mean))?;
        total.add(explained(left, variance));
    }
    Ok(Score::plain(total.value() / outputs as f64, n))
}

/// 1 − left/all, the part of a deviance that a prediction explains. Where there is none to explain it is 1 for a
/// prediction that is right everywhere, 0 otherwise.
pub(crate) fn explained(left: f64, all: f64) -> f64 {
    match (left == 0.0, all == 0.0) {
        (_, false) => 1.0 - left / all,
        (true, true) => 1.0,
        (false, true) => 0.0,
    }
}

/// 1 − Var(y − ŷ)/Var(y): R² that forgives a constant offset; the plain mean over outputs. For a constant truth it is 1 if
/// the residuals are constant, 0 otherwise, as in scikit-learn.
///
/// ```
/// use tove_metrics::{explained_variance, r2_score};
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([2.0, 3.0, 4.0]));
/// assert_eq!(explained_variance(&truth, &guess, None)?.value, 1.0);
/// assert_eq!(r2_score(&truth, &guess, None)?.value, -0.5);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`mean_squared_error`]; or if numbers are so large that their squares overflow.
pub fn explained_variance(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "explained_variance";
    by_output(WHAT, truth, prediction, weights, |truth, prediction, weights| {
        let variance = |value: &dyn Fn(usize) -> f64| {
            let mean = weights.mean(truth.len(), value)?;
            weights.mean(truth.len(), |i| (value(i) - mean).powi(2))
        };
        Ok(explained(variance(&|i| truth[i] - prediction[i])?, variance(&|i| truth[i])?))
    })
}

/// A score of each output, averaged over them.
pub(crate) fn by_output(
    what: &'static str,
    truth: &Tensor,
    prediction: &Tensor,
    weights: Option<&Tensor>,
    score: impl Fn(&[f64], &[f64], &Weights) -> Result<f64>,
) -> Result<Score> {
    let n = check_same(what, truth, prediction)?;
    let outputs = truth.numel() / n;
    let weights = Weights::new(what, weights, n)?;
    let (truth, prediction) = (dense(truth), dense(prediction));
    let (truth, prediction) = (View::of(&truth)?, View::of(&prediction)?);
    let column = |view: &View<'_>, output: usize| (0..n).map(|i| view.real(i * outputs + output)).collect::<Vec<f64>>();
    let mut total = Sum::default();
    for output in 0..outputs {
        total.add(score(&column(&truth, output), &column(&prediction, output), &weights)?);
    }
    let value = total.value() / outputs as f64;
    if value.is_nan() {
        let problem = "numbers are so large that sums of them overflow; divide truth and prediction by a power of ten";
        return Err(MetricError::parameter(what, problem));
    }
    Ok(Score::plain(value, n))
}

/// That there is a single output.
pub(crate) fn check_single(what: &'static str, truth: &Tensor) -> Result<()> {
    match *truth.dims() {
        [_] | [_, 1] => Ok(()),
        _ => Err(MetricError::parameter(what, "it is defined for one output; score the columns one by one")),
    }
}

/// mean |y − ŷ|/max(|y|, ε), with ε = 2.2e-16 in place of a truth of 0, as in scikit-learn: 0.1 is an error of 10 %.
///
/// ```
/// use tove_metrics::mean_absolute_percentage_error;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([10.0, 20.0]), Tensor::from([11.0, 16.0]));
/// assert!((mean_absolute_percentage_error(&truth, &guess, None)?.value - 0.15).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`mean_squared_error`].
pub fn mean_absolute_percentage_error(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    by_output("mean_absolute_percentage_error", truth, prediction, weights, |truth, prediction, weights| {
        weights.mean(truth.len(), |i| percentage_error(truth[i], prediction[i]))
    })
}

/// |y − ŷ|/max(|y|, ε).
pub fn percentage_error(truth: f64, prediction: f64) -> f64 {
    (truth - prediction).abs() / truth.abs().max(f64::EPSILON)
}

/// mean (ln(1 + y) − ln(1 + ŷ))², for targets that grow by factors.
///
/// # Errors
/// As [`mean_squared_error`]; or if a number is −1 or less.
pub fn mean_squared_log_error(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "mean_squared_log_error";
    by_output(WHAT, truth, prediction, weights, |truth, prediction, weights| {
        for (argument, values) in [("truth", truth), ("prediction", prediction)] {
            if let Some(index) = values.iter().position(|&value| value <= -1.0) {
                let (value, expected) = (values[index], "the logarithm of 1 + y needs numbers above -1");
                return Err(MetricError::Value { what: WHAT, argument, index, value, expected });
            }
        }
        weights.mean(truth.len(), |i| (truth[i].ln_1p() - prediction[i].ln_1p()).powi(2))
    })
}

/// max |y − ŷ|, over the samples whose weight is not 0.
///
/// # Errors
/// As [`mean_squared_error`]; or if there are several outputs.
pub fn max_error(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "max_error";
    check_single(WHAT, truth)?;
    by_output(WHAT, truth, prediction, weights, |truth, prediction, weights| {
        let weight = weights.get()?;
        let errors = (0..truth.len()).filter(|&i| weight(i) > 0.0).map(|i| (truth[i] - prediction[i]).abs());
        Ok(errors.fold(0.0, f64::max))
    })
}
