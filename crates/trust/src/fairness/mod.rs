//! Fairness: how predictions and errors differ between groups, and how to make them differ less.
//!
//! | step | contents |
//! |---|---|
//! | report | [`Outcomes`], [`GroupReport`], [`MetricFrame`], [`ResidualReport`] for regression |
//! | gaps | [`fairness_gaps`], [`demographic_parity_difference`], [`equalized_odds_difference`] and others |
//! | proxies | [`proxy_audit`], [`unawareness_audit`] |
//! | limits | [`tables_search`], [`scores_search`]: which criteria cannot hold together |
//! | pre-processing | [`CorrelationRemover`], [`reweighing`] |
//! | training | [`FairLogisticRegression`], [`ExponentiatedGradient`], [`FairGridSearch`] |
//! | post-processing | [`ThresholdOptimizer`] |
//!
//! Which criterion matters is a question about the application, not about the data; several of them cannot hold together.

mod frame;
mod gap_measure;
mod gaps;
mod incompatibility;
mod json;
mod measures;
mod outcomes;
mod penalty;
mod proxy;
mod reductions;
mod removal;
mod report;
mod resample;
mod residuals;
mod reweighing;
mod tally;
mod threshold;

pub use frame::MetricFrame;
pub use gap_measure::GapMeasure;
pub use gaps::{Criterion, FairnessGaps, Gap, fairness_gaps};
pub use incompatibility::{
    ConfusionPair, CriteriaPair, Degeneracy, ScoreDistributions, ScoreSearch, TableSearch, scores_search, tables_search,
};
pub use measures::{
    demographic_parity_difference, demographic_parity_ratio, equal_opportunity_difference, equalized_odds_difference,
    equalized_odds_ratio,
};
pub use outcomes::{Outcomes, SensitiveGroups};
pub use penalty::{Dependence, FairLogisticRegression, FittedFairLogisticRegression};
pub use proxy::{ProxyAudit, ProxyFeature, ProxyOptions, UnawarenessAudit, proxy_audit, unawareness_audit};
pub use reductions::{
    ExponentiatedGradient, FairGridSearch, GridCandidate, GridResult, RandomizedClassifier, RandomizedPart,
};
pub use removal::{CorrelationRemover, FittedCorrelationRemover};
pub use report::{GroupBin, GroupOptions, GroupRates, GroupReport, Rate};
pub use residuals::{GroupResiduals, ResidualReport};
pub use reweighing::reweighing;
pub use threshold::{
    FittedThresholdOptimizer, GroupRule, ParityConstraint, ThresholdObjective, ThresholdOptimizer, row_uniforms,
};
