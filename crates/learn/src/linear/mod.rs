//! Linear models of numbers: ŷ = Xw + b.
//!
//! | estimator | minimises |
//! |---|---|
//! | [`LinearRegression`] | ‖y − Xw‖² |
//! | [`Ridge`], [`RidgeCv`] | ‖y − Xw‖² + α‖w‖² |
//! | [`Lasso`], [`ElasticNet`] | (1/2n)‖y − Xw‖² + αρ‖w‖₁ + (α/2)(1 − ρ)‖w‖² |
//! | [`HuberRegressor`] | Σ σ + H((y − Xw)/σ)σ + α‖w‖² |
//! | [`QuantileRegressor`] | (1/n) Σ ρ(y − Xw) + α‖w‖₁ |
//! | [`BayesianRidge`] | the posterior of w, precisions by evidence |
//! | [`RegressAndRound`] | a naive classifier on top of least squares |
//!
//! All take sample weights, f32 or f64, dense or sparse rows unless they say otherwise, and are exact or say how near they came.
//! Least squares under its scalings, with gradients, is [`LeastSquares`].

mod bayes;
mod blocks;
mod columns;
mod descent;
mod huber;
mod interior;
mod lasso;
mod least_squares;
mod lsqr;
mod mixed;
mod model;
mod moments;
mod operator;
mod pieces;
mod positive;
mod quantile;
mod refine;
mod report;
mod ridge;
mod ridge_cv;
mod rounding;
mod scaling;
mod solve;
mod sparse_gram;
mod spectrum;
mod vertex;
mod wide;
mod working;

pub use bayes::{BayesianRidge, FittedBayesianRidge, Posterior};
pub use huber::{FittedHuberRegressor, HuberRegressor, Scale};
pub use lasso::{ElasticNet, FittedElasticNet, FittedLasso, Lasso, NetPath, Precompute};
pub use least_squares::{Conditions, FittedLinearRegression, LinearRegression};
pub use model::{Extras, FittedLinear};
pub use pieces::LinearPieces;
pub use quantile::{FittedQuantileRegressor, QuantileRegressor};
pub use report::OlsReport;
pub use ridge::{FittedRidge, Ridge, RidgeSolver};
pub use ridge_cv::{ChosenPenalty, FittedRidgeCv, RidgeCv, RidgePath};
pub use rounding::{FittedRegressAndRound, RegressAndRound};
pub use scaling::{LeastSquares, Scaling};
