//! max(x, c): slope 1 where x > c, half of it at the tie.

use super::unary;

unary! {
    /// max(x, c): slope 1 where x > c, half of it at the tie.
    MaximumScalar(c: f64), maximum_scalar, cost 1, slope of Input,
    |self, x| x.maximum(c),
    |x, y| x.above(c),
    integers |x| x.max(c),
    blocks true
}
