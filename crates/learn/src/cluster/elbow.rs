//! How many clusters: the inertia of several numbers of them.

use tove_tensor::Tensor;

use super::KMeans;
use crate::{Fit, LearnError, Result};

/// The inertia for each number of clusters that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Elbow {
    /// Numbers of clusters, ascending.
    pub n_clusters: Vec<usize>,
    /// The inertia of each.
    pub inertias: Vec<f64>,
    /// The number at the bend of the curve: the point farthest below the straight line from its first to its last point, both axes
    /// scaled to 1. It is a suggestion; compare silhouettes too.
    pub best: usize,
}

/// Fits k-means for each number of clusters. The best of `n_init` starts of `settings` counts.
///
/// ```
/// use tove_learn::cluster::{KMeans, elbow};
/// use tove_tensor::Tensor;
/// let x = Tensor::from([[0.0, 0.0], [0.0, 0.1], [5.0, 0.0], [5.0, 0.1], [2.5, 4.3], [2.5, 4.4]]);
/// assert_eq!(elbow(&KMeans::default().n_init(5), &x, &[1, 2, 3, 4, 5])?.best, 3);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
///
/// # Errors
/// Those of the fits; fewer than three numbers, or numbers that do not ascend.
pub fn elbow(settings: &KMeans, x: &Tensor, n_clusters: &[usize]) -> Result<Elbow> {
    if n_clusters.len() < 3 || !n_clusters.is_sorted_by(|a, b| a < b) {
        return Err(LearnError::parameter("elbow", "give at least three numbers of clusters, ascending"));
    }
    let fit = |&k: &usize| Ok(settings.clone().n_clusters(k).initial_centers(None).fit(x, None)?.inertia());
    let inertias: Vec<f64> = n_clusters.iter().map(fit).collect::<Result<_>>()?;
    let (first, last) = (n_clusters[0] as f64, n_clusters[n_clusters.len() - 1] as f64);
    let (high, low) = (inertias[0], inertias[inertias.len() - 1]);
    let below = |i: usize| {
        let height = if high > low { (inertias[i] - low) / (high - low) } else { 0.0 };
        1.0 - (n_clusters[i] as f64 - first) / (last - first) - height
    };
    let bend = (1..inertias.len()).fold(0, |best, i| if below(i) > below(best) { i } else { best });
    Ok(Elbow { best: n_clusters[bend], n_clusters: n_clusters.to_vec(), inertias })
}
