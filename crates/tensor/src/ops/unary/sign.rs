//! Sign: -1, 0 or 1; locally constant.

use super::unary;

unary! {
    /// Sign: -1, 0 or 1; locally constant.
    Sign, sign, cost 1, slope of Neither,
    |self, x| x.sign(),
    |x, y| x.constant(0.0),
    integers |x| x.signum(),
    flat true
}
