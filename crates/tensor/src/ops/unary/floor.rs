//! Largest whole number not above x; locally constant.

use super::unary;

unary! {
    /// Largest whole number not above x; locally constant.
    Floor, floor, cost 1, slope of Neither,
    |self, x| x.floor(),
    |x, y| x.constant(0.0),
    integers |x| x,
    flat true
}
