//! Expressions as text: as few parentheses as possible, and the parser reads the same expression back.

use super::Expr;
use super::expr::Node;
use super::number::Number;
use std::fmt;

/// How tightly an operator binds.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Binding {
    Sum,
    Product,
    Power,
    Atom,
}

/// What is left to print, the next on top. A stack of its own keeps deep expressions off the machine's.
enum Task {
    Print(Expr, Binding),
    Text(String),
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut stack = vec![Task::Print(self.clone(), Binding::Sum)];
        while let Some(task) = stack.pop() {
            match task {
                Task::Text(text) => f.write_str(&text)?,
                Task::Print(e, needed) => {
                    let (mut tasks, binding) = layout(&e);
                    if binding < needed {
                        tasks.insert(0, Task::Text("(".to_owned()));
                        tasks.push(Task::Text(")".to_owned()));
                    }
                    stack.extend(tasks.into_iter().rev());
                }
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn text(text: impl ToString) -> Task {
    Task::Text(text.to_string())
}

/// The pieces of an expression and how tightly they hold together.
fn layout(e: &Expr) -> (Vec<Task>, Binding) {
    match e.node() {
        Node::Number(number) => (vec![text(number)], number_binding(*number)),
        Node::Constant(constant) => (vec![text(constant.name())], Binding::Atom),
        Node::Variable(name) => (vec![text(name)], Binding::Atom),
        Node::Sum(terms) => (sum(terms), Binding::Sum),
        Node::Product(factors) => product(factors),
        Node::Power(_, exponent) if exponent.number().is_some_and(Number::is_negative) => {
            product(std::slice::from_ref(e))
        }
        Node::Power(base, exponent) => power(base, exponent),
        Node::Call(function, argument) => (
            vec![text(function.name()), text("("), Task::Print(argument.clone(), Binding::Sum), text(")")],
            Binding::Atom,
        ),
    }
}

fn number_binding(number: Number) -> Binding {
    match number {
        n if n.is_negative() => Binding::Sum,
        Number::Ratio(_, 1) | Number::Float(_) => Binding::Atom,
        Number::Ratio(..) => Binding::Product,
    }
}

fn power(base: &Expr, exponent: &Expr) -> (Vec<Task>, Binding) {
    if let Some(Number::Ratio(1, 2)) = exponent.number() {
        return (vec![text("sqrt("), Task::Print(base.clone(), Binding::Sum), text(")")], Binding::Atom);
    }
    // a power as an exponent needs no parentheses, as a base it does
    let pieces =
        vec![Task::Print(base.clone(), Binding::Atom), text("^"), Task::Print(exponent.clone(), Binding::Power)];
    (pieces, Binding::Power)
}

fn sum(terms: &[Expr]) -> Vec<Task> {
    let mut tasks = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        let negative = leading_number(term).is_negative();
        match (i, negative) {
            (0, _) => tasks.push(Task::Print(term.clone(), Binding::Sum)),
            (_, true) => tasks.extend([text(" - "), Task::Print(-term, Binding::Product)]),
            (_, false) => tasks.extend([text(" + "), Task::Print(term.clone(), Binding::Product)]),
        }
    }
    tasks
}

fn leading_number(term: &Expr) -> Number {
    match term.node() {
        Node::Number(number) => *number,
        Node::Product(factors) => factors[0].number().unwrap_or(Number::ONE),
        _ => Number::ONE,
    }
}

/// `-2*x/(3*y)`: factors with a negative exponent go below the line.
fn product(factors: &[Expr]) -> (Vec<Task>, Binding) {
    let mut above = Vec::new();
    let mut below = Vec::new();
    let mut sign = "";
    for factor in factors {
        match (factor.number(), factor.node()) {
            (Some(number), _) => {
                let number = if number.is_negative() { number.neg() } else { number };
                sign = if factor.number().is_some_and(Number::is_negative) { "-" } else { "" };
                let (numerator, denominator) = match number {
                    Number::Ratio(n, d) => (Expr::from_number(Number::Ratio(n, 1)), Number::Ratio(d, 1)),
                    float => (Expr::from_number(float), Number::ONE),
                };
                above.extend((numerator != Expr::from(1)).then_some(numerator));
                below.extend((!denominator.is_one()).then(|| Expr::from_number(denominator)));
            }
            (None, Node::Power(base, exponent)) if exponent.number().is_some_and(Number::is_negative) => {
                below.push(base.pow(&-exponent));
            }
            _ => above.push(factor.clone()),
        }
    }
    if above.is_empty() {
        above.push(Expr::from(1));
    }
    let mut tasks = vec![text(sign)];
    join(&mut tasks, above);
    // 1/(2*0) would read as 1/0, so a zero below the line is divided by on its own
    if below.len() < 2 || below.iter().any(Expr::is_zero) {
        for factor in below {
            tasks.extend([text("/"), Task::Print(factor, Binding::Power)]);
        }
    } else {
        tasks.push(text("/("));
        join(&mut tasks, below);
        tasks.push(text(")"));
    }
    let binding = if sign.is_empty() { Binding::Product } else { Binding::Sum };
    (tasks, binding)
}

fn join(tasks: &mut Vec<Task>, factors: Vec<Expr>) {
    for (i, factor) in factors.into_iter().enumerate() {
        if i > 0 {
            tasks.push(text("*"));
        }
        tasks.push(Task::Print(factor, Binding::Product));
    }
}
