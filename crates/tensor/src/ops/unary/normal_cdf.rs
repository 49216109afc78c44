//! Standard normal distribution function: slope e^(-x²/2)/sqrt(2 pi).

use super::unary;

/// 1 / sqrt(2 pi).
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

unary! {
    /// Standard normal distribution function: slope e^(-x²/2)/sqrt(2 pi).
    NormalCdf, normal_cdf, cost 8, slope of Input,
    |self, x| x.normal_cdf(),
    |x, y| x.square().times(-0.5).exp().times(INV_SQRT_TAU)
}
