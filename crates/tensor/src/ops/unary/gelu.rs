//! Gaussian error linear unit x Φ(x), exact form: slope Φ(x) + x φ(x).

use super::unary;

/// 1 / sqrt(2 pi).
const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;

unary! {
    /// Gaussian error linear unit x Φ(x), exact form: slope Φ(x) + x φ(x).
    Gelu, gelu, cost 8, slope of Input,
    |self, x| x.gelu(),
    |x, y| x.clone().normal_cdf() + x.clone() * x.square().times(-0.5).exp().times(INV_SQRT_TAU)
}
