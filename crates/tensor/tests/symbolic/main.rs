//! The symbolic engine: syllabus items, sympy, properties of random expressions, texts right and wrong.

mod engine;
mod properties;
mod reference;
mod text;

use tove_tensor::symbolic::Expr;

#[track_caller]
fn parse(text: &str) -> Expr {
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}
