//! Features replaced by fewer ones that keep most of what they say.

mod pca;

pub use pca::{Components, FittedPca, Pca};
