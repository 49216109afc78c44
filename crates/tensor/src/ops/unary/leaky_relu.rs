//! x where positive, slope·x elsewhere.

use super::unary;

unary! {
    /// x where positive, slope·x elsewhere.
    LeakyRelu(slope: f64), leaky_relu, cost 1, slope of Input,
    |self, x| T::select(x > T::ZERO, x, x * slope),
    |x, y| x.positive().times(1.0 - slope).plus(slope)
}
