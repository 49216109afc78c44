//! x / c: slope 1/c.

use super::unary;

unary! {
    /// x / c: slope 1/c.
    DivScalar(c: f64), div_scalar, cost 2, slope of Neither,
    |self, x| x / c,
    |x, y| x.constant(1.0 / c)
}
