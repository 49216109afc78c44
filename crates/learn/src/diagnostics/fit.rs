//! Diagnosis of underfitting and overfitting.
//!
//! The rule, with e the mean training error, v the mean cross-validation error, and c the cross-validation error of the
//! best constant:
//!
//! - **overfitted** if v − e exceeds a quarter of c, and twice its standard error over the folds (unless it exceeds c itself);
//! - else **underfitted** if e exceeds half of c, or, where an attainable error is given, one and a half times that;
//! - else **fitted**.
//!
//! A model that is not better than the constant and still has a small gap may also be facing pure noise; the report
//! says so.
//!
//! ```
//! use tove_learn::diagnostics::{Fitness, RiskLoss, diagnose_fit};
//! use tove_learn::selection::{KFold, Train};
//! use tove_learn::{DummyRegressor, Samples};
//! use tove_tensor::{DType, Key};
//! let x = Key::new(1).normal([50, 1], DType::F64);
//! let train = Train::new(&Samples::new(&x, &x.squeeze(1))?);
//! let report = diagnose_fit(&DummyRegressor::default(), &train, &KFold::new(5), RiskLoss::Squared, None)?;
//! assert_eq!(report.fitness, Fitness::Underfitted);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::fmt;

use super::risk::{RiskLoss, losses};
use crate::selection::{Splitter, Train, in_parallel};
use crate::{DummyClassifier, DummyRegressor, Estimator, Fit, Result, Samples};

/// The verdict of [`diagnose_fit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fitness {
    /// Both errors are high: the model is too simple, or the features are not informative.
    Underfitted,
    /// Low training error, high error on other samples.
    Overfitted,
    /// Neither.
    Fitted,
}

/// The verdict with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FitReport {
    /// The verdict.
    pub fitness: Fitness,
    /// Mean training error.
    pub train: f64,
    /// Mean error on held-out samples.
    pub left_out: f64,
    /// Mean error of the best constant on held-out samples.
    pub constant: f64,
    /// Standard error of the gap over the folds.
    pub gap_error: f64,
}

impl FitReport {
    /// Held-out error minus training error.
    pub fn gap(&self) -> f64 {
        self.left_out - self.train
    }
}

impl fmt::Display for FitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, advice) = match self.fitness {
            Fitness::Overfitted => ("overfitted", "add samples, increase regularization, or choose a simpler model"),
            Fitness::Underfitted if self.left_out > 0.95 * self.constant => {
                ("underfitted", "choose a richer model or better features; the data may also be pure noise")
            }
            Fitness::Underfitted => ("underfitted", "choose a richer model, better features, or less regularization"),
            Fitness::Fitted => ("fitted", "nothing to do"),
        };
        write!(f, "{name}: error {:.4} on training samples, {:.4} on held-out samples ", self.train, self.left_out)?;
        write!(f, "(gap {:.4} ± {:.4}), {:.4} for a constant; {advice}", self.gap(), self.gap_error, self.constant)
    }
}

/// Evaluates an estimator on the training samples by cross-validation. `attainable` is an error known to be achievable,
/// for example by the best model so far, or by humans.
pub fn diagnose_fit(
    estimator: &dyn Estimator,
    train: &Train,
    splitter: &dyn Splitter,
    loss: RiskLoss,
    attainable: Option<f64>,
) -> Result<FitReport> {
    let folds = splitter.split(train.y()?)?;
    let constant: Box<dyn Estimator> = match estimator.capabilities().classifies() {
        false => Box::new(DummyRegressor::default()),
        true => Box::new(DummyClassifier::default()),
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let work = |task: usize| -> Result<[f64; 3]> {
        let (training, others) = (train.take(&folds[task].train)?, train.take(&folds[task].test)?);
        let error = |estimator: &dyn Estimator, on: &Samples| -> Result<f64> {
            Ok(mean(&losses(&*estimator.fit_samples(&training)?, on, loss)?))
        };
        let model = estimator.fit_samples(&training)?;
        let (own, left_out) = (mean(&losses(&*model, &training, loss)?), mean(&losses(&*model, &others, loss)?));
        Ok([own, left_out, error(&*constant, &others)?])
    };
    let rows: Vec<[f64; 3]> = in_parallel(folds.len(), work).into_iter().collect::<Result<_>>()?;
    let column = |i: usize| mean(&rows.iter().map(|row| row[i]).collect::<Vec<_>>());
    let (own, left_out, constant) = (column(0), column(1), column(2));
    let k = rows.len() as f64;
    let spread: f64 = rows.iter().map(|row| (row[1] - row[0] - (left_out - own)).powi(2)).sum();
    let gap_error = (spread / (k - 1.0).max(1.0) / k).sqrt();
    let gap = left_out - own;
    // A gap as large as the error of the constant is overfitting even if it varies between folds.
    let flexible = gap > 0.25 * constant && (gap > 2.0 * gap_error || gap > constant);
    let fitness = match attainable {
        _ if flexible => Fitness::Overfitted,
        Some(attainable) if own > 1.5 * attainable => Fitness::Underfitted,
        None if own > 0.5 * constant => Fitness::Underfitted,
        _ => Fitness::Fitted,
    };
    Ok(FitReport { fitness, train: own, left_out, constant, gap_error })
}
