//! Logarithm to base 2: slope 1/(x ln 2).

use super::unary;

unary! {
    /// Logarithm to base 2: slope 1/(x ln 2).
    Log2, log2, cost 5, slope of Input,
    |self, x| x.log2(),
    |x, y| x.times(std::f64::consts::LN_2).recip()
}
