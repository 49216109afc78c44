//! Preprocessing of features: scaling, imputation, encoding, discretization, power and quantile transforms, splines, polynomials,
//! feature selection.
//!
//! Every transformer is a struct of hyperparameters whose `fit` returns the fitted transformer.
//!
//! ```
//! use tove_learn::{Fit, StandardScaler, Transform};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 10.0], [3.0, 30.0]]);
//! let scaler = StandardScaler::default().fit(&x, None)?;
//! assert_eq!(scaler.mean(), [2.0, 20.0]);
//! let scaled = scaler.transform(&x)?;
//! assert_eq!(scaled.to_vec::<f64>(), [-1.0, -1.0, 1.0, 1.0]);
//! assert_eq!(scaler.inverse_transform(&scaled)?.to_vec::<f64>(), x.to_vec::<f64>());
//! # Ok::<(), tove_learn::LearnError>(())
//! ```
//!
//! Scalers ignore NaN during fit and keep it in `transform`, like scikit-learn. Sparse rows are never centered, since
//! that would make them dense.

mod binarizer;
mod bins;
mod categories;
mod columns;
mod feature_range;
mod impute;
mod min_max;
mod moments;
mod mutual_information;
mod normalizer;
mod one_hot;
mod order_statistics;
mod ordinal;
mod partial;
mod polynomial;
mod polynomial_sparse;
mod power;
mod quantile;
mod rescaled_moments;
mod robust;
mod select;
mod spline;
mod standard;
mod variance;

pub use binarizer::{Binarizer, FittedBinarizer};
pub use bins::{BinEncoding, BinStrategy, FittedKBinsDiscretizer, KBinsDiscretizer, QuantileMethod};
pub use categories::Frequencies;
pub(crate) use columns::by_rows;
pub use feature_range::FeatureRange;
pub use impute::{Fill, FittedImputer, Imputer};
pub use min_max::{FittedMaxAbsScaler, FittedMinMaxScaler, MaxAbsScaler, MinMaxScaler};
pub(crate) use moments::spreads;
pub use normalizer::{FittedNormalizer, NormKind, Normalizer};
pub use one_hot::{Drop, FittedOneHotEncoder, OneHotEncoder, Unknown};
pub use ordinal::{FittedOrdinalEncoder, OrdinalEncoder, UnknownValue};
pub use partial::PartialScaler;
pub use polynomial::{FittedPolynomialFeatures, PolynomialFeatures};
pub use power::{FittedPowerTransformer, PowerMethod, PowerTransformer};
pub use quantile::{FittedQuantileTransformer, OutputDistribution, QuantileTransformer};
pub use robust::{FittedRobustScaler, RobustScaler};
pub(crate) use select::take_columns;
pub use select::{FeatureScore, FittedSelectKBest, SelectKBest};
pub use spline::{Extrapolation, FittedSplineTransformer, Knots, SplineTransformer};
pub use standard::{FittedStandardScaler, StandardScaler};
pub use variance::{FittedVarianceThreshold, VarianceThreshold};
