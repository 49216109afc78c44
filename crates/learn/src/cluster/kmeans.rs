//! k-means: k centers that minimize Σᵢ wᵢ minⱼ ‖xᵢ − μⱼ‖² (Lloyd 1982), started by greedy k-means++ (Arthur, Vassilvitskii 2007).
//!
//! Each iteration assigns every sample to its nearest center, of equally near ones to the first, and moves each center to the
//! weighted mean of its samples; the objective never rises. A center that lost all its samples is put on the sample that is
//! farthest from its own center, the next such center on the next sample. Iterations end when no label changes, or when the centers
//! move by less than `tol` times the mean variance of the features; [`Summary::stop`](crate::Summary::stop) says which. Distances
//! are compared from matrix products, and again from differences in double precision where rounding could decide; what cannot have
//! changed by the bounds of Elkan or Hamerly is left out. The result is that of plain iterations, bit for bit. Where samples repeat and there
//! are fewer different ones than clusters, some clusters stay empty: the iterations end when samples that are put on their centers no
//! longer lower the objective, and the summary has a warning.
//!
//! ```
//! use tove_learn::{Fit, KMeans, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.2], [5.0], [5.2]]);
//! let model = KMeans::default().n_clusters(2).fit(&x, None)?;
//! let labels = model.predict(&x)?.to_vec::<i64>();
//! assert!(labels[0] == labels[1] && labels[2] == labels[3] && labels[0] != labels[2]);
//! assert!((model.inertia() - 0.04).abs() < 1e-12);
//! let given = KMeans::default().n_clusters(2).initial_centers(Some(vec![vec![0.0], vec![1.0]])).fit(&x, None)?;
//! assert_eq!(given.labels(), [0, 0, 1, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{DType, Key, Tensor};

use super::assign::{Assigned, Points, Which};
use super::lloyd::{Rules, Run, iterate};
use super::seeding::{Init, first, usual_tries};
use crate::{
    About, Algorithm, AnyLearner, Capabilities, Fitted, LearnError, Model, Real, Result, Rows, Samples, Stop, Summary,
    fitted_methods, with_real,
};

/// How labels are brought up to date in each iteration. The results are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum KMeansAlgorithm {
    /// By the shape: `elkan` from 16 features on where there are no more clusters than features, else `hamerly`.
    #[default]
    Auto,
    /// Without distances that cannot matter, by one lower bound per sample and center (Elkan 2003): as much memory as the samples at most
    /// where there are no more clusters than features.
    Elkan,
    /// Without samples whose label cannot have changed, by one lower bound per sample (Hamerly 2010).
    Hamerly,
    /// All samples against all centers.
    Lloyd,
}

impl KMeansAlgorithm {
    /// What is done for k clusters in d dimensions.
    pub(super) fn resolve(self, k: usize, d: usize) -> KMeansAlgorithm {
        match self {
            _ if k < 2 => KMeansAlgorithm::Lloyd,
            KMeansAlgorithm::Auto if d >= 16 && k <= d => KMeansAlgorithm::Elkan,
            KMeansAlgorithm::Auto => KMeansAlgorithm::Hamerly,
            other => other,
        }
    }
}

/// Finds k groups of samples around their means, as scikit-learn's `KMeans`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct KMeans {
    /// Number of clusters.
    #[hyper(default = 8, range = "[1, inf)", alias = "k")]
    pub n_clusters: usize,
    /// Where the first centers lie: k-means++ or random.
    #[hyper(default = Init::PlusPlus)]
    pub init: Init,
    /// Centers to begin with, a row each, in place of `init`.
    #[hyper(default = None)]
    pub initial_centers: Option<Vec<Vec<f64>>>,
    /// Candidates for each center of k-means++; 2 + ln k if none is given, 1 for k-means++ as it was published.
    #[hyper(default = None, range = "[1, inf)")]
    pub n_local_trials: Option<usize>,
    /// Starts, of which the best is kept.
    #[hyper(default = 1, range = "[1, inf)")]
    pub n_init: usize,
    /// Iterations of a start at most.
    #[hyper(default = 300, range = "[1, inf)")]
    pub max_iter: usize,
    /// Movement of the centers, relative to the mean variance of the features, at which to stop.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// How labels are brought up to date: auto, elkan, hamerly or lloyd; the results are the same.
    #[hyper(default = KMeansAlgorithm::Auto)]
    pub algorithm: KMeansAlgorithm,
    /// Seed of the first centers.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

/// A fitted [`KMeans`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = KMeans)]
pub struct FittedKMeans {
    about: About,
    /// The centers of the clusters.
    #[fitted(shape = "outputs, features")]
    cluster_centers: Tensor,
    /// Sum of squared distances of the samples to their centers, times their weights.
    inertia: f64,
    /// The cluster of each sample of the fit.
    #[fitted(shape = "samples", empty, former = Vec::new())]
    labels: Vec<i64>,
}

impl Algorithm for KMeans {
    type Fitted = FittedKMeans;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        transform: true,
        order_free: false,
        anytime: true,
        passes: true,
        warm_start: true,
        ..Capabilities::CLUSTERER
    };

    fn train(&self, samples: &Samples) -> Result<FittedKMeans> {
        let x = samples.x().dense(Self::NAME)?;
        samples.require_moderate(Self::NAME, true)?;
        let (n, d, k) = (samples.len(), samples.width(), self.n_clusters);
        enough(Self::NAME, k, n)?;
        let weights = samples.weights().map_or_else(|| vec![1.0; n], Tensor::to_f64_vec);
        let run = with_real!(x.dtype(), T => {
            self.best(&Points::new(x.as_slice::<T>()?, d)?, &weights)?
        });
        let mut used = vec![false; k];
        run.labels.iter().for_each(|&label| used[label as usize] = true);
        self.fitted(run, &used, d, x.dtype())
    }

    fn train_from(&self, start: &FittedKMeans, samples: &Samples) -> Result<FittedKMeans> {
        same_count(Self::NAME, self.n_clusters, start.cluster_centers.dims()[0])?;
        let centers = start.cluster_centers.to_f64_vec();
        let rows = centers.chunks_exact(samples.width()).map(<[f64]>::to_vec).collect();
        let model = KMeans { initial_centers: Some(rows), ..self.clone() }.train(samples)?;
        // The settings are those of the fit, without the centers it began with.
        let about = About::of(self, samples).outputs(self.n_clusters).summary(model.about.summary.clone());
        Ok(FittedKMeans { about, ..model })
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        crate::partial::boxed(self, classes)
    }
}

/// That a model to continue from has as many clusters or components.
pub(crate) fn same_count(who: &'static str, wanted: usize, found: usize) -> Result<()> {
    if wanted == found {
        return Ok(());
    }
    let problem = format!("{wanted} clusters or components asked for, and the model to continue from has {found}");
    Err(LearnError::parameter(who, format!("{problem}; ask for {found}, or fit from the start")))
}

/// That there are as many samples as clusters.
pub(super) fn enough(who: &'static str, k: usize, n: usize) -> Result<()> {
    if k <= n {
        return Ok(());
    }
    let fix = format!("ask for at most {n} clusters");
    Err(LearnError::TooFew { who, found: n, needed: k, fix })
}

/// Centers that were given, after a check that they are k rows of d finite numbers.
pub(crate) fn given(who: &'static str, what: &str, rows: &[Vec<f64>], k: usize, d: usize) -> Result<Vec<f64>> {
    let moderate = |x: &f64| x.abs() <= 1e150;
    if rows.len() != k || rows.iter().any(|row| row.len() != d) || !rows.iter().flatten().all(moderate) {
        let problem = format!("`{what}` needs {k} rows of {d} finite numbers up to 1e150");
        return Err(LearnError::parameter(who, problem));
    }
    Ok(rows.concat())
}

impl KMeans {
    /// The model of a run on rows of this width; `used` are the clusters that have samples.
    pub(super) fn fitted(&self, run: Run, used: &[bool], d: usize, dtype: DType) -> Result<FittedKMeans> {
        let Run { centers, labels, inertia, iterations, shift, stop, curve } = run;
        let k = self.n_clusters;
        let converged = matches!(stop, Stop::Tolerance | Stop::Unchanged);
        let mut summary =
            Summary::iterative(Self::NAME, iterations, converged, shift.sqrt(), inertia).ended(stop, curve);
        let distinct = used.iter().filter(|used| **used).count();
        if distinct < k {
            summary.warn(format!(
                "{}: {distinct} of {k} clusters have samples, because samples are repeated or weigh nothing; ask for fewer clusters",
                Self::NAME
            ));
        }
        let about = About::new(self, d, dtype).outputs(k).summary(summary);
        let cluster_centers = Tensor::try_from_vec(centers, [k, d])?.to_dtype(dtype);
        Ok(FittedKMeans { about, cluster_centers, inertia, labels: labels.into_iter().map(i64::from).collect() })
    }

    /// The best of all starts.
    pub(super) fn best<T: Real>(&self, points: &Points<'_, T>, weights: &[f64]) -> Result<Run> {
        let (n, d, k) = (points.len(), points.d, self.n_clusters);
        let variance = points.spread(&vec![1.0; n]).0 / (n * d) as f64;
        let rules = Rules { max_iter: self.max_iter, shift: self.tol * variance, algorithm: self.algorithm };
        if let Some(rows) = &self.initial_centers {
            return iterate(points, weights, given(Self::NAME, "initial_centers", rows, k, d)?, rules);
        }
        let tries = self.n_local_trials.unwrap_or_else(|| usual_tries(k));
        let mut best: Option<Run> = None;
        for start in 0..self.n_init {
            if best.is_some() && tove_optim::interrupted() {
                break;
            }
            let chosen = first(points, weights, k, self.init, tries, Key::new(self.seed).fold(start as u64))?;
            let centers = chosen.iter().flat_map(|&i| points.row(i).iter().map(|x| x.f64())).collect();
            let found = iterate(points, weights, centers, rules)?;
            if best.as_ref().is_none_or(|best| found.inertia < best.inertia) {
                best = Some(found);
            }
        }
        best.ok_or_else(|| LearnError::parameter(Self::NAME, "n_init is 0; give at least 1"))
    }
}

/// The nearest center of every row.
pub(super) fn assign(who: &'static str, centers: &Tensor, x: &Rows) -> Result<Tensor> {
    let x = x.dense(who)?;
    let (d, centers) = (centers.dims()[1], centers.to_f64_vec());
    let found = with_real!(x.dtype(), T => {
        // The origin lies among the centers, so that a row has the same label in any company.
        let mut origin = vec![0.0; d];
        for center in centers.chunks_exact(d) {
            origin.iter_mut().zip(center).for_each(|(sum, x)| *sum += x / (centers.len() / d) as f64);
        }
        let origin = origin.into_iter().map(|x| <T as Real>::of(x).f64()).collect();
        Points::around(x.as_slice::<T>()?, d, origin)?.nearest(&centers, Which::All)?
    });
    let far = |own: &Assigned| own.upper.is_nan() || own.upper >= 1e150;
    if let Some(row) = found.iter().position(far) {
        return Err(crate::model::overflow(who, &format!("the distances of row {row} overflow")));
    }
    Ok(Tensor::from_slice(&found.iter().map(|own| i64::from(own.label)).collect::<Vec<i64>>()))
}

/// Distances (n, k) of every row to every center.
pub(super) fn distances(who: &'static str, centers: &Tensor, x: &Rows) -> Result<Rows> {
    let x = x.dense(who)?;
    let (k, d, centers) = (centers.dims()[0], centers.dims()[1], centers.to_f64_vec());
    let parts = with_real!(x.dtype(), T => {
        let rows = x.as_slice::<T>()?;
        crate::selection::in_parallel(x.dims()[0].div_ceil(256), |part| {
            let end = ((part + 1) * 256 * d).min(rows.len());
            let own = rows[part * 256 * d..end].chunks_exact(d);
            let far = |row: &[T], center: &[f64]| crate::distance::squared(row, center).sqrt();
            own.flat_map(|row| centers.chunks_exact(d).map(move |center| far(row, center))).collect::<Vec<f64>>()
        })
    });
    let distances = parts.concat();
    if let Some(place) = distances.iter().position(|distance| !distance.is_finite()) {
        return Err(crate::model::overflow(who, &format!("the distances of row {} overflow", place / k)));
    }
    Ok(Rows::Dense(Tensor::try_from_vec(distances, [x.dims()[0], k])?.to_dtype(x.dtype())))
}

impl Model for FittedKMeans {
    fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        assign(self.name(), &self.cluster_centers, x)
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        distances(self.name(), &self.cluster_centers, x)
    }
}
