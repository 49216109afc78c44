//! Ensembles: models that combine the predictions of several others.
//!
//! The mean squared error of the average of k models with errors eᵢ is (1/k) E e² + ((k − 1)/k) E eᵢeⱼ: a k-th of one
//! model's error for independent errors, all of it for equal ones, and in between for positively correlated errors. So
//! the models should differ: by bootstrap samples ([`BaggingRegressor`], [`BaggingClassifier`]), or by being of
//! different kinds ([`VotingRegressor`], [`VotingClassifier`]), which a final estimator may combine
//! ([`StackingRegressor`], [`StackingClassifier`]). [`CalibratedClassifier`] calibrates the probabilities of any
//! classifier. [`average()`], [`average_probabilities`] and [`vote`] combine predictions of any models.
//!
//! ```
//! use tove_learn::ensemble::BaggingRegressor;
//! use tove_learn::{DummyRegressor, Fit, Predict};
//! use tove_tensor::{DType, Key};
//! let (x, y) = (Key::new(1).normal([50, 2], DType::F64), Key::new(2).normal([50], DType::F64));
//! let bagging = BaggingRegressor::new(DummyRegressor::default()).n_estimators(20).oob_score(true).seed(7);
//! let model = bagging.fit(&x, &y)?;
//! assert_eq!((model.models().len(), model.predict(&x)?.dims()), (20, &[50][..]));
//! assert!(model.oob_score().is_some());
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

mod average;
mod bagging;
mod calibrated;
mod fitted;
mod out_of_fold;
mod stacked;
mod stacking;
mod voting;

pub use crate::calibration::CalibrationMethod;
pub use average::{average, average_probabilities, ensemble_error, vote};
pub use bagging::{BaggingClassifier, BaggingRegressor, BaggingSettings};
pub use calibrated::{CalibratedClassifier, FittedCalibratedClassifier};
pub use fitted::FittedEnsemble;
pub use stacked::FittedStacking;
pub use stacking::{StackMethod, StackingClassifier, StackingRegressor};
pub use voting::{Voting, VotingClassifier, VotingRegressor};
