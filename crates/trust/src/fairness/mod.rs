//! Fairness: how predictions and errors differ between groups, and how to make them differ less.
//!
//! | step | contents |
//! |---|---|
//! | report | [`Outcomes`], [`GroupReport`], [`MetricFrame`] |
//! | gaps | [`fairness_gaps`], [`demographic_parity_difference`], [`equalized_odds_difference`] and others |

mod frame;
mod gaps;
mod measures;
mod outcomes;
mod report;
mod resample;
mod tally;

pub use frame::MetricFrame;
pub use gaps::{Criterion, FairnessGaps, Gap, GapMeasure, fairness_gaps};
pub use measures::{
    demographic_parity_difference, demographic_parity_ratio, equal_opportunity_difference, equalized_odds_difference,
    equalized_odds_ratio,
};
pub use outcomes::{Outcomes, SensitiveGroups};
pub use report::{GroupBin, GroupOptions, GroupRates, GroupReport, Rate};
