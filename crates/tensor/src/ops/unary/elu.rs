//! x where positive, alpha(e^x - 1) elsewhere: slope 1, or y + alpha.

use super::unary;

unary! {
    /// x where positive, alpha(e^x - 1) elsewhere: slope 1, or y + alpha.
    Elu(alpha: f64), elu, cost 6, slope of Both,
    |self, x| T::select(x > T::ZERO, x, x.minimum(T::ZERO).expm1() * alpha),
    |x, y| {
        // Cut, so that an infinite value is not multiplied by zero.
        let positive = x.positive();
        positive.clone() + (-positive).plus(1.0) * y.cut().plus(alpha)
    }
}
