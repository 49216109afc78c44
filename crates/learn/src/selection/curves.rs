//! Learning curves and validation curves: scores by number of samples, or by the value of a hyperparameter.
//!
//! ```
//! use tove_learn::selection::{KFold, Scorer, Train, learning_curve};
//! use tove_learn::{DummyRegressor, Samples};
//! use tove_tensor::{DType, Key};
//! let (x, y) = (Key::new(1).normal([60, 1], DType::F64), Key::new(2).normal([60], DType::F64));
//! let train = Train::new(&Samples::new(&x, &y)?);
//! let curve = learning_curve(&DummyRegressor::default(), &train, &[10, 40], &KFold::new(3), Scorer::NegMeanSquaredError)?;
//! assert_eq!((curve.len(), curve[1].samples, curve[1].test.len()), (2, 40, 3));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::Value;

use super::folds::{Fold, Splitter, order};
use super::parallel::in_parallel;
use super::scoring::Scoring;
use super::split::Train;
use super::validate::{evaluate_fold, mean};
use crate::{Estimator, LearnError, Result};

/// One point of a curve.
#[derive(Clone, Debug)]
pub struct CurvePoint {
    /// Number of training samples; the minimum over the folds.
    pub samples: usize,
    /// The value of the hyperparameter, for a validation curve.
    pub value: Option<Value>,
    /// Training scores, one per fold.
    pub train: Vec<f64>,
    /// Test scores, one per fold.
    pub test: Vec<f64>,
}

impl CurvePoint {
    /// Mean training score.
    pub fn train_mean(&self) -> f64 {
        mean(&self.train)
    }

    /// Mean test score.
    pub fn test_mean(&self) -> f64 {
        mean(&self.test)
    }

    /// Mean training score minus mean test score.
    pub fn gap(&self) -> f64 {
        self.train_mean() - self.test_mean()
    }
}

/// A hyperparameter value, if one is varied, the estimator with it, and the folds to evaluate it on.
type Point = (Option<Value>, Box<dyn Estimator>, Vec<Fold>);

fn curve(train: &Train, scorer: Scoring, points: Vec<Point>) -> Result<Vec<CurvePoint>> {
    let tasks: Vec<(usize, usize)> = points
        .iter()
        .enumerate()
        .flat_map(|(point, entry)| (0..entry.2.len()).map(move |fold| (point, fold)))
        .collect();
    let reports = in_parallel(tasks.len(), |task| {
        let (_, estimator, folds) = &points[tasks[task].0];
        evaluate_fold(&**estimator, train, (&folds[tasks[task].1], None), std::slice::from_ref(&scorer), true)
    });
    let mut reports = reports.into_iter();
    let mut curve = Vec::with_capacity(points.len());
    for (value, _, folds) in &points {
        let own: Vec<_> = reports.by_ref().take(folds.len()).collect::<Result<_>>()?;
        curve.push(CurvePoint {
            samples: folds.iter().map(|fold| fold.train.len()).min().unwrap_or(0),
            value: value.clone(),
            train: own.iter().map(|report| report.train[0].value).collect(),
            test: own.iter().map(|report| report.test[0].value).collect(),
        });
    }
    Ok(curve)
}

/// Scores of fits to these numbers of training samples per fold (drawn once, so that smaller sets are subsets of larger
/// ones).
pub fn learning_curve(
    estimator: &dyn Estimator,
    train: &Train,
    sizes: &[usize],
    splitter: &dyn Splitter,
    scorer: impl Into<Scoring>,
) -> Result<Vec<CurvePoint>> {
    let scorer = scorer.into();
    scorer.check(estimator.name(), estimator.capabilities())?;
    let mut folds = splitter.split_samples(train)?;
    let key = tove_tensor::Key::new(0);
    for (number, fold) in folds.iter_mut().enumerate() {
        fold.train = order(key.fold(number as u64), fold.train.len()).into_iter().map(|i| fold.train[i]).collect();
    }
    let max = folds.iter().map(|fold| fold.train.len()).min().unwrap_or(0);
    if let Some(size) = sizes.iter().find(|&&size| size == 0 || size > max) {
        return Err(LearnError::parameter("learning_curve", format!("{size} samples; the folds allow 1 to {max}")));
    }
    let cut =
        |size: usize| folds.iter().map(|f| Fold { train: f.train[..size].to_vec(), test: f.test.clone() }).collect();
    curve(train, scorer, sizes.iter().map(|&size| (None, estimator.duplicate(), cut(size))).collect())
}

/// Scores for several values of one hyperparameter.
pub fn validation_curve(
    estimator: &dyn Estimator,
    train: &Train,
    name: &str,
    values: &[Value],
    splitter: &dyn Splitter,
    scorer: impl Into<Scoring>,
) -> Result<Vec<CurvePoint>> {
    let scorer = scorer.into();
    scorer.check(estimator.name(), estimator.capabilities())?;
    let folds = splitter.split_samples(train)?;
    let mut points = Vec::with_capacity(values.len());
    for value in values {
        let mut own = estimator.duplicate();
        own.set(name, value.clone())?;
        points.push((Some(value.clone()), own, folds.clone()));
    }
    curve(train, scorer, points)
}
