//! Gaussian error linear unit x Φ(x), exact form: slope Φ(x) + x φ(x).

use super::unary;

unary! {
    /// Gaussian error linear unit x Φ(x), exact form: slope Φ(x) + x φ(x).
    Gelu, gelu, cost 8, slope of Input,
    |self, x| crate::kernels::gelu::value_of(x),
    |x, y| x.gelu_slope(),
    rows by crate::kernels::gelu::row
}
