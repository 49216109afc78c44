//! x^n for a real number n: slope n x^(n-1); constant 1 with slope 0 for n = 0, also at x = 0.

use super::unary;

unary! {
    /// x^n for a real number n: slope n x^(n-1); constant 1 with slope 0 for n = 0, also at x = 0.
    Powf(n: f64), powf, cost 15, slope of Input,
    |self, x| x.pow(n),
    |x, y| if n == 0.0 { x.constant(0.0) } else if n == 1.0 { x.constant(1.0) } else { x.power(n - 1.0).times(n) }
}
