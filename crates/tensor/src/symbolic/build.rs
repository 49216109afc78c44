//! Arithmetic that simplifies as it builds.
//!
//! - sums and products are flat, sorted, and hold at most one number;
//! - like terms and like factors are collected: `x + 2x = 3x`, `x x^2 = x^3`, `exp(a) exp(b) = exp(a + b)`;
//! - `0 u = 0`, `1 u = u`, `u^0 = 1`, `u^1 = u`; arithmetic of fractions is exact;
//! - `ln(exp(u)) = u`, `exp(ln(u)) = u`, `sqrt(u^2) = abs(u)`, `ln(u^n) = n ln(u)` if u is positive for sure;
//! - even and odd functions take a minus out of their argument.
//!
//! A rule is used only if it keeps every value: wherever the expression as written has a value, the simplified one has
//! the same. It may have one where the written one had a hole (`x/x` at 0, `exp(ln(x))` below 0).

use super::expr::{Constant, Node, Sign};
use super::function::Parity;
use super::number::Number;
use super::operators::AsExpr;
use super::{Expr, Function};
use std::cmp::Ordering;
use std::collections::HashMap;

impl Expr {
    pub(super) fn from_number(number: Number) -> Expr {
        Expr::new(Node::Number(number))
    }

    pub(super) fn constant(constant: Constant) -> Expr {
        Expr::new(Node::Constant(constant))
    }

    /// The sum of all terms.
    pub fn sum(terms: impl IntoIterator<Item = Expr>) -> Expr {
        let mut stack: Vec<Expr> = terms.into_iter().collect();
        if stack.len() == 1 {
            return stack.swap_remove(0);
        }
        stack.reverse();
        let mut number = Number::ZERO;
        let mut collected = Collected::default();
        while let Some(term) = stack.pop() {
            match term.node() {
                Node::Number(n) => number = number.add(*n),
                Node::Sum(terms) => stack.extend(terms.iter().rev().cloned()),
                Node::Product(factors) => match (factors[0].number(), factors[1].node()) {
                    // c (a + b) inside a sum is opened, so that x - (x + y) = -y
                    (Some(_), Node::Sum(terms)) if factors.len() == 2 => {
                        stack.extend(terms.iter().rev().map(|inner| &factors[0] * inner));
                    }
                    (Some(c), _) => collected.add(product_of_sorted(factors[1..].to_vec()), c),
                    (None, _) => collected.add(term, Number::ONE),
                },
                _ => collected.add(term, Number::ONE),
            }
        }
        let mut terms = collected.terms();
        if number.is_nan() || terms.iter().any(|(_, c)| c.is_nan()) {
            return Expr::from(f64::NAN);
        }
        terms.sort_by(|(a, _), (b, _)| compare_terms(a, b));
        let mut terms: Vec<Expr> = terms.into_iter().map(|(term, c)| scale(c, term)).collect();
        if !number.is_zero() {
            terms.push(Expr::from_number(number));
        }
        match terms.len() {
            0 => Expr::from(0),
            1 => terms.swap_remove(0),
            _ => Expr::new(Node::Sum(terms)),
        }
    }

    /// The product of all factors.
    pub fn product(factors: impl IntoIterator<Item = Expr>) -> Expr {
        let mut stack: Vec<Expr> = factors.into_iter().collect();
        stack.reverse();
        let mut number = Number::ONE;
        let mut powers = Powers::default();
        let mut exponential = Vec::new();
        while let Some(factor) = stack.pop() {
            match factor.node() {
                Node::Number(n) => number = number.mul(*n),
                Node::Product(factors) => stack.extend(factors.iter().rev().cloned()),
                Node::Call(Function::Exp, argument) => exponential.push(argument.clone()),
                Node::Constant(Constant::E) => exponential.push(Expr::from(1)),
                _ => powers.add(&factor),
            }
        }
        if number.is_zero() {
            return Expr::from(0);
        }
        let exponential = Expr::sum(exponential).call(Function::Exp);
        finish_product(number, powers, exponential)
    }

    /// `self ^ exponent`.
    pub fn pow(&self, exponent: impl AsExpr) -> Expr {
        let exponent = exponent.as_expr();
        let n = exponent.number();
        match (self.number(), n) {
            (_, Some(n)) if n.is_zero() => return Expr::from(1),
            (_, Some(n)) if n.is_one() => return self.clone(),
            (Some(base), _) if base.is_one() => return Expr::from(1),
            (Some(base), Some(_)) if base.is_nan() => return self.clone(),
            // every 0^(-n) is 1/0
            (Some(base), Some(n)) if base.is_zero() && n.is_negative() => {
                return Expr::new(Node::Power(self.clone(), Expr::from(-1)));
            }
            (Some(base), Some(n)) => {
                if let Some(value) = base.pow(n) {
                    return Expr::from_number(value);
                }
            }
            _ => {}
        }
        match self.node() {
            Node::Constant(Constant::E) => return exponent.call(Function::Exp),
            Node::Call(Function::Exp, argument) => return (argument * &exponent).call(Function::Exp),
            Node::Power(base, inner) => {
                if let Some(result) = power_of_power(base, inner, &exponent) {
                    return result;
                }
            }
            Node::Product(factors) if n.and_then(Number::integer).is_some() => {
                return Expr::product(factors.iter().map(|factor| factor.pow(&exponent)));
            }
            Node::Call(Function::Abs, argument) if is_even(&exponent) => return argument.pow(&exponent),
            _ => {}
        }
        Expr::new(Node::Power(self.clone(), exponent))
    }

    /// The square root.
    pub fn sqrt(&self) -> Expr {
        self.pow(Expr::from_number(Number::Ratio(1, 2)))
    }

    /// `function(self)`.
    pub fn call(&self, function: Function) -> Expr {
        if let Some(number) = self.number() {
            if let Some(exact) = function.exact(number) {
                return exact;
            }
            // asin(1.25) stays as it is: the culprit says more than a NaN
            let value = function.value(number.value());
            if matches!(number, Number::Float(_)) && !value.is_nan() {
                return Expr::from(value);
            }
        }
        if let Some(positive) = self.without_minus() {
            match function.parity() {
                Parity::Even => return positive.call(function),
                Parity::Odd => return -positive.call(function),
                Parity::Neither => {}
            }
        }
        let simplified = match (function, self.node()) {
            (Function::Exp, Node::Call(Function::Ln, inner)) => Some(inner.clone()),
            (Function::Exp, Node::Product(factors)) => exp_of_multiple_of_ln(factors),
            (Function::Exp, Node::Number(n)) if n.is_one() => Some(Expr::constant(Constant::E)),
            (Function::Ln, Node::Constant(Constant::E)) => Some(Expr::from(1)),
            (Function::Ln, Node::Call(Function::Exp, inner)) => Some(inner.clone()),
            (Function::Ln, Node::Power(base, exponent)) if base.sign() == Sign::Positive => {
                Some(exponent * &base.call(Function::Ln))
            }
            (Function::Abs, _) if self.sign() != Sign::Unknown => Some(self.clone()),
            (Function::Sign, _) if self.sign() == Sign::Positive => Some(Expr::from(1)),
            _ => None,
        };
        simplified.unwrap_or_else(|| Expr::new(Node::Call(function, self.clone())))
    }

    /// `u` if this is `-u` or `-c u`, `c u` in that case.
    fn without_minus(&self) -> Option<Expr> {
        let number = match self.node() {
            Node::Number(number) => *number,
            Node::Product(factors) => factors[0].number()?,
            _ => return None,
        };
        number.is_negative().then(|| -self)
    }
}

/// Terms without their number, and the sum of their numbers, in the order of their first appearance.
#[derive(Default)]
struct Collected {
    position: HashMap<Expr, usize>,
    terms: Vec<(Expr, Number)>,
}

impl Collected {
    fn add(&mut self, term: Expr, number: Number) {
        let position = *self.position.entry(term.clone()).or_insert(self.terms.len());
        match self.terms.get_mut(position) {
            Some((_, sum)) => *sum = sum.add(number),
            None => self.terms.push((term, number)),
        }
    }

    fn terms(self) -> Vec<(Expr, Number)> {
        self.terms.into_iter().filter(|(_, number)| !number.is_zero()).collect()
    }
}

/// Higher powers of variables first, then the canonical order.
fn compare_terms(a: &Expr, b: &Expr) -> Ordering {
    degree(b).total_cmp(&degree(a)).then_with(|| a.cmp(b))
}

fn degree(term: &Expr) -> f64 {
    let of_factor = |factor: &Expr| match factor.node() {
        Node::Variable(_) => 1.0,
        Node::Power(base, exponent) if matches!(base.node(), Node::Variable(_)) => {
            exponent.number().map_or(0.0, Number::value)
        }
        _ => 0.0,
    };
    match term.node() {
        Node::Product(factors) => factors.iter().map(of_factor).sum(),
        _ => of_factor(term),
    }
}

/// `c term`, where the term has no number of its own.
fn scale(c: Number, term: Expr) -> Expr {
    if c.is_one() {
        return term;
    }
    let mut factors = vec![Expr::from_number(c)];
    match term.node() {
        Node::Product(rest) => factors.extend(rest.iter().cloned()),
        _ => factors.push(term),
    }
    Expr::new(Node::Product(factors))
}

/// A product of factors that are known to be collected and sorted.
fn product_of_sorted(mut factors: Vec<Expr>) -> Expr {
    if factors.len() == 1 { factors.swap_remove(0) } else { Expr::new(Node::Product(factors)) }
}

/// Bases and their exponents, in the order of their first appearance.
#[derive(Default)]
struct Powers {
    position: HashMap<Expr, usize>,
    powers: Vec<(Expr, Vec<Expr>)>,
}

impl Powers {
    fn add(&mut self, factor: &Expr) {
        let (base, exponent) = factor.base_and_exponent();
        let position = *self.position.entry(base.clone()).or_insert(self.powers.len());
        match self.powers.get_mut(position) {
            Some((_, exponents)) => exponents.push(exponent),
            None => self.powers.push((base, vec![exponent])),
        }
    }
}

fn finish_product(mut number: Number, powers: Powers, exponential: Expr) -> Expr {
    let mut factors = Vec::with_capacity(powers.powers.len() + 2);
    let mut collected = true;
    for (base, exponents) in powers.powers {
        let power = base.pow(Expr::sum(exponents));
        match power.number() {
            Some(n) => number = number.mul(n),
            None => {
                // a power can turn into something with another base, abs(x)^2 = x^2, which must be collected again
                collected &= power.base_and_exponent().0 == base;
                factors.push(power);
            }
        }
    }
    match exponential.node() {
        Node::Number(n) => number = number.mul(*n),
        node => {
            collected &= matches!(node, Node::Call(Function::Exp, _) | Node::Constant(Constant::E));
            factors.push(exponential);
        }
    }
    if number.is_nan() || number.is_zero() {
        return Expr::from_number(number);
    }
    factors.sort();
    if !number.is_one() {
        factors.insert(0, Expr::from_number(number));
    }
    if !collected {
        return Expr::product(factors);
    }
    match factors.len() {
        0 => Expr::from(1),
        1 => factors.swap_remove(0),
        _ => Expr::new(Node::Product(factors)),
    }
}

fn is_even(exponent: &Expr) -> bool {
    exponent.number().and_then(Number::integer).is_some_and(|n| n % 2 == 0)
}

/// `(base^inner)^outer`, where the two exponents may be multiplied.
fn power_of_power(base: &Expr, inner: &Expr, outer: &Expr) -> Option<Expr> {
    let outer_is_integer = outer.number().and_then(Number::integer).is_some();
    if outer_is_integer || base.sign() != Sign::Unknown {
        return Some(base.pow(&(inner * outer)));
    }
    // from here on the outer power has a value only where base^inner is not negative
    match inner.number()?.integer() {
        Some(n) if n % 2 == 0 => Some(base.call(Function::Abs).pow(&(inner * outer))),
        // odd powers and roots are not negative only where the base is not
        _ => outer.number().map(|_| base.pow(&(inner * outer))),
    }
}

/// `exp(c ln(u)) = u^c` for a number c.
fn exp_of_multiple_of_ln(factors: &[Expr]) -> Option<Expr> {
    match (factors, factors.get(1)?.node()) {
        ([c, _], Node::Call(Function::Ln, u)) if c.number().is_some() => Some(u.pow(c)),
        _ => None,
    }
}
