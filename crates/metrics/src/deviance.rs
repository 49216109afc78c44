//! Deviances of the Tweedie family: errors that fit counts (Poisson), positive amounts (Gamma) and what lies between.
//!
//! | power p | distribution | truth | prediction | deviance of a sample |
//! |---|---|---|---|---|
//! | 0 | normal | any | any | (y − μ)² |
//! | 1 | Poisson | ≥ 0 | > 0 | 2(y ln(y/μ) − y + μ) |
//! | 1 to 2 | Poisson sum of Gamma | ≥ 0 | > 0 | general |
//! | 2 | Gamma | > 0 | > 0 | 2(ln(μ/y) + y/μ − 1) |
//! | above 2 | stable, positive | > 0 | > 0 | general |
//! | below 0 | extreme stable | any | > 0 | general, with max(y, 0) in the first term |
//!
//! In general it is 2(y²⁻ᵖ/((1 − p)(2 − p)) − yμ¹⁻ᵖ/(1 − p) + μ²⁻ᵖ/(2 − p)).

use tove_tensor::Tensor;

use crate::regression::{by_output, check_single, explained};
use crate::{MetricError, Result, Score};

/// The deviance of a sample with this truth and prediction.
pub fn tweedie_deviance(truth: f64, prediction: f64, power: f64) -> f64 {
    let (y, mu, p) = (truth, prediction, power);
    if p == 0.0 {
        return (y - mu) * (y - mu);
    }
    if y == mu {
        return 0.0; // the terms below would leave their rounding errors
    }
    if p == 1.0 {
        return 2.0 * (if y == 0.0 { 0.0 } else { y * (y / mu).ln() } - y + mu);
    }
    if p == 2.0 {
        return 2.0 * ((mu / y).ln() + y / mu - 1.0);
    }
    let first = if p < 0.0 { y.max(0.0) } else { y };
    2.0 * (first.powf(2.0 - p) / ((1.0 - p) * (2.0 - p)) - y * mu.powf(1.0 - p) / (1.0 - p)
        + mu.powf(2.0 - p) / (2.0 - p))
}

fn check(what: &'static str, power: f64, truth: &[f64], prediction: &[f64]) -> Result<()> {
    if !(power <= 0.0 || power >= 1.0) || power.is_infinite() {
        let problem = format!("power is {power}; give 0 (normal), 1 (Poisson), 2 (Gamma), a number below 0 or above 1");
        return Err(MetricError::parameter(what, problem));
    }
    let bad = |argument, values: &[f64], fits: &dyn Fn(f64) -> bool, expected| match values
        .iter()
        .position(|&value| !fits(value))
    {
        Some(index) => Err(MetricError::Value { what, argument, index, value: values[index], expected }),
        None => Ok(()),
    };
    if power >= 2.0 {
        bad("truth", truth, &|y| y > 0.0, "a deviance of this power needs a truth above 0")?;
    } else if power >= 1.0 {
        bad("truth", truth, &|y| y >= 0.0, "a deviance of this power needs a truth of at least 0")?;
    }
    if power != 0.0 {
        bad("prediction", prediction, &|y| y > 0.0, "a deviance of this power needs predictions above 0")?;
    }
    Ok(())
}

fn mean(
    what: &'static str,
    truth: &Tensor,
    prediction: &Tensor,
    power: f64,
    weights: Option<&Tensor>,
) -> Result<Score> {
    check_single(what, truth)?;
    by_output(what, truth, prediction, weights, |truth, prediction, weights| {
        check(what, power, truth, prediction)?;
        weights.mean(truth.len(), |i| tweedie_deviance(truth[i], prediction[i], power))
    })
}

/// The mean deviance of the Tweedie distribution of this power.
///
/// ```
/// use tove_metrics::mean_tweedie_deviance;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([2.0, 0.0, 1.0, 4.0]), Tensor::from([0.5, 0.5, 2.0, 2.0]));
/// assert!((mean_tweedie_deviance(&truth, &guess, 1.0, None)?.value - 1.4260151319598086).abs() < 1e-12);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`mean_squared_error`](crate::mean_squared_error); if the power lies between 0 and 1; if there are several outputs; or
/// if a number lies outside of what the [module](self) says.
pub fn mean_tweedie_deviance(
    truth: &Tensor,
    prediction: &Tensor,
    power: f64,
    weights: Option<&Tensor>,
) -> Result<Score> {
    mean("mean_tweedie_deviance", truth, prediction, power, weights)
}

/// The mean Poisson deviance, for counts.
///
/// # Errors
/// As [`mean_tweedie_deviance`].
pub fn mean_poisson_deviance(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    mean("mean_poisson_deviance", truth, prediction, 1.0, weights)
}

/// The mean Gamma deviance, for positive amounts: it measures relative errors.
///
/// # Errors
/// As [`mean_tweedie_deviance`].
pub fn mean_gamma_deviance(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    mean("mean_gamma_deviance", truth, prediction, 2.0, weights)
}

/// D² = 1 − deviance of the prediction/deviance of the constant mean: R² of the Tweedie family, and R² itself for power 0.
/// For a constant truth it is 1 if the prediction is right everywhere, 0 otherwise.
///
/// ```
/// use tove_metrics::d2_tweedie_score;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([0.5, 1.0, 2.5, 7.0]), Tensor::from([1.0, 1.0, 5.0, 3.5]));
/// assert!((d2_tweedie_score(&truth, &guess, 1.0, None)?.value - 0.4879151349031142).abs() < 1e-12);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`mean_tweedie_deviance`]; if there is one sample only; or if the power is negative and the mean of the truth is not positive.
pub fn d2_tweedie_score(truth: &Tensor, prediction: &Tensor, power: f64, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "d2_tweedie_score";
    check_single(WHAT, truth)?;
    by_output(WHAT, truth, prediction, weights, |truth, prediction, weights| {
        let n = truth.len();
        if n < 2 {
            return Err(MetricError::parameter(WHAT, "one sample leaves nothing to explain; give at least two"));
        }
        check(WHAT, power, truth, prediction)?;
        let constant = weights.mean(n, |i| truth[i])?;
        if power < 0.0 && constant <= 0.0 {
            let problem = format!("the mean of the truth is {constant}; a negative power needs a positive one");
            return Err(MetricError::parameter(WHAT, problem));
        }
        let left = weights.mean(n, |i| tweedie_deviance(truth[i], prediction[i], power))?;
        Ok(explained(left, weights.mean(n, |i| tweedie_deviance(truth[i], constant, power))?))
    })
}
