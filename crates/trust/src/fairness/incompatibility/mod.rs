//! Which criteria of fairness can hold together, by search.
//!
//! With binary labels and base rates P(Y = 1 | A) that differ between two groups:
//!
//! - independence and separation together make the score independent of Y;
//! - independence and sufficiency together are impossible: they would make Y independent of A;
//! - separation and sufficiency together need scores that determine Y (perfect prediction, or its exact opposite).
//!
//! With equal base rates all three can hold. So the criteria exclude each other outside of these degenerate cases (Chouldechova 2017,
//! Kleinberg, Mullainathan and Raghavan 2017, Barocas, Hardt and Narayanan 2019). [`tables_search`] tries all confusion tables of two
//! groups of given sizes with exact arithmetic; [`scores_search`] minimizes the violations over score distributions.

mod scores;
mod tables;

pub use scores::{ScoreDistributions, ScoreSearch, scores_search};
pub use tables::{ConfusionPair, TableSearch, tables_search};

use super::gaps::Criterion;

/// Two criteria that are asked to hold together.
pub type CriteriaPair = (Criterion, Criterion);

/// All pairs of criteria.
const PAIRS: [CriteriaPair; 3] = [
    (Criterion::Independence, Criterion::Separation),
    (Criterion::Independence, Criterion::Sufficiency),
    (Criterion::Separation, Criterion::Sufficiency),
];

/// A case in which two criteria hold together without being informative.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Degeneracy {
    /// Both groups have the same base rate: A is independent of Y.
    EqualBaseRates,
    /// Decisions determine the label in every group: they are all right, or all wrong.
    PerfectPrediction,
    /// Decisions are independent of the label in both groups, such as constant ones.
    Uninformative,
}
