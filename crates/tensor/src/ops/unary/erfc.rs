//! Complementary error function: slope -2/sqrt(pi) e^(-x²).

use super::unary;

unary! {
    /// Complementary error function: slope -2/sqrt(pi) e^(-x²).
    Erfc, erfc, cost 10, slope of Input,
    |self, x| x.erfc(),
    |x, y| (-x.square()).exp().times(-std::f64::consts::FRAC_2_SQRT_PI)
}
