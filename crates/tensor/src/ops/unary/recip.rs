//! Reciprocal: d/dx 1/x = -1/x^2 = -y^2.

use super::unary;

unary! {
    /// Reciprocal: d/dx 1/x = -1/x^2 = -y^2.
    Recip, recip, cost 2, slope of Output,
    |self, x| x.recip(),
    |x, y| -y.square()
}
