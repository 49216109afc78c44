//! Out-of-fold predictions: each sample is predicted by a model that was not fitted to it.

use tove_tensor::{DType, Tensor};

use super::fitted::FittedEnsemble;
use crate::selection::{Fold, in_parallel};
use crate::{Estimator, Fit, LearnError, Model, Predict, Result, Rows, Samples};

/// A row-major table with one row per sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub values: Vec<f64>,
    pub width: usize,
}

impl Columns {
    fn one(values: Vec<f64>) -> Columns {
        Columns { values, width: 1 }
    }

    /// Concatenates columns to a matrix.
    pub(super) fn join(parts: &[Columns], rows: usize, dtype: DType) -> Result<Tensor> {
        let width = parts.iter().map(|part| part.width).sum();
        let mut all: Vec<f64> = Vec::with_capacity(rows * width);
        for row in 0..rows {
            parts.iter().for_each(|part| all.extend(&part.values[row * part.width..(row + 1) * part.width]));
        }
        Ok(Tensor::try_from_vec(all, [rows, width])?.to_dtype(dtype))
    }
}

/// Class probabilities; for two classes only that of the second, since the first is redundant.
pub(super) fn probabilities(model: &dyn Model, x: &Rows, classes: &[i64]) -> Result<Columns> {
    let p = FittedEnsemble::spread(classes, model, &x.to_dtype(model.dtype()), false)?.to_f64_vec();
    if let Some(index) = p.iter().position(|p| !p.is_finite()) {
        let problem = format!("the probability of row {} is {}", index / classes.len(), p[index]);
        return Err(crate::model::overflow(model.name(), &problem));
    }
    Ok(match classes.len() {
        2 => Columns::one(p.chunks(2).map(|row| row[1]).collect()),
        width => Columns { values: p, width },
    })
}

/// Decision scores; one column for two classes.
pub(super) fn decision(who: &'static str, model: &dyn Model, x: &Rows, classes: &[i64]) -> Result<Columns> {
    if let Some(class) = classes.iter().find(|class| !model.classes().contains(class)) {
        let problem =
            format!("class {class} is missing from the training part of a fold, so it has no decision function there");
        return Err(LearnError::data(who, problem, "give more samples of the class, or choose fewer folds"));
    }
    let values = model.decision_function(x)?.to_f64_vec();
    let width = if classes.len() == 2 { 1 } else { classes.len() };
    Ok(Columns { values, width })
}

/// Predicted numbers, or the indices of predicted classes.
pub(super) fn predictions(model: &dyn Model, x: &Rows, classes: &[i64]) -> Result<Columns> {
    let predicted = model.predict(x)?;
    if classes.is_empty() {
        return Ok(Columns::one(predicted.to_f64_vec()));
    }
    let index = |label: &i64| classes.partition_point(|class| class < label) as f64;
    Ok(Columns::one(predicted.try_to_vec::<i64>()?.iter().map(index).collect()))
}

/// Out-of-fold predictions of each estimator. The folds must test every sample exactly once.
pub(super) fn out_of_fold(
    estimators: &[&dyn Estimator],
    samples: &Samples,
    folds: &[Fold],
    ask: impl Fn(usize, &dyn Model, &Rows) -> Result<Columns> + Sync,
) -> Result<Vec<Columns>> {
    let k = folds.len();
    let answers = in_parallel(estimators.len() * k, |task| {
        let (number, fold) = (task / k, &folds[task % k]);
        let model = estimators[number].fit_samples(&samples.take(&fold.train)?)?;
        ask(number, &*model, &samples.x().take(&fold.test)?)
    });
    let answers: Vec<Columns> = answers.into_iter().collect::<Result<_>>()?;
    let joined = |answers: &[Columns]| {
        let width = answers.first().map_or(1, |part| part.width);
        let mut values = vec![0.0; samples.len() * width];
        for (part, fold) in answers.iter().zip(folds) {
            for (row, &index) in part.values.chunks(width).zip(&fold.test) {
                values[index * width..(index + 1) * width].copy_from_slice(row);
            }
        }
        Columns { values, width }
    };
    Ok(answers.chunks(k).map(joined).collect())
}
