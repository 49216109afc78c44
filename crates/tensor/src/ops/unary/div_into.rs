//! c / x: slope -(c/x)/x. One rounding, where c times the reciprocal would have two and overflow early.

use super::unary;

unary! {
    /// c / x: slope -(c/x)/x.
    DivInto(c: f64), div_into, cost 2, slope of Input,
    |self, x| c / x,
    |x, y| -(x.constant(c) / x.clone() / x)
}
