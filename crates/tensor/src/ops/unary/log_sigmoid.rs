//! ln(1 / (1 + e^-x)) = -ln(1 + e^-x), stable for large |x|: slope sigmoid(-x).

use super::unary;

unary! {
    /// ln(1 / (1 + e^-x)) = -ln(1 + e^-x), stable for large |x|: slope sigmoid(-x).
    LogSigmoid, log_sigmoid, cost 8, slope of Input,
    |self, x| -(-x).softplus(),
    |x, y| (-x).sigmoid()
}
