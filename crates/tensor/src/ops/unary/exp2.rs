//! Power of two: d/dx 2^x = 2^x ln 2.

use super::unary;

unary! {
    /// Power of two: d/dx 2^x = 2^x ln 2.
    Exp2, exp2, cost 4, slope of Output,
    |self, x| x.exp2(),
    |x, y| y.times(std::f64::consts::LN_2)
}
