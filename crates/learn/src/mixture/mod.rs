//! Mixtures of distributions: densities with several centers, and soft clusters.

mod covariance;
mod em;
mod gaussian;

pub use covariance::CovarianceType;
pub use gaussian::{FittedGaussianMixture, GaussianMixture, MixtureInit};
