//! Rebuilding expressions: substitution, and the rules that need more than one look.

use super::expr::{Node, postorder};
use super::{Expr, Function};
use std::collections::HashMap;

impl Expr {
    /// The expression with a variable replaced by another expression, simplified on the way.
    ///
    /// ```
    /// use tove_tensor::symbolic::Expr;
    /// let f: Expr = "x^2 + y".parse()?;
    /// assert_eq!(f.substitute("x", &"y + 1".parse()?).to_string(), "y + (y + 1)^2");
    /// # Ok::<(), tove_tensor::symbolic::ParseError>(())
    /// ```
    pub fn substitute(&self, variable: &str, replacement: &Expr) -> Expr {
        self.rebuild(|e| match e.node() {
            Node::Variable(name) if **name == *variable => Some(replacement.clone()),
            _ => None,
        })
    }

    /// A simpler expression with the same values. Building simplifies already; this adds
    /// `sin(u)^2 + cos(u)^2 = 1`, `cosh(u)^2 - sinh(u)^2 = 1` and `tan(u) = sin(u)/cos(u)` turned back.
    ///
    /// ```
    /// use tove_tensor::symbolic::Expr;
    /// let f: Expr = "a*sin(x)^2 + x + a*cos(x)^2".parse()?;
    /// assert_eq!(f.simplify().to_string(), "a + x");
    /// # Ok::<(), tove_tensor::symbolic::ParseError>(())
    /// ```
    pub fn simplify(&self) -> Expr {
        let mut current = self.clone();
        // each round that changes something removes a term or a factor; the bound is for safety
        for _ in 0..16 {
            let next = current.rebuild(|_| None);
            if next == current {
                break;
            }
            current = next;
        }
        current
    }

    /// Builds the expression anew from its leaves; `replace` may give something else for a leaf.
    fn rebuild(&self, replace: impl Fn(&Expr) -> Option<Expr>) -> Expr {
        let mut built: HashMap<Expr, Expr> = HashMap::new();
        for e in postorder(std::slice::from_ref(self)) {
            // postorder has every operand before the expressions that use it
            let get = |operand: &Expr| built.get(operand).unwrap_or(operand).clone();
            let result = match (replace(&e), e.node()) {
                (Some(replacement), _) => replacement,
                (None, Node::Number(_) | Node::Constant(_) | Node::Variable(_)) => e.clone(),
                (None, Node::Sum(terms)) => pythagoras(Expr::sum(terms.iter().map(get))),
                (None, Node::Product(factors)) => quotient_of_sine(Expr::product(factors.iter().map(get))),
                (None, Node::Power(base, exponent)) => get(base).pow(get(exponent)),
                (None, Node::Call(function, argument)) => get(argument).call(*function),
            };
            built.insert(e, result);
        }
        built.remove(self).unwrap_or_else(|| self.clone())
    }
}

/// Replaces one pair `r sin(u)^2 + r cos(u)^2` by `r`, or `r cosh(u)^2 - r sinh(u)^2` by `r`, until there is none.
fn pythagoras(mut sum: Expr) -> Expr {
    while let Some(shorter) = pythagoras_once(&sum) {
        sum = shorter;
    }
    sum
}

fn pythagoras_once(sum: &Expr) -> Option<Expr> {
    let Node::Sum(terms) = sum.node() else { return None };
    for (first, partner, sign) in [(Function::Cos, Function::Sin, 1), (Function::Cosh, Function::Sinh, -1)] {
        for (i, term) in terms.iter().enumerate() {
            for square in squares_of(term, first) {
                let rest = term / &square.call(first).pow(2);
                let wanted = Expr::product([Expr::from(sign), rest.clone(), square.call(partner).pow(2)]);
                if let Some(j) = terms.iter().position(|other| *other == wanted) {
                    let others = terms.iter().enumerate().filter(|(k, _)| *k != i && *k != j);
                    return Some(Expr::sum(others.map(|(_, other)| other.clone()).chain([rest])));
                }
            }
        }
    }
    None
}

/// The arguments u for which `function(u)^2` is a factor of the term.
fn squares_of(term: &Expr, function: Function) -> Vec<Expr> {
    let factors = match term.node() {
        Node::Product(factors) => factors.as_slice(),
        _ => std::slice::from_ref(term),
    };
    let of_factor = |factor: &Expr| match factor.node() {
        Node::Power(base, exponent) if *exponent == Expr::from(2) => match base.node() {
            Node::Call(found, argument) if *found == function => Some(argument.clone()),
            _ => None,
        },
        _ => None,
    };
    factors.iter().filter_map(of_factor).collect()
}

/// `sin(u)/cos(u) = tan(u)`.
fn quotient_of_sine(product: Expr) -> Expr {
    let Node::Product(factors) = product.node() else { return product };
    for factor in factors {
        if let Node::Call(Function::Sin, u) = factor.node() {
            let one_over_cosine = u.call(Function::Cos).pow(-1);
            if factors.contains(&one_over_cosine) {
                let others = factors.iter().filter(|other| *other != factor && **other != one_over_cosine).cloned();
                return Expr::product(others.chain([u.call(Function::Tan)]));
            }
        }
    }
    product
}
