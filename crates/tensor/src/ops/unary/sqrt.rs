//! Square root: slope 1/(2 sqrt x), +inf at 0.

use super::unary;

unary! {
    /// Square root: slope 1/(2 sqrt x), +inf at 0.
    Sqrt, sqrt, cost 3, slope of Output,
    |self, x| x.sqrt(),
    |x, y| y.times(2.0).recip()
}
