//! Estimators, transformers, pipelines and model selection, with scikit-learn's names, defaults and numbers.
//!
//! An estimator is a struct of hyperparameters; `fit` returns another type, so a model that was not fitted cannot predict.
//!
//! ```
//! use tove_learn::{DummyRegressor, Fit, Predict};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[1.0], [2.0], [4.0]]), Tensor::from([1.0, 2.0, 6.0]));
//! let model = DummyRegressor::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&x)?.to_vec::<f64>(), [3.0, 3.0, 3.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```
//!
//! | module | what it holds |
//! |---|---|
//! | [`baseline`] | constant predictions |
//! | [`contract`] | what every estimator has to fulfil, for users' own too |
//! | [`kernel`] | kernels, kernel ridge regression |
//! | [`registry`] | all estimators by name |
//! | [`svm`] | support vector machines |

pub mod baseline;
pub mod contract;
mod csr;
mod error;
mod estimator;
pub mod kernel;
mod labels;
mod model;
mod real;
mod record;
pub mod registry;
mod rows;
mod samples;
pub mod svm;
mod transform;
mod warning;

pub use baseline::{Centre, Constant, DummyClassifier, DummyRegressor, FittedDummyClassifier, FittedDummyRegressor};
pub use csr::Csr;
pub use error::{LearnError, Result};
pub use estimator::{Abilities, Estimator, Fit};
pub use kernel::{FittedKernelRidge, Gamma, KernelFunction, KernelKind, KernelRidge};
pub use labels::Labels;
pub use model::{Model, Predict, Restore, Summary, Task, load, restore};
pub use real::Real;
pub use record::Record;
pub use rows::Rows;
pub use samples::Samples;
pub use svm::{
    ClassWeight, FittedLinearSvc, FittedLinearSvr, FittedSvc, FittedSvr, LinearSvc, LinearSvr, Svc, Svr,
};
pub use transform::{Apply, FitTransform, RestoreTransform, Transform, Transformer};
pub use warning::{on_warning, warn};
