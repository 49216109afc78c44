//! Steps chained into one estimator, so that everything fitted to data is fitted inside each fold.
//!
//! A [`Pipeline`] passes data from step to step; [`ColumnTransformer`] and [`FeatureUnion`] apply transformers in
//! parallel. All are estimators themselves: they nest, their hyperparameters are addressed by dotted names in searches,
//! and they are saved as a whole.
//!
//! ```
//! use tove_learn::{Fit, Imputer, Pipeline, Predict, Ridge, StandardScaler};
//! use tove_optim::settings::Hyperparameters;
//! use tove_tensor::Tensor;
//! let mut pipeline = Pipeline::of(Imputer::default()).then(StandardScaler::default()).then(Ridge::default());
//! pipeline.set("ridge.alpha", 0.1.into())?;
//! pipeline.set("imputer.strategy", "median".into())?;
//! let (x, y) = (Tensor::from([[1.0], [f64::NAN], [5.0]]), Tensor::from([1.0, 3.0, 5.0]));
//! let model = pipeline.fit(&x, &y)?;
//! assert!((model.predict(&x)?.at::<f64>(&[1]) - 3.0).abs() < 1e-9);
//! assert_eq!(model.names().collect::<Vec<_>>(), ["imputer", "standardscaler", "ridge"]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

mod columns;
mod parts;
#[allow(clippy::module_inception)] // the file of `Pipeline`
mod pipeline;

pub(crate) use columns::concatenate_columns;
pub use columns::{ColumnTransformer, FeatureUnion, FittedColumnTransformer, Remainder};
pub use pipeline::{FittedPipeline, Pipeline};
