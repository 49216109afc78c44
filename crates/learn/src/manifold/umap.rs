//! Uniform manifold approximation and projection.
//!
//! ```
//! use tove_learn::{Fit, Transform, manifold::Umap};
//! use tove_tensor::{DType, Key, Tensor};
//! let x = Key::new(1).normal([60, 5], DType::F64);
//! let model = Umap::default().seed(3).fit(&x, None)?;
//! assert_eq!(model.embedding().dims(), [60, 2]);
//! // A training sample is placed where it is; new rows are placed among the training samples.
//! assert_eq!(model.transform(&x)?.to_f64_vec(), model.embedding().to_f64_vec());
//! assert_eq!(model.transform(&(&x + 0.01))?.dims(), [60, 2]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use tove_optim::settings::{Choice, Hyperparameters, Named};
use tove_tensor::{DType, Key, Tensor};

use super::curve::curve_parameters;
use super::fuzzy::{self, Graph};
use super::layout::{self, Edges, Forces};
use super::start::start;
use crate::neighbors::{Index, Metric, NeighborAlgorithm, NeighborSettings, neighbor_settings_setters};
use crate::{
    About, Algorithm, Capabilities, Csr, LearnError, Model, Record, Restore, Result, Rows, Samples, Stop, Summary,
    memory,
};

/// Samples up to which more epochs are the default.
const SMALL: usize = 10_000;

/// Where the layout starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum UmapInit {
    /// Eigenvectors of the normalized Laplacian of the graph.
    #[default]
    Spectral,
    /// Random coordinates.
    Random,
    /// Principal components of the features.
    Pca,
}

/// Lays out samples in few dimensions so that neighbors stay neighbors, with the hyperparameters of umap-learn's `UMAP`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "UMAP")]
pub struct Umap {
    /// Neighbors of a sample, itself included: few show fine structure, many the overall one.
    #[hyper(default = 15, range = "[2, inf)")]
    pub n_neighbors: usize,
    /// Number of coordinates.
    #[hyper(default = 2, range = "[1, inf)", alias = "k")]
    pub n_components: usize,
    /// Distance in the layout below which samples are not drawn nearer to each other; at most `spread`.
    #[hyper(default = 0.1, range = "[0, inf)")]
    pub min_dist: f64,
    /// Scale of distances in the layout.
    #[hyper(default = 1.0, range = "[0.001, 1000]")]
    pub spread: f64,
    /// Passes over the edges; if not given, 500 for up to 10,000 samples, else 200. New rows take a third of it; if not given, 100 or 30.
    #[hyper(default = None, range = "[1, inf)")]
    pub n_epochs: Option<usize>,
    /// First step size; it falls linearly to 0.
    #[hyper(default = 1.0, range = "(0, 1000]")]
    pub learning_rate: f64,
    /// Random samples that push, per edge that pulls.
    #[hyper(default = 5, range = "[0, 1000]")]
    pub negative_sample_rate: usize,
    /// Weight of the pushes.
    #[hyper(default = 1.0, range = "[0, 1e6]")]
    pub repulsion_strength: f64,
    /// Number of nearest neighbors that are fully connected to a sample; between whole numbers by interpolation.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub local_connectivity: f64,
    /// How the directions of an edge are combined: 1 for the fuzzy union, 0 for the intersection.
    #[hyper(default = 1.0, range = "[0, 1]")]
    pub set_op_mix_ratio: f64,
    /// Where the layout starts: spectral, random or pca.
    #[hyper(default = UmapInit::Spectral)]
    pub init: UmapInit,
    /// Seed of the random numbers.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
    /// Whether progress is shown, if standard error is a terminal.
    #[hyper(default = false)]
    pub verbose: bool,
    /// Distance and algorithm of the neighbors.
    #[hyper(flatten)]
    pub search: NeighborSettings,
}

/// A fitted [`Umap`].
#[derive(Clone, Debug)]
pub struct FittedUmap {
    about: About,
    settings: Umap,
    index: Index,
    /// Coordinates of the samples, (n, `n_components`).
    embedding: Tensor,
}

impl Umap {
    fn epochs(&self, n: usize) -> usize {
        self.n_epochs.unwrap_or(if n <= SMALL { 500 } else { 200 })
    }

    fn forces(&self) -> Forces {
        let (a, b) = curve_parameters(self.spread, self.min_dist);
        Forces {
            a: a as f32,
            b: b as f32,
            repulsion: self.repulsion_strength as f32,
            negatives: self.negative_sample_rate,
            learning_rate: self.learning_rate as f32,
        }
    }

    /// Neighbors of n samples that are used.
    fn neighbors_of(&self, n: usize) -> usize {
        self.n_neighbors.min(n.saturating_sub(1)).max(2)
    }

    /// The graph of more than one sample.
    fn graph(&self, index: &Index, x: &Rows) -> Result<Graph> {
        let k = self.neighbors_of(index.len());
        let mut found = index.nearest_in_fit(x, k)?;
        for (i, row) in found.chunks_exact_mut(k).enumerate() {
            // The sample itself comes first, even if duplicates with smaller numbers leave no place for it.
            let own = row.iter().position(|(_, j)| *j as usize == i).unwrap_or(k - 1);
            row[own] = (0.0, i as u32);
            row[..=own].rotate_right(1);
        }
        Ok(fuzzy::graph(&found, k, self.local_connectivity, self.set_op_mix_ratio))
    }

    /// Membership strengths of samples (n, d) among each other, a symmetric matrix (n, n): umap-learn's `graph_`.
    ///
    /// # Errors
    /// As a fit.
    pub fn fuzzy_graph(&self, x: impl Into<Rows>) -> Result<Csr> {
        self.validate()?;
        let samples = Samples::from_parts(x.into(), None, false)?;
        samples.require_some(Self::NAME)?;
        let index = Index::new(Self::NAME, &self.search, &samples)?;
        let n = samples.len();
        let graph =
            if n > 1 { self.graph(&index, samples.x())? } else { Graph { starts: vec![0, 0], ..Graph::default() } };
        Csr::new(graph.starts, graph.neighbors, Tensor::from_slice(&graph.weights), n)
    }

    fn bar(&self, epochs: usize) -> Option<ProgressBar> {
        if !self.verbose || !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::new(epochs as u64);
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} epochs, {eta} left");
        Some(style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style)))
    }
}

impl Algorithm for Umap {
    type Fitted = FittedUmap;
    /// Rounding errors grow during the layout, so that two precisions or orders of the samples have different layouts.
    const CAPABILITIES: Capabilities =
        Capabilities { order_free: false, accuracy: f64::INFINITY, anytime: true, ..Capabilities::TRANSFORMER };

    fn train(&self, samples: &Samples) -> Result<FittedUmap> {
        if self.min_dist > self.spread {
            let problem =
                format!("`min_dist` is {} and `spread` {}; `min_dist` must not be larger", self.min_dist, self.spread);
            return Err(LearnError::parameter(Self::NAME, problem));
        }
        let (n, dim, epochs) = (samples.len(), self.n_components, self.epochs(samples.len()));
        let (rows, edges) = (memory::matrix(n, dim, 32), memory::matrix(n, self.neighbors_of(n), 120));
        let what = || format!("the graph and the layout of {n} samples with {dim} coordinates");
        let fix = "fit a sample of the rows and transform the others";
        memory::require_with(Self::NAME, what, rows.saturating_add(edges), fix)?;
        let index = Index::new(Self::NAME, &self.search, samples)?;
        let x = samples.x().dense(Self::NAME)?;
        let mut summary = Summary::exact();
        let used = self.neighbors_of(n);
        if n > 1 && used < self.n_neighbors {
            summary.warn(format!("UMAP: `n_neighbors` is {} with {n} samples; {used} are used", self.n_neighbors));
        }
        let key = Key::new(self.seed);
        let mut at = vec![0.0; n * dim];
        let (mut done, mut finished) = (0, true);
        if n > 1 {
            let graph = self.graph(&index, samples.x())?;
            // Short layouts keep the edges that longer ones would.
            let whole = if epochs > 10 { epochs } else { Umap { n_epochs: None, ..self.clone() }.epochs(n) };
            let edges = Edges::new(&graph, whole, key.fold(1));
            let first = start(self.init, x, &graph, dim, key.fold(2))?;
            let first = first.ok_or(LearnError::Interrupted { who: Self::NAME })?;
            let bar = self.bar(epochs);
            let after = |epoch: usize| {
                bar.iter().for_each(|bar| bar.set_position(epoch as u64));
                !tove_optim::interrupted()
            };
            (at, done) = layout::lay_out(&edges, first, dim, self.forces(), epochs, key.fold(3), after);
            bar.iter().for_each(ProgressBar::finish_and_clear);
            finished = done == epochs;
        }
        if at.iter().any(|x| !x.is_finite()) {
            let fix = "lower `learning_rate` or `repulsion_strength`";
            return Err(LearnError::data(Self::NAME, "the coordinates of the layout overflow", fix));
        }
        summary.iterations = done;
        if !finished {
            summary.converged = false;
            summary.warn(format!("UMAP: interrupted after {done} of {epochs} epochs"));
        }
        summary = summary.ended(if finished { Stop::MaxIter } else { Stop::Interrupted }, Vec::new());
        let about = About::of(self, samples).outputs(dim).summary(summary);
        let embedding = Tensor::try_from_vec(at, [n, dim])?.to_dtype(x.dtype());
        Ok(FittedUmap { about, settings: self.clone(), index, embedding })
    }
}

impl FittedUmap {
    /// Coordinates of the training samples, (n, `n_components`).
    pub fn embedding(&self) -> &Tensor {
        &self.embedding
    }
}

impl Model for FittedUmap {
    fn about(&self) -> &About {
        &self.about
    }

    /// Each row by itself: the mean of its neighbors' coordinates, weighted by membership, is moved among the training samples, which
    /// stay where they are.
    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        let (n, m, dim) = (self.index.len(), x.len(), self.outputs());
        if n == 1 {
            return Ok(Rows::Dense(Tensor::zeros([m, dim], self.dtype())));
        }
        let settings = &self.settings;
        let k = settings.neighbors_of(n);
        let found = self.index.nearest(x, k)?;
        let local_connectivity = (settings.local_connectivity - 1.0).max(0.0);
        let table: Vec<f32> = self.embedding.to_dtype(DType::F32).try_contiguous()?.to_vec();
        let coordinates = |j: u32| &table[j as usize * dim..(j as usize + 1) * dim];
        let (mut memberships, mut first) = (Vec::with_capacity(m), vec![0.0; m * dim]);
        for (row, to) in found.chunks_exact(k).zip(first.chunks_exact_mut(dim)) {
            let distances: Vec<f64> = row.iter().map(|(distance, _)| *distance).collect();
            let own = distances.iter().sum::<f64>() / k as f64;
            let (near, scale) = fuzzy::smooth(&distances, (k as f64).log2(), local_connectivity, own);
            let strengths = row.iter().map(|&(distance, j)| (j, fuzzy::membership(distance, near, scale)));
            let strengths: Vec<(u32, f64)> = strengths.collect();
            let sum: f64 = strengths.iter().map(|(_, weight)| weight).sum();
            for (j, weight) in &strengths {
                let share = (weight / sum) as f32;
                to.iter_mut().zip(coordinates(*j)).for_each(|(to, x)| *to += share * x);
            }
            memberships.push(strengths);
        }
        let forces = settings.forces();
        let forces = Forces { learning_rate: 0.25 * forces.learning_rate, ..forces };
        let epochs = settings.n_epochs.map_or(if n <= SMALL { 100 } else { 30 }, |epochs| epochs.div_ceil(3));
        let key = Key::new(settings.seed).fold(4);
        let mut at = layout::place(&memberships, &first, &table, dim, forces, epochs, key);
        for (row, to) in found.chunks_exact(k).zip(at.chunks_exact_mut(dim)) {
            if row[0].0 == 0.0 {
                to.copy_from_slice(coordinates(row[0].1));
            }
        }
        Ok(Rows::Dense(Tensor::try_from_vec(at, [m, dim])?.to_dtype(self.dtype())))
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.about.attributes();
        all.push(("embedding", self.embedding.clone()));
        all
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.index.write(&mut record);
        record.put_tensor("embedding", &self.embedding);
        record
    }
}

impl Restore for FittedUmap {
    fn restore(record: &Record) -> Result<FittedUmap> {
        let settings: Umap = record.settings(Umap::NAME, 1)?;
        let index = Index::read(Umap::NAME, &settings.search, record)?;
        let embedding = record.shaped("embedding", &[index.len(), settings.n_components])?.try_contiguous()?;
        if embedding.dtype() != index.dtype() || embedding.to_f64_vec().iter().any(|x| !x.is_finite()) {
            return Err(record.wrong("embedding", "finite coordinates of the samples"));
        }
        let about = About::read(&settings, record, index.width(), index.dtype())?.outputs(settings.n_components);
        Ok(FittedUmap { about, settings, index, embedding })
    }
}
