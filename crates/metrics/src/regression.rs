//! How far predicted numbers are from the true ones.
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
    let score = mean_of("root_mean_squared_error", truth, prediction, weights, |residual| residual * residual)?;
    Ok(Score::plain(score.value.sqrt(), score.n))
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
    for output in 0..outputs {
        let place = |i: usize| i * outputs + output;
        let mean = weights.mean(n, |i| truth.real(place(i)))?;
        let square = |x: f64| x * x;
        let left = weights.mean(n, |i| square(truth.real(place(i)) - prediction.real(place(i))))?;
        let variance = weights.mean(n, |i| square(truth.real(place(i)) - mean))?;
        total.add(match (left == 0.0, variance == 0.0) {
            (_, false) => 1.0 - left / variance,
            (true, true) => 1.0,
            (false, true) => 0.0,
        });
    }
    Ok(Score::plain(total.value() / outputs as f64, n))
}
