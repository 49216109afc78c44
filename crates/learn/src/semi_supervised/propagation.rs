//! Label propagation and label spreading.
//!
//! With W the similarities of the samples and F (n, m) the distribution over the classes of each sample, propagation iterates
//! F ← D⁻¹WF, puts rows of labeled samples back to their labels (Zhu and Ghahramani, "Learning from labeled and unlabeled data with
//! label propagation", 2002). Spreading iterates F ← αSF + (1 − α)Y with S = D^(−½) W D^(−½), W without its diagonal, so that known
//! labels may change too (Zhou et al., "Learning with local and global consistency", 2004). A new sample gets the distribution of
//! the samples, weighted by similarity. As scikit-learn's `LabelPropagation` and `LabelSpreading`.
//!
//! ```
//! use tove_learn::semi_supervised::LabelSpreading;
//! use tove_learn::{Fit, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.2], [0.4], [3.0], [3.2], [3.4]]);
//! let model = LabelSpreading::default().fit(&x, &Tensor::from([0i64, -1, -1, -1, -1, 1]))?;
//! assert_eq!(model.predict(&x)?.to_vec::<i64>(), [0, 0, 0, 1, 1, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::borrow::Cow;

use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Tensor, TryOps};

use super::graph::{GraphKernel, Similar, by_rows, product, symmetric};
use super::known;
use crate::{
    About, Algorithm, Capabilities, Fitted, Labels, Model, Record, Result, Rows, Samples, Stop, Summary, memory,
};

/// Spreads labels along a graph of similar samples; known labels stay.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct LabelPropagation {
    /// Which samples are similar.
    #[hyper(default = GraphKernel::Rbf)]
    pub kernel: GraphKernel,
    /// γ of the RBF kernel.
    #[hyper(default = 20.0, range = "(0, inf)")]
    pub gamma: f64,
    /// Number of neighbors for the knn kernel.
    #[hyper(default = 7, range = "[1, inf)")]
    pub n_neighbors: usize,
    /// Maximum number of iterations.
    #[hyper(default = 1000, range = "[1, inf)")]
    pub max_iter: usize,
    /// The iterations stop when the distributions change by less than this, in total.
    #[hyper(default = 1e-3, range = "[0, inf)")]
    pub tol: f64,
}

/// Spreads labels along a normalized graph of similar samples; known labels may change.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct LabelSpreading {
    /// Which samples are similar.
    #[hyper(default = GraphKernel::Rbf)]
    pub kernel: GraphKernel,
    /// γ of the RBF kernel.
    #[hyper(default = 20.0, range = "(0, inf)")]
    pub gamma: f64,
    /// Number of neighbors for the knn kernel.
    #[hyper(default = 7, range = "[1, inf)")]
    pub n_neighbors: usize,
    /// How much a sample takes from its neighbors; the rest comes from its first label.
    #[hyper(default = 0.2, range = "(0, 1)")]
    pub alpha: f64,
    /// Maximum number of iterations.
    #[hyper(default = 30, range = "[1, inf)")]
    pub max_iter: usize,
    /// The iterations stop when the distributions change by less than this, in total.
    #[hyper(default = 1e-3, range = "[0, inf)")]
    pub tol: f64,
}

/// A fitted [`LabelPropagation`] or [`LabelSpreading`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = LabelPropagation, estimator = LabelSpreading, complete = FittedLabelPropagation::indexed)]
pub struct FittedLabelPropagation {
    about: About,
    /// The samples.
    #[fitted(shape = "samples, features", hidden)]
    x: Tensor,
    /// The distribution over the classes of each sample.
    #[fitted(shape = "samples, classes")]
    label_distributions: Tensor,
    /// γ, or 0 for the knn kernel.
    #[fitted(hidden)]
    gamma: f64,
    #[fitted(hidden)]
    n_neighbors: usize,
    /// What similarities of new rows are computed from; made when a model is fitted or read.
    #[fitted(skip)]
    similar: Option<Similar>,
}

/// What both methods have in common.
struct Graph {
    kernel: GraphKernel,
    gamma: f64,
    n_neighbors: usize,
    max_iter: usize,
    tol: f64,
    /// α of spreading.
    alpha: Option<f64>,
}

const CAPABILITIES: Capabilities =
    Capabilities { probabilities: true, order_free: false, accuracy: 1e-4, anytime: true, ..Capabilities::CLASSIFIER };

impl Algorithm for LabelPropagation {
    type Fitted = FittedLabelPropagation;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedLabelPropagation> {
        let LabelPropagation { kernel, gamma, n_neighbors, max_iter, tol } = *self;
        Graph { kernel, gamma, n_neighbors, max_iter, tol, alpha: None }.fit(self, samples)
    }
}

impl Algorithm for LabelSpreading {
    type Fitted = FittedLabelPropagation;
    const CAPABILITIES: Capabilities = CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedLabelPropagation> {
        let LabelSpreading { kernel, gamma, n_neighbors, alpha, max_iter, tol } = *self;
        Graph { kernel, gamma, n_neighbors, max_iter, tol, alpha: Some(alpha) }.fit(self, samples)
    }
}

impl Graph {
    fn fit<A: Algorithm>(&self, estimator: &A, samples: &Samples) -> Result<FittedLabelPropagation> {
        samples.require_moderate(A::NAME, true)?;
        let (classes, codes) = known(A::NAME, samples.y()?)?;
        let x = samples.x().dense(A::NAME)?;
        let (n, m) = (samples.len(), classes.len());
        if self.kernel == GraphKernel::Rbf {
            let bytes = 24 * (n as u64).saturating_mul(n as u64);
            let fix = "use fewer samples, or the knn kernel";
            memory::require(A::NAME, "the graph of all pairs of samples", bytes, fix)?;
        }
        let similar = Similar::new(A::NAME, self.kernel, self.gamma, self.n_neighbors, x)?;
        let graph = similar.rows(x)?;
        let graph = if self.alpha.is_none() { by_rows(&graph)? } else { symmetric(&graph)? };
        let mut first = vec![0.0f64; n * m];
        for (row, code) in codes.iter().enumerate() {
            if let Some(code) = code {
                first[row * m + code] = 1.0;
            }
        }
        let (mut now, mut last) = (first.clone(), vec![0.0f64; n * m]);
        let (mut iterations, mut change) = (0, f64::INFINITY);
        while iterations < self.max_iter && !tove_optim::interrupted() {
            change = now.iter().zip(&last).map(|(a, b)| (a - b).abs()).sum();
            if change <= self.tol {
                break;
            }
            last.copy_from_slice(&now);
            now = product(&graph, &Tensor::try_from_vec(now, [n, m])?)?.to_f64_vec();
            match self.alpha {
                None => {
                    normalize(&mut now, m);
                    for (row, _) in codes.iter().enumerate().filter(|(_, code)| code.is_some()) {
                        now[row * m..(row + 1) * m].copy_from_slice(&first[row * m..(row + 1) * m]);
                    }
                }
                Some(alpha) => now.iter_mut().zip(&first).for_each(|(now, y)| *now = alpha * *now + (1.0 - alpha) * y),
            }
            iterations += 1;
        }
        normalize(&mut now, m);
        let summary = Summary::iterative(A::NAME, iterations, change <= self.tol, change, change);
        let stop = Stop::of(change <= self.tol, iterations < self.max_iter);
        let summary = Summary { objective: None, ..summary }.ended(stop, Vec::new());
        Ok(FittedLabelPropagation {
            about: About::of(estimator, samples).classes(&classes).summary(summary),
            label_distributions: Tensor::try_from_vec(now, [n, m])?.to_dtype(x.dtype()),
            x: x.clone(),
            gamma: if self.kernel == GraphKernel::Rbf { self.gamma } else { 0.0 },
            n_neighbors: self.n_neighbors,
            similar: Some(similar),
        })
    }
}

/// Divides rows by their sums; rows of zeros stay.
fn normalize(rows: &mut [f64], width: usize) {
    for row in rows.chunks_exact_mut(width.max(1)) {
        let sum: f64 = row.iter().sum();
        if sum > 0.0 {
            row.iter_mut().for_each(|x| *x /= sum);
        }
    }
}

impl FittedLabelPropagation {
    /// A model that was read, with what similarities are computed from.
    fn indexed(self, _: &Record) -> Result<FittedLabelPropagation> {
        let similar = Some(self.similar()?.into_owned());
        Ok(FittedLabelPropagation { similar, ..self })
    }

    fn similar(&self) -> Result<Cow<'_, Similar>> {
        if let Some(similar) = &self.similar {
            return Ok(Cow::Borrowed(similar));
        }
        let kernel = if self.gamma > 0.0 { GraphKernel::Rbf } else { GraphKernel::Knn };
        Ok(Cow::Owned(Similar::new(self.about.name, kernel, self.gamma, self.n_neighbors, &self.x)?))
    }

    /// The label of each sample of the fit.
    ///
    /// # Errors
    /// Never for a fitted model.
    pub fn transduction(&self) -> Result<Tensor> {
        let best = self.label_distributions.try_argmax(-1)?.to_vec::<i64>();
        Ok(Labels::decode(self.classes(), best.into_iter().map(|code| code as usize)))
    }
}

impl Model for FittedLabelPropagation {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let best = self.proba_rows(x)?.try_argmax(-1)?.to_vec::<i64>();
        Ok(Labels::decode(self.classes(), best.into_iter().map(|code| code as usize)))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let x = x.dense(self.name())?;
        let (n, m) = (x.dims()[0], self.classes().len());
        let near = self.similar()?.rows(x)?;
        let mut given = product(&near, &self.label_distributions.to_dtype(DType::F64))?.to_f64_vec();
        normalize(&mut given, m);
        // A row that is similar to no labeled sample may be of any class.
        for row in given.chunks_exact_mut(m).filter(|row| row.iter().all(|p| *p == 0.0)) {
            row.fill(1.0 / m as f64);
        }
        Ok(Tensor::try_from_vec(given, [n, m])?.to_dtype(self.dtype()))
    }
}
