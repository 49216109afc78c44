//! Tangent: slope 1 + tan² x.

use super::unary;

unary! {
    /// Tangent: slope 1 + tan² x.
    Tan, tan, cost 14, slope of Output,
    |self, x| x.tan(),
    |x, y| y.square().plus(1.0)
}
