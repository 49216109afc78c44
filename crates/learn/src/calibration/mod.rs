//! Calibration: maps from the outputs of a classifier to probabilities that match observed frequencies.
//!
//! The outputs of a classifier are scores: their order says what is more likely, not how likely. A map is fitted to outputs and
//! labels of samples that the classifier was *not* fitted to. Whether it helped is then checked on samples that neither has seen
//! ([`CalibrationCheck`]); only a model with a recorded check that passed counts as calibrated
//! ([`Model::calibration`](crate::Model::calibration)).
//!
//! | method | map | for |
//! |---|---|---|
//! | [`sigmoid`](PlattSigmoid) | 1 / (1 + exp(a s + b)) | few samples, any score |
//! | [`isotonic`](IsotonicCurve) | any non-decreasing step function | about a thousand samples or more |
//! | [`temperature`](TemperatureScale) | softmax(z / T) | nets; keeps every prediction |
//! | [`vector`](VectorScale) | softmax(w ∘ z + b) | nets with many samples per class |
//! | [`beta`](BetaCurve) | 1 / (1 + exp(−a ln p + b ln(1 − p) − c)) | probabilities, also those not sure enough |
//! | [`venn_abers`](VennAbers) | two isotonic fits with the new sample | an interval with a guarantee, for two classes |
//!
//! Temperature and vector scaling treat all classes at once. The other methods are for two classes; with more, each class is
//! calibrated against the rest and the results are divided by their sum.
//!
//! [`CalibrationMap`] works on tensors of scores, whatever made them: nets and estimators are alike. [`CalibratedModel`] puts a map
//! on a fitted model of any kind; [`HoldoutCalibration`] fits both; [`CalibratedClassifier`](crate::ensemble::CalibratedClassifier)
//! uses the same maps in cross-validation. To add a method, write its file, its variant of [`CalibrationMethod`] and its line in
//! `part.rs`.
//!
//! ```
//! use tove_learn::calibration::{CalibrationMap, CalibrationMethod, ScoreKind};
//! use tove_tensor::Tensor;
//! // Logits of a net that is twice as sure as it should be.
//! let logits = Tensor::from([[4.0, 0.0], [4.0, 0.0], [4.0, 0.0], [0.0, 4.0]]);
//! let map = CalibrationMap::fit(CalibrationMethod::Temperature, ScoreKind::Logits, &logits, &Tensor::from([0i64, 0, 1, 1]), None)?;
//! let p = map.apply(&logits)?;
//! assert!((p.at::<f64>(&[0, 0]) - 0.75).abs() < 1e-6 && map.temperature().unwrap() > 3.0);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

mod beta;
mod check;
mod holdout;
mod isotonic;
mod map;
mod model;
mod part;
mod scores;
mod sigmoid;
mod temperature;
mod vector;
mod venn_abers;

use tove_optim::settings::Choice;

pub use beta::BetaCurve;
pub use check::{CalibrationCheck, CalibrationVerdict, check_calibration, check_probabilities};
pub use holdout::HoldoutCalibration;
pub use isotonic::IsotonicCurve;
pub use map::CalibrationMap;
pub use model::CalibratedModel;
pub(crate) use model::calibrated_capabilities;
pub use part::CalibrationPart;
pub use scores::ScoreKind;
pub(crate) use scores::{ScoreTable, table_of};
pub use sigmoid::PlattSigmoid;
pub use temperature::TemperatureScale;
pub use vector::VectorScale;
pub use venn_abers::VennAbers;

/// The map from scores to probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum CalibrationMethod {
    /// Platt's logistic curve, for few samples.
    #[default]
    Sigmoid,
    /// Any non-decreasing function, for about a thousand samples or more.
    Isotonic,
    /// One number for all classes, which keeps the order of the scores.
    Temperature,
    /// A factor and an intercept per class.
    Vector,
    /// A three-parameter family of curves on [0, 1] that includes the identity.
    Beta,
    /// Two isotonic fits per sample, which bound the probability.
    VennAbers,
}

/// 1 / (1 + exp(−s)).
pub(crate) fn logistic(s: f64) -> f64 {
    if s >= 0.0 { 1.0 / (1.0 + (-s).exp()) } else { s.exp() / (1.0 + s.exp()) }
}

/// Probabilities of one row of logits, in place.
pub(crate) fn softmax(row: &mut [f64]) {
    let most = row.iter().fold(f64::NEG_INFINITY, |most, &z| most.max(z));
    row.iter_mut().for_each(|z| *z = (*z - most).exp());
    let sum: f64 = row.iter().sum();
    row.iter_mut().for_each(|z| *z /= sum);
}
