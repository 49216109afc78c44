//! Negation: slope -1.

use super::unary;

unary! {
    /// Negation: slope -1.
    Neg, neg, cost 1, slope of Neither,
    |self, x| -x,
    |x, y| x.constant(-1.0),
    integers |x| x.wrapping_neg()
}
