//! Covariance matrices of the components, and what densities need of them.

use tove_optim::settings::Choice;
use tove_tensor::linalg::Triangle;
use tove_tensor::{Tensor, TryLinalg, TryOps};

use crate::{LearnError, Result};

/// Which covariance matrices the components may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum CovarianceType {
    /// Each component has its own matrix.
    #[default]
    Full,
    /// All components share one matrix.
    Tied,
    /// Each component has its own diagonal matrix.
    Diag,
    /// Each component has one variance.
    Spherical,
}

impl CovarianceType {
    /// The shape of all covariances of k components in d dimensions, as in scikit-learn.
    pub(super) fn shape(self, k: usize, d: usize) -> Vec<usize> {
        match self {
            CovarianceType::Full => vec![k, d, d],
            CovarianceType::Tied => vec![d, d],
            CovarianceType::Diag => vec![k, d],
            CovarianceType::Spherical => vec![k],
        }
    }

    /// Free numbers in all covariances.
    pub(super) fn free(self, k: usize, d: usize) -> usize {
        match self {
            CovarianceType::Full => k * d * (d + 1) / 2,
            CovarianceType::Tied => d * (d + 1) / 2,
            CovarianceType::Diag => k * d,
            CovarianceType::Spherical => k,
        }
    }
}

/// Weights, means and covariances.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parameters {
    pub(super) kind: CovarianceType,
    pub(super) d: usize,
    pub(super) weights: Vec<f64>,
    pub(super) means: Vec<f64>, // (k, d)
    /// In the shape of the kind, row by row.
    pub(super) covariances: Vec<f64>,
}

/// Factors of the inverse covariances.
#[derive(Clone, Debug)]
pub(super) struct Factors {
    /// For matrices: P with P Pᵀ = Σ⁻¹, one or k of them, (d, d). For diagonals and variances: one over the deviations.
    pub(super) roots: Vec<Tensor>,
    pub(super) inverses: Vec<f64>,
    /// ln |Σ|^(−1/2) of each component.
    pub(super) log_roots: Vec<f64>,
}

impl Parameters {
    pub(super) fn count(&self) -> usize {
        self.weights.len()
    }

    /// That no variance is nothing but rounding, for rows with numbers up to `largest`.
    pub(super) fn require_spread(&self, who: &'static str, largest: f64) -> Result<()> {
        let (d, least) = (self.d, (64.0 * f64::EPSILON * largest).powi(2));
        let place = match self.kind {
            CovarianceType::Full | CovarianceType::Tied => {
                let thin = |matrix: &[f64]| (0..d).any(|i| matrix[i * d + i] <= least);
                self.covariances.chunks_exact(d * d).position(thin)
            }
            CovarianceType::Diag => self.covariances.iter().position(|&v| v <= least).map(|place| place / d),
            CovarianceType::Spherical => self.covariances.iter().position(|&v| v <= least),
        };
        place.map_or(Ok(()), |component| Err(collapsed(who, component)))
    }

    /// L with L Lᵀ = Σ for each matrix.
    pub(super) fn cholesky(&self, who: &'static str) -> Result<Vec<Tensor>> {
        let d = self.d;
        let matrices = self.covariances.chunks_exact(d * d).enumerate();
        matrices
            .map(|(component, matrix)| {
                let matrix = Tensor::from_slice(matrix).try_reshape([d, d])?;
                matrix
                    .try_cholesky()
                    .map_err(|error| if error.is_data() { collapsed(who, component) } else { error.into() })
            })
            .collect()
    }

    pub(super) fn factors(&self, who: &'static str) -> Result<Factors> {
        let (k, d) = (self.count(), self.d);
        match self.kind {
            CovarianceType::Full | CovarianceType::Tied => {
                let eye = Tensor::try_eye(d, tove_tensor::DType::F64)?;
                let (mut roots, mut logs) = (Vec::new(), Vec::new());
                for (component, lower) in self.cholesky(who)?.into_iter().enumerate() {
                    let numbers = lower.to_f64_vec();
                    logs.push(-(0..d).map(|i| numbers[i * d + i].ln()).sum::<f64>());
                    let inverse = lower.try_triangular_solve(&eye, Triangle::LOWER)?;
                    if inverse.to_f64_vec().iter().any(|value| !value.is_finite()) {
                        return Err(collapsed(who, component));
                    }
                    roots.push(inverse.try_t()?.try_contiguous()?);
                }
                let log_roots = if logs.len() == k { logs } else { vec![logs[0]; k] };
                Ok(Factors { roots, inverses: Vec::new(), log_roots })
            }
            CovarianceType::Diag | CovarianceType::Spherical => {
                let per = self.covariances.len() / k;
                if let Some(place) = self.covariances.iter().position(|&variance| variance.is_nan() || variance <= 0.0)
                {
                    return Err(collapsed(who, place / per));
                }
                let inverses: Vec<f64> = self.covariances.iter().map(|variance| 1.0 / variance.sqrt()).collect();
                let log = |own: &[f64]| own.iter().map(|inverse| inverse.ln()).sum::<f64>() * (d / per) as f64;
                let log_roots = inverses.chunks_exact(per).map(log).collect();
                Ok(Factors { roots: Vec::new(), inverses, log_roots })
            }
        }
    }
}

#[cold]
fn collapsed(who: &'static str, component: usize) -> LearnError {
    let problem =
        format!("the covariance of component {component} is singular: its samples lie in a point, a line or a plane");
    LearnError::data(who, problem, "raise `reg_covar`, choose fewer components, or scale the features")
}
