//! Groups of samples, found without targets.
//!
//! | type | what it does |
//! |---|---|
//! | [`KMeans`] | k centers by Lloyd's iterations |
//! | [`MiniBatchKMeans`] | k centers from one part of the data after another |
//! | [`Dbscan`] | dense regions at one scale, outliers |
//! | [`Hdbscan`] | dense regions at all scales, outliers |
//! | [`AgglomerativeClustering`] | nearest clusters joined, a tree |

mod agglomerative;
mod assign;
mod dbscan;
mod elbow;
mod elkan;
mod hdbscan;
mod kmeans;
mod kmeans_passes;
mod linkage;
mod lloyd;
mod mini_batch;
mod seeding;
mod spanning;
mod stored;

pub use agglomerative::{AgglomerativeClustering, FittedAgglomerativeClustering};
pub use dbscan::{Dbscan, FittedDbscan};
pub use elbow::{Elbow, elbow};
pub use hdbscan::{FittedHdbscan, Hdbscan};
pub use kmeans::{FittedKMeans, KMeans, KMeansAlgorithm};
pub(crate) use kmeans::{given as given_rows, same_count};
pub use kmeans_passes::KMeansLearner;
pub use linkage::Linkage;
pub use mini_batch::{FittedMiniBatchKMeans, MiniBatchKMeans, MiniBatchKMeansLearner};
pub use seeding::{Init, kmeans_plusplus};
