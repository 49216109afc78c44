//! Fair classification by reductions to weighted classification (Agarwal et al. 2018).
//!
//! A constraint asks that for every event E (all rows; rows of label 0; rows of label 1) and every group a
//! |P(h = 1 | E, A = a) − P(h = 1 | E)| ≤ ε. The Lagrangian err(h) + Σ λ (gap − ε) is linear in the decisions of h, so the best h for
//! given multipliers is a weighted classification problem that any estimator with sample weights can solve:
//!
//! - [`ExponentiatedGradient`] finds the saddle point; its answer is a random choice among several classifiers;
//! - [`FairGridSearch`] tries a grid of multipliers and keeps the best single classifier.

mod classifier;
mod gradient;
mod grid;
mod moments;
mod simplex;

pub use classifier::{RandomizedClassifier, RandomizedPart};
pub use gradient::ExponentiatedGradient;
pub use grid::{FairGridSearch, GridCandidate, GridResult};
