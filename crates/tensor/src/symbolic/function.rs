//! The functions an expression may call: name, value, derivative, symmetry.

use super::Expr;
use crate::{Result, Tensor, TryUnary};

/// How a function treats a minus in front of its argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parity {
    /// f(-u) = f(u)
    Even,
    /// f(-u) = -f(u)
    Odd,
    Neither,
}

macro_rules! functions {
    ($($variant:ident $name:literal $parity:ident $doc:literal;)*) => {
        /// A function of one argument. Square roots are powers: `sqrt(u)` is `u^(1/2)`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Function {
            $(#[doc = $doc] $variant,)*
        }

        impl Function {
            /// All functions.
            pub const ALL: &[Function] = &[$(Function::$variant),*];

            /// The name in texts.
            pub fn name(self) -> &'static str {
                match self { $(Function::$variant => $name,)* }
            }

            pub(super) fn parity(self) -> Parity {
                match self { $(Function::$variant => Parity::$parity,)* }
            }
        }
    };
}

functions! {
    Sin "sin" Odd "sine";
    Cos "cos" Even "cosine";
    Tan "tan" Odd "tangent";
    Asin "asin" Odd "inverse sine";
    Acos "acos" Neither "inverse cosine";
    Atan "atan" Odd "inverse tangent";
    Sinh "sinh" Odd "hyperbolic sine";
    Cosh "cosh" Even "hyperbolic cosine";
    Tanh "tanh" Odd "hyperbolic tangent";
    Sigmoid "sigmoid" Neither "logistic function, 1 / (1 + exp(-u))";
    Exp "exp" Neither "exponential";
    Ln "ln" Neither "natural logarithm";
    Abs "abs" Even "absolute value";
    Sign "sign" Odd "-1, 0 or 1";
}

impl Function {
    /// The function of that name.
    pub fn from_name(name: &str) -> Option<Function> {
        Function::ALL.iter().copied().find(|function| function.name() == name)
    }

    /// The value at `u`.
    pub fn value(self, u: f64) -> f64 {
        match self {
            Function::Sin => u.sin(),
            Function::Cos => u.cos(),
            Function::Tan => u.tan(),
            Function::Asin => u.asin(),
            Function::Acos => u.acos(),
            Function::Atan => u.atan(),
            Function::Sinh => u.sinh(),
            Function::Cosh => u.cosh(),
            Function::Tanh => u.tanh(),
            // exp of a positive number overflows, so the two halves are computed apart
            Function::Sigmoid if u >= 0.0 => 1.0 / (1.0 + (-u).exp()),
            Function::Sigmoid => u.exp() / (1.0 + u.exp()),
            Function::Exp => u.exp(),
            Function::Ln => u.ln(),
            Function::Abs => u.abs(),
            Function::Sign if u == 0.0 => 0.0,
            Function::Sign => u.signum(), // of NaN: NaN
        }
    }

    /// The value at every element, by tensor operations.
    pub(super) fn apply(self, u: &Tensor) -> Result<Tensor> {
        match self {
            Function::Sin => u.try_sin(),
            Function::Cos => u.try_cos(),
            Function::Tan => u.try_tan(),
            Function::Asin => u.try_asin(),
            Function::Acos => u.try_acos(),
            Function::Atan => u.try_atan(),
            Function::Sinh => u.try_sinh(),
            Function::Cosh => u.try_cosh(),
            Function::Tanh => u.try_tanh(),
            Function::Sigmoid => u.try_sigmoid(),
            Function::Exp => u.try_exp(),
            Function::Ln => u.try_ln(),
            Function::Abs => u.try_abs(),
            Function::Sign => u.try_sign(),
        }
    }

    /// The derivative at `u`, where `value` is the expression `f(u)`: rules that can reuse it do.
    pub(super) fn derivative(self, u: &Expr, value: &Expr) -> Expr {
        let one = Expr::from(1);
        let square = |e: &Expr| e.pow(2);
        match self {
            Function::Sin => u.call(Function::Cos),
            Function::Cos => -u.call(Function::Sin),
            Function::Tan => one + square(value),
            Function::Asin => (one - square(u)).sqrt().pow(-1),
            Function::Acos => -(one - square(u)).sqrt().pow(-1),
            Function::Atan => (one + square(u)).pow(-1),
            Function::Sinh => u.call(Function::Cosh),
            Function::Cosh => u.call(Function::Sinh),
            Function::Tanh => one - square(value),
            Function::Sigmoid => value * &(one - value.clone()),
            Function::Exp => value.clone(),
            Function::Ln => u.pow(-1),
            Function::Abs => u.call(Function::Sign),
            // zero wherever it exists; at 0 it does not
            Function::Sign => Expr::from(0),
        }
    }

    /// Exact values: f(0) where it is a fraction, ln 1.
    pub(super) fn exact(self, u: super::number::Number) -> Option<Expr> {
        match (self, u.integer()?) {
            (Function::Cos | Function::Cosh | Function::Exp, 0) => Some(Expr::from(1)),
            (Function::Sigmoid, 0) => Some(Expr::from(1) / Expr::from(2)),
            (Function::Acos | Function::Ln, 0) => None,
            (_, 0) | (Function::Ln, 1) => Some(Expr::from(0)),
            _ => None,
        }
    }
}
