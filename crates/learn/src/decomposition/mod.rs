//! Features replaced by fewer ones that keep most of what they say.
//!
//! | type | what it does |
//! |---|---|
//! | [`Pca`] | directions of largest variance |
//! | [`IncrementalPca`] | the same from data in pieces |
//! | [`TruncatedSvd`] | largest singular values without centering, for sparse rows |
//! | [`Nmf`] | parts without negative numbers |
//! | [`low_rank`] | the nearest matrix of rank k |

mod incremental;
mod low_rank;
mod nmf;
mod pca;
mod pca_batches;
mod spectrum;
mod truncated_svd;

pub use incremental::{FittedIncrementalPca, IncrementalPca, IncrementalPcaLearner};
pub use low_rank::{LowRank, low_rank};
pub use nmf::{FittedNmf, Nmf};
pub use pca::{Components, FittedPca, Pca};
pub use pca_batches::PcaLearner;
pub use spectrum::SvdSolver;
pub use truncated_svd::{FittedTruncatedSvd, TruncatedSvd};
