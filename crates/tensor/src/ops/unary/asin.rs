//! Arc sine: slope 1/sqrt(1 - x²).

use super::unary;

unary! {
    /// Arc sine: slope 1/sqrt(1 - x²).
    Asin, asin, cost 10, slope of Input,
    |self, x| x.asin(),
    |x, y| (-x.square()).plus(1.0).sqrt().recip()
}
