//! Nearest neighbors: the stored samples that are closest to a query.
//!
//! | type | what it does |
//! |---|---|
//! | [`NearestNeighbors`] | an index that answers queries: the k nearest samples, or all within a radius |
//! | [`KNeighborsClassifier`] | the classes of the neighbors vote |
//! | [`KNeighborsRegressor`] | the targets of the neighbors are averaged |
//!
//! Distances are Euclidean (l2), Manhattan (l1), cosine, or Mahalanobis. Answers are exact: of equally near samples the one that was
//! given first comes first, and neither the algorithm nor the number of threads has an influence on a bit.
//!
//! All pairs (`brute`) are compared by ‖x‖² − 2 q·x from blocks of a matrix product, which rounds badly where points are close;
//! therefore every sample that could be among the k nearest by a bound of that error is compared again from differences in double
//! precision. A k-d tree is used in low dimensions with many samples (n ≥ 2^(d + 3), d ≤ 15). Which one is decided by the shape of the
//! data alone.

mod brute;
mod classifier;
mod index;
mod kd_tree;
mod metric;
mod nearest;
mod regressor;
mod result;
mod vote;

pub use classifier::{FittedKNeighborsClassifier, KNeighborsClassifier, Ties};
pub(crate) use index::{Index, LOW};
pub(crate) use kd_tree::{Collect, KdTree};
pub(crate) use metric::neighbor_settings_setters;
pub use metric::{Metric, NeighborAlgorithm, NeighborSettings};
pub use nearest::{FittedNearestNeighbors, NearestNeighbors, cosine_top_k};
pub use regressor::{FittedKNeighborsRegressor, KNeighborsRegressor};
pub(crate) use result::Found;
pub use result::{Neighbors, RadiusNeighbors};
pub use vote::NeighborWeights;
