//! A chain of estimators.

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::{DType, Tensor};

use super::parts;
use crate::calibration::CalibrationCheck;
use crate::neighbors::{Neighbors, RadiusNeighbors};
use crate::{
    About, Algorithm, Capabilities, Estimator, Fit, Model, Predict, Record, Restore, Result, Rows, Samples, Steps,
    Transform,
};

/// A chain of estimators, each fitted to the output of the previous one. All but the last must be transformers.
///
/// Sample weights go to the steps that support them; a final step that predicts must support them. A step is named
/// after its estimator in lowercase by default, and its hyperparameters are set by dotted names: `ridge.alpha`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check)]
pub struct Pipeline {
    /// The estimators with their names, in order.
    pub steps: Steps,
}

fn check(pipeline: &Pipeline) -> Result<(), SettingError> {
    let conflict = |problem: String, fix: &str| Err(SettingError::conflict(Pipeline::NAME, "steps", problem, fix));
    pipeline.steps.check_names(Pipeline::NAME)?;
    if pipeline.steps.is_empty() {
        return conflict("there are no steps".to_owned(), "give at least one");
    }
    let before_last = pipeline.steps.iter().take(pipeline.steps.len() - 1);
    match before_last.into_iter().find(|(_, step)| !step.capabilities().transform) {
        Some((name, step)) => {
            let problem = format!("`{name}` is followed by another step, but {} is not a transformer", step.name());
            conflict(problem, "make it the last step, or replace it by a transformer")
        }
        None => Ok(()),
    }
}

impl Pipeline {
    /// Creates a pipeline that starts with this step.
    pub fn of(step: impl Estimator + 'static) -> Pipeline {
        Pipeline::default().then(step)
    }

    /// Appends a step, named after its estimator in lowercase (`standardscaler`).
    #[must_use]
    pub fn then(mut self, step: impl Estimator + 'static) -> Pipeline {
        self.steps.push_unnamed(step.duplicate());
        self
    }

    /// Appends a step with this name.
    #[must_use]
    pub fn step(mut self, name: &str, step: impl Estimator + 'static) -> Pipeline {
        self.steps.push(name, step.duplicate());
        self
    }
}

/// Whether missing values pass through all steps, or up to one that imputes them.
fn accepts_missing(steps: &[Capabilities]) -> bool {
    let until = steps.iter().position(|step| step.fills).map_or(steps.len(), |index| index + 1);
    steps[..until].iter().all(|step| step.missing)
}

/// Capabilities of chained steps.
fn joined(steps: &[Capabilities]) -> Capabilities {
    let Some(last) = steps.last() else { return Pipeline::CAPABILITIES };
    let all = |has: fn(&Capabilities) -> bool| steps.iter().all(has);
    let learns = steps.iter().rev().find(|step| step.needs_targets());
    Capabilities {
        targets: learns.map_or(last.targets, |step| step.targets),
        weights: if last.predicts() { last.weights } else { steps.iter().any(|step| step.weights) },
        sparse: all(|step| step.sparse),
        missing: accepts_missing(steps),
        fills: steps.iter().any(|step| step.fills),
        nonnegative: steps[0].nonnegative,
        partial_fit: false,
        passes: false,
        warm_start: false,
        moments: false,
        transform: all(|step| step.transform),
        inverse_transform: all(|step| step.inverse_transform),
        order_free: all(|step| step.order_free),
        accuracy: steps.iter().fold(0.0, |max, step| step.accuracy.max(max)),
        checks_finite: false,
        delegates: true,
        ..*last
    }
}

impl Algorithm for Pipeline {
    type Fitted = FittedPipeline;
    const CAPABILITIES: Capabilities = Capabilities::TRANSFORMER;

    fn capabilities_of(settings: &Pipeline) -> Capabilities {
        joined(&settings.steps.iter().map(|step| step.1.capabilities()).collect::<Vec<_>>())
    }

    fn train(&self, samples: &Samples) -> Result<FittedPipeline> {
        let mut fitted: Vec<(String, Box<dyn Model>)> = Vec::with_capacity(self.steps.len());
        let mut data = samples.clone();
        for (index, (name, step)) in self.steps.iter().enumerate() {
            // A final model without weight support would have been rejected before.
            let own = if step.capabilities().weights { data.clone() } else { data.without_weights() };
            let model = step.fit_samples(&own)?;
            if index + 1 < self.steps.len() {
                let x = model.apply(data.x())?;
                data = if data.may_miss() { data.with_x_and_missing(x)? } else { data.with_x(x)? };
            }
            fitted.push((name.clone(), model));
        }
        Ok(FittedPipeline::new(fitted, samples.x().dtype(), self.to_json()))
    }
}

// Not derived: width, classes and capabilities are those of the steps, and version 1 had another layout.
/// A fitted [`Pipeline`].
pub struct FittedPipeline {
    about: About,
    steps: Vec<(String, Box<dyn Model>)>, // at least one
}

impl FittedPipeline {
    fn new(steps: Vec<(String, Box<dyn Model>)>, dtype: DType, settings: serde_json::Value) -> FittedPipeline {
        let (first, last) = (&steps[0].1, &steps[steps.len() - 1].1);
        let capabilities = joined(&steps.iter().map(|step| step.1.capabilities()).collect::<Vec<_>>());
        let about = About::with(Pipeline::NAME, capabilities, first.width(), dtype, settings);
        let about = about.outputs(last.outputs()).classes(last.classes()).summary(last.summary().clone());
        FittedPipeline { about, steps }
    }

    /// The fitted step of this name.
    pub fn step(&self, name: &str) -> Option<&dyn Model> {
        self.steps.iter().find(|step| step.0 == name).map(|step| &*step.1)
    }

    /// Names of the steps in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.0.as_str())
    }

    /// The fitted final step.
    pub fn last(&self) -> &dyn Model {
        &*self.steps[self.steps.len() - 1].1
    }

    /// Transforms the rows by all but the last step.
    fn before_last(&self, x: &Rows) -> Result<Rows> {
        let before = &self.steps[..self.steps.len() - 1];
        before.iter().try_fold(x.clone(), |x, step| step.1.apply(&x))
    }
}

impl Model for FittedPipeline {
    fn about(&self) -> &About {
        &self.about
    }

    fn longest_sum(&self) -> usize {
        self.steps.iter().map(|step| step.1.longest_sum()).max().unwrap_or(0)
    }

    // Each step checks its input: the previous one may have left missing values.

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.last().predict(self.before_last(x)?)
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.last().decision_function(self.before_last(x)?)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.last().predict_proba(self.before_last(x)?)
    }

    fn score_rows(&self, x: &Rows) -> Result<Tensor> {
        self.last().score_samples(self.before_last(x)?)
    }

    fn neighbor_rows(&self, x: &Rows, k: usize) -> Result<Neighbors> {
        self.last().kneighbors(self.before_last(x)?, k)
    }

    fn radius_rows(&self, x: &Rows, radius: f64) -> Result<RadiusNeighbors> {
        self.last().radius_neighbors(self.before_last(x)?, radius)
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        self.last().apply(self.before_last(x)?)
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        self.steps.iter().rev().try_fold(x.clone(), |x, step| step.1.inverse_rows(&x))
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        self.steps.iter().fold(inputs.to_vec(), |names, step| step.1.output_names(&names))
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        self.last().attributes()
    }

    fn score_predictions(&self, y: &Tensor, predicted: &Tensor) -> Result<tove_metrics::Score> {
        self.last().score_predictions(y, predicted)
    }

    fn calibration(&self) -> Option<&CalibrationCheck> {
        self.last().calibration()
    }

    fn coefficients(&self) -> Option<&Tensor> {
        self.last().coefficients()
    }

    fn record(&self) -> Record {
        let mut record = Record::new(Pipeline::NAME, 2);
        record.put("settings", self.settings());
        record.put("single", self.dtype() == DType::F32);
        parts::write(&mut record, &self.steps);
        record
    }
}

impl Restore for FittedPipeline {
    fn restore(record: &Record) -> Result<FittedPipeline> {
        record.expect(Pipeline::NAME, 2)?;
        let steps = if record.version() == 1 { first_version(record)? } else { parts::read(record)? };
        if steps.is_empty() {
            return Err(record.wrong("steps", "a list of at least one step"));
        }
        let fits = steps.windows(2).all(|two| two[0].1.outputs() == two[1].1.width());
        let transforms = steps[..steps.len() - 1].iter().all(|step| step.1.capabilities().transform);
        if !fits || !transforms {
            return Err(record.wrong("steps", "a chain whose widths fit"));
        }
        Ok(FittedPipeline::new(steps, record.precision()?, record.get("settings")?.clone()))
    }
}

/// Files of version 1 stored the transformers in a separate part, next to the estimator.
fn first_version(record: &Record) -> Result<Vec<(String, Box<dyn Model>)>> {
    let chain = record.part("chain")?;
    chain.expect("Chain", 1)?;
    let mut steps = parts::read(&chain)?;
    steps.push((record.text("name")?.to_owned(), crate::restore(&record.part("model")?)?));
    if steps[0].1.width() != chain.count("width")? {
        return Err(record.wrong("width", "that of the first step"));
    }
    Ok(steps)
}
