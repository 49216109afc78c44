//! Linear models: ŷ = Xw + b, or a function of it.
//!
//! | estimator | minimizes |
//! |---|---|
//! | [`LinearRegression`] | ‖y − Xw‖² |
//! | [`Ridge`], [`RidgeCv`] | ‖y − Xw‖² + α‖w‖² |
//! | [`Lasso`], [`ElasticNet`], [`LassoCv`], [`ElasticNetCv`] | (1/2n)‖y − Xw‖² + αρ‖w‖₁ + (α/2)(1 − ρ)‖w‖² |
//! | [`HuberRegressor`] | Σ σ + H((y − Xw)/σ)σ + α‖w‖² |
//! | [`QuantileRegressor`] | (1/n) Σ ρ(y − Xw) + α‖w‖₁ |
//! | [`BayesianRidge`] | the posterior of w, precisions by evidence maximization |
//! | [`PoissonRegressor`], [`GammaRegressor`], [`TweedieRegressor`] | half the mean deviance + (α/2)‖w‖² |
//! | [`RidgeClassifier`] | ridge regression on targets ±1 |
//!
//! All support sample weights, f32 and f64, and dense and sparse rows unless noted otherwise. Iterative solvers report
//! the reached accuracy. [`LeastSquares`] is the least-squares objective with its gradient under different scalings.

mod alphas;
mod ard;
mod bayes;
mod blocks;
mod centered;
mod columns;
mod descent;
mod fold_moments;
mod glm;
mod glm_newton;
mod gram_panels;
mod huber;
mod interior_point;
mod lars;
mod lasso;
mod least_squares;
mod lsqr;
mod mixed_precision;
mod model;
mod moments;
mod net_cv;
mod omp;
mod operator;
mod partial;
mod positive;
mod quantile;
mod refine;
mod report;
mod ridge;
mod ridge_classifier;
mod ridge_cv;
mod scaling;
mod solve;
mod sparse_gram;
mod spectrum;
mod vertex;
mod working_set;

pub use alphas::Alphas;
pub use ard::{ArdRegression, FittedArdRegression, Relevance};
pub use bayes::{BayesianRidge, FittedBayesianRidge, Posterior};
pub(crate) use fold_moments::of_folds;
pub use fold_moments::{Combination, LinearMoments, all_but_one, divided};
pub use glm::{
    Family, FittedGammaRegressor, FittedPoissonRegressor, FittedTweedieRegressor, GammaRegressor, GlmSettings,
    LinkChoice, PoissonRegressor, TweedieRegressor,
};
pub use huber::{FittedHuberRegressor, HuberRegressor, Scale};
pub use lars::{FittedLars, FittedLassoLars, Lars, LarsPath, LassoLars};
pub use lasso::{ElasticNet, FittedElasticNet, FittedLasso, Lasso, NetPath, Precompute};
pub use least_squares::{Conditions, FittedLinearRegression, LinearRegression};
pub use model::{Extras, FittedLinear};
pub(crate) use moments::Moments;
pub use net_cv::{ElasticNetCv, FittedElasticNetCv, FittedLassoCv, LassoCv, NetChoice, NetSearch};
pub use omp::{FittedOrthogonalMatchingPursuit, OrthogonalMatchingPursuit};
pub use partial::PartialLinear;
pub use quantile::{FittedQuantileRegressor, QuantileRegressor};
pub use report::OlsReport;
pub use ridge::{FittedRidge, Ridge, RidgeSolver};
pub use ridge_classifier::{FittedRidgeClassifier, RidgeClassifier};
pub use ridge_cv::{ChosenPenalty, FittedRidgeCv, RidgeCv, RidgePath};
pub use scaling::{LeastSquares, Scaling};
