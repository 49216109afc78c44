//! Error function: slope 2/sqrt(pi) e^(-x²).

use super::unary;

unary! {
    /// Error function: slope 2/sqrt(pi) e^(-x²).
    Erf, erf, cost 8, slope of Input,
    |self, x| x.erf(),
    |x, y| (-x.square()).exp().times(std::f64::consts::FRAC_2_SQRT_PI)
}
