//! Diagnostics for data, fits and scores.
//!
//! | function | question |
//! |---|---|
//! | [`check_iid`] | do the samples come from one distribution, independently? |
//! | [`sampling_bias`] | do they come from the intended population? |
//! | [`duplicates()`] | are there duplicate rows within or across sets? |
//! | [`diagnose_fit`] | underfitted, overfitted, or neither? |
//! | [`risk()`], [`generalisation_gap`] | how large is the error, and how optimistic is the training error? |
//! | [`bias_variance()`] | what are the components of the error? |
//! | [`Scorer::standard_error`](crate::selection::Scorer::standard_error) | how accurate is a score? |

mod bias_variance;
mod duplicates;
mod fit;
pub mod hypotheses;
mod iid;
pub(crate) mod influence;
mod risk;
mod student;

pub use bias_variance::{BiasVariance, Experiment, bias_variance};
pub use duplicates::{DuplicateReport, Sets, duplicates};
pub use fit::{FitReport, Fitness, diagnose_fit};
pub use iid::{BiasReport, Finding, IidReport, check_iid, sampling_bias};
pub use risk::{GapReport, Risk, RiskLoss, generalisation_gap, losses, risk};
pub use student::{paired_margin, student_critical, student_two_sided};
