//! Certificates: proven bounds on what any change of the input within given limits can do.
//!
//! An attack shows that a prediction can be changed; a certificate shows that it cannot. Together they enclose the robust
//! accuracy from above and below.
//!
//! | model | certificate |
//! |---|---|
//! | linear | [`LinearScores::radius`]: the exact distance to the nearest other class (l1, l2, l∞, budgets per feature) |
//! | nearest neighbors | [`NearestSamples::radius`]: exact for one neighbor, a lower bound for more |
//! | MLP, CNN | [`Network::margins`]: interval bounds and linear relaxation (CROWN) |
//!
//! Limits are an [`InputRegion`]: bounds or budgets per feature in the units of the feature, the range of the data, whole
//! numbers, one-hot blocks as a finite choice. Scaling becomes the first layer of a [`Network`], so certificates hold
//! through the preprocessing. [`certified_curve`] gives both bounds on the robust accuracy for growing limits.

mod affine;
mod bounds;
mod convolution;
mod curve;
mod linear;
mod models;
mod neighbors;
mod network;
mod region;
mod relaxation;
mod search;

pub use bounds::{OutputBounds, Relaxation};
pub use curve::{CertifiedPoint, CurveOptions, certified_curve};
pub use linear::{LinearScores, RobustRadius};
pub use neighbors::{NearestSamples, NeighborRadius};
pub use network::Network;
pub use region::{InputRegion, OneHotBlock};
pub use search::SearchEffort;
