//! Inverse hyperbolic sine: slope 1/sqrt(x² + 1).

use super::unary;

unary! {
    /// Inverse hyperbolic sine: slope 1/sqrt(x² + 1).
    Asinh, asinh, cost 10, slope of Input,
    |self, x| x.asinh(),
    |x, y| x.square().plus(1.0).sqrt().recip()
}
