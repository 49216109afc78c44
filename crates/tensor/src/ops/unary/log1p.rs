//! ln(1 + x) without cancellation near 0: slope 1/(1 + x).

use super::unary;

unary! {
    /// ln(1 + x) without cancellation near 0: slope 1/(1 + x).
    Log1p, log1p, cost 6, slope of Input,
    |self, x| x.log1p(),
    |x, y| x.plus(1.0).recip()
}
