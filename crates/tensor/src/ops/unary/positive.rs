//! 1 where positive, else 0 (also at 0); locally constant.

use super::unary;

unary! {
    /// 1 where positive, else 0 (also at 0); locally constant.
    Positive, positive, cost 1, slope of Neither,
    |self, x| T::select(x > T::ZERO, T::ONE, T::ZERO),
    |x, y| x.constant(0.0),
    integers |x| i64::from(x > 0),
    flat true
}
