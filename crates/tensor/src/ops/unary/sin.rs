//! Sine: slope cos x.

use super::unary;

unary! {
    /// Sine: slope cos x.
    Sin, sin, cost 10, slope of Input,
    |self, x| x.sin(),
    |x, y| x.cos()
}
