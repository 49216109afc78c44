//! Inverse hyperbolic tangent: slope 1/(1 - x²).

use super::unary;

unary! {
    /// Inverse hyperbolic tangent: slope 1/(1 - x²).
    Atanh, atanh, cost 10, slope of Input,
    |self, x| x.atanh(),
    |x, y| (-x.square()).plus(1.0).recip()
}
