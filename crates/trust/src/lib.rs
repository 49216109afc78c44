//! How far a model can be trusted: calibration of its probabilities, prediction sets with guaranteed coverage, decisions
//! under unequal costs, robustness to small changes of the input, fairness between groups, and drift of new data.
//!
//! Most functions take plain tensors (probabilities, labels, groups), so they work on the predictions of any system.
//! Robustness needs the model itself.
//!
//! | module | contents |
//! |---|---|
//! | [`calibration`] | reliability bins, calibration errors, calibration maps |
//! | [`conformal`] | prediction sets and intervals with guaranteed coverage, risk control |
//! | [`decisions`] | cost matrices, thresholds, cost curves, abstention |
//! | [`robustness`] | input gradients, attacks, adversarial training |
//! | [`certificates`] | proven bounds on what an attack can do |
//! | [`explanations`] | counterfactuals: small changes that lead to another answer |
//! | [`fairness`] | group reports, gaps, fair post-processing, training and pre-processing |
//! | [`drift`] | comparison of new rows with the training rows |

pub mod calibration;
pub mod certificates;
pub mod conformal;
pub mod decisions;
pub mod drift;
mod error;
pub mod explanations;
pub mod fairness;
mod input;
mod intervals;
pub mod robustness;

pub use error::{Result, TrustError};
pub use input::Probabilities;
