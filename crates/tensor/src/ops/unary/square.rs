//! Square: slope 2x.

use super::unary;

unary! {
    /// Square: slope 2x.
    Square, square, cost 1, slope of Input,
    |self, x| x * x,
    |x, y| x.times(2.0),
    integers |x| x.wrapping_mul(x)
}
