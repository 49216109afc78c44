//! Reciprocal square root: d/dx x^(-1/2) = -x^(-3/2)/2 = -y^3/2.

use super::unary;

unary! {
    /// Reciprocal square root: d/dx x^(-1/2) = -x^(-3/2)/2 = -y^3/2.
    Rsqrt, rsqrt, cost 4, slope of Output,
    |self, x| x.rsqrt(),
    |x, y| y.clone().square() * y.times(-0.5)
}
