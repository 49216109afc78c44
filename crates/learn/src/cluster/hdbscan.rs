//! HDBSCAN: dense regions of any density (Campello, Moulavi, Sander 2013; McInnes, Healy 2017).
//!
//! The distance of two samples is at least their core distances, the distance to the `min_samples`-th nearest sample (itself
//! counted). The smallest spanning tree of these distances is cut at its longest edges, one after the other; what splits off with fewer
//! than `min_cluster_size` samples falls out of a cluster, larger parts are clusters of their own. Among clusters within each other those
//! are chosen that persist over the largest range of densities in sum (excess of mass). Samples in none are outliers (−1); clusters are
//! numbered by their first sample. A new row belongs to the cluster of the nearest sample.
//!
//! ```
//! use tove_learn::{Fit, cluster::Hdbscan};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.1], [0.2], [5.0], [5.2], [5.4], [50.0]]);
//! let model = Hdbscan::default().min_cluster_size(3).min_samples(Some(2)).fit(&x, None)?;
//! assert_eq!(model.labels(), [0, 0, 0, 1, 1, 1, -1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor};

use super::linkage::{Merge, in_order};
use super::spanning::spanning_tree;
use super::stored::Stored;
use crate::{About, Algorithm, Capabilities, LearnError, Model, Record, Restore, Result, Rows, Samples};

/// Finds dense regions of any density, as scikit-learn's `HDBSCAN`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "HDBSCAN")]
pub struct Hdbscan {
    /// Samples that make a cluster.
    #[hyper(default = 5, range = "[2, inf)")]
    pub min_cluster_size: usize,
    /// Which nearest sample, itself counted, gives the core distance; `min_cluster_size` if none is given.
    #[hyper(default = None, range = "[1, inf)")]
    pub min_samples: Option<usize>,
    /// Whether all samples may be one cluster.
    #[hyper(default = false)]
    pub allow_single_cluster: bool,
}

// Not derived: the rows are kept in an index of neighbors, which is rebuilt when they are read.
/// A fitted [`Hdbscan`].
#[derive(Clone, Debug)]
pub struct FittedHdbscan {
    about: About,
    stored: Stored,
    probabilities: Vec<f64>,
}

impl Algorithm for Hdbscan {
    type Fitted = FittedHdbscan;
    const CAPABILITIES: Capabilities = Capabilities { order_free: false, ..Capabilities::CLUSTERER };

    fn train(&self, samples: &Samples) -> Result<FittedHdbscan> {
        let n = samples.len();
        let least = self.min_samples.unwrap_or(self.min_cluster_size);
        if n < least.max(2) {
            let fix = "give more samples, or lower `min_cluster_size` and `min_samples`".to_owned();
            return Err(LearnError::TooFew { who: Self::NAME, found: n, needed: least.max(2), fix });
        }
        samples.require_moderate(Self::NAME, true)?;
        let merges = in_order(n, spanning_tree(Self::NAME, samples, least)?);
        let tree = Condensed::new(n, &merges, self.min_cluster_size);
        let (labels, probabilities) = tree.label(n, self.allow_single_cluster);
        let stored = Stored::new(Self::NAME, samples, labels)?;
        Ok(FittedHdbscan { about: About::of(self, samples), stored, probabilities })
    }
}

/// Clusters within clusters, without the small parts that fall out.
struct Condensed {
    /// The cluster around each cluster; the first is around all.
    parents: Vec<usize>,
    /// 1/distance at which each cluster begins.
    births: Vec<f64>,
    sizes: Vec<usize>,
    /// Σ (λ − birth) over the samples, until they leave it.
    stability: Vec<f64>,
    /// For each sample: the cluster it falls out of, and at which λ.
    fallen: Vec<(usize, f64)>,
}

impl Condensed {
    fn new(n: usize, merges: &[Merge], least: usize) -> Condensed {
        let size = |node: usize| if node < n { 1 } else { merges[node - n].size };
        let mut tree = Condensed {
            parents: vec![0],
            births: vec![0.0],
            sizes: vec![n],
            stability: vec![0.0],
            fallen: vec![(0, 0.0); n],
        };
        let mut open = vec![(2 * n - 2, 0usize)];
        while let Some((node, cluster)) = open.pop() {
            let Merge { a, b, distance, .. } = merges[node - n];
            let lambda = if distance > 0.0 { 1.0 / distance } else { f64::INFINITY };
            let large = [a, b].map(|child| size(child) >= least);
            for (child, is_large) in [a, b].into_iter().zip(large) {
                let count = size(child);
                match (is_large, large[0] && large[1]) {
                    (true, true) => {
                        tree.leave(cluster, lambda, count);
                        tree.parents.push(cluster);
                        tree.births.push(lambda);
                        tree.sizes.push(count);
                        tree.stability.push(0.0);
                        let new = tree.parents.len() - 1;
                        match child < n {
                            true => tree.fall(child, new, lambda),
                            false => open.push((child, new)),
                        }
                    }
                    (true, false) if child >= n => open.push((child, cluster)),
                    _ => {
                        tree.leave(cluster, lambda, count);
                        let mut inside = vec![child];
                        while let Some(node) = inside.pop() {
                            match node < n {
                                true => tree.fall(node, cluster, lambda),
                                false => inside.extend([merges[node - n].a, merges[node - n].b]),
                            }
                        }
                    }
                }
            }
        }
        tree
    }

    fn fall(&mut self, sample: usize, cluster: usize, lambda: f64) {
        self.fallen[sample] = (cluster, lambda);
    }

    fn leave(&mut self, cluster: usize, lambda: f64, count: usize) {
        let span = lambda - self.births[cluster];
        // Copies of one sample are infinitely dense from their birth on: no span.
        self.stability[cluster] += if span.is_nan() { 0.0 } else { span * count as f64 };
    }

    /// Labels of the samples and how firmly they belong to their clusters.
    fn label(&self, n: usize, single: bool) -> (Vec<i64>, Vec<f64>) {
        let count = self.parents.len();
        let (mut chosen, mut best) = (vec![true; count], self.stability.clone());
        let mut children = vec![0.0; count];
        let first = usize::from(!single);
        chosen[0] = single;
        for cluster in (first..count).rev() {
            let has_children = self.parents.iter().skip(1).any(|&parent| parent == cluster);
            if has_children && children[cluster] > best[cluster] {
                chosen[cluster] = false;
                best[cluster] = children[cluster];
            }
            if cluster > 0 {
                children[self.parents[cluster]] += best[cluster];
            }
        }
        // What is within a chosen cluster is not chosen itself; children come after their parents.
        let mut around: Vec<Option<usize>> = vec![None; count];
        for cluster in 0..count {
            let outer = if cluster > 0 { around[self.parents[cluster]] } else { None };
            around[cluster] = outer.or(chosen[cluster].then_some(cluster));
        }
        // A sample that leaves the root, as the only cluster, before the rest splits is an outlier.
        let only = single && around[0] == Some(0);
        let split = self.fallen.iter().filter(|own| own.0 == 0).fold(0.0f64, |most, own| most.max(own.1));
        let cluster_of =
            |&(cluster, lambda): &(usize, f64)| around[cluster].filter(|_| !only || cluster != 0 || lambda >= split);
        // The density at which each cluster itself ends, apart from clusters within it.
        let mut most = vec![0.0f64; count];
        self.fallen.iter().for_each(|own| most[own.0] = most[own.0].max(own.1));
        for cluster in 1..count {
            most[self.parents[cluster]] = most[self.parents[cluster]].max(self.births[cluster]);
        }
        let (mut names, mut labels, mut probabilities) =
            (vec![-1; count], Vec::with_capacity(n), Vec::with_capacity(n));
        let mut next = 0;
        for own in &self.fallen {
            let Some(cluster) = cluster_of(own) else {
                labels.push(-1);
                probabilities.push(0.0);
                continue;
            };
            if names[cluster] == -1 {
                names[cluster] = next;
                next += 1;
            }
            labels.push(names[cluster]);
            let firm = own.1 >= most[cluster] || most[cluster] == 0.0;
            probabilities.push(if firm { 1.0 } else { own.1 / most[cluster] });
        }
        (labels, probabilities)
    }
}

impl FittedHdbscan {
    /// The cluster of each sample of the fit; −1 for outliers.
    pub fn labels(&self) -> &[i64] {
        self.stored.labels()
    }

    /// How firmly each sample belongs to its cluster, from 0 to 1; 0 for outliers.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }
}

impl Model for FittedHdbscan {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.stored.nearest(x, f64::INFINITY)
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.about.attributes();
        all.push(("labels", Tensor::from_slice(self.labels())));
        all.push(("probabilities", Tensor::from_slice(&self.probabilities)));
        all
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.stored.write(&mut record);
        record.put_tensor("probabilities", &Tensor::from_slice(&self.probabilities));
        record
    }
}

impl Restore for FittedHdbscan {
    fn restore(record: &Record) -> Result<FittedHdbscan> {
        let settings: Hdbscan = record.settings(Hdbscan::NAME, 1)?;
        let stored = Stored::read(Hdbscan::NAME, record)?;
        let about = About::read(&settings, record, stored.index().width(), stored.index().dtype())?;
        let tensor = record.shaped("probabilities", &[stored.labels().len()])?;
        let probabilities = record.vector("probabilities")?;
        if tensor.dtype() != DType::F64 || !probabilities.iter().all(|p| (0.0..=1.0).contains(p)) {
            return Err(record.wrong("probabilities", "a number from 0 to 1 for each sample"));
        }
        Ok(FittedHdbscan { about, stored, probabilities })
    }
}
