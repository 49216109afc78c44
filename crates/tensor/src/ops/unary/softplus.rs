//! ln(1 + e^x), stable for large |x|: slope sigmoid(x).

use super::unary;

unary! {
    /// ln(1 + e^x), stable for large |x|: slope sigmoid(x).
    Softplus, softplus, cost 8, slope of Input,
    |self, x| x.softplus(),
    |x, y| x.sigmoid()
}
