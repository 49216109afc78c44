//! Matrix factorization: a matrix of users and items, most of whose entries are unknown, as a product of two thin ones.
//!
//! Rows are users, columns are items. Of sparse rows the stored entries are observed, of dense rows all that are not NaN. A model
//! holds the items' factors; `transform` finds the factors of users from their observed entries, whether they were in the training
//! data or not, and `inverse_transform` predicts all entries from factors. [`recommend`] lists the best items of each row.
//!
//! | estimator | entries | method |
//! |---|---|---|
//! | [`MatrixFactorization`] | ratings | alternating least squares, or stochastic gradient descent, with biases |
//! | [`ImplicitFactorization`] | counts of clicks, plays or purchases | alternating least squares with confidences |

mod factors;
mod implicit;
mod observed;
mod passes;
mod ratings;
mod recommendation;
pub(crate) mod solve;

use crate::Capabilities;

/// What all factorizations take and give.
const CAPABILITIES: Capabilities = Capabilities {
    sparse: true,
    missing: true,
    fills: true,
    inverse_transform: true,
    order_free: false,
    anytime: true,
    accuracy: 1e-4,
    ..Capabilities::TRANSFORMER
};

pub use implicit::{FittedImplicitFactorization, ImplicitFactorization};
pub use passes::MatrixFactorizationLearner;
pub use ratings::{FactorizationSolver, FittedMatrixFactorization, MatrixFactorization, sgd_step};
pub use recommendation::{Recommended, recommend};
