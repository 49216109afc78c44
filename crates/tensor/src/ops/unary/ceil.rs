//! Smallest whole number not below x; locally constant.

use super::unary;

unary! {
    /// Smallest whole number not below x; locally constant.
    Ceil, ceil, cost 1, slope of Neither,
    |self, x| x.ceil(),
    |x, y| x.constant(0.0),
    integers |x| x,
    flat true
}
