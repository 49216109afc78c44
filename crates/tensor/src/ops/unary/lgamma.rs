//! Logarithm of the absolute value of the gamma function: slope digamma(x).

use super::unary;

unary! {
    /// Logarithm of the absolute value of the gamma function: slope digamma(x).
    Lgamma, lgamma, cost 20, slope of Input,
    |self, x| x.lgamma(),
    |x, y| x.digamma()
}
