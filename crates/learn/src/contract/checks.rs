//! The checks, one function each.

use tove_tensor::{DType, Tensor, TryOps, num_threads, set_num_threads};

use super::bad_input;
use super::problems::{distance, plain, three_classes, weighted};
use super::{Check, Outcome};
use crate::{Csr, Estimator, Fit, LearnError, Model, Predict, Predictions, Record, Result, Rows, Samples, restore};

pub(super) const ALL: &[(&str, Check)] = &[
    ("fits and predicts", fits),
    ("one sample", one_sample),
    ("no samples", bad_input::no_samples),
    ("invalid weights are rejected", bad_input::bad_weights),
    ("huge and tiny numbers", bad_input::magnitudes),
    ("a class missing from a subset", bad_input::missing_class),
    ("a fit does not change the estimator", bad_input::refit),
    ("decisions, scores and probabilities agree", bad_input::agreement),
    ("one class", one_class),
    ("three classes", several_classes),
    ("NaN is a missing value or rejected with its position", nan_is_named),
    ("a wrong number of features is rejected", wrong_width),
    ("constant column", constant_column),
    ("integers and views are accepted", other_layouts),
    ("single precision", single_precision),
    ("order of the samples", order),
    ("weight 2 is two copies", weights_are_copies),
    ("weights of one change nothing", unit_weights),
    ("sparse like dense", sparse_like_dense),
    ("same bits when repeated", repeated),
    ("same bits for any number of threads", threads),
    ("a saved model gives the same bits", saved),
    ("a damaged record is an error", bad_input::damaged),
    ("probabilities", probabilities),
    ("invalid hyperparameters are rejected", hyperparameters),
];

pub(super) fn require(holds: bool, problem: impl FnOnce() -> String) -> Result<Outcome> {
    Ok(if holds { Outcome::Passed } else { Outcome::Failed(problem()) })
}

/// Predictions as numbers: of a regressor, or probabilities or scores of a classifier if it has them.
pub(super) fn answers(model: &dyn Model, x: impl Into<Rows>) -> Result<Tensor> {
    let x = x.into();
    let capabilities = model.capabilities();
    if capabilities.probabilities {
        return model.predict_proba(&x);
    }
    if capabilities.decision_function { model.decision_function(&x) } else { model.predict(&x) }
}

fn close(estimator: &dyn Estimator, a: &Tensor, b: &Tensor, slack: f64) -> Result<Outcome> {
    let (found, allowed) = (distance(a, b), estimator.capabilities().accuracy.max(slack));
    require(found <= allowed, || format!("predictions differ by {found:e}, more than {allowed:e}"))
}

fn fits(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
    let predicted = model.predict(&x)?;
    let labels = model.classes();
    let known = |label: &f64| labels.contains(&(*label as i64));
    let sensible = match model.capabilities().predictions {
        Predictions::Classes => labels == [-2, 4] && predicted.to_f64_vec().iter().all(known),
        Predictions::Clusters => predicted.try_to_vec::<i64>()?.iter().all(|&cluster| cluster >= -1),
        _ => predicted.to_f64_vec().iter().all(|value| value.is_finite()),
    };
    require(sensible && predicted.dims() == [60] && model.width() == 4 && model.name() == estimator.name(), || {
        format!("predictions of shape {} from a model {} of width {}", predicted.shape(), model.name(), model.width())
    })
}

/// A fit to one sample either works or explains why not: too few samples, one class, or a property of the data.
fn one_sample(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?.take(&[0])?;
    match estimator.fit_samples(&samples) {
        Err(LearnError::TooFew { .. } | LearnError::OneClass { .. } | LearnError::Data { .. }) => Ok(Outcome::Passed),
        Err(error) => Ok(Outcome::Failed(format!("the error does not mention the samples: {error}"))),
        Ok(model) => {
            let finite = model.predict(samples.x())?.to_f64_vec().iter().all(|value| value.is_finite());
            require(finite, || "the prediction is not finite".to_owned())
        }
    }
}

/// A classifier either reports that there is only one class, or predicts it.
fn one_class(estimator: &dyn Estimator) -> Result<Outcome> {
    if !estimator.capabilities().classifies() {
        return Ok(Outcome::Skipped("not a classifier"));
    }
    let (x, _) = plain(estimator)?;
    let y = Tensor::full([60], 7.0, DType::I64);
    match estimator.fit_samples(&Samples::new(&x, &y)?) {
        Err(LearnError::OneClass { class: 7, .. }) => Ok(Outcome::Passed),
        Err(error) => Ok(Outcome::Failed(format!("unexpected error: {error}"))),
        Ok(model) => {
            let all = model.predict(&x)?.to_vec::<i64>().iter().all(|&label| label == 7);
            require(all, || "another class is predicted".to_owned())
        }
    }
}

fn several_classes(estimator: &dyn Estimator) -> Result<Outcome> {
    if !estimator.capabilities().classifies() {
        return Ok(Outcome::Skipped("not a classifier"));
    }
    let (x, y) = three_classes(estimator)?;
    let fitted = estimator.fit_samples(&Samples::new(&x, &y)?);
    if !estimator.capabilities().multiclass {
        return require(fitted.is_err(), || "three classes were accepted against the declared capabilities".to_owned());
    }
    let model = fitted?;
    require(model.classes() == [10, 20, 30], || format!("classes {:?}", model.classes()))
}

fn nan_is_named(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let mut numbers = x.to_f64_vec();
    numbers[4 * 7 + 2] = f64::NAN;
    let broken = Tensor::try_from_vec(numbers, [60, 4])?;
    if estimator.capabilities().missing {
        let model = estimator.fit_samples(&Samples::with_missing(&broken, &y)?)?;
        let finite = answers(&*model, &broken)?.to_f64_vec().iter().all(|value| value.is_finite());
        return require(finite, || "predictions for rows with missing values are not finite".to_owned());
    }
    let named = |error: LearnError| {
        let text = error.to_string();
        text.contains("row 7") && text.contains("column 2")
    };
    let fitting = Samples::new(&broken, &y).and_then(|samples| estimator.fit_samples(&samples));
    let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
    let predicting = model.predict(&broken);
    require(fitting.is_err_and(named) && predicting.is_err_and(named), || "the position is not named".to_owned())
}

fn wrong_width(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
    let narrow = model.predict(&x.try_narrow(1, 0, 3)?);
    require(matches!(narrow, Err(LearnError::Width { expected: 4, found: 3, .. })), || format!("{narrow:?}"))
}

fn constant_column(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let x = Tensor::try_concat(&[&x, &Tensor::full([60, 1], 3.0, DType::F64)], 1)?;
    let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
    let finite = answers(&*model, &x)?.to_f64_vec().iter().all(|value| value.is_finite());
    require(finite, || "predictions are not finite".to_owned())
}

fn other_layouts(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let integers = (&x * 4.0).round().to_dtype(DType::I64);
    let floats = integers.to_dtype(DType::F64);
    let model = estimator.fit_samples(&Samples::new(&floats, &y)?)?;
    let from_integers = estimator.fit_samples(&Samples::new(&integers, &y)?)?;
    let view = floats.t().contiguous().t(); // column-major
    let from_view = estimator.fit_samples(&Samples::new(&view, &y)?)?;
    let expected = answers(&*model, &floats)?.to_f64_vec();
    let same = answers(&*from_integers, &integers)?.to_f64_vec() == expected
        && answers(&*from_view, &view)?.to_f64_vec() == expected;
    require(same, || "another layout of the same numbers gives another model".to_owned())
}

fn single_precision(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let double = answers(&*estimator.fit_samples(&Samples::new(&x, &y)?)?, &x)?;
    let x = x.to_dtype(DType::F32);
    let y = if y.dtype().is_float() { y.to_dtype(DType::F32) } else { y };
    let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
    let single = answers(&*model, &x)?;
    if single.dtype().is_float() && single.dtype() != DType::F32 {
        return Ok(Outcome::Failed(format!("predictions of type {} for features of type f32", single.dtype())));
    }
    close(estimator, &double, &single, 1e-2)
}

fn order(estimator: &dyn Estimator) -> Result<Outcome> {
    if !estimator.capabilities().order_free {
        return Ok(Outcome::Skipped("depends on the order by definition"));
    }
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?;
    let there = answers(&*estimator.fit_samples(&samples)?, &x)?;
    let back = answers(&*estimator.fit_samples(&samples.take(&(0..60).rev().collect::<Vec<_>>())?)?, &x)?;
    close(estimator, &there, &back, 0.0)
}

fn weights_are_copies(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let (weights, copies) = weighted(&x, &y)?;
    if !estimator.capabilities().weights {
        let refused = estimator.fit_samples(&weights);
        return require(refused.is_err(), || "weights were accepted against the declared capabilities".to_owned());
    }
    if !estimator.capabilities().order_free {
        return Ok(Outcome::Skipped("copies change the order of the steps"));
    }
    let weights = answers(&*estimator.fit_samples(&weights)?, &x)?;
    close(estimator, &weights, &answers(&*estimator.fit_samples(&copies)?, &x)?, 0.0)
}

fn unit_weights(estimator: &dyn Estimator) -> Result<Outcome> {
    if !estimator.capabilities().weights {
        return Ok(Outcome::Skipped("does not support weights"));
    }
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?;
    let ones = samples.clone().weighted(&Tensor::ones([60], DType::F64))?;
    let (plain, ones) = (estimator.fit_samples(&samples)?, estimator.fit_samples(&ones)?);
    close(estimator, &answers(&*plain, &x)?, &answers(&*ones, &x)?, 0.0)
}

fn sparse_like_dense(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let sparse_x = x.relu(); // half of the values are zero
    let csr = Csr::from_dense(&sparse_x)?;
    let sparse = estimator.fit_samples(&Samples::new(&csr, &y)?);
    if !estimator.capabilities().sparse {
        return require(sparse.is_err(), || "sparse rows were accepted against the declared capabilities".to_owned());
    }
    let (dense, sparse) = (estimator.fit_samples(&Samples::new(&sparse_x, &y)?)?, sparse?);
    close(estimator, &answers(&*dense, &sparse_x)?, &answers(&*sparse, &csr)?, 0.0)
}

fn repeated(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?;
    let (first, second) = (estimator.fit_samples(&samples)?, estimator.fit_samples(&samples)?);
    let same = answers(&*first, &x)?.to_f64_vec() == answers(&*second, &x)?.to_f64_vec();
    require(same, || "two fits with one seed differ".to_owned())
}

fn threads(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?;
    let before = num_threads();
    let results: Result<Vec<Vec<f64>>> = [1, 2, 3, 8]
        .into_iter()
        .map(|threads| {
            set_num_threads(threads);
            Ok(answers(&*estimator.fit_samples(&samples)?, &x)?.to_f64_vec())
        })
        .collect();
    set_num_threads(before);
    let results = results?;
    require(results.iter().all(|result| *result == results[0]), || {
        "the number of threads changes the result".to_owned()
    })
}

fn saved(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
    let copy = restore(&through_bytes(model.record())?)?;
    let same = answers(&*model, &x)?.to_f64_vec() == answers(&*copy, &x)?.to_f64_vec()
        && model.predict(&x)?.to_f64_vec() == copy.predict(&x)?.to_f64_vec()
        && model.settings() == copy.settings()
        && model.classes() == copy.classes();
    require(same, || "the restored model gives different predictions".to_owned())
}

/// Writes the record to a file and reads it back.
fn through_bytes(record: Record) -> Result<Record> {
    let path = std::env::temp_dir().join(format!(
        "tove-contract-{}-{:?}-{}.tove",
        std::process::id(),
        std::thread::current().id(),
        record.kind()
    ));
    record.save(&path, tove_tensor::io::WriteOptions::overwriting())?;
    let back = Record::load(&path);
    let _ = std::fs::remove_file(&path); // a leftover temporary file is harmless
    back
}

fn probabilities(estimator: &dyn Estimator) -> Result<Outcome> {
    if !estimator.capabilities().classifies() {
        return Ok(Outcome::Skipped("not a classifier"));
    }
    let (x, y) = if estimator.capabilities().multiclass { three_classes(estimator)? } else { plain(estimator)? };
    let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
    let found = model.predict_proba(&x);
    if !estimator.capabilities().probabilities {
        return require(found.is_err(), || "probabilities were given against the declared capabilities".to_owned());
    }
    let found = found?;
    let m = model.classes().len();
    let rows = found.to_f64_vec();
    let simplex = rows.chunks(m).all(|row| {
        row.iter().all(|&p| (0.0..=1.0 + 1e-12).contains(&p)) && (row.iter().sum::<f64>() - 1.0).abs() < 1e-9
    });
    require(simplex && found.dims() == [y.numel(), m], || "rows are not on the simplex".to_owned())
}

/// Sets each hyperparameter outside its range: fitting must be an error.
fn hyperparameters(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?;
    for (name, entry) in estimator.describe_all() {
        let Some(range) = entry.range else { continue };
        let mut outside = vec![f64::NAN];
        outside.extend(range.low.is_finite().then_some(range.low - 1.0));
        outside.extend(range.high.is_finite().then_some(range.high + 1.0));
        for value in outside {
            let mut broken = estimator.duplicate();
            if broken.set(&name, value.into()).is_ok() && broken.fit_samples(&samples).is_ok() {
                return Ok(Outcome::Failed(format!("{name} = {value} was accepted")));
            }
        }
    }
    Ok(Outcome::Passed)
}
