//! Derivatives as expressions.
//!
//! Every subexpression is differentiated once, operands first, by the chain rule:
//! `(f(u))' = f'(u) u'`, `(u v)' = u' v + u v'`, `(u^v)' = u^v (v' ln u + v u'/u)`. Because the result shares its nodes
//! with the function, values such as `sin(x)` that both need are computed once.

use super::Expr;
use super::Function;
use super::expr::{Node, postorder};
use super::number::Number;
use std::collections::HashMap;

impl Expr {
    /// The derivative with respect to a variable.
    ///
    /// ```
    /// use tove_tensor::symbolic::Expr;
    /// let f: Expr = "a*sin(x) + b*x*sin(x)".parse()?;
    /// assert_eq!(f.diff("x"), "a*cos(x) + b*sin(x) + b*x*cos(x)".parse()?);
    /// # Ok::<(), tove_tensor::symbolic::ParseError>(())
    /// ```
    pub fn diff(&self, variable: &str) -> Expr {
        let mut derivatives: HashMap<Expr, Expr> = HashMap::new();
        for e in postorder(std::slice::from_ref(self)) {
            let derivative = rule(&e, variable, &|operand: &Expr| {
                // postorder has every operand before the expressions that use it
                derivatives.get(operand).cloned().unwrap_or_else(|| Expr::from(0))
            });
            derivatives.insert(e, derivative);
        }
        derivatives.remove(self).unwrap_or_else(|| Expr::from(0))
    }

    /// The derivatives with respect to each of the variables.
    pub fn gradient(&self, variables: &[&str]) -> Vec<Expr> {
        variables.iter().map(|variable| self.diff(variable)).collect()
    }

    /// The matrix of second derivatives. Each pair is differentiated once: the matrix is symmetric.
    ///
    /// ```
    /// use tove_tensor::symbolic::Expr;
    /// let f: Expr = "x^2*y".parse()?;
    /// let h = f.hessian(&["x", "y"]);
    /// assert_eq!(h[0][0].to_string(), "2*y");
    /// assert_eq!(h[0][1].to_string(), "2*x");
    /// assert_eq!(h[1][1].to_string(), "0");
    /// # Ok::<(), tove_tensor::symbolic::ParseError>(())
    /// ```
    pub fn hessian(&self, variables: &[&str]) -> Vec<Vec<Expr>> {
        let mut rows = vec![vec![Expr::from(0); variables.len()]; variables.len()];
        for (i, first) in self.gradient(variables).iter().enumerate() {
            for (j, variable) in variables.iter().enumerate().skip(i) {
                let second = first.diff(variable);
                rows[j][i] = second.clone();
                rows[i][j] = second;
            }
        }
        rows
    }
}

fn rule(e: &Expr, variable: &str, derivative: &dyn Fn(&Expr) -> Expr) -> Expr {
    match e.node() {
        Node::Number(_) | Node::Constant(_) => Expr::from(0),
        Node::Variable(name) => Expr::from(i32::from(&**name == variable)),
        Node::Sum(terms) => Expr::sum(terms.iter().map(derivative)),
        Node::Product(factors) => Expr::sum((0..factors.len()).filter_map(|i| {
            let inner = derivative(&factors[i]);
            let others = || factors[..i].iter().chain(&factors[i + 1..]).cloned();
            (!inner.is_zero()).then(|| Expr::product(others().chain([inner])))
        })),
        Node::Power(base, exponent) => power_rule(e, base, exponent, &derivative(base), &derivative(exponent)),
        Node::Call(function, argument) => {
            let inner = derivative(argument);
            if inner.is_zero() { inner } else { function.derivative(argument, e) * inner }
        }
    }
}

fn power_rule(e: &Expr, base: &Expr, exponent: &Expr, base_prime: &Expr, exponent_prime: &Expr) -> Expr {
    let by_base = if base_prime.is_zero() {
        Expr::from(0)
    } else {
        let lower = exponent + &Expr::from_number(Number::MINUS_ONE);
        Expr::product([exponent.clone(), base.pow(&lower), base_prime.clone()])
    };
    let by_exponent = if exponent_prime.is_zero() {
        Expr::from(0)
    } else {
        Expr::product([e.clone(), base.call(Function::Ln), exponent_prime.clone()])
    };
    by_base + by_exponent
}
