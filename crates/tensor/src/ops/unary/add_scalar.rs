//! x + c: slope 1.

use super::unary;

unary! {
    /// x + c: slope 1.
    AddScalar(c: f64), add_scalar, cost 1, slope of Neither,
    |self, x| x + c,
    |x, y| x.constant(1.0)
}
