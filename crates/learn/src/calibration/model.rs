//! A fitted classifier with a calibration map on its outputs.

use tove_optim::settings::{Choice, Hyperparameters};
use tove_tensor::{Tensor, TryOps};

use super::check::check_models;
use super::{CalibrationCheck, CalibrationMap, CalibrationMethod, HoldoutCalibration, ScoreKind, ScoreTable, table_of};
use crate::{
    About, Capabilities, Estimator, Fitted, Labels, LearnError, Model, Predict, Record, Result, Rows, Samples, registry,
};

const WHO: &str = "CalibratedModel";

/// A fitted classifier of any kind with a calibration map: it predicts, is saved and restored like any other model.
///
/// The map is fitted to samples that the classifier was not fitted to, and checked on samples that neither has seen.
/// [`Model::calibration`] returns the recorded check.
///
/// ```
/// use tove_learn::calibration::{CalibratedModel, CalibrationMethod};
/// use tove_learn::{Fit, GaussianNb, Model, Predict, Samples};
/// use tove_tensor::{DType, Key, Tensor};
/// // Four copies of one feature make naive Bayes too sure.
/// let samples = |seed: u64| {
///     let x = Key::new(seed).normal([600, 1], DType::F64);
///     let noise = Key::new(seed).fold(1).normal([600], DType::F64).to_f64_vec();
///     let y: Vec<i64> = x.to_f64_vec().iter().zip(noise).map(|(x, e)| i64::from(x + e > 0.0)).collect();
///     let copies: Vec<f64> = x.to_f64_vec().iter().flat_map(|x| [*x; 4]).collect();
///     Samples::new(&Tensor::from_vec(copies, [600, 4]), &Tensor::from(y))
/// };
/// let model = GaussianNb::default().fit_samples(&samples(1)?)?;
/// let model = CalibratedModel::fit(Box::new(model), CalibrationMethod::Sigmoid, &samples(2)?)?;
/// assert!(model.calibration().is_none()); // not checked yet
/// let model = model.checked(&samples(3)?, 7)?;
/// let check = model.calibration().unwrap();
/// assert!(check.passed(), "{check}");
/// assert!(check.ece_after.value < check.ece_before.unwrap().value, "{check}");
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Fitted)]
#[fitted(estimator = HoldoutCalibration, complete = CalibratedModel::matched)]
pub struct CalibratedModel {
    about: About,
    settings: HoldoutCalibration,
    #[fitted(shape = "features", hidden)]
    model: Box<dyn Model>,
    #[fitted(stored = "calibrator", hidden)]
    map: CalibrationMap,
    #[fitted(hidden)]
    check: Option<CalibrationCheck>,
}

/// Capabilities of a calibrated classifier: probabilities instead of scores, and no way to go on fitting.
pub(crate) const fn calibrated_capabilities(inner: Capabilities) -> Capabilities {
    Capabilities {
        probabilities: true,
        decision_function: false,
        transform: false,
        fills: false,
        inverse_transform: false,
        score_samples: false,
        neighbors: false,
        partial_fit: false,
        passes: false,
        warm_start: false,
        moments: false,
        checks_finite: false,
        anytime: false,
        order_free: false,
        delegates: true,
        ..inner
    }
}

/// What a map takes from a model: the decision function, or probabilities if there is none or the method wants them.
fn kind_for(model: &dyn Model, method: CalibrationMethod) -> ScoreKind {
    let own = model.capabilities();
    match own.decision_function && !(own.probabilities && method.on_probabilities()) {
        true => ScoreKind::Decision,
        false => ScoreKind::Probabilities,
    }
}

/// The scores of a model.
fn scores_of(model: &dyn Model, method: CalibrationMethod, x: &Rows) -> Result<ScoreTable> {
    let kind = kind_for(model, method);
    let scores = match kind {
        ScoreKind::Decision => model.decision_function(x)?,
        _ => model.predict_proba(x)?,
    };
    table_of(WHO, kind, &scores, model.classes().len(), false)
}

impl CalibratedModel {
    /// Fits a map to samples that the model was not fitted to. Their weights count.
    ///
    /// # Errors
    /// A model that is not a classifier with probabilities or a decision function, or that files cannot hold; samples without
    /// labels, or without a sample of each of its classes.
    pub fn fit(model: Box<dyn Model>, method: CalibrationMethod, samples: &Samples) -> Result<CalibratedModel> {
        let settings =
            HoldoutCalibration { estimator: estimator_of(&*model)?, method, ..HoldoutCalibration::default() };
        CalibratedModel::with_settings(settings, model, samples)
    }

    /// As [`CalibratedModel::fit`], with the settings of an estimator.
    pub(super) fn with_settings(
        settings: HoldoutCalibration,
        model: Box<dyn Model>,
        samples: &Samples,
    ) -> Result<CalibratedModel> {
        let method = settings.method;
        let own = model.capabilities();
        if !own.classifies() || !(own.probabilities || own.decision_function) || model.classes().len() < 2 {
            let problem = format!("{} is not a classifier with probabilities or a decision function", model.name());
            return Err(LearnError::unsupported(WHO, problem, "choose a classifier with one of them"));
        }
        samples.require_some(WHO)?;
        let labels = Labels::of(WHO, samples.y()?)?;
        let codes = labels.codes_among(WHO, model.classes()).map_err(|error| match error {
            LearnError::Data { problem, .. } => {
                LearnError::data(WHO, problem, "calibrate on samples of the classes of the model")
            }
            other => other,
        })?;
        let weights = samples.weights().map_or_else(|| vec![1.0; samples.len()], Tensor::to_f64_vec);
        for (code, class) in model.classes().iter().enumerate() {
            if !codes.iter().zip(&weights).any(|(&own, &weight)| own == code && weight > 0.0) {
                let problem = format!("class {class} has no sample of positive weight to calibrate with");
                return Err(LearnError::data(WHO, problem, "give samples of all classes of the model"));
            }
        }
        let table = scores_of(&*model, method, samples.x())?;
        let map = CalibrationMap::fit_table(WHO, method, &table, &codes, model.classes().len(), &weights)?;
        let about = About::new(&settings, model.width(), model.dtype()).classes(model.classes());
        let about = About { capabilities: calibrated_capabilities(own), ..about };
        Ok(CalibratedModel { about, settings, model, map, check: None })
    }

    /// Checks the probabilities on samples that neither the model nor the map has seen, and records the check.
    ///
    /// # Errors
    /// No samples, samples without labels, or labels that are not among the classes of the model.
    pub fn checked(self, samples: &Samples, seed: u64) -> Result<CalibratedModel> {
        let check = check_models(&self, Some(&*self.model), samples, seed)?;
        Ok(CalibratedModel { check: Some(check), ..self })
    }

    /// The model without the map.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// The map.
    pub fn map(&self) -> &CalibrationMap {
        &self.map
    }

    /// Lower and upper bounds (n, m) of the probabilities, with the method `venn_abers`; see [`CalibrationMap::intervals`].
    ///
    /// # Errors
    /// Rows that do not fit the model; another method.
    pub fn proba_intervals(&self, x: impl Into<Rows>) -> Result<(Tensor, Tensor)> {
        let x = x.into();
        let table = scores_of(&*self.model, self.map.method(), &x)?;
        let (low, high) = self.map.bounds(&table)?;
        let tensor = |values: Vec<f64>| Tensor::try_from_vec(values, [x.len(), self.about.classes.len()]);
        Ok((tensor(low)?.to_dtype(self.about.dtype), tensor(high)?.to_dtype(self.about.dtype)))
    }

    /// That model, map and classes belong together.
    fn matched(mut self, record: &Record) -> Result<CalibratedModel> {
        let own = self.model.capabilities();
        let scores = own.classifies() && (own.probabilities || own.decision_function);
        if !scores || self.model.classes() != self.about.classes || self.model.name() != self.settings.estimator.name()
        {
            return Err(record.wrong("model", "a classifier of these settings and classes"));
        }
        if self.model.dtype() != self.about.dtype {
            return Err(record.wrong("model", "of the precision of the record"));
        }
        self.about.capabilities = calibrated_capabilities(own);
        let (method, kind) = (self.settings.method, kind_for(&*self.model, self.settings.method));
        self.map.complete(record, "calibrator", method, kind, self.about.classes.len())?;
        Ok(self)
    }
}

/// The estimator of a fitted model, with its settings.
fn estimator_of(model: &dyn Model) -> Result<Box<dyn Estimator>> {
    let mut estimator = (registry::find(model.name())?.new)();
    // Settings of earlier versions may not be readable: the defaults say at least which estimator it was.
    if estimator.load_json(&model.settings()).is_err() {
        estimator = (registry::find(model.name())?.new)();
    }
    Ok(estimator)
}

impl Model for CalibratedModel {
    crate::fitted_methods!();

    fn longest_sum(&self) -> usize {
        self.model.longest_sum()
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let best = self.proba_rows(x)?.try_argmax(1)?.to_vec::<i64>();
        Ok(Labels::decode(self.classes(), best.into_iter().map(|code| code as usize)))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let table = scores_of(&*self.model, self.map.method(), x)?;
        let p = self.map.probabilities(&table);
        Ok(Tensor::try_from_vec(p, [x.len(), self.about.classes.len()])?.to_dtype(self.about.dtype))
    }

    fn calibration(&self) -> Option<&CalibrationCheck> {
        self.check.as_ref()
    }
}

impl std::fmt::Debug for CalibratedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CalibratedModel({}, method={})", self.model.name(), self.settings.method.name())
    }
}
