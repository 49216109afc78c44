//! Regression by the targets of the nearest samples.
//!
//! ```
//! use tove_learn::{Fit, Predict, neighbors::KNeighborsRegressor};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [8.0]]), Tensor::from([1.0, 3.0, 20.0]));
//! let model = KNeighborsRegressor::default().n_neighbors(2).fit(&x, &y)?;
//! assert_eq!(model.predict(&Tensor::from([[0.4]]))?.to_vec::<f64>(), [2.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Tensor};

use super::classifier::enough;
use super::metric::{Metric, NeighborAlgorithm, NeighborSettings, neighbor_settings_setters};
use super::{Index, NeighborWeights, Neighbors, RadiusNeighbors};
use crate::{About, Algorithm, Capabilities, Model, Record, Restore, Result, Rows, Samples};

/// Predicts the mean of the targets of the k nearest samples, as scikit-learn's `KNeighborsRegressor`; one or several outputs.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct KNeighborsRegressor {
    /// Number of neighbors that are averaged.
    #[hyper(default = 5, range = "[1, inf)", alias = "k")]
    pub n_neighbors: usize,
    /// Weights in the mean: uniform, or distance for one over the distance.
    #[hyper(default = NeighborWeights::Uniform)]
    pub weights: NeighborWeights,
    /// Distance and algorithm.
    #[hyper(flatten)]
    pub search: NeighborSettings,
}

// Not derived: the metric among the settings decides which tensors a file has, and the search structure is rebuilt from them.
/// A fitted [`KNeighborsRegressor`].
#[derive(Clone, Debug)]
pub struct FittedKNeighborsRegressor {
    about: About,
    settings: KNeighborsRegressor,
    index: Index,
    targets: Tensor, // (n) or (n, m) of f64
}

impl Algorithm for KNeighborsRegressor {
    type Fitted = FittedKNeighborsRegressor;
    const CAPABILITIES: Capabilities = Capabilities { multi_output: true, neighbors: true, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedKNeighborsRegressor> {
        enough(Self::NAME, self.n_neighbors, samples.len())?;
        let index = Index::new(Self::NAME, &self.search, samples)?;
        let targets = samples.y()?.to_dtype(DType::F64).try_contiguous()?;
        Ok(FittedKNeighborsRegressor { about: About::of(self, samples), settings: self.clone(), index, targets })
    }
}

impl Model for FittedKNeighborsRegressor {
    fn about(&self) -> &About {
        &self.about
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let (k, m) = (self.settings.n_neighbors, self.targets.dims().get(1).copied().unwrap_or(1));
        let targets = self.targets.as_slice::<f64>()?;
        let mut means = vec![0.0; x.len() * m];
        let found = self.index.nearest(x, k)?;
        for (neighbors, means) in found.chunks_exact(k).zip(means.chunks_exact_mut(m)) {
            for (weight, (_, sample)) in self.settings.weights.of(neighbors).iter().zip(neighbors) {
                let own = &targets[*sample as usize * m..(*sample as usize + 1) * m];
                means.iter_mut().zip(own).for_each(|(mean, target)| *mean += weight * target);
            }
        }
        let mut shape = vec![x.len()];
        shape.extend_from_slice(&self.targets.dims()[1..]);
        Ok(Tensor::try_from_vec(means, shape)?.to_dtype(self.dtype()))
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
        record.put_tensor("targets", &self.targets);
        record
    }
}

impl Restore for FittedKNeighborsRegressor {
    fn restore(record: &Record) -> Result<FittedKNeighborsRegressor> {
        let settings: KNeighborsRegressor = record.settings(KNeighborsRegressor::NAME, 1)?;
        let index = Index::read(KNeighborsRegressor::NAME, &settings.search, record)?;
        let about = About::read(&settings, record, index.width(), index.dtype())?;
        let targets = record.tensor("targets")?.try_contiguous()?;
        let shaped = matches!(targets.rank(), 1 | 2) && targets.dims()[0] == index.len() && targets.numel() > 0;
        let finite = || targets.to_f64_vec().iter().all(|target| target.is_finite());
        if !shaped || targets.dtype() != DType::F64 || !finite() || settings.n_neighbors > index.len() {
            return Err(record.wrong("targets", "a number for each of enough samples"));
        }
        Ok(FittedKNeighborsRegressor { about, settings, index, targets })
    }
}
