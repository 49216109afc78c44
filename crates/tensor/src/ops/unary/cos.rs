//! Cosine: slope -sin x.

use super::unary;

unary! {
    /// Cosine: slope -sin x.
    Cos, cos, cost 10, slope of Input,
    |self, x| x.cos(),
    |x, y| -x.sin()
}
