//! Hyperbolic sine: slope cosh x.

use super::unary;

unary! {
    /// Hyperbolic sine: slope cosh x.
    Sinh, sinh, cost 8, slope of Input,
    |self, x| x.sinh(),
    |x, y| x.cosh()
}
