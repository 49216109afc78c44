//! e^x - 1 without cancellation near 0: slope y + 1.

use super::unary;

unary! {
    /// e^x - 1 without cancellation near 0: slope y + 1.
    Expm1, expm1, cost 6, slope of Output,
    |self, x| x.expm1(),
    |x, y| y.plus(1.0)
}
