//! k-means: k centers that minimize Σᵢ wᵢ minⱼ ‖xᵢ − μⱼ‖² (Lloyd 1982), started by greedy k-means++ (Arthur, Vassilvitskii 2007).
//!
//! Each iteration assigns every sample to its nearest center, of equally near ones to the first, and moves each center to the
//! weighted mean of its samples; the objective never rises. A center that lost all its samples is put on the sample that is
//! farthest from its own center. Iterations end when no label changes, or when the centers move by less than `tol` times the
//! mean variance of the features. Distances are compared by ‖μ‖² − 2 x·μ, from a matrix product over centered features;
//! `inertia` and `transform` use differences.
//!
//! ```
//! use tove_learn::{Fit, KMeans, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0], [0.2], [5.0], [5.2]]);
//! let model = KMeans::default().n_clusters(2).fit(&x, None)?;
//! let labels = model.predict(&x)?.to_vec::<i64>();
//! assert!(labels[0] == labels[1] && labels[2] == labels[3] && labels[0] != labels[2]);
//! assert!((model.inertia() - 0.04).abs() < 1e-12);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{DType, Key, Tensor, TryOps};

use crate::{About, Algorithm, Capabilities, Fitted, LearnError, Model, Result, Rows, Samples, Summary};

/// Rows of a matrix product of distances; fixed, so that results do not depend on the number of threads.
const BLOCK: usize = 4096;

/// Where the first centers lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Init {
    /// Samples drawn by their squared distance to the centers so far, the best of several draws each time.
    #[default]
    #[choice(name = "k-means++")]
    PlusPlus,
    /// Samples drawn at random.
    Random,
}

/// Finds k groups of samples around their means, as scikit-learn's `KMeans` with Lloyd's algorithm.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct KMeans {
    /// Number of clusters.
    #[hyper(default = 8, range = "[1, inf)", alias = "k")]
    pub n_clusters: usize,
    /// Where the first centers lie: k-means++ or random.
    #[hyper(default = Init::PlusPlus)]
    pub init: Init,
    /// Starts, of which the best is kept.
    #[hyper(default = 1, range = "[1, inf)")]
    pub n_init: usize,
    /// Iterations of a start at most.
    #[hyper(default = 300, range = "[1, inf)")]
    pub max_iter: usize,
    /// Movement of the centers, relative to the mean variance of the features, at which to stop.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
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
}

/// Centered samples in double precision.
struct Data {
    x: Tensor, // (n, d)
    values: Vec<f64>,
    weights: Vec<f64>,
    d: usize,
}

/// One start of the iterations.
struct Start {
    centers: Vec<f64>, // (k, d)
    inertia: f64,
    iterations: usize,
    /// Squared movement of the centers in the last iteration.
    shift: f64,
    converged: bool,
}

/// The squared distance of two points.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// The nearest of k centers (k, d) for each row; of equally near ones the first.
fn nearest(x: &Tensor, centers: &[f64], d: usize) -> Result<Vec<usize>> {
    let k = centers.len() / d;
    let norms: Vec<f64> = centers.chunks(d).map(|center| center.iter().map(|x| x * x).sum()).collect();
    let turned = Tensor::try_from_vec(centers.to_vec(), [k, d])?.try_t()?;
    let mut labels = Vec::with_capacity(x.dims()[0]);
    for first in (0..x.dims()[0]).step_by(BLOCK) {
        let rows = BLOCK.min(x.dims()[0] - first);
        let products = x.try_narrow(0, first, rows)?.try_matmul(&turned)?.try_contiguous()?;
        for row in products.as_slice::<f64>()?.chunks(k) {
            let score = |j: usize| norms[j] - 2.0 * row[j];
            labels.push((1..k).fold(0, |best, j| if score(j) < score(best) { j } else { best }));
        }
    }
    Ok(labels)
}

impl Data {
    fn row(&self, i: usize) -> &[f64] {
        &self.values[i * self.d..(i + 1) * self.d]
    }

    fn len(&self) -> usize {
        self.weights.len()
    }

    /// A sample drawn with chances that are proportional to these numbers.
    fn draw(chances: &[f64], share: f64) -> usize {
        let aim = share * chances.iter().sum::<f64>();
        let mut sum = 0.0;
        let place = chances.iter().position(|chance| {
            sum += chance;
            sum > aim
        });
        place.unwrap_or_else(|| chances.iter().rposition(|&chance| chance > 0.0).unwrap_or(0))
    }

    fn first_centers(&self, k: usize, init: Init, key: Key) -> Result<Vec<f64>> {
        let share =
            |place: usize| -> Result<f64> { Ok(key.fold(place as u64).try_uniform([1], DType::F64)?.to_f64_vec()[0]) };
        let mut centers = self.row(Data::draw(&self.weights, share(0)?)).to_vec();
        let mut squares: Vec<f64> = (0..self.len()).map(|i| distance(self.row(i), &centers)).collect();
        let tries = 2 + (k as f64).ln() as usize;
        for number in 1..k {
            if tove_optim::interrupted() {
                return Err(LearnError::Interrupted { who: KMeans::NAME });
            }
            let chances: Vec<f64> = match init {
                Init::PlusPlus => squares.iter().zip(&self.weights).map(|(square, weight)| square * weight).collect(),
                Init::Random => self.weights.clone(),
            };
            let tries = if init == Init::PlusPlus { tries } else { 1 };
            let mut best: Option<(f64, Vec<f64>, usize)> = None;
            for attempt in 0..tries {
                let drawn = Data::draw(&chances, share(number * tries + attempt + 1)?);
                let closer: Vec<f64> =
                    (0..self.len()).map(|i| squares[i].min(distance(self.row(i), self.row(drawn)))).collect();
                let potential: f64 = closer.iter().zip(&self.weights).map(|(square, weight)| square * weight).sum();
                if best.as_ref().is_none_or(|(least, ..)| potential < *least) {
                    best = Some((potential, closer, drawn));
                }
            }
            if let Some((_, closer, drawn)) = best {
                squares = closer;
                centers.extend_from_slice(self.row(drawn));
            }
        }
        Ok(centers)
    }

    /// The weighted means of the clusters; a cluster without weight is put on the sample farthest from its center.
    fn means(&self, labels: &[usize], centers: &[f64]) -> Vec<f64> {
        let (d, k) = (self.d, centers.len() / self.d);
        let (mut sums, mut totals) = (vec![0.0; k * d], vec![0.0; k]);
        for (i, &label) in labels.iter().enumerate() {
            let weight = self.weights[i];
            totals[label] += weight;
            sums[label * d..(label + 1) * d].iter_mut().zip(self.row(i)).for_each(|(sum, x)| *sum += weight * x);
        }
        let empty: Vec<usize> = (0..k).filter(|&j| totals[j] <= 0.0).collect();
        if !empty.is_empty() {
            let mut far: Vec<(f64, usize)> = (0..self.len())
                .filter(|&i| self.weights[i] > 0.0)
                .map(|i| (distance(self.row(i), &centers[labels[i] * d..(labels[i] + 1) * d]), i))
                .collect();
            far.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let mut members = vec![0; k];
            far.iter().for_each(|&(_, i)| members[labels[i]] += 1);
            // A cluster keeps its last sample: what is left of its sum without it would be rounding.
            let mut spare = far.iter().filter(|&&(_, i)| {
                let shares = members[labels[i]] > 1;
                members[labels[i]] -= usize::from(shares);
                shares
            });
            for &j in &empty {
                let Some(&(_, i)) = spare.next() else { break };
                let (from, weight) = (labels[i], self.weights[i]);
                totals[from] -= weight;
                totals[j] = weight;
                for column in 0..d {
                    sums[from * d + column] -= weight * self.row(i)[column];
                    sums[j * d + column] = weight * self.row(i)[column];
                }
            }
        }
        for (j, total) in totals.iter().enumerate() {
            let own = j * d..(j + 1) * d;
            if *total > 0.0 {
                sums[own].iter_mut().for_each(|sum| *sum /= total);
            } else {
                sums[own.clone()].copy_from_slice(&centers[own]);
            }
        }
        sums
    }

    fn lloyd(&self, mut centers: Vec<f64>, max_iter: usize, tol: f64) -> Result<Start> {
        let d = self.d;
        let mut labels = nearest(&self.x, &centers, d)?;
        let (mut iterations, mut shift, mut converged) = (0, 0.0, false);
        while iterations < max_iter && !converged {
            if tove_optim::interrupted() {
                break;
            }
            iterations += 1;
            let moved = self.means(&labels, &centers);
            shift = distance(&moved, &centers);
            centers = moved;
            let next = nearest(&self.x, &centers, d)?;
            converged = next == labels || shift <= tol;
            labels = next;
        }
        let own = |i: usize| self.weights[i] * distance(self.row(i), &centers[labels[i] * d..(labels[i] + 1) * d]);
        let inertia = (0..self.len()).map(own).sum();
        Ok(Start { centers, inertia, iterations, shift, converged })
    }
}

impl Algorithm for KMeans {
    type Fitted = FittedKMeans;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, transform: true, order_free: false, anytime: true, ..Capabilities::CLUSTERER };

    fn train(&self, samples: &Samples) -> Result<FittedKMeans> {
        let x = samples.x().dense(Self::NAME)?;
        let (n, d, k) = (samples.len(), samples.width(), self.n_clusters);
        if n < k {
            let fix = format!("ask for at most {n} clusters");
            return Err(LearnError::TooFew { who: Self::NAME, found: n, needed: k, fix });
        }
        let dtype = x.dtype();
        let x = x.to_dtype(DType::F64);
        let mean = x.try_mean_axes(&[0], false)?;
        let x = x.try_sub(&mean)?.try_contiguous()?;
        let values = x.to_f64_vec();
        let variance = values.iter().map(|x| x * x).sum::<f64>() / (n * d) as f64;
        let weights = samples.weights().map_or_else(|| vec![1.0; n], Tensor::to_f64_vec);
        let data = Data { x, values, weights, d };
        let mut best: Option<Start> = None;
        for start in 0..self.n_init {
            if best.is_some() && tove_optim::interrupted() {
                break;
            }
            let first = data.first_centers(k, self.init, Key::new(self.seed).fold(start as u64))?;
            let found = data.lloyd(first, self.max_iter, self.tol * variance)?;
            if best.as_ref().is_none_or(|best| found.inertia < best.inertia) {
                best = Some(found);
            }
        }
        let Some(Start { centers, inertia, iterations, shift, converged }) = best else {
            return Err(LearnError::parameter(Self::NAME, "n_init is 0; give at least 1"));
        };
        let summary = Summary::iterative(Self::NAME, iterations, converged, shift.sqrt(), inertia);
        let centers = Tensor::try_from_vec(centers, [k, d])?.try_add(&mean)?.to_dtype(dtype);
        let about = About::of(self, samples).outputs(k).summary(summary);
        Ok(FittedKMeans { about, cluster_centers: centers, inertia })
    }
}

impl FittedKMeans {
    /// Squared distances (n, k) from differences, in double precision.
    fn squares(&self, x: &Rows) -> Result<Vec<f64>> {
        let x = x.dense(self.name())?.to_f64_vec();
        let (d, centers) = (self.width(), self.cluster_centers.to_f64_vec());
        let squares: Vec<f64> =
            x.chunks(d).flat_map(|row| centers.chunks(d).map(move |center| distance(row, center))).collect();
        match squares.iter().position(|square| !square.is_finite()) {
            None => Ok(squares),
            Some(place) => {
                let problem = format!("the distances of row {} overflow", place / self.outputs());
                Err(crate::model::overflow(self.name(), &problem))
            }
        }
    }
}

impl Model for FittedKMeans {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let k = self.outputs();
        let nearest = |row: &[f64]| (1..k).fold(0, |best, j| if row[j] < row[best] { j } else { best }) as i64;
        Ok(Tensor::from_slice(&self.squares(x)?.chunks(k).map(nearest).collect::<Vec<i64>>()))
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let distances: Vec<f64> = self.squares(x)?.into_iter().map(f64::sqrt).collect();
        let n = distances.len() / self.outputs();
        Ok(Rows::Dense(Tensor::try_from_vec(distances, [n, self.outputs()])?.to_dtype(x.dtype())))
    }
}
