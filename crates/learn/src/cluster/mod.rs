//! Groups of samples, found without targets.
//!
//! | type | what it does |
//! |---|---|
//! | [`KMeans`] | k centers by Lloyd's iterations |
//! | [`MiniBatchKMeans`] | k centers from one part of the data after another |

mod assign;
mod elbow;
mod kmeans;
mod lloyd;
mod mini_batch;
mod seeding;

pub use elbow::{Elbow, elbow};
pub(crate) use kmeans::given as given_rows;
pub use kmeans::{FittedKMeans, KMeans, KMeansAlgorithm};
pub use mini_batch::{FittedMiniBatchKMeans, MiniBatchKMeans, MiniBatchKMeansLearner};
pub use seeding::{Init, kmeans_plusplus};
