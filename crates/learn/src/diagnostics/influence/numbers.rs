//! Influences of samples on regression scores.

use tove_metrics::deviance::tweedie_deviance;
use tove_metrics::quantile::{pinball, quantile};
use tove_metrics::regression::percentage_error;

use super::Weights;
use crate::selection::Evaluation;

/// True and predicted values of a single target.
fn numbers(e: &Evaluation<'_>) -> Option<(Vec<f64>, Vec<f64>)> {
    let (truth, predicted) = (e.true_numbers().ok()?.to_f64_vec(), e.predictions().ok()?.to_f64_vec());
    let single = truth.len() == e.len() && predicted.len() == e.len();
    single.then_some((truth, predicted))
}

/// A function of each true and predicted value.
fn each(e: &Evaluation<'_>, value: impl Fn(f64, f64) -> f64) -> Option<Vec<f64>> {
    let (truth, predicted) = numbers(e)?;
    Some(truth.iter().zip(&predicted).map(|(&y, &p)| value(y, p)).collect())
}

/// The influence on the mean of a function of each true and predicted value.
fn mean(w: &Weights, e: &Evaluation<'_>, value: impl Fn(f64, f64) -> f64) -> Option<Vec<f64>> {
    Some(w.about_mean(each(e, value)?.into_iter()))
}

pub(crate) fn squared_error(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    mean(w, e, |y, p| (y - p).powi(2))
}

pub(crate) fn root_squared_error(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    let squares = each(e, |y, p| (y - p).powi(2))?;
    let error = w.mean(&squares);
    let psi = |off: &f64| if error > 0.0 { (off - error) / (2.0 * error.sqrt()) } else { 0.0 };
    Some(squares.iter().map(psi).collect())
}

pub(crate) fn absolute_error(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    mean(w, e, |y, p| (y - p).abs())
}

pub(crate) fn relative_error(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    mean(w, e, percentage_error)
}

pub(crate) fn squared_log_error(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    mean(w, e, |y, p| (y.ln_1p() - p.ln_1p()).powi(2))
}

pub(crate) fn pinball_loss(w: &Weights, e: &Evaluation<'_>, alpha: f64) -> Option<Vec<f64>> {
    mean(w, e, |y, p| pinball(y, p, alpha))
}

pub(crate) fn deviance(w: &Weights, e: &Evaluation<'_>, power: f64) -> Option<Vec<f64>> {
    mean(w, e, |y, p| tweedie_deviance(y, p, power))
}

pub(crate) fn r2(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    d2_deviance(w, e, 0.0)
}

/// The reference constant is the mean, which minimizes the deviance, so its own influence is zero to first order.
pub(crate) fn d2_deviance(w: &Weights, e: &Evaluation<'_>, power: f64) -> Option<Vec<f64>> {
    let truth = numbers(e)?.0;
    let constant = w.mean(&truth);
    let all: Vec<f64> = truth.iter().map(|&y| tweedie_deviance(y, constant, power)).collect();
    Some(w.of_explained(&each(e, |y, p| tweedie_deviance(y, p, power))?, &all))
}

pub(crate) fn d2_pinball(w: &Weights, e: &Evaluation<'_>, alpha: f64) -> Option<Vec<f64>> {
    let truth = numbers(e)?.0;
    let constant = quantile(&truth, alpha, |i| w.weight(i));
    let all: Vec<f64> = truth.iter().map(|&y| pinball(y, constant, alpha)).collect();
    Some(w.of_explained(&each(e, |y, p| pinball(y, p, alpha))?, &all))
}

pub(crate) fn explained_variance(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    let squares =
        |values: Vec<f64>| -> Vec<f64> { w.about_mean(values.into_iter()).iter().map(|off| off * off).collect() };
    Some(w.of_explained(&squares(each(e, |y, p| y - p)?), &squares(numbers(e)?.0)))
}
