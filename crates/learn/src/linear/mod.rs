//! Linear models of numbers: ŷ = Xw + b.
//!
//! | estimator | minimises |
//! |---|---|
//! | [`LinearRegression`] | ‖y − Xw‖² |
//! | [`Ridge`] | ‖y − Xw‖² + α‖w‖² |
//!
//! All take sample weights, f32 or f64, dense or sparse rows unless they say otherwise, and are exact or say how near they came.
//! Least squares under its scalings, with gradients, is [`LeastSquares`].

mod blocks;
mod least_squares;
mod lsqr;
mod model;
mod moments;
mod operator;
mod report;
mod ridge;
mod scaling;
mod solve;

pub use least_squares::{Conditions, FittedLinearRegression, LinearRegression};
pub use model::{Extras, FittedLinear};
pub use report::OlsReport;
pub use ridge::{FittedRidge, Ridge, RidgeSolver};
pub use scaling::{LeastSquares, Scaling};
