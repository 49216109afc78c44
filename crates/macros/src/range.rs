//! Intervals written as in mathematics, `"[0, 1)"`, read while the program is compiled.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Expr, ExprLit, ExprUnary, Lit, LitStr, Result, UnOp};

/// An interval; a square bracket takes its end in.
#[derive(Clone, Copy)]
pub struct Range {
    low: f64,
    high: f64,
    low_closed: bool,
    high_closed: bool,
}

impl Range {
    /// Reads the text of `range = "…"`.
    pub fn parse(text: &LitStr) -> Result<Range> {
        read(&text.value()).map_err(|problem| {
            syn::Error::new(text.span(), format!("{problem}; write an interval such as \"[0, 1)\" or \"(0, inf)\""))
        })
    }

    pub fn contains(&self, x: f64) -> bool {
        let above = if self.low_closed { x >= self.low } else { x > self.low };
        let below = if self.high_closed { x <= self.high } else { x < self.high };
        above && below
    }

    /// The interval as a constant expression.
    pub fn tokens(&self, path: &TokenStream) -> TokenStream {
        let (low, high) = (number(self.low), number(self.high));
        let (low_closed, high_closed) = (self.low_closed, self.high_closed);
        quote!(#path::Range { low: #low, high: #high, low_closed: #low_closed, high_closed: #high_closed })
    }
}

fn number(x: f64) -> TokenStream {
    if x == f64::INFINITY {
        quote!(f64::INFINITY)
    } else if x == f64::NEG_INFINITY {
        quote!(f64::NEG_INFINITY)
    } else {
        quote!(#x)
    }
}

fn read(text: &str) -> std::result::Result<Range, String> {
    let text = text.trim();
    let low_closed = match text.chars().next() {
        Some('[') => true,
        Some('(') => false,
        _ => return Err("a range begins with `[` or `(`".into()),
    };
    let high_closed = match text.chars().last() {
        Some(']') => true,
        Some(')') => false,
        _ => return Err("a range ends with `]` or `)`".into()),
    };
    let ends = text.get(1..text.len() - 1).and_then(|ends| ends.split_once(','));
    let (low, high) = ends.ok_or("a range has two ends with a comma between them")?;
    let end = |text: &str| text.trim().parse::<f64>().map_err(|_| format!("`{}` is not a number", text.trim()));
    let (low, high) = (end(low)?, end(high)?);
    if low <= high { Ok(Range { low, high, low_closed, high_closed }) } else { Err("the range is empty".into()) }
}

/// The value of a number written out in the source, with its sign.
pub fn literal(expression: &Expr) -> Option<f64> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => literal(expr).map(|x| -x),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_with_their_brackets() {
        let range = read(" [0, 1) ").expect("right");
        assert!(range.contains(0.0) && !range.contains(1.0) && !range.contains(f64::NAN));
        let range = read("(-inf, 1e-3]").expect("right");
        assert!(range.contains(-1e300) && range.contains(1e-3) && !range.contains(f64::NEG_INFINITY));
        for wrong in ["", "0, 1", "[0 1]", "[0, one]", "[1, 0]", "[0, 1", "(NaN, 1)"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn literals_keep_their_sign() {
        let value = |text: &str| literal(&syn::parse_str(text).expect("an expression"));
        assert_eq!(value("-1.5"), Some(-1.5));
        assert_eq!(value("3"), Some(3.0));
        assert_eq!(value("Some(3)"), None);
    }
}
