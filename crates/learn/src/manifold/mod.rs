//! Few coordinates in which samples that are close stay close, for pictures of data with many features.
//!
//! | type | what it does |
//! |---|---|
//! | [`Umap`] | a layout of the fuzzy graph of nearest neighbors (McInnes, Healy, Melville 2018) |
//!
//! UMAP rather than t-SNE, because a fitted UMAP places new rows, so that it is a transformer like any other and can stand in a
//! pipeline, whereas t-SNE only has coordinates for the samples it was fitted to. Its layout costs time proportional to the number of
//! edges of the graph, hence nearly linear in the number of samples, where every step of t-SNE involves all pairs or approximates them.
//!
//! # Steps
//!
//! 1. The nearest neighbors of every sample, itself included: exact, by [`crate::neighbors`].
//! 2. [`Umap::fuzzy_graph`]: distances to neighbors become membership strengths, 1 up to the distance of the nearest ones and falling
//!    exponentially from there, with a rate that makes them sum to log₂ `n_neighbors`; both directions are combined.
//! 3. [`curve_parameters`]: a and b such that 1/(1 + a d^(2b)) is close to the curve that `min_dist` and `spread` describe.
//! 4. Start: eigenvectors of the normalized Laplacian of the graph, random, or principal components.
//! 5. Layout: stochastic gradient descent with negative sampling.
//!
//! # Determinism
//!
//! The same seed gives the same bits for any number of threads. All samples move at once, from the coordinates that the others had
//! after the previous sweep; an epoch has two sweeps, and each of them moves one end of an edge. Random numbers are a function of the
//! seed, the sweep and the place of the sample.
//!
//! # Special data
//!
//! | data | what happens |
//! |---|---|
//! | one sample | its coordinates are 0, and so are those of every new row |
//! | no more samples than `n_neighbors` | n − 1 neighbors, with a warning |
//! | duplicated samples | membership 1 between them; they end up near each other. A sample counts itself among its neighbors even if it has more duplicates than neighbors |
//! | all samples equal, constant columns | allowed; the layout of equal samples has no meaning, but is finite |
//! | a graph in parts | every part has a layout of its own, around the place that the principal components of the parts' means give it |
//! | samples without edges (`set_op_mix_ratio` near 0) | stay where they start |
//! | a new row equal to a training sample | gets exactly its coordinates; those of the first if there are several |
//!
//! # Cost
//!
//! Neighbors are exact, which takes n² d operations where there is no k-d tree for so many features: 0.1 million samples with 784
//! features take 100 times as long as 10,000. The layout takes `n_epochs` · edges.

mod curve;
mod fuzzy;
mod layout;
mod spectral;
mod start;
mod umap;

pub use curve::curve_parameters;
pub use umap::{FittedUmap, Umap, UmapInit};
