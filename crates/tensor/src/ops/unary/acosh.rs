//! Inverse hyperbolic cosine: slope 1/sqrt(x² - 1).

use super::unary;

unary! {
    /// Inverse hyperbolic cosine: slope 1/sqrt(x² - 1).
    Acosh, acosh, cost 10, slope of Input,
    |self, x| x.acosh(),
    |x, y| x.square().plus(-1.0).sqrt().recip()
}
