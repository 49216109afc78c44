//! Rectifier max(x, 0): slope 1 where x > 0, and 0 at 0 as PyTorch has it.

use super::unary;

unary! {
    /// Rectifier max(x, 0): slope 1 where x > 0, and 0 at 0 as PyTorch has it.
    Relu, relu, cost 1, slope of Output,
    |self, x| x.maximum(T::ZERO),
    |x, y| y.positive(),
    integers |x| x.max(0)
}
