//! Sigmoid linear unit x σ(x): slope σ(x)(1 + x(1 - σ(x))).

use super::unary;

unary! {
    /// Sigmoid linear unit x σ(x): slope σ(x)(1 + x(1 - σ(x))).
    Silu, silu, cost 6, slope of Input,
    |self, x| x.silu(),
    |x, y| {
        let s = x.clone().sigmoid();
        s.clone() * (x * (-s).plus(1.0)).plus(1.0)
    }
}
