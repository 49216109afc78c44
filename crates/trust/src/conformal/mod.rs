//! Prediction sets and intervals with guaranteed coverage (conformal prediction), and control of other risks.
//!
//! Everything here takes plain tensors, so it works on the predictions of any system. The only assumption is that calibration rows
//! and new rows are exchangeable, for example independent rows of one distribution, and that the model has not seen the
//! calibration rows. Then a set misses the truth with probability at most α, *on average over rows and calibration sets*: neither
//! for every kind of row, nor for one given calibration set, for which coverage varies by about √(α(1 − α)/n).
//!
//! | what | for |
//! |---|---|
//! | [`SplitConformalClassifier`] | sets of classes: LAC, APS, RAPS; by class, by group, weighted |
//! | [`SplitConformalRegressor`] | intervals: absolute and normalized residuals, quantiles (CQR); by group, weighted |
//! | [`CrossConformalClassifier`], [`CrossConformalRegressor`] | the same from the folds of a cross-validation: cross-conformal, CV+, jackknife+ |
//! | [`RiskControl`], [`FalseNegativeControl`] | bounds on other expected losses |
//! | [`CoverageReport`] | coverage and sizes on rows whose truth is known |
//! | [`ThresholdSets`] | sets by a fixed probability, without a guarantee |
//! | [`quantile_of_scores`], [`needed_size`], [`coverage_range`] | the order statistic behind them |
//! | [`Proportion`] | a share with its exact interval |

mod binomial;
mod classifier;
mod cross;
mod cross_fit;
mod cutoffs;
mod intervals;
pub(crate) mod json;
pub(crate) mod quantile;
mod regressor;
mod report;
mod risk;
mod score;
mod sets;
mod threshold_sets;

pub use binomial::{Proportion, binomial_upper, coverage_range};
pub use classifier::{ClassRows, FittedConformalClassifier, SplitConformalClassifier};
pub use cross::{
    CrossConformalClassifier, CrossConformalRegressor, CrossMethod, FittedCrossConformalClassifier,
    FittedCrossConformalRegressor,
};
pub use cross_fit::{CrossFitted, cross_fit};
pub use cutoffs::{Cutoff, GroupCutoff, SmallGroups};
pub use intervals::PredictionIntervals;
pub use quantile::{needed_size, quantile_of_scores};
pub use regressor::{FittedConformalRegressor, Forecast, ForecastKind, SplitConformalRegressor};
pub use report::{CoverageReport, GroupCoverage, SizeCoverage};
pub use risk::{FalseNegativeControl, LabelSets, RiskControl};
pub use score::SetScore;
pub use sets::{CoverageClaim, PredictionSets};
pub use threshold_sets::ThresholdSets;
