//! Robustness: how predictions change under small changes of the input.
//!
//! An attack searches an input x' near x, ‖x' − x‖ ≤ ε, that the model gets wrong. The indicator of an error has no useful
//! derivative, so attacks raise a smooth loss instead ([`AttackLoss`]). What an attack finds is a lower bound on the
//! adversarial risk E max 1{f(x') ≠ y}; a failure proves nothing.
//!
//! | attack | sees | finds |
//! |---|---|---|
//! | [`Fgsm`] | gradients | one step to the boundary of the ball |
//! | [`Pgd`] | gradients | steps with projections, restarts, tables with types |
//! | [`ScoreAttack`] | scores, with a budget of queries | finite differences, random search |
//! | [`BoundaryAttack`] | predicted classes, with a budget of queries | the nearest misclassified input |
//! | [`RandomNoise`] | nothing | noise of the same size, which attacks have to beat |
//!
//! [`ModelStealing`] trains a surrogate on answers of a target, and [`transfer`] sends what was found with it to the target.
//! [`AdversarialTask`] trains nets at the inputs an attack finds, and [`trade_off_curve`] shows what that costs.
//!
//! What is attacked is a [`DifferentiableModel`] (any closure from a batch to scores) or a [`QueryModel`]. [`InputRules`]
//! say what inputs are allowed, [`robustness_curve`] reports accuracy by budget.

mod budget;
mod categories;
mod climb;
mod curve;
mod decision_based;
mod estimators;
mod fgsm;
mod gradient;
mod model;
mod noise;
mod norm;
mod pgd;
mod place;
mod random_search;
mod result;
mod rows;
mod rules;
mod score_based;
mod search;
mod start;
mod stealing;
mod training;

pub use budget::QueryCounter;
pub use curve::{RobustnessCurve, RobustnessPoint, robustness_curve};
pub use decision_based::{BoundaryAttack, BoundaryResult};
pub use estimators::{DifferentiableSteps, EstimatorScores, ModelQueries};
pub use fgsm::Fgsm;
pub use gradient::{gradient_maps, input_gradient, score_gradient};
pub use model::{AttackLoss, DifferentiableModel, LabelsOnly, QueryModel};
pub use noise::RandomNoise;
pub use norm::AttackNorm;
pub use pgd::Pgd;
pub use result::AttackResult;
pub use rules::{ColumnRule, InputRules};
pub use score_based::{QuerySearch, ScoreAttack, finite_difference_gradient};
pub use stealing::{ModelStealing, StolenAnswers, StolenModel, Transferred, agreement, transfer};
pub use training::{AdversarialTask, TradeOffPoint, trade_off_curve};
