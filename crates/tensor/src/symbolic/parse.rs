//! Expressions from text.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = signed (("*" | "/") signed)*
//! signed  = ("-" | "+") signed | power
//! power   = atom (("^" | "**") signed)?          so that ^ is right associative and binds tighter than a minus before it
//! atom    = number | name | function "(" sum ")" | "(" sum ")"
//! ```
//! `pi`, `e`, `inf` and `nan` are numbers; `sqrt`, `log` (= `ln`), `log2`, `log10`, `arcsin`, `arccos` and `arctan` are
//! understood besides the names of [`Function`].

use super::expr::Constant;
use super::number::Number;
use super::{Expr, Function};
use std::fmt;
use std::str::FromStr;

/// Parentheses, signs and powers inside each other; more is an error, not a stack overflow.
const DEEPEST: usize = 200;

/// A text that is not an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ParseError {
    text: String,
    column: usize,
    problem: String,
}

impl ParseError {
    /// The character at which it went wrong, counted from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

impl fmt::Display for ParseError {
    /// The problem, the text and a caret below the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const AROUND: usize = 40;
        let start = self.column.saturating_sub(AROUND + 1);
        let line: String =
            self.text.chars().skip(start).take(2 * AROUND).map(|c| if c.is_control() { ' ' } else { c }).collect();
        let dots = if start > 0 { "..." } else { "" };
        let indent = " ".repeat(dots.len() + self.column - 1 - start);
        writeln!(f, "column {}: {}", self.column, self.problem)?;
        writeln!(f, "  {dots}{line}")?;
        write!(f, "  {indent}^")
    }
}

impl FromStr for Expr {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Expr, ParseError> {
        let mut parser = Parser { characters: text.chars().collect(), at: 0, depth: 0 };
        let parsed = parser.sum().and_then(|e| match parser.peek() {
            None => Ok(e),
            Some(c) => Err(parser.after_operand(c)),
        });
        parsed.map_err(|(at, problem)| ParseError { text: text.to_owned(), column: at + 1, problem })
    }
}

/// Position and problem.
type Problem = (usize, String);

struct Parser {
    characters: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    /// The next character that is not a space, without taking it.
    fn peek(&mut self) -> Option<char> {
        while self.characters.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.characters.get(self.at).copied()
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn problem<T>(&self, problem: impl Into<String>) -> Result<T, Problem> {
        Err((self.at, problem.into()))
    }

    /// Something follows a complete expression that cannot.
    fn after_operand(&self, c: char) -> Problem {
        let problem = match c {
            ')' => "this parenthesis was never opened".to_owned(),
            '=' => "an expression is expected, not an equation".to_owned(),
            ',' => "functions take one argument".to_owned(),
            c if c.is_alphanumeric() || c == '(' || c == '_' => {
                "an operator is missing; write products with *, as in 2*x".to_owned()
            }
            c => format!("{c:?} is not part of an expression; the operators are + - * / ^"),
        };
        (self.at, problem)
    }

    fn sum(&mut self) -> Result<Expr, Problem> {
        let mut terms = vec![self.product()?];
        loop {
            if self.take_if('+') {
                terms.push(self.product()?);
            } else if self.take_if('-') {
                terms.push(-self.product()?);
            } else {
                return Ok(Expr::sum(terms));
            }
        }
    }

    fn product(&mut self) -> Result<Expr, Problem> {
        let mut factors = vec![self.signed()?];
        loop {
            if self.take_if('*') {
                factors.push(self.signed()?);
            } else if self.take_if('/') {
                factors.push(self.signed()?.pow(-1));
            } else {
                return Ok(Expr::product(factors));
            }
        }
    }

    /// Every way to nest goes through here.
    fn signed(&mut self) -> Result<Expr, Problem> {
        if self.depth == DEEPEST {
            return self.problem(format!("nested more than {DEEPEST} deep; name a part of it and substitute"));
        }
        self.depth += 1;
        let result = if self.take_if('-') {
            self.signed().map(|e| -e)
        } else if self.take_if('+') {
            self.signed()
        } else {
            self.power()
        };
        self.depth -= 1;
        result
    }

    fn power(&mut self) -> Result<Expr, Problem> {
        let base = self.atom()?;
        let stars = self.peek() == Some('*') && self.characters.get(self.at + 1) == Some(&'*');
        if stars {
            self.at += 2;
        } else if !self.take_if('^') {
            return Ok(base);
        }
        Ok(base.pow(&self.signed()?))
    }

    fn atom(&mut self) -> Result<Expr, Problem> {
        match self.peek() {
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_alphabetic() || c == '_' => self.name(),
            Some('(') => {
                self.at += 1;
                self.closed_sum()
            }
            Some(')') => self.problem("an operand is missing before this parenthesis"),
            Some(c @ ('*' | '/' | '^')) => self.problem(format!("an operand is missing before '{c}'")),
            Some(c) => Err(self.after_operand(c)),
            None if self.characters.iter().all(|c| c.is_whitespace()) => self.problem("there is no expression"),
            None => self.problem("the expression ends too early; an operand is missing"),
        }
    }

    /// The rest of a parenthesis.
    fn closed_sum(&mut self) -> Result<Expr, Problem> {
        let open = self.at - 1;
        let inner = self.sum()?;
        match self.peek() {
            Some(')') => {
                self.at += 1;
                Ok(inner)
            }
            Some(c) => Err(self.after_operand(c)),
            None => Err((open, "this parenthesis is never closed".to_owned())),
        }
    }

    fn number(&mut self) -> Result<Expr, Problem> {
        let start = self.at;
        let digits = |parser: &mut Parser| {
            let begin = parser.at;
            while parser.characters.get(parser.at).is_some_and(char::is_ascii_digit) {
                parser.at += 1;
            }
            parser.at > begin
        };
        let whole = digits(self);
        let mut fraction = false;
        if self.characters.get(self.at) == Some(&'.') {
            self.at += 1;
            fraction = digits(self);
        }
        if !whole && !fraction {
            return Err((start, "a number needs digits".to_owned()));
        }
        self.exponent(digits);
        let text: String = self.characters[start..self.at].iter().collect();
        match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(integer), _) => Ok(Expr::from_number(Number::Ratio(integer, 1))),
            (_, Ok(value)) if value.is_finite() => Ok(Expr::from(value)),
            _ => Err((start, "this number is too large for 64-bit floating point".to_owned())),
        }
    }

    /// `e-7` behind a number; without digits the e is not part of it.
    fn exponent(&mut self, digits: impl Fn(&mut Parser) -> bool) {
        let before = self.at;
        if matches!(self.characters.get(self.at), Some('e' | 'E')) {
            self.at += 1;
            if matches!(self.characters.get(self.at), Some('+' | '-')) {
                self.at += 1;
            }
            if !digits(self) {
                self.at = before;
            }
        }
    }

    fn name(&mut self) -> Result<Expr, Problem> {
        let start = self.at;
        while self.characters.get(self.at).is_some_and(|&c| c.is_alphanumeric() || c == '_') {
            self.at += 1;
        }
        let name: String = self.characters[start..self.at].iter().collect();
        if self.peek() == Some('(') {
            self.at += 1;
            if !is_function(&name) {
                let known: Vec<&str> = Function::ALL.iter().map(|function| function.name()).collect();
                let known = known.join(", ");
                return Err((start, format!("{name} is not a function; there are {known}, sqrt, log, log2, log10")));
            }
            let argument = self.closed_sum()?;
            return call(&name, &argument).ok_or_else(|| (start, format!("{name} is not a function")));
        }
        if is_function(&name) {
            return Err((start, format!("{name} needs its argument in parentheses, as in {name}(x)")));
        }
        Ok(match name.as_str() {
            "pi" => Expr::constant(Constant::Pi),
            "e" => Expr::constant(Constant::E),
            "inf" => Expr::from(f64::INFINITY),
            "nan" => Expr::from(f64::NAN),
            _ => Expr::variable(&name),
        })
    }
}

fn is_function(name: &str) -> bool {
    call(name, &Expr::from(1)).is_some()
}

/// A function by any of its names.
fn call(name: &str, u: &Expr) -> Option<Expr> {
    let logarithm = |base: i32| u.call(Function::Ln) / Expr::from(base).call(Function::Ln);
    Some(match name {
        "sqrt" => u.sqrt(),
        "log" => u.call(Function::Ln),
        "log2" => logarithm(2),
        "log10" => logarithm(10),
        "arcsin" => u.call(Function::Asin),
        "arccos" => u.call(Function::Acos),
        "arctan" => u.call(Function::Atan),
        _ => u.call(Function::from_name(name)?),
    })
}
