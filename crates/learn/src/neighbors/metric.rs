//! Distances between samples, and what all neighbor methods let users choose.

use tove_optim::settings::{Choice, Hyperparameters};

/// The distance of two samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Metric {
    /// √Σ (xᵢ − yᵢ)², also called l2.
    #[default]
    Euclidean,
    /// Σ |xᵢ − yᵢ|, also called l1.
    Manhattan,
    /// 1 − x·y / (‖x‖ ‖y‖). A row of zeros has no direction: its distance to every row is 1, as in scikit-learn.
    Cosine,
    /// √((x − y)ᵀ V⁻¹ (x − y)) with the covariance matrix V of the samples, or the one that is given.
    Mahalanobis,
}

impl Metric {
    /// The distance that belongs to the number by which samples are compared.
    pub(crate) fn distance(self, key: f64) -> f64 {
        match self {
            Metric::Euclidean | Metric::Mahalanobis => key.sqrt(),
            Metric::Manhattan => key,
            Metric::Cosine => 0.5 * key,
        }
    }

    /// A number by which samples are compared that is not below that of any sample at this distance; a little more is harmless.
    pub(crate) fn reach(self, distance: f64) -> f64 {
        let key = match self {
            Metric::Euclidean | Metric::Mahalanobis => distance * distance,
            Metric::Manhattan => distance,
            Metric::Cosine => 2.0 * distance,
        };
        key * (1.0 + 8.0 * f64::EPSILON)
    }
}

/// How neighbors are found. The answers are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum NeighborAlgorithm {
    /// By the shape of the samples.
    #[default]
    Auto,
    /// All pairs.
    Brute,
    /// A tree of boxes; not for the cosine distance.
    KdTree,
}

/// What all neighbor methods have in common.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct NeighborSettings {
    /// The distance: euclidean (l2), manhattan (l1), cosine or mahalanobis.
    #[hyper(default = Metric::Euclidean)]
    pub metric: Metric,
    /// How neighbors are found: auto, brute or kd_tree; the answers are the same.
    #[hyper(default = NeighborAlgorithm::Auto)]
    pub algorithm: NeighborAlgorithm,
    /// Covariance matrix of the Mahalanobis distance, row by row; that of the samples if none is given.
    #[hyper(default = None)]
    pub covariance: Option<Vec<Vec<f64>>>,
}
