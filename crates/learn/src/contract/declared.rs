//! Checks of the declared capabilities: declared ones work, others are rejected with a clear error.

use tove_tensor::Tensor;

use super::attributes;
use super::checks::require;
use super::problems::{distance, plain};
use super::{Check, Outcome};
use crate::{
    Capabilities, DummyRegressor, Estimator, Fit, LearnError, Model, Predict, Result, Rows, Samples, Transform,
    fit_passes,
};

pub(super) const ALL: &[(&str, Check)] = &[
    ("capabilities match the model", gives),
    ("missing targets are reported if they are needed", targets),
    ("incremental fitting on batches", batches),
    ("continuing from a fitted model", continued),
    ("attribute names are unique", attribute_names),
    ("attributes have scikit-learn's names and shapes", attribute_shapes),
    ("hyperparameters can be written and read", values),
];

/// The samples of a simple problem, without negative values, so that every kind of transformer accepts them.
fn samples(estimator: &dyn Estimator) -> Result<Samples> {
    let (x, y) = plain(estimator)?;
    Samples::new(x.abs(), &y)
}

fn gives(estimator: &dyn Estimator) -> Result<Outcome> {
    let samples = samples(estimator)?;
    let model = estimator.fit_samples(&samples)?;
    let (declared, given) = (estimator.capabilities(), model.capabilities());
    let x = samples.x();
    let unknown = |result: Result<Tensor>| match result {
        Ok(_) => Some(true),
        Err(LearnError::Unsupported { .. }) => Some(false),
        Err(_) => None,
    };
    let round_trip = || model.inverse_transform(&model.transform(x)?);
    type Asked = (&'static str, fn(&Capabilities) -> bool, Result<Tensor>);
    let asked: [Asked; 7] = [
        ("predict", |own| own.predicts(), model.predict(x)),
        ("predict_proba", |own| own.probabilities, model.predict_proba(x)),
        ("decision_function", |own| own.decision_function, model.decision_function(x)),
        ("score_samples", |own| own.score_samples, model.score_samples(x)),
        ("kneighbors", |own| own.neighbors, model.kneighbors(x, 1).map(|found| found.distances)),
        ("transform", |own| own.transform, model.transform(x)),
        ("inverse_transform", |own| own.inverse_transform, round_trip()),
    ];
    for (name, has, answer) in asked {
        let text = answer.as_ref().err().map_or(String::new(), LearnError::to_string);
        let (declared, given) = (has(&declared), has(&given));
        match unknown(answer) {
            Some(works) if works == declared && works == given => {}
            Some(works) => {
                let problem = format!("{name}: declared {declared}, the model says {given}, and it works: {works}");
                return Ok(Outcome::Failed(problem));
            }
            None => return Ok(Outcome::Failed(format!("{name}: unexpected error: {text}"))),
        }
    }
    Ok(Outcome::Passed)
}

/// With and without targets: a fit that needs none gives the same model.
fn targets(estimator: &dyn Estimator) -> Result<Outcome> {
    let samples = samples(estimator)?;
    let without = estimator.fit_samples(&samples.without_targets());
    if estimator.capabilities().needs_targets() {
        let refused = without.is_err_and(|error| matches!(error, LearnError::Unsupported { .. }));
        return require(refused, || "a fit without targets did not say that it needs them".to_owned());
    }
    let ask = |model: &dyn Model| match model.capabilities() {
        own if own.transform => model.transform(samples.x()),
        own if own.predicts() => model.predict(samples.x()),
        _ => Ok(model.kneighbors(samples.x(), 1)?.distances),
    };
    let (with, without) = (ask(&*estimator.fit_samples(&samples)?)?, ask(&*without?)?);
    require(with.to_f64_vec() == without.to_f64_vec(), || "targets that are not needed change the model".to_owned())
}

fn batches(estimator: &dyn Estimator) -> Result<Outcome> {
    let samples = samples(estimator)?;
    let classes: &[i64] = if estimator.capabilities().classifies() { &[-2, 4] } else { &[] };
    let learner = estimator.any_learner(classes);
    let capabilities = estimator.capabilities();
    if !capabilities.partial_fit && !capabilities.passes {
        return require(learner.is_err(), || "a learner was given against the declared capabilities".to_owned());
    }
    let mut learner = learner?;
    let (first, second): (Vec<usize>, Vec<usize>) = (0..60).partition(|row| row % 2 == 0);
    let passes = fit_passes(&mut *learner, |learn| {
        learn(&samples.take(&first)?)?;
        learn(&samples.take(&second)?)
    })?;
    if (passes > 1) != capabilities.passes {
        return Ok(Outcome::Failed(format!("{passes} passes, and `passes` is declared {}", capabilities.passes)));
    }
    let model = learner.model_any()?;
    let answer =
        if model.capabilities().predicts() { model.predict(samples.x())? } else { model.transform(samples.x())? };
    require(answer.to_f64_vec().iter().all(|value| value.is_finite()), || "the predictions are not finite".to_owned())
}

/// Continuing a fit on the same samples changes nothing within its tolerance; other models and other widths are refused.
fn continued(estimator: &dyn Estimator) -> Result<Outcome> {
    let samples = samples(estimator)?;
    let first = estimator.fit_samples(&samples)?;
    let other = DummyRegressor::default()
        .fit_boxed(&Samples::new(samples.x().clone(), &Tensor::zeros([60], samples.x().dtype()))?)?;
    let again = estimator.fit_boxed_from(&*first, &samples);
    if !estimator.capabilities().warm_start {
        let refused = again.is_err_and(|error| matches!(error, LearnError::Unsupported { .. }));
        return require(refused, || "it continued against the declared capabilities".to_owned());
    }
    let again = again?;
    let refused = estimator.fit_boxed_from(&*other, &samples);
    if !refused.is_err_and(|error| matches!(error, LearnError::Unsupported { .. })) {
        return Ok(Outcome::Failed("a model of another estimator was not refused".to_owned()));
    }
    let Rows::Dense(x) = samples.x() else { return Ok(Outcome::Skipped("sparse samples")) };
    let narrow = Samples::new(x.narrow(1, 0, 3), samples.y()?)?;
    if !matches!(estimator.fit_boxed_from(&*first, &narrow), Err(LearnError::Width { .. })) {
        return Ok(Outcome::Failed("samples of another width were not refused".to_owned()));
    }
    let ask = |model: &dyn Model| -> Result<Tensor> {
        let rows = model.capabilities().inverse_transform.then(|| model.inverse_transform(&model.transform(x)?));
        rows.unwrap_or_else(|| if model.capabilities().predicts() { model.predict(x) } else { model.transform(x) })
    };
    if !first.summary().converged {
        return Ok(Outcome::Skipped("the first fit did not converge"));
    }
    let (before, after) = (ask(&*first)?, ask(&*again)?);
    if estimator.capabilities().clusters() {
        // Samples between two clusters may change sides.
        let (before, after) = (before.to_vec::<i64>(), after.to_vec::<i64>());
        let moved = before.iter().zip(&after).filter(|(before, after)| before != after).count();
        return require(10 * moved <= before.len(), || format!("{moved} of {} samples change clusters", before.len()));
    }
    let (gap, allowed) = (distance(&before, &after), estimator.capabilities().accuracy.max(0.02));
    require(gap <= allowed, || format!("answers differ by {gap:e}, more than {allowed:e}"))
}

fn attribute_names(estimator: &dyn Estimator) -> Result<Outcome> {
    attributes::named_once(estimator, &samples(estimator)?)
}

fn attribute_shapes(estimator: &dyn Estimator) -> Result<Outcome> {
    attributes::named_and_shaped(estimator, &samples(estimator)?)
}

/// A copy with default hyperparameters that loads the JSON of this one equals it.
fn values(estimator: &dyn Estimator) -> Result<Outcome> {
    let mut copy = match crate::registry::find(estimator.name()) {
        Ok(entry) => (entry.new)(),
        Err(_) => return Ok(Outcome::Skipped("not registered")),
    };
    copy.load_json(&estimator.to_json())?;
    require(copy.values() == estimator.values(), || format!("{copy:?} came back"))
}
