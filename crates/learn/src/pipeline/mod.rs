//! Steps joined into one estimator, so that everything that is learnt from data is learnt inside each fold.
//!
//! A [`Pipeline`] is a [`Chain`] of transformers and an estimator; [`ColumnTransformer`] and [`FeatureUnion`] put transformers
//! side by side. All are estimators or transformers themselves: they nest, go into grids by dotted names, and are saved whole.
//!
//! ```
//! use tove_learn::{DummyRegressor, Estimator, Imputer, Pipeline, Predict, Samples, StandardScaler, Tunable};
//! use tove_tensor::Tensor;
//! let mut pipeline = Pipeline::new(DummyRegressor::default())
//!     .then("fill", Imputer::default())
//!     .then("scale", StandardScaler::default());
//! pipeline.set_any("scale.with_mean", "false")?;
//! pipeline.set_any("dummyregressor.strategy", "median")?;
//! let x = Tensor::from([[1.0], [f64::NAN], [5.0]]);
//! let model = pipeline.fit_any(&Samples::with_missing(&x, &Tensor::from([1.0, 2.0, 9.0]))?)?;
//! assert_eq!(model.predict(&x)?.to_vec::<f64>(), [2.0, 2.0, 2.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

mod chain;
mod columns;
mod parts;
#[allow(clippy::module_inception)] // the file of `Pipeline`
mod pipeline;

pub use chain::{Chain, FittedChain};
pub use columns::{ColumnTransformer, FeatureUnion, FittedColumnTransformer, Remainder};
pub use pipeline::{FittedPipeline, Pipeline};

pub(crate) use parts::{dotted, no_part};
