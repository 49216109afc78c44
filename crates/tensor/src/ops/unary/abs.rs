//! Absolute value: slope sign(x), 0 at the kink.

use super::unary;

unary! {
    /// Absolute value: slope sign(x), 0 at the kink.
    Abs, abs, cost 1, slope of Input,
    |self, x| x.abs(),
    |x, y| x.sign(),
    integers |x| x.wrapping_abs()
}
