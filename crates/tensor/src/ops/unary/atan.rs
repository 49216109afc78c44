//! Arc tangent: slope 1/(1 + x²).

use super::unary;

unary! {
    /// Arc tangent: slope 1/(1 + x²).
    Atan, atan, cost 10, slope of Input,
    |self, x| x.atan(),
    |x, y| x.square().plus(1.0).recip()
}
