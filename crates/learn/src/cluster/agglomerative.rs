//! Agglomerative clustering: the two nearest clusters are joined, again and again.
//!
//! The whole tree of merges is found with the chain of nearest neighbors (Murtagh 1983) in time n² and n²/2 distances of memory; cutting it
//! gives the clusters. They are numbered by their first sample. A new row belongs to the cluster of the nearest sample.
//!
//! ```
//! use tove_learn::{Fit, cluster::AgglomerativeClustering};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.2], [5.0], [5.2], [9.0]]);
//! let model = AgglomerativeClustering::default().n_clusters(3).fit(&x, None)?;
//! assert_eq!(model.labels(), [0, 0, 1, 1, 2]);
//! assert!((model.distances()[0] - 0.2).abs() < 1e-12);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor};

use super::kmeans::enough;
use super::linkage::{Linkage, cut, tree};
use super::stored::Stored;
use crate::{About, Algorithm, Capabilities, Model, Record, Restore, Result, Rows, Samples};

/// Joins nearest clusters until few are left, as scikit-learn's `AgglomerativeClustering` with Euclidean distances.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct AgglomerativeClustering {
    /// Number of clusters that are left.
    #[hyper(default = 2, range = "[1, inf)", alias = "k")]
    pub n_clusters: usize,
    /// Distance from which on clusters are not joined, in place of `n_clusters`.
    #[hyper(default = None, range = "[0, inf)")]
    pub distance_threshold: Option<f64>,
    /// Distance of two clusters: ward, complete, average or single.
    #[hyper(default = Linkage::Ward)]
    pub linkage: Linkage,
}

// Not derived: the rows are kept in an index of neighbors, which is rebuilt when they are read.
/// A fitted [`AgglomerativeClustering`].
#[derive(Clone, Debug)]
pub struct FittedAgglomerativeClustering {
    about: About,
    stored: Stored,
    children: Vec<[i64; 2]>,
    distances: Vec<f64>,
}

impl Algorithm for AgglomerativeClustering {
    type Fitted = FittedAgglomerativeClustering;
    const CAPABILITIES: Capabilities = Capabilities { order_free: false, ..Capabilities::CLUSTERER };

    fn train(&self, samples: &Samples) -> Result<FittedAgglomerativeClustering> {
        let (n, d) = (samples.len(), samples.width());
        enough(Self::NAME, if self.distance_threshold.is_some() { 2 } else { self.n_clusters.max(2) }, n)?;
        let rows = samples.x().dense(Self::NAME)?.to_f64_vec();
        let merges = tree(Self::NAME, &rows, d, self.linkage)?;
        let joined = match self.distance_threshold {
            Some(limit) => merges.partition_point(|merge| merge.distance < limit),
            None => n - self.n_clusters,
        };
        let stored = Stored::new(Self::NAME, samples, cut(n, &merges[..joined]))?;
        let children = merges.iter().map(|merge| [merge.a as i64, merge.b as i64]).collect();
        let distances = merges.iter().map(|merge| merge.distance).collect();
        Ok(FittedAgglomerativeClustering { about: About::of(self, samples), stored, children, distances })
    }
}

impl FittedAgglomerativeClustering {
    /// The cluster of each sample of the fit.
    pub fn labels(&self) -> &[i64] {
        self.stored.labels()
    }

    /// The clusters joined in each step: samples are 0 … n − 1, what step i makes is n + i.
    pub fn children(&self) -> &[[i64; 2]] {
        &self.children
    }

    /// The distance of the clusters joined in each step, ascending.
    pub fn distances(&self) -> &[f64] {
        &self.distances
    }
}

impl Model for FittedAgglomerativeClustering {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.stored.nearest(x, f64::INFINITY)
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.about.attributes();
        all.push(("labels", Tensor::from_slice(self.labels())));
        let pairs = Tensor::try_from_vec(self.children.concat(), [self.children.len(), 2]);
        all.extend(pairs.ok().map(|pairs| ("children", pairs)));
        all.push(("distances", Tensor::from_slice(&self.distances)));
        all
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.stored.write(&mut record);
        record.put_tensor("children", &Tensor::from_slice(&self.children.concat()));
        record.put_tensor("distances", &Tensor::from_slice(&self.distances));
        record
    }
}

impl Restore for FittedAgglomerativeClustering {
    fn restore(record: &Record) -> Result<FittedAgglomerativeClustering> {
        let settings: AgglomerativeClustering = record.settings(AgglomerativeClustering::NAME, 1)?;
        let stored = Stored::read(AgglomerativeClustering::NAME, record)?;
        let about = About::read(&settings, record, stored.index().width(), stored.index().dtype())?;
        let (pairs, distances) = (record.integers("children")?, record.tensor("distances")?);
        let steps = stored.labels().len() - 1;
        let finite = || distances.to_f64_vec().iter().all(|distance| distance.is_finite());
        if pairs.len() != 2 * steps || distances.dims() != [steps] || distances.dtype() != DType::F64 || !finite() {
            return Err(record.wrong("children", "two clusters and a distance for each step"));
        }
        let children = pairs.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        Ok(FittedAgglomerativeClustering { about, stored, children, distances: distances.to_f64_vec() })
    }
}
