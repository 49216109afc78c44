//! Calibration on held-out samples: one part of the samples fits the classifier, one the map, one checks the result.
//!
//! ```
//! use tove_learn::calibration::{CalibrationMethod, HoldoutCalibration};
//! use tove_learn::{Fit, LogisticRegression, Model};
//! use tove_tensor::{DType, Key, Tensor};
//! let x = Key::new(1).normal([1000, 2], DType::F64);
//! let noise = Key::new(2).normal([1000], DType::F64).to_f64_vec();
//! let y: Vec<i64> = x.to_f64_vec().chunks(2).zip(noise).map(|(row, e)| i64::from(row[0] + 0.3 * row[1] + e > 0.2)).collect();
//! let estimator = HoldoutCalibration::new(LogisticRegression::default()).method(CalibrationMethod::Beta).seed(3);
//! let model = estimator.fit(&x, &Tensor::from(y))?;
//! assert_eq!(model.calibration().map(|check| (check.samples, check.passed())), Some((200, true)));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named, SettingError};

use super::{CalibratedModel, CalibrationMethod, calibrated_capabilities};
use crate::selection::Split;
use crate::{Algorithm, Capabilities, Estimator, Fit, Labels, LearnError, LinearSvc, Result, Samples};

/// Fits a classifier, calibrates it on held-out samples and checks it on further ones. The classifier needs a `decision_function`,
/// which most methods prefer, or `predict_proba`. Groups are kept together; classes keep their proportions otherwise.
///
/// [`CalibratedClassifier`](crate::ensemble::CalibratedClassifier) uses all samples for both, in folds, but has none left for a
/// check.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "CalibratedModel", check = check)]
pub struct HoldoutCalibration {
    /// The classifier to calibrate.
    #[hyper(default = Box::new(LinearSvc::default()))]
    pub estimator: Box<dyn Estimator>,
    /// The map from scores to probabilities: sigmoid, isotonic, temperature, vector, beta or venn_abers.
    #[hyper(default = CalibrationMethod::Sigmoid)]
    pub method: CalibrationMethod,
    /// The fraction of the samples that the map is fitted to.
    #[hyper(default = 0.2, range = "(0, 1)")]
    pub calibration_size: f64,
    /// The fraction of the samples that check the result.
    #[hyper(default = 0.2, range = "(0, 1)")]
    pub check_size: f64,
    /// Seed of the split and of the check.
    #[hyper(default = 0)]
    pub seed: u64,
}

fn check(settings: &HoldoutCalibration) -> Result<(), SettingError> {
    let conflict = |field: &'static str, problem: String, fix: &str| {
        Err(SettingError::conflict(HoldoutCalibration::NAME, field, problem, fix))
    };
    let own = settings.estimator.capabilities();
    if !own.classifies() || !(own.decision_function || own.probabilities) {
        let problem = format!("{} has neither `decision_function` nor `predict_proba`", settings.estimator.name());
        return conflict("estimator", problem, "choose a classifier with one of them");
    }
    if settings.calibration_size + settings.check_size >= 1.0 {
        let problem = format!("{} and {} of the samples", settings.calibration_size, settings.check_size);
        return conflict("calibration_size", problem, "leave some to fit the classifier");
    }
    Ok(())
}

impl HoldoutCalibration {
    /// Creates the estimator with Platt's sigmoid; a fifth of the samples each for the map and the check.
    pub fn new(estimator: impl Estimator + 'static) -> HoldoutCalibration {
        HoldoutCalibration { estimator: estimator.duplicate(), ..HoldoutCalibration::default() }
    }
}

impl Algorithm for HoldoutCalibration {
    type Fitted = CalibratedModel;
    const CAPABILITIES: Capabilities = calibrated_capabilities(LinearSvc::CAPABILITIES);

    fn capabilities_of(settings: &HoldoutCalibration) -> Capabilities {
        calibrated_capabilities(settings.estimator.capabilities())
    }

    fn train(&self, samples: &Samples) -> Result<CalibratedModel> {
        Labels::several(Self::NAME, samples.y()?)?;
        let split = Split::test(self.check_size).validation(self.calibration_size).seed(self.seed);
        let split = match samples.groups() {
            Some(groups) => split.grouped(groups),
            None => split.stratified(),
        };
        let parts = split.indices(samples.y()?).map_err(|error| match error {
            LearnError::Data { problem, .. } | LearnError::Parameter { problem, .. } => {
                LearnError::data(Self::NAME, problem, "give more samples, or smaller parts")
            }
            other => other,
        })?;
        let model = self.estimator.fit_samples(&samples.take(&parts.train)?)?;
        let model = CalibratedModel::with_settings(self.clone(), model, &samples.take(&parts.validation)?)?;
        model.checked(&samples.take(&parts.test)?, self.seed)
    }
}
