//! Checks of the declared capabilities: declared ones work, others are rejected with a clear error.

use tove_tensor::Tensor;

use super::attributes;
use super::checks::require;
use super::problems::plain;
use super::{Check, Outcome};
use crate::{Capabilities, Estimator, Fit, LearnError, Model, Predict, Result, Samples, Transform};

pub(super) const ALL: &[(&str, Check)] = &[
    ("capabilities match the model", gives),
    ("missing targets are reported if they are needed", targets),
    ("incremental fitting on batches", batches),
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
    if !estimator.capabilities().partial_fit {
        return require(learner.is_err(), || "a learner was given against the declared capabilities".to_owned());
    }
    let mut learner = learner?;
    let (first, second): (Vec<usize>, Vec<usize>) = (0..60).partition(|row| row % 2 == 0);
    learner.learn_any(&samples.take(&first)?)?;
    learner.learn_any(&samples.take(&second)?)?;
    let model = learner.model_any()?;
    let answer =
        if model.capabilities().predicts() { model.predict(samples.x())? } else { model.transform(samples.x())? };
    require(answer.to_f64_vec().iter().all(|value| value.is_finite()), || "the predictions are not finite".to_owned())
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
