//! Logarithm to base 10: slope 1/(x ln 10).

use super::unary;

unary! {
    /// Logarithm to base 10: slope 1/(x ln 10).
    Log10, log10, cost 5, slope of Input,
    |self, x| x.log10(),
    |x, y| x.times(std::f64::consts::LN_10).recip()
}
