//! Questions to ask before believing a score: of the data, of the fit, of the model.
//!
//! | function | question |
//! |---|---|
//! | [`check_iid`] | do the samples come from one distribution, independently? |
//! | [`sampling_bias`] | do they come from the distribution that is meant? |
//! | [`duplicates()`] | are there equal rows within or across sets? |
//! | [`diagnose_fit`] | too simple, too flexible, or right? |
//! | [`risk()`], [`generalisation_gap`] | how large is the error, and how optimistic is the training error? |
//! | [`bias_variance()`] | what is the error made of? |
//! | [`Scorer::standard_error`](crate::selection::Scorer::standard_error) | how sure is a score? |

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
pub use risk::{GapReport, Loss, Risk, generalisation_gap, losses, risk};
pub use student::{paired_margin, student_critical, student_two_sided};
