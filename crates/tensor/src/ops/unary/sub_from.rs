//! c - x: slope -1.

use super::unary;

unary! {
    /// c - x: slope -1.
    SubFrom(c: f64), sub_from, cost 1, slope of Neither,
    |self, x| c - x,
    |x, y| x.constant(-1.0)
}
