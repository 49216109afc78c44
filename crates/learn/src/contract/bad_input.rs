//! Checks with invalid or extreme input: empty samples, invalid weights, values at the ends of the range, missing
//! classes, damaged records.

use tove_tensor::{DType, Tensor};

use super::Outcome;
use super::checks::{answers, require};
use super::problems::{plain, three_classes};
use crate::logistic::linear::first_largest;
use crate::{Estimator, Fit, LearnError, Model, Predict, Predictions, Record, Result, Samples, restore};

/// Factors that scale ordinary values to the ends of the floating-point range and beyond.
pub(super) const FACTORS: [f64; 10] = [1e-300, 1e-200, 1e-150, 1e-100, 1e-20, 1e20, 1e100, 1e154, 1e200, 1e300];

/// Whether an error describes the problem in the data, not an internal operation.
pub(super) fn is_about_data(error: &LearnError) -> bool {
    use LearnError::{Data, Lengths, NotFinite, OneClass, Parameter, Target, TooFew, Unsupported};
    matches!(
        error,
        Data { .. }
            | Lengths { .. }
            | NotFinite { .. }
            | OneClass { .. }
            | Parameter { .. }
            | Target { .. }
            | TooFew { .. }
            | Unsupported { .. }
    )
}

/// No samples, as a fold or a group can produce.
pub(super) fn no_samples(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?;
    let mut sets = vec![samples.take(&[])?];
    if estimator.capabilities().weights {
        sets.push(samples.weighted(&Tensor::ones([60], DType::F64))?.take(&[])?);
    }
    for set in sets {
        match estimator.fit_samples(&set) {
            Err(LearnError::TooFew { found: 0, .. }) => {}
            Err(error) => return Ok(Outcome::Failed(format!("unexpected error: {error}"))),
            Ok(_) => return Ok(Outcome::Failed("it was fitted to no samples".to_owned())),
        }
    }
    Ok(Outcome::Passed)
}

/// Invalid weights for about n samples, with descriptions.
pub(super) fn invalid_weights(n: usize) -> Result<Vec<(&'static str, Tensor)>> {
    let one_is = |value: f64| {
        let mut weights = vec![1.0; n];
        weights[n / 2] = value;
        Tensor::try_from_vec(weights, [n])
    };
    Ok(vec![
        ("too few weights", Tensor::ones([n - 1], DType::F64)),
        ("too many weights", Tensor::ones([n + 1], DType::F64)),
        ("a matrix of weights", Tensor::ones([n, 2], DType::F64)),
        ("a negative weight", one_is(-1.0)?),
        ("a weight that is NaN", one_is(f64::NAN)?),
        ("an infinite weight", one_is(f64::INFINITY)?),
        ("weights of 0 only", Tensor::zeros([n], DType::F64)),
    ])
}

/// Invalid weights are rejected before the fit; weights that are all 0 in a subset are rejected by it.
pub(super) fn bad_weights(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?;
    for (what, weights) in invalid_weights(60)? {
        match samples.clone().weighted(&weights).and_then(|samples| estimator.fit_samples(&samples)) {
            Err(error) if is_about_data(&error) => {}
            Err(error) => return Ok(Outcome::Failed(format!("{what}: unexpected error: {error}"))),
            Ok(_) => return Ok(Outcome::Failed(format!("{what} were accepted"))),
        }
    }
    let half: Vec<f64> = (0..60).map(|i| f64::from(u8::from(i >= 30))).collect();
    let part = samples.weighted(&Tensor::try_from_vec(half, [60])?)?.take(&(0..30).collect::<Vec<_>>())?;
    let refused = estimator.fit_samples(&part).err().is_some_and(|error| is_about_data(&error));
    require(refused, || "a part in which all weights are 0 was accepted".to_owned())
}

/// Features and targets at the ends of the range: either a clear error, or finite predictions of the magnitude of the
/// targets.
pub(super) fn magnitudes(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let mut cases: Vec<(String, Tensor, Tensor)> =
        FACTORS.iter().map(|&factor| (format!("features times {factor:e}"), &x * factor, y.clone())).collect();
    // One column only; the others are unchanged.
    let mut column = vec![1.0; 4];
    for factor in FACTORS {
        column[1] = factor;
        cases.push((format!("a column times {factor:e}"), &x * &Tensor::from_slice(&column), y.clone()));
        if y.dtype().is_float() {
            cases.push((format!("targets times {factor:e}"), x.clone(), &y * factor));
        }
    }
    for (what, x, y) in cases {
        let model = match crate::quietly(|| estimator.fit_samples(&Samples::new(&x, &y)?)) {
            Ok(model) => model,
            Err(error) if is_about_data(&error) => continue,
            Err(error) => return Ok(Outcome::Failed(format!("{what}: internal error: {error}"))),
        };
        let predicted = model.predict(&x)?.to_f64_vec();
        let sensible = match model.capabilities().predictions {
            Predictions::Classes => predicted.iter().all(|&label| model.classes().contains(&(label as i64))),
            Predictions::Clusters | Predictions::None => predicted.iter().all(|&label| label >= -1.0), // −1 for outliers
            Predictions::Numbers => {
                let size = y.to_f64_vec().iter().fold(0.0f64, |max, y| max.max(y.abs()));
                predicted.iter().all(|value| value.is_finite() && value.abs() <= 1e3 * size)
            }
        };
        if !sensible {
            return Ok(Outcome::Failed(format!("{what}: implausible predictions, starting with {:?}", predicted[0])));
        }
    }
    Ok(Outcome::Passed)
}

/// A class that a fold or a resample lacks: the model has the other classes, and can be evaluated on samples of all.
pub(super) fn missing_class(estimator: &dyn Estimator) -> Result<Outcome> {
    if !estimator.capabilities().classifies() {
        return Ok(Outcome::Skipped("not a classifier"));
    }
    let (x, y) = three_classes(estimator)?;
    let samples = Samples::new(&x, &y)?;
    let labels = y.to_vec::<i64>();
    let two: Vec<usize> = (0..labels.len()).filter(|&row| labels[row] != 20).collect();
    let model = estimator.fit_samples(&samples.take(&two)?)?;
    let known = model.predict(&x)?.to_vec::<i64>().iter().all(|label| [10, 30].contains(label));
    let score = model.score(&x, &y)?.value;
    require(known && model.classes() == [10, 30] && score.is_finite(), || {
        format!("classes {:?} and a score of {score}", model.classes())
    })
}

/// Fits to other data in between change nothing.
pub(super) fn refit(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let samples = Samples::new(&x, &y)?;
    let first = answers(&*estimator.fit_samples(&samples)?, &x)?.to_f64_vec();
    let before = estimator.values();
    let narrow = Samples::new((&x * 3.0).narrow(1, 0, 3), &y)?;
    estimator.fit_samples(&narrow.take(&(0..45).collect::<Vec<_>>())?)?;
    let _ = estimator.fit_samples(&samples.take(&[])?); // a fit that fails
    let again = answers(&*estimator.fit_samples(&samples)?, &x)?.to_f64_vec();
    let copy = answers(&*estimator.duplicate().fit_samples(&samples)?, &x)?.to_f64_vec();
    require(first == again && first == copy && estimator.values() == before, || {
        "a second fit to the same data gives another model".to_owned()
    })
}

/// `predict` is the first largest of `predict_proba` and of `decision_function`, or the sign of the latter for two
/// classes.
pub(super) fn agreement(estimator: &dyn Estimator) -> Result<Outcome> {
    if !estimator.capabilities().classifies() {
        return Ok(Outcome::Skipped("not a classifier"));
    }
    let mut estimator = estimator.duplicate();
    if estimator.describe_all().iter().any(|(name, _)| name == "break_ties") {
        estimator.set("break_ties", true.into())?; // otherwise votes decide, which this setting changes
    }
    let mut problems = vec![plain(&*estimator)?];
    if estimator.capabilities().multiclass {
        problems.push(three_classes(&*estimator)?);
    }
    for (x, y) in problems {
        let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
        // Between the samples, at them, at 0 and far away.
        let x = Tensor::try_concat(&[&x, &(&x * 1e-3), &(&x * 0.0), &(&x * 1e3)], 0)?;
        let labels = model.predict(&x)?.to_vec::<i64>();
        let agrees = |found: &Tensor| {
            let m = found.numel() / labels.len();
            let class = |row: &[f64]| if m == 1 { usize::from(row[0] > 0.0) } else { first_largest(row) };
            found.to_f64_vec().chunks(m).zip(&labels).all(|(row, label)| model.classes()[class(row)] == *label)
        };
        if model.predict_proba(&x).is_ok_and(|p| !agrees(&p)) {
            return Ok(Outcome::Failed("the largest probability is not that of the predicted class".to_owned()));
        }
        if model.decision_function(&x).is_ok_and(|scores| !agrees(&scores)) {
            return Ok(Outcome::Failed("the largest score is not that of the predicted class".to_owned()));
        }
    }
    Ok(Outcome::Passed)
}

/// Records with one damage each: a tensor or value that is missing, of another shape, or not a number.
pub(super) fn damages(record: &Record) -> Vec<(String, Record)> {
    let original = record.clone().into_container();
    let mut all = Vec::new();
    for (name, tensor) in &original.tensors {
        let mut without = original.clone();
        without.tensors.remove(name);
        all.push((format!("without the tensor {name}"), without));
        let mut others = vec![("of another shape", Tensor::ones([1, 7, 1], tensor.dtype()))];
        if tensor.dtype().is_float() {
            others.push(("of NaN", Tensor::full(tensor.dims().to_vec(), f64::NAN, tensor.dtype())));
            others.push(("of another type", Tensor::zeros(tensor.dims().to_vec(), DType::I64)));
        } else {
            others.push(("of another type", Tensor::full(tensor.dims().to_vec(), 0.5, DType::F64)));
        }
        for (what, other) in others {
            let mut changed = original.clone();
            changed.insert(name.clone(), other);
            all.push((format!("with the tensor {name} {what}"), changed));
        }
    }
    let names: Vec<String> = original.header.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    for name in names {
        let mut without = original.clone();
        if let Some(object) = without.header.as_object_mut() {
            object.remove(&name);
        }
        all.push((format!("without the value {name}"), without));
        for value in [serde_json::Value::Null, (-1).into(), u64::MAX.into(), "x".into(), serde_json::json!([0.5])] {
            let mut changed = original.clone();
            changed.header[&name] = value.clone();
            all.push((format!("with the value {name} set to {value}"), changed));
        }
    }
    all.into_iter().map(|(what, container)| (what, Record::from_container(container))).collect()
}

/// For any damaged record, reading or predicting is an error, or the predictions are bit-identical.
pub(super) fn damaged(estimator: &dyn Estimator) -> Result<Outcome> {
    let (x, y) = plain(estimator)?;
    let model = estimator.fit_samples(&Samples::new(&x, &y)?)?;
    let ask = |model: &dyn Model| -> Result<(Vec<f64>, Vec<f64>)> {
        Ok((model.predict(&x)?.to_f64_vec(), answers(model, &x)?.to_f64_vec()))
    };
    let expected = ask(&*model)?;
    let mut errors = 0;
    for (what, record) in damages(&model.record()) {
        match restore(&record).and_then(|model| ask(&*model)) {
            Err(_) => errors += 1,
            Ok(found) if found == expected => {}
            Ok(_) => return Ok(Outcome::Failed(format!("a record {what} was read and gives different predictions"))),
        }
    }
    require(errors > 0, || "no damage was detected".to_owned())
}
