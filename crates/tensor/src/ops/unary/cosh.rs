//! Hyperbolic cosine: slope sinh x.

use super::unary;

unary! {
    /// Hyperbolic cosine: slope sinh x.
    Cosh, cosh, cost 8, slope of Input,
    |self, x| x.cosh(),
    |x, y| x.sinh()
}
