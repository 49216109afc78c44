//! Nets as estimators: what `learn` and `nn` are together.
//!
//! [`MlpClassifier`] and [`MlpRegressor`] fit a multi-layer perceptron to rows of numbers through the same interface as
//! every other estimator, so that pipelines, searches, files and the program take them too.

mod mlp;
mod settings;
mod weighted;

pub use mlp::{FittedMlp, FittedMlpClassifier, FittedMlpRegressor};
pub use settings::{HiddenActivation, MlpClassifier, MlpRegressor};

/// Makes these estimators known by name, so that files with them can be read. Calling it again changes nothing.
pub fn register() {
    tove_learn::registry::register::<MlpClassifier>();
    tove_learn::registry::register::<MlpRegressor>();
}
