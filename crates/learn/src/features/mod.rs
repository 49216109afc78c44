//! Features made from features.

mod polynomial;

pub use polynomial::{FittedPolynomialFeatures, PolynomialFeatures};
