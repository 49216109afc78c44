//! Exponential: d/dx e^x = e^x, from the value, which is not computed again.

use super::unary;

unary! {
    /// Exponential: d/dx e^x = e^x, from the value, which is not computed again.
    Exp, exp, cost 4, slope of Output,
    |self, x| x.exp(),
    |x, y| y
}
