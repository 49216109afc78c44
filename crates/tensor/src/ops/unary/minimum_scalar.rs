//! min(x, c): slope 1 where x < c, half of it at the tie.

use super::unary;

unary! {
    /// min(x, c): slope 1 where x < c, half of it at the tie.
    MinimumScalar(c: f64), minimum_scalar, cost 1, slope of Input,
    |self, x| x.minimum(c),
    |x, y| (-x.above(c)).plus(1.0),
    integers |x| x.min(c),
    blocks true
}
