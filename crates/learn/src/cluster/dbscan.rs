//! DBSCAN: clusters are regions where samples are dense (Ester, Kriegel, Sander, Xu 1996).
//!
//! A sample with at least `min_samples` samples (itself among them) at a distance of at most `eps` is a core sample. Core samples that are
//! that near to each other are in one cluster; other samples join the first cluster that has a core sample near them, and are outliers
//! (−1) if there is none. Clusters are numbered by their first sample. A new row belongs to the cluster of its nearest core sample, if
//! that is within `eps`.
//!
//! ```
//! use tove_learn::{Fit, Predict, cluster::Dbscan};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2], [20.0]]);
//! let model = Dbscan::default().min_samples(3).fit(&x, None)?;
//! assert_eq!(model.labels(), [0, 0, 0, 1, 1, 1, -1]);
//! assert_eq!(model.predict(&Tensor::from([[5.3], [9.0]]))?.to_vec::<i64>(), [1, -1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::stored::Stored;
use crate::neighbors::{Index, LOW, NeighborAlgorithm, NeighborSettings};
use crate::{About, Algorithm, Capabilities, LearnError, Model, Record, Restore, Result, Rows, Samples, memory};

/// Samples whose neighbors are asked for at once.
const BLOCK: usize = 4096;

/// Finds dense regions of samples, as scikit-learn's `DBSCAN`; the number of clusters follows from the data.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "DBSCAN")]
pub struct Dbscan {
    /// Distance up to which samples are neighbors.
    #[hyper(default = 0.5, range = "(0, inf)")]
    pub eps: f64,
    /// Neighbors (or their weight) that make a core sample, itself included.
    #[hyper(default = 5, range = "[1, inf)")]
    pub min_samples: usize,
}

// Not derived: the rows are kept in an index of neighbors, which is rebuilt when they are read.
/// A fitted [`Dbscan`].
#[derive(Clone, Debug)]
pub struct FittedDbscan {
    about: About,
    eps: f64,
    /// The core samples with their clusters; none if there are no dense regions.
    cores: Option<Stored>,
    core_sample_indices: Vec<i64>,
    labels: Vec<i64>,
}

impl Algorithm for Dbscan {
    type Fitted = FittedDbscan;
    const CAPABILITIES: Capabilities = Capabilities { weights: true, order_free: false, ..Capabilities::CLUSTERER };

    fn train(&self, samples: &Samples) -> Result<FittedDbscan> {
        let n = samples.len();
        // Neighborhoods are small: in few dimensions a tree leaves most pairs out.
        let algorithm = if samples.width() <= LOW { NeighborAlgorithm::KdTree } else { NeighborAlgorithm::Auto };
        let settings = NeighborSettings { algorithm, ..NeighborSettings::default() };
        let index = Index::new(Self::NAME, &settings, samples)?;
        let around = self.neighborhoods(&index, samples)?;
        let weights = samples.weights().map(Tensor::to_f64_vec);
        let weight = |own: &[u32]| match &weights {
            None => own.len() as f64,
            Some(weights) => own.iter().map(|&i| weights[i as usize]).sum(),
        };
        let core: Vec<bool> = around.iter().map(|own| weight(own) >= self.min_samples as f64).collect();
        let (mut labels, mut count) = (vec![-1i64; n], 0);
        for first in 0..n {
            if labels[first] != -1 || !core[first] {
                continue;
            }
            labels[first] = count;
            let mut open = vec![first];
            while let Some(sample) = open.pop() {
                for &other in &around[sample] {
                    let other = other as usize;
                    if labels[other] == -1 {
                        labels[other] = count;
                        if core[other] {
                            open.push(other);
                        }
                    }
                }
            }
            count += 1;
        }
        let places: Vec<usize> = (0..n).filter(|&i| core[i]).collect();
        let cores = match places.is_empty() {
            true => None,
            false => {
                let own = places.iter().map(|&i| labels[i]).collect();
                Some(Stored::new(Self::NAME, &samples.take(&places)?, own)?)
            }
        };
        let core_sample_indices = places.into_iter().map(|i| i as i64).collect();
        Ok(FittedDbscan { about: About::of(self, samples), eps: self.eps, cores, core_sample_indices, labels })
    }
}

impl Dbscan {
    /// The neighbors of every sample.
    fn neighborhoods(&self, index: &Index, samples: &Samples) -> Result<Vec<Vec<u32>>> {
        let (n, mut bytes) = (samples.len(), 0);
        let mut around = Vec::with_capacity(n);
        for first in (0..n).step_by(BLOCK) {
            if tove_optim::interrupted() {
                return Err(LearnError::Interrupted { who: Self::NAME });
            }
            let rows: Vec<usize> = (first..(first + BLOCK).min(n)).collect();
            for own in index.around(&samples.x().take(&rows)?, self.eps)? {
                bytes += 4 * own.len() as u64;
                around.push(own);
            }
            let what = || "the neighbors of all samples".to_owned();
            memory::require_with(Self::NAME, what, bytes, "choose a smaller `eps`, or take fewer samples")?;
        }
        Ok(around)
    }
}

impl FittedDbscan {
    /// The cluster of each sample of the fit; −1 for outliers.
    pub fn labels(&self) -> &[i64] {
        &self.labels
    }

    /// Numbers of the core samples.
    pub fn core_sample_indices(&self) -> &[i64] {
        &self.core_sample_indices
    }
}

impl Model for FittedDbscan {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        match &self.cores {
            Some(cores) => cores.nearest(x, self.eps),
            None => Ok(Tensor::from_slice(&vec![-1i64; x.len()])),
        }
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.about.attributes();
        all.push(("labels", Tensor::from_slice(&self.labels)));
        all.push(("core_sample_indices", Tensor::from_slice(&self.core_sample_indices)));
        all
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put("cores", self.cores.is_some());
        if let Some(cores) = &self.cores {
            let mut part = Record::new("cores", 1);
            cores.write(&mut part);
            record.put_part("core_samples", part);
        }
        record.put_tensor("labels", &Tensor::from_slice(&self.labels));
        record.put_tensor("core_sample_indices", &Tensor::from_slice(&self.core_sample_indices));
        record
    }
}

impl Restore for FittedDbscan {
    fn restore(record: &Record) -> Result<FittedDbscan> {
        let settings: Dbscan = record.settings(Dbscan::NAME, 1)?;
        let about = About::read(&settings, record, record.count("width")?, record.precision()?)?;
        let cores = match record.switch("cores")? {
            true => Some(Stored::read(Dbscan::NAME, &record.part("core_samples")?)?),
            false => None,
        };
        let fits = |cores: &Stored| cores.index().width() == about.width && cores.index().dtype() == about.dtype;
        let (labels, core_sample_indices) = (record.integers("labels")?, record.integers("core_sample_indices")?);
        let count = cores.as_ref().map_or(0, |cores| cores.labels().len());
        if !cores.as_ref().is_none_or(fits) || count != core_sample_indices.len() {
            return Err(record.wrong("core_samples", "rows of the model's width and precision"));
        }
        Ok(FittedDbscan { about, eps: settings.eps, cores, core_sample_indices, labels })
    }
}
