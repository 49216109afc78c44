//! Mixtures of distributions: densities with several centers, and soft clusters.

mod covariance;
mod em;
mod fitted;
mod gaussian;
mod passes;

pub use covariance::CovarianceType;
pub use fitted::FittedGaussianMixture;
pub use gaussian::{GaussianMixture, MixtureInit};
pub use passes::GaussianMixtureLearner;
