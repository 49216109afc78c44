//! `+ - * /` and numbers as expressions.

use super::Expr;
use super::number::Number;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Something that stands for an expression: one itself, or a number.
pub trait AsExpr {
    /// The expression.
    fn as_expr(&self) -> Expr;
}

impl AsExpr for &Expr {
    fn as_expr(&self) -> Expr {
        Expr::clone(self)
    }
}

impl AsExpr for Expr {
    fn as_expr(&self) -> Expr {
        self.clone()
    }
}

impl AsExpr for i32 {
    fn as_expr(&self) -> Expr {
        Expr::from(*self)
    }
}

impl AsExpr for f64 {
    fn as_expr(&self) -> Expr {
        Expr::from(*self)
    }
}

impl From<f64> for Expr {
    fn from(value: f64) -> Expr {
        Expr::from_number(Number::from_f64(value))
    }
}

impl From<i32> for Expr {
    fn from(value: i32) -> Expr {
        Expr::from_number(Number::Ratio(i64::from(value), 1))
    }
}

impl Neg for &Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        Expr::product([Expr::from(-1), self.clone()])
    }
}

impl Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        -&self
    }
}

/// An operator for both owned and borrowed operands.
macro_rules! operator {
    ($trait:ident $method:ident, |$a:ident, $b:ident| $result:expr) => {
        impl $trait<&Expr> for &Expr {
            type Output = Expr;

            fn $method(self, other: &Expr) -> Expr {
                let ($a, $b) = (self.clone(), other.clone());
                $result
            }
        }

        impl $trait<Expr> for Expr {
            type Output = Expr;

            fn $method(self, other: Expr) -> Expr {
                let ($a, $b) = (self, other);
                $result
            }
        }

        impl $trait<&Expr> for Expr {
            type Output = Expr;

            fn $method(self, other: &Expr) -> Expr {
                let ($a, $b) = (self, other.clone());
                $result
            }
        }
    };
}

operator!(Add add, |a, b| Expr::sum([a, b]));
operator!(Sub sub, |a, b| Expr::sum([a, -b]));
operator!(Mul mul, |a, b| Expr::product([a, b]));
operator!(Div div, |a, b| Expr::product([a, b.pow(-1)]));
