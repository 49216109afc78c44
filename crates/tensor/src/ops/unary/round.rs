//! Nearest whole number, halves to even as numpy does; locally constant.

use super::unary;

unary! {
    /// Nearest whole number, halves to even as numpy does; locally constant.
    Round, round, cost 1, slope of Neither,
    |self, x| x.round_half_even(),
    |x, y| x.constant(0.0),
    integers |x| x,
    flat true
}
