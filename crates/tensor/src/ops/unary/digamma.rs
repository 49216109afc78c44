//! Derivative of lgamma: slope trigamma(x).

use super::unary;

unary! {
    /// Derivative of lgamma: slope trigamma(x).
    Digamma, digamma, cost 20, slope of Input,
    |self, x| x.digamma(),
    |x, y| x.trigamma()
}
