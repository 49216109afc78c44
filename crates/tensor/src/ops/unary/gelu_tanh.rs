//! Gaussian error linear unit in its tanh approximation, x/2 (1 + tanh u) = x σ(2u) with u = √(2/π) (x + 0.044715 x³).

use super::unary;

/// 2 √(2/π).
const TWICE_ROOT: f64 = 1.595_769_121_605_730_8;
const CUBIC: f64 = 0.044_715;

unary! {
    /// x σ(2u): slope σ + 2 x u′ σ (1 − σ).
    GeluTanh, gelu_tanh, cost 6, slope of Input,
    |self, x| {
        let inner = x * (x * x).mul_add(T::from_f64(CUBIC), T::ONE);
        x * (inner * T::from_f64(TWICE_ROOT)).sigmoid()
    },
    |x, y| {
        let square = x.clone().square();
        let s = (x.clone() * square.clone().times(CUBIC).plus(1.0)).times(TWICE_ROOT).sigmoid();
        let slope = square.times(3.0 * CUBIC).plus(1.0).times(TWICE_ROOT);
        s.clone() * (x * slope * (-s).plus(1.0)).plus(1.0)
    }
}
