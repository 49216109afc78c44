//! Decisions from probabilities: costs, thresholds, abstention.
//!
//! | what | for |
//! |---|---|
//! | [`CostMatrix`] | the class of lowest expected cost; the threshold of two classes |

mod costs;

pub use costs::CostMatrix;
