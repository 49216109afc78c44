//! c x: slope c.

use super::unary;

unary! {
    /// c x: slope c.
    MulScalar(c: f64), mul_scalar, cost 1, slope of Neither,
    |self, x| x * c,
    |x, y| x.constant(c)
}
