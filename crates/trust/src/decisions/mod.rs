//! Decisions from probabilities: costs, thresholds, abstention.
//!
//! | what | for |
//! |---|---|
//! | [`CostMatrix`] | the class of lowest expected cost; the threshold of two classes; expected cost with intervals |
//! | [`select_threshold`] | the best threshold of a score: by cost, F-score, precision, recall, Youden's J |
//! | [`CostCurve`] | the cost of a score for all class proportions and costs |
//! | [`ChowRule`] | abstention at a cost |
//! | [`RiskCoverage`] | risk when only the surest rows are decided |
//! | [`SelectiveThreshold`] | the confidence above which errors are rare, with a guarantee |

pub mod abstention;
pub mod costs;
pub mod curves;
pub mod estimate;
pub mod selective;
pub mod thresholds;

pub use abstention::{ChowRule, SelectiveDecisions};
pub use costs::CostMatrix;
pub use curves::{CostCurve, CostLine, EnvelopeCorner, probability_cost};
pub use estimate::CostEstimate;
pub use selective::{RiskCoverage, RiskCoveragePoint, SelectiveThreshold};
pub use thresholds::{ThresholdChoice, ThresholdCounts, ThresholdCriterion, select_threshold};
