//! Natural logarithm: d/dx ln x = 1/x.

use super::unary;

unary! {
    /// Natural logarithm: d/dx ln x = 1/x.
    Ln, ln, cost 5, slope of Input,
    |self, x| x.ln(),
    |x, y| x.recip()
}
