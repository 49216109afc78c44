//! Nets as estimators: what `learn` and `nn` are together.
//!
//! [`MlpClassifier`] and [`MlpRegressor`] fit a multi-layer perceptron to rows of numbers through the same interface as
//! every other estimator, so that pipelines, searches, files and the program take them too.

mod mlp;
mod settings;

pub use mlp::{FittedMlpClassifier, FittedMlpRegressor};
pub use settings::{HiddenActivation, MlpClassifier, MlpRegressor};
