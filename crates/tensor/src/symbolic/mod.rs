//! A small symbolic engine: expressions, their derivatives as expressions, and programs that evaluate them.
//!
//! An [`Expr`] is a graph in which equal subexpressions are one node. It comes from a text or from arithmetic,
//! simplifies as it is built, prints in a form that reads back, differentiates to another expression, and compiles to a
//! [`Program`] in which every shared value is computed once.
//!
//! ```
//! use tove_tensor::symbolic::Expr;
//! let f: Expr = "a*sin(x) + b*x*sin(x)".parse()?;
//! let derivative = f.diff("x"); // a cos x + b sin x + b x cos x
//! let (value, calls) = derivative.evaluate_counted(&[("a", 2.0), ("b", 3.0), ("x", 1.0)])?;
//! assert!((value - 5.225924484).abs() < 5e-10);
//! assert_eq!((calls["sin"], calls["cos"]), (1, 1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Values are real: where a step has none (`ln(-1)`, `(-8)^(1/3)`) the result is NaN, as in floating point.

mod build;
mod compile;
mod diff;
mod expr;
mod function;
mod number;
mod operators;
mod parse;
mod print;
mod program;
mod simplify;

pub use expr::Expr;
pub use function::Function;
pub use operators::AsExpr;
pub use parse::ParseError;
pub use program::{Calls, EvaluationError, Program};
