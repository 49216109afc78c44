//! Explanations of single predictions: what would have to change for another answer.
//!
//! | question | answer |
//! |---|---|
//! | which small change of this row leads to another answer? | [`ChangeSpace::search`] |
//!
//! A counterfactual explains the model, not the world: the change leads to another prediction, which does not mean that it
//! would lead to another outcome. Shapley values of the columns of a row are in `tove::tabular`.

mod counterfactual;
mod space;

pub use counterfactual::{Counterfactual, CounterfactualOptions, FeatureChange};
pub use space::{ChangeRule, ChangeSpace};
