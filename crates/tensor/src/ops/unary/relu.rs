//! Rectifier max(x, 0): slope 1 where x > 0, and 0 at 0 as PyTorch has it. As there, -0 stays -0, and where the slope is 0
//! the derivative is +0 whatever comes in.

use super::unary;

unary! {
    /// Rectifier max(x, 0): slope 1 where x > 0, and 0 at 0 as PyTorch has it.
    Relu, relu, cost 1, slope of Output,
    |self, x| T::select(x < T::ZERO, T::ZERO, x),
    |x, y| y.positive(),
    integers |x| x.max(0),
    blocks true
}
