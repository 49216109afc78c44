//! Hyperbolic tangent: slope 1 - tanh² x.

use super::unary;

unary! {
    /// Hyperbolic tangent: slope 1 - tanh² x.
    Tanh, tanh, cost 6, slope of Output,
    |self, x| x.tanh(),
    |x, y| (-y.square()).plus(1.0)
}
