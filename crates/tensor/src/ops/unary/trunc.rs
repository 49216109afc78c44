//! Whole part, towards zero; locally constant.

use super::unary;

unary! {
    /// Whole part, towards zero; locally constant.
    Trunc, trunc, cost 1, slope of Neither,
    |self, x| x.trunc(),
    |x, y| x.constant(0.0),
    integers |x| x,
    flat true
}
