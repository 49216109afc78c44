//! Logistic function 1/(1 + e^-x): slope y(1 - y).

use super::unary;

unary! {
    /// Logistic function 1/(1 + e^-x): slope y(1 - y).
    Sigmoid, sigmoid, cost 5, slope of Output,
    |self, x| x.sigmoid(),
    |x, y| y.clone() * (-y).plus(1.0)
}
