//! k-means from one part of the data after another (Sculley 2010).
//!
//! Each part assigns its samples to the nearest centers; a center then is the weighted mean of all samples that were ever assigned to
//! it. So centers settle as they have seen more. A center that has seen next to nothing (less than `reassignment_ratio` of the weight
//! of the one that has seen most) after a pass over the data is put on the sample of the last batch that is farthest from its center.
//!
//! ```
//! use tove_learn::{Fit, Predict, cluster::MiniBatchKMeans};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.2], [5.0], [5.2]]);
//! let model = MiniBatchKMeans::default().n_clusters(2).fit(&x, None)?;
//! let labels = model.predict(&x)?.to_vec::<i64>();
//! assert!(labels[0] == labels[1] && labels[2] == labels[3] && labels[0] != labels[2]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::{DType, Key, Tensor};

use super::assign::{Points, Which};
use super::kmeans::{assign, distances, enough, given, same_count};
use super::lloyd::inertia;
use super::seeding::{Init, first, usual_tries};
use crate::distance::add_scaled;
use crate::{
    About, Algorithm, AnyLearner, Capabilities, Fitted, LearnError, Learner, Model, PartialFit, Real, Result, Rows,
    Samples, Stop, Summary, with_real,
};

/// Finds k groups of samples around their means from small batches, as scikit-learn's `MiniBatchKMeans`; learns from pieces too.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct MiniBatchKMeans {
    /// Number of clusters.
    #[hyper(default = 8, range = "[1, inf)", alias = "k")]
    pub n_clusters: usize,
    /// Where the first centers lie: k-means++ or random.
    #[hyper(default = Init::PlusPlus)]
    pub init: Init,
    /// Centers to begin with, a row each, in place of `init`.
    #[hyper(default = None)]
    pub initial_centers: Option<Vec<Vec<f64>>>,
    /// Samples of a batch.
    #[hyper(default = 1024, range = "[1, inf)")]
    pub batch_size: usize,
    /// Passes over the data at most.
    #[hyper(default = 100, range = "[1, inf)")]
    pub max_iter: usize,
    /// Batches without a smaller smoothed inertia after which the fit ends.
    #[hyper(default = 10, range = "[1, inf)")]
    pub max_no_improvement: usize,
    /// Share of the largest count below which a center is put elsewhere after a pass.
    #[hyper(default = 0.01, range = "[0, 1]")]
    pub reassignment_ratio: f64,
    /// Seed of the first centers and of the order of the samples.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

/// A fitted [`MiniBatchKMeans`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = MiniBatchKMeans)]
pub struct FittedMiniBatchKMeans {
    about: About,
    /// The centers of the clusters.
    #[fitted(shape = "outputs, features")]
    cluster_centers: Tensor,
    /// Sum of squared distances of the samples (of the last piece, when learning in pieces) to their centers, times their weights.
    inertia: f64,
}

/// Centers and what they have seen.
struct State {
    centers: Vec<f64>,
    counts: Vec<f64>,
}

impl State {
    fn start<T: Real>(settings: &MiniBatchKMeans, points: &Points<'_, T>, weights: &[f64]) -> Result<State> {
        let (k, d) = (settings.n_clusters, points.d);
        let centers = match &settings.initial_centers {
            Some(rows) => given(MiniBatchKMeans::NAME, "initial_centers", rows, k, d)?,
            None => {
                enough(MiniBatchKMeans::NAME, k, points.len())?;
                let chosen = first(points, weights, k, settings.init, usual_tries(k), Key::new(settings.seed))?;
                chosen.iter().flat_map(|&i| points.row(i).iter().map(|x| x.f64())).collect()
            }
        };
        Ok(State { centers, counts: vec![0.0; k] })
    }

    /// Centers that have seen these samples.
    fn seen<T: Real>(centers: Vec<f64>, k: usize, points: &Points<'_, T>, weights: &[f64]) -> Result<State> {
        let mut counts = vec![0.0; k];
        for (assigned, weight) in points.nearest(&centers, Which::All)?.iter().zip(weights) {
            counts[assigned.label as usize] += weight;
        }
        Ok(State { centers, counts })
    }

    /// One batch: the inertia before the centers move, and the labels.
    fn step<T: Real>(&mut self, points: &Points<'_, T>, weights: &[f64]) -> Result<(f64, Vec<u32>)> {
        let d = points.d;
        let labels: Vec<u32> =
            points.nearest(&self.centers, Which::All)?.into_iter().map(|assigned| assigned.label).collect();
        let before = inertia(points, weights, &labels, &self.centers);
        let k = self.counts.len();
        let (mut sums, mut totals) = (vec![0.0; k * d], vec![0.0; k]);
        for (i, &label) in labels.iter().enumerate() {
            let label = label as usize;
            totals[label] += weights[i];
            let own = &mut sums[label * d..(label + 1) * d];
            add_scaled(own, points.row(i), weights[i]);
        }
        for j in (0..k).filter(|&j| totals[j] > 0.0) {
            self.counts[j] += totals[j];
            let (share, center) = (1.0 / self.counts[j], &mut self.centers[j * d..(j + 1) * d]);
            for (x, sum) in center.iter_mut().zip(&sums[j * d..(j + 1) * d]) {
                *x += (sum - totals[j] * *x) * share;
            }
        }
        Ok((before, labels))
    }

    /// Puts centers that have seen next to nothing on the samples that are farthest from their centers.
    fn reassign<T: Real>(&mut self, points: &Points<'_, T>, labels: &[u32], ratio: f64) {
        let d = points.d;
        let most = self.counts.iter().fold(0.0f64, |most, count| most.max(*count));
        let poor: Vec<usize> = (0..self.counts.len()).filter(|&j| self.counts[j] < ratio * most).collect();
        if poor.is_empty() {
            return;
        }
        let mut far: Vec<(f64, usize)> =
            (0..points.len()).map(|i| (points.exact(i, labels[i] as usize, &self.centers), i)).collect();
        far.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let least = self.counts.iter().filter(|&&count| count >= ratio * most).fold(most, |a, b| a.min(*b));
        for (j, &(distance, i)) in poor.into_iter().zip(&far) {
            if distance > 0.0 {
                self.centers[j * d..(j + 1) * d].iter_mut().zip(points.row(i)).for_each(|(c, x)| *c = x.f64());
                self.counts[j] = least;
            }
        }
    }

    fn centers(&self, dtype: DType) -> Result<Tensor> {
        let k = self.counts.len();
        Ok(Tensor::try_from_vec(self.centers.clone(), [k, self.centers.len() / k])?.to_dtype(dtype))
    }
}

impl Algorithm for MiniBatchKMeans {
    type Fitted = FittedMiniBatchKMeans;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        transform: true,
        order_free: false,
        partial_fit: true,
        anytime: true,
        warm_start: true,
        ..Capabilities::CLUSTERER
    };

    fn train(&self, samples: &Samples) -> Result<FittedMiniBatchKMeans> {
        samples.require_moderate(Self::NAME, true)?;
        enough(Self::NAME, self.n_clusters, samples.len())?;
        let x = samples.x().dense(Self::NAME)?;
        with_real!(x.dtype(), T => self.run::<T>(samples, x.as_slice::<T>()?, None))
    }

    /// Begins with the centers of the model, each as heavy as the samples nearest to it.
    fn train_from(&self, start: &FittedMiniBatchKMeans, samples: &Samples) -> Result<FittedMiniBatchKMeans> {
        same_count(Self::NAME, self.n_clusters, start.cluster_centers.dims()[0])?;
        samples.require_moderate(Self::NAME, true)?;
        let x = samples.x().dense(Self::NAME)?;
        let centers = start.cluster_centers.to_f64_vec();
        with_real!(x.dtype(), T => self.run::<T>(samples, x.as_slice::<T>()?, Some(centers)))
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        crate::partial::boxed(self, classes)
    }
}

impl MiniBatchKMeans {
    fn run<T: Real>(&self, samples: &Samples, rows: &[T], from: Option<Vec<f64>>) -> Result<FittedMiniBatchKMeans> {
        let (n, d) = (samples.len(), samples.width());
        let weights = samples.weights().map_or_else(|| vec![1.0; n], Tensor::to_f64_vec);
        let all = Points::new(rows, d)?;
        let mut state = match from {
            None => State::start(self, &all, &weights)?,
            Some(centers) => State::seen(centers, self.n_clusters, &all, &weights)?,
        };
        let total: f64 = weights.iter().sum();
        let size = self.batch_size.min(n);
        let (mut smooth, mut least, mut idle): (Option<f64>, f64, usize) = (None, f64::INFINITY, 0);
        let (mut passes, mut stop, mut curve) = (0, Stop::MaxIter, Vec::new());
        'passes: while passes < self.max_iter {
            let order = Key::new(self.seed).fold(1 + passes as u64).permutation(n).to_vec::<i64>();
            passes += 1;
            let mut seen = 0;
            for batch in order.chunks(size) {
                if tove_optim::interrupted() {
                    stop = Stop::Interrupted;
                    break 'passes;
                }
                let mut gathered: Vec<T> = Vec::with_capacity(batch.len() * d);
                batch.iter().for_each(|&i| gathered.extend_from_slice(all.row(i as usize)));
                let own: Vec<f64> = batch.iter().map(|&i| weights[i as usize]).collect();
                let points = Points::new(&gathered, d)?;
                let (before, labels) = state.step(&points, &own)?;
                let mean = before / own.iter().sum::<f64>().max(f64::MIN_POSITIVE);
                // As scikit-learn: an average over about half of the samples.
                let share = (2.0 * own.iter().sum::<f64>() / (total + 1.0)).min(1.0);
                let value = smooth.map_or(mean, |smooth| smooth * (1.0 - share) + mean * share);
                smooth = Some(value);
                idle = if value < least { 0 } else { idle + 1 };
                least = least.min(value);
                seen += batch.len();
                if seen == n {
                    state.reassign(&points, &labels, self.reassignment_ratio);
                }
            }
            curve.push(least);
            if idle >= self.max_no_improvement {
                stop = Stop::Tolerance;
                break;
            }
        }
        let labels: Vec<u32> =
            all.nearest(&state.centers, Which::All)?.into_iter().map(|assigned| assigned.label).collect();
        let inertia = inertia(&all, &weights, &labels, &state.centers);
        let converged = stop == Stop::Tolerance;
        let residual = smooth.unwrap_or(0.0);
        let summary = Summary::iterative(Self::NAME, passes, converged, residual, inertia).ended(stop, curve);
        let about = About::of(self, samples).outputs(self.n_clusters).summary(summary);
        Ok(FittedMiniBatchKMeans { about, cluster_centers: state.centers(samples.x().dtype())?, inertia })
    }
}

/// Learns [`MiniBatchKMeans`] from pieces; a piece is one batch. The first must have as many samples as there are clusters.
pub struct MiniBatchKMeansLearner {
    settings: MiniBatchKMeans,
    state: Option<State>,
    dtype: DType,
    width: usize,
    inertia: f64,
    pieces: usize,
}

impl PartialFit for MiniBatchKMeans {
    type Learner = MiniBatchKMeansLearner;

    fn learner(&self, _classes: &[i64]) -> Result<MiniBatchKMeansLearner> {
        self.validate()?;
        let settings = self.clone();
        Ok(MiniBatchKMeansLearner { settings, state: None, dtype: DType::F64, width: 0, inertia: 0.0, pieces: 0 })
    }
}

impl Learner for MiniBatchKMeansLearner {
    type Fitted = FittedMiniBatchKMeans;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        let samples = crate::estimator::admit(&self.settings, samples)?;
        samples.require_moderate(MiniBatchKMeans::NAME, true)?;
        if self.state.is_some() {
            samples.x().check_width(MiniBatchKMeans::NAME, self.width)?;
        } else {
            (self.dtype, self.width) = (samples.x().dtype(), samples.width());
        }
        let weights = samples.weights().map_or_else(|| vec![1.0; samples.len()], Tensor::to_f64_vec);
        let x = samples.x().to_dtype(self.dtype);
        let x = x.dense(MiniBatchKMeans::NAME)?;
        with_real!(self.dtype, T => {
            let points = Points::new(x.as_slice::<T>()?, self.width)?;
            let mut state = match self.state.take() {
                Some(state) => state,
                None => State::start(&self.settings, &points, &weights)?,
            };
            let (inertia, _) = state.step(&points, &weights)?;
            self.inertia = inertia;
            self.state = Some(state);
        });
        self.pieces += 1;
        Ok(())
    }

    fn model(&self) -> Result<FittedMiniBatchKMeans> {
        let Some(state) = &self.state else {
            let fix = "call `learn` with at least one piece".to_owned();
            return Err(LearnError::TooFew { who: MiniBatchKMeans::NAME, found: 0, needed: 1, fix });
        };
        let summary = Summary { iterations: self.pieces, ..Summary::exact() };
        let about = About::new(&self.settings, self.width, self.dtype);
        let about = about.outputs(self.settings.n_clusters).summary(summary);
        Ok(FittedMiniBatchKMeans { about, cluster_centers: state.centers(self.dtype)?, inertia: self.inertia })
    }

    fn loss(&self) -> Option<f64> {
        (self.pieces > 0).then_some(self.inertia)
    }
}

impl Model for FittedMiniBatchKMeans {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        assign(self.name(), &self.cluster_centers, x)
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        distances(self.name(), &self.cluster_centers, x)
    }
}
