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
//! | [`tuned_raps`] | the parameters of RAPS |
//! | [`SplitConformalRegressor`] | intervals: absolute and normalized residuals, quantiles (CQR); by group, weighted |
//! | [`CrossConformalClassifier`], [`CrossConformalRegressor`] | the same from the folds of a cross-validation: cross-conformal, CV+, jackknife+ |
//! | [`RiskControl`], [`FalseNegativeControl`] | bounds on other expected losses |
//! | [`CoverageReport`] | coverage and sizes on rows whose truth is known |
//! | [`ThresholdSets`] | sets by a fixed probability, without a guarantee |
//! | [`quantile_of_scores`], [`needed_size`], [`coverage_range`] | the order statistic behind them |
//! | [`Proportion`] | a share with its exact interval |
//!
//! # Ties and edges
//!
//! Packages agree on the methods, but not on ties and edges. The rules here:
//!
//! - An answer is kept if its score is at most the quantile, compared exactly, with one function for the scores of calibration rows and
//!   of new rows. In terms of p-values, (1 + number of calibration scores that are at least its own)/(n + 1) is *above* α. MAPIE and
//!   puncc agree for LAC (MAPIE with a tolerance of 2.2e-16); crepes keeps p-values equal to α too, so its sets are larger where
//!   (n + 1)α is a whole number.
//! - ⌈(n + 1)(1 − α)⌉ is that of exact arithmetic: 100 · 0.29 is 29, whatever rounding makes of it.
//! - Equal probabilities are ranked from the first class to the last; in MAPIE from the last to the first.
//! - APS and RAPS that are not randomized keep the classes up to the quantile. MAPIE calibrates them with random numbers all the same, and
//!   it and puncc by default keep one class more, the one that passes the quantile.
//! - The random number of a row multiplies the probability of the class but not the penalty of RAPS, when calibrating and when predicting.
//!   In MAPIE and puncc the two differ. Without numbers from the caller, it is drawn from the seed and the row's own probabilities, so
//!   that no answer depends on the batch.
//! - Sets may be empty, for LAC and for randomized scores; [`SplitConformalClassifier::never_empty`] adds the most probable class.
//! - Quantile forecasts that cross are used as they are, so that intervals may be empty; [`CoverageReport`] counts them.
//! - A calibration set that is too small is refused. With weights, what can be said depends on the new row: its set holds all classes, or
//!   its interval is infinite, where nothing can be said.

pub mod binomial;
pub mod classifier;
pub mod cross;
pub mod cross_fit;
pub mod cutoffs;
pub mod intervals;
pub(crate) mod json;
pub mod quantile;
pub mod regressor;
pub mod report;
pub mod risk;
pub mod score;
pub mod sets;
pub mod threshold_sets;
pub mod tune;

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
pub use tune::tuned_raps;
