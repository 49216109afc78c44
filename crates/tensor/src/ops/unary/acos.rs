//! Arc cosine: slope -1/sqrt(1 - x²).

use super::unary;

unary! {
    /// Arc cosine: slope -1/sqrt(1 - x²).
    Acos, acos, cost 10, slope of Input,
    |self, x| x.acos(),
    |x, y| -(-x.square()).plus(1.0).sqrt().recip()
}
