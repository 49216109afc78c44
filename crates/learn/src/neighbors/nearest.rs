//! An index of samples that answers neighbor queries, without targets.
//!
//! ```
//! use tove_learn::{Fit, Predict, neighbors::NearestNeighbors};
//! use tove_tensor::Tensor;
//! let index = NearestNeighbors::default().fit(&Tensor::from([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]), None)?;
//! let found = index.kneighbors(&Tensor::from([[0.0, 1.0]]), 2)?;
//! assert_eq!(found.indices.to_vec::<i64>(), [0, 1]);
//! assert_eq!(found.distances.to_vec::<f64>(), [1.0, 18f64.sqrt()]);
//! assert_eq!(index.radius_neighbors(&Tensor::from([[6.0, 8.0]]), 5.0)?.indices(0), [2, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::metric::{Metric, NeighborAlgorithm, NeighborSettings, neighbor_settings_setters};
use super::{Index, Neighbors, RadiusNeighbors};
use crate::{About, Algorithm, Capabilities, Fit, Model, Predict, Record, Restore, Result, Rows, Samples};

/// Stores samples and finds those nearest to a query, as scikit-learn's `NearestNeighbors`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct NearestNeighbors {
    /// Distance and algorithm.
    #[hyper(flatten)]
    pub search: NeighborSettings,
}

// Not derived: the rows are kept in an index of neighbors, which is rebuilt when they are read.
/// A fitted [`NearestNeighbors`]; ask it with [`Predict::kneighbors`] and [`Predict::radius_neighbors`].
#[derive(Clone, Debug)]
pub struct FittedNearestNeighbors {
    about: About,
    index: Index,
}

impl Algorithm for NearestNeighbors {
    type Fitted = FittedNearestNeighbors;
    const CAPABILITIES: Capabilities = Capabilities::INDEX;

    fn train(&self, samples: &Samples) -> Result<FittedNearestNeighbors> {
        let index = Index::new(Self::NAME, &self.search, samples)?;
        Ok(FittedNearestNeighbors { about: About::of(self, samples), index })
    }
}

impl Model for FittedNearestNeighbors {
    fn about(&self) -> &About {
        &self.about
    }

    fn neighbor_rows(&self, x: &Rows, k: usize) -> Result<Neighbors> {
        self.index.kneighbors(x, k)
    }

    fn radius_rows(&self, x: &Rows, radius: f64) -> Result<RadiusNeighbors> {
        self.index.within(x, radius)
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.index.write(&mut record);
        record
    }
}

impl Restore for FittedNearestNeighbors {
    fn restore(record: &Record) -> Result<FittedNearestNeighbors> {
        let settings: NearestNeighbors = record.settings(NearestNeighbors::NAME, 1)?;
        let index = Index::read(NearestNeighbors::NAME, &settings.search, record)?;
        let about = About::read(&settings, record, index.width(), index.dtype())?;
        Ok(FittedNearestNeighbors { about, index })
    }
}

/// The k stored vectors (n, d) with the largest cosine similarity to each query (m, d), best first: similarities in place of distances.
///
/// ```
/// use tove_learn::neighbors::cosine_top_k;
/// use tove_tensor::Tensor;
/// let stored = Tensor::from([[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]]);
/// let found = cosine_top_k(&stored, &Tensor::from([[0.0, 5.0]]), 2)?;
/// assert_eq!(found.indices.to_vec::<i64>(), [2, 1]);
/// assert!((found.distances.at::<f64>(&[0, 0]) - 1.0).abs() < 1e-15);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
///
/// # Errors
/// NaN, widths that differ, k of 0 or above the number of stored vectors.
pub fn cosine_top_k(stored: &Tensor, queries: &Tensor, k: usize) -> Result<Neighbors> {
    let index = NearestNeighbors::default().metric(Metric::Cosine).fit(stored, None)?;
    let Neighbors { distances, indices } = index.kneighbors(queries, k)?;
    Ok(Neighbors { distances: 1.0 - distances, indices })
}
