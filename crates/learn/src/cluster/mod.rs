//! Groups of samples, found without targets.

mod kmeans;

pub use kmeans::{FittedKMeans, Init, KMeans};
