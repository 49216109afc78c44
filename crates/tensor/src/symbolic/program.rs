//! Expressions compiled to a flat list of instructions.
//!
//! The graph is laid out operands first; every instruction writes one register, and an instruction that would compute
//! what another has computed already is not emitted (value numbering). So `sin(x)` is called once however often it
//! occurs, in one expression or in several compiled together, such as a function and its gradient.

use super::expr::{Node, postorder};
use super::number::Number;
use super::{Expr, Function};
use std::collections::{BTreeMap, HashMap};
use std::fmt;

/// How often each function was called: `sin`, `cos`, `sqrt`, `pow` ...
pub type Calls = BTreeMap<&'static str, usize>;

/// A value is missing or too many are given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluationError {
    /// A variable has no value.
    #[error("variable {name} has no value; give one of each of {}", needed.join(", "))]
    NoValue {
        /// The variable.
        name: String,
        /// All variables of the expression.
        needed: Vec<String>,
    },
    /// The number of values is not that of the variables.
    #[error("{given} values for {} variables ({})", needed.len(), needed.join(", "))]
    Count {
        /// Values given.
        given: usize,
        /// The variables in the order in which values are expected.
        needed: Vec<String>,
    },
}

/// The number of the instruction that computes a value.
type Register = usize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Instruction {
    /// Bits of the value, which unlike the value can be compared and hashed.
    Constant(u64),
    Input(usize),
    Add(Register, Register),
    Subtract(Register, Register),
    Multiply(Register, Register),
    Divide(Register, Register),
    Negate(Register),
    Power(Register, Register),
    IntegerPower(Register, i32),
    SquareRoot(Register),
    Call(Function, Register),
}

/// A compiled expression, or several that share their work.
///
/// ```
/// use tove_tensor::symbolic::{Expr, Program};
/// let f: Expr = "x*exp(-x)".parse()?;
/// let program = Program::new(&[f.clone(), f.diff("x")]);
/// let (values, calls) = program.run(&[2.0])?;
/// assert_eq!(values[0], 2.0 * (-2.0f64).exp());
/// assert_eq!(calls["exp"], 1); // shared by value and derivative
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Program {
    variables: Vec<String>,
    instructions: Vec<Instruction>,
    results: Vec<Register>,
}

impl Program {
    /// Compiles expressions; variables are numbered in alphabetical order.
    pub fn new(expressions: &[Expr]) -> Program {
        let order = postorder(expressions);
        let mut variables: Vec<String> = order
            .iter()
            .filter_map(|e| match e.node() {
                Node::Variable(name) => Some(name.to_string()),
                _ => None,
            })
            .collect();
        variables.sort();
        let mut compiler = Compiler { variables, ..Compiler::default() };
        let mut pending: Vec<(Expr, bool)> = expressions.iter().rev().map(|e| (e.clone(), false)).collect();
        // only what is used is emitted: the exponent of x^(-1) is part of a division
        while let Some((e, ready)) = pending.pop() {
            if compiler.registers.contains_key(&e) {
                continue;
            }
            if ready {
                let register = compiler.compile(&e);
                compiler.registers.insert(e, register);
            } else {
                let operands = used_operands(&e);
                pending.push((e, true));
                pending.extend(operands.into_iter().rev().map(|operand| (operand, false)));
            }
        }
        let results = expressions.iter().map(|e| compiler.register(e)).collect();
        let mut program = Program { variables: compiler.variables, instructions: compiler.instructions, results };
        program.drop_unused();
        program
    }

    /// Removes instructions that no result needs, such as a negation that became part of a difference.
    fn drop_unused(&mut self) {
        let mut used = vec![false; self.instructions.len()];
        self.results.iter().for_each(|&result| used[result] = true);
        for register in (0..used.len()).rev() {
            if used[register] {
                // operands come earlier, so one sweep backwards finds all
                self.instructions[register].with_operands(|operand| {
                    used[operand] = true;
                    operand
                });
            }
        }
        let mut renamed = vec![0; used.len()];
        let mut kept = Vec::new();
        for (register, instruction) in self.instructions.iter().enumerate().filter(|(register, _)| used[*register]) {
            renamed[register] = kept.len();
            kept.push(instruction.with_operands(|operand| renamed[operand]));
        }
        self.results.iter_mut().for_each(|result| *result = renamed[*result]);
        self.instructions = kept;
    }

    /// The variables in the order in which [`Program::run`] expects their values.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.instructions.len()
    }

    /// Whether there is nothing to compute.
    pub fn is_empty(&self) -> bool {
        self.instructions.is_empty()
    }

    /// The values of the expressions and the calls it took.
    pub fn run(&self, values: &[f64]) -> Result<(Vec<f64>, Calls), EvaluationError> {
        if values.len() != self.variables.len() {
            return Err(EvaluationError::Count { given: values.len(), needed: self.variables.clone() });
        }
        let mut calls = Calls::new();
        let mut registers: Vec<f64> = Vec::with_capacity(self.instructions.len());
        for instruction in &self.instructions {
            let value = instruction.execute(values, &registers);
            registers.push(value);
            if let Some(name) = instruction.called() {
                *calls.entry(name).or_default() += 1;
            }
        }
        Ok((self.results.iter().map(|&result| registers[result]).collect(), calls))
    }

    /// The values of the expressions, with all registers in a buffer of the caller's: no allocation in a loop.
    pub fn run_into(
        &self,
        values: &[f64],
        registers: &mut Vec<f64>,
        results: &mut Vec<f64>,
    ) -> Result<(), EvaluationError> {
        if values.len() != self.variables.len() {
            return Err(EvaluationError::Count { given: values.len(), needed: self.variables.clone() });
        }
        registers.clear();
        for instruction in &self.instructions {
            let value = instruction.execute(values, registers);
            registers.push(value);
        }
        results.clear();
        results.extend(self.results.iter().map(|&result| registers[result]));
        Ok(())
    }
}

impl Expr {
    /// The value at a point.
    ///
    /// ```
    /// use tove_tensor::symbolic::Expr;
    /// let f: Expr = "a*x^2".parse()?;
    /// assert_eq!(f.evaluate(&[("a", 3.0), ("x", 2.0)])?, 12.0);
    /// assert!(f.evaluate(&[("a", 3.0)]).unwrap_err().to_string().contains("variable x has no value"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn evaluate(&self, point: &[(&str, f64)]) -> Result<f64, EvaluationError> {
        self.evaluate_counted(point).map(|(value, _)| value)
    }

    /// The value at a point and how often each function was called for it.
    pub fn evaluate_counted(&self, point: &[(&str, f64)]) -> Result<(f64, Calls), EvaluationError> {
        let program = Program::new(std::slice::from_ref(self));
        let value_of = |name: &String| match point.iter().find(|(known, _)| known == name) {
            Some(&(_, value)) => Ok(value),
            None => Err(EvaluationError::NoValue { name: name.clone(), needed: program.variables.clone() }),
        };
        let values = program.variables.iter().map(value_of).collect::<Result<Vec<_>, _>>()?;
        let (results, calls) = program.run(&values)?;
        Ok((results[0], calls))
    }
}

/// The operands whose registers the expression reads.
fn used_operands(e: &Expr) -> Vec<Expr> {
    match e.node() {
        Node::Product(factors) => {
            let minus_one = Expr::from(-1);
            let used = factors.iter().filter(|factor| **factor != minus_one);
            used.map(|factor| below_the_line(factor).unwrap_or_else(|| factor.clone())).collect()
        }
        Node::Power(base, exponent) => match exponent.number().map(|n| (n, n.integer())) {
            Some((n, _)) if n.is_negative() => vec![base.pow(&-exponent)],
            Some((_, Some(_)) | (Number::Ratio(1, 2), _)) => vec![base.clone()],
            _ => vec![base.clone(), exponent.clone()],
        },
        _ => e.operands().cloned().collect(),
    }
}

/// `u^n` for a factor `u^(-n)`.
fn below_the_line(factor: &Expr) -> Option<Expr> {
    match factor.node() {
        Node::Power(base, exponent) if exponent.number()?.is_negative() => Some(base.pow(&-exponent)),
        _ => None,
    }
}

#[derive(Default)]
struct Compiler {
    variables: Vec<String>,
    instructions: Vec<Instruction>,
    known: HashMap<Instruction, Register>,
    registers: HashMap<Expr, Register>,
}

impl Compiler {
    fn emit(&mut self, instruction: Instruction) -> Register {
        let next = self.instructions.len();
        let register = *self.known.entry(instruction).or_insert(next);
        if register == next {
            self.instructions.push(instruction);
        }
        register
    }

    fn constant(&mut self, value: f64) -> Register {
        self.emit(Instruction::Constant(value.to_bits()))
    }

    /// The register of an operand, which has been compiled before.
    fn register(&mut self, e: &Expr) -> Register {
        match self.registers.get(e) {
            Some(&register) => register,
            None => self.constant(f64::NAN),
        }
    }

    fn compile(&mut self, e: &Expr) -> Register {
        match e.node() {
            Node::Number(number) => self.constant(number.value()),
            Node::Constant(constant) => self.constant(constant.value()),
            Node::Variable(name) => {
                let index = self.variables.iter().position(|known| **known == **name).unwrap_or(usize::MAX);
                self.emit(Instruction::Input(index))
            }
            Node::Sum(terms) => self.sum(terms),
            Node::Product(factors) => self.product(factors),
            Node::Power(base, exponent) => self.power(base, exponent),
            Node::Call(function, argument) => {
                let argument = self.register(argument);
                self.emit(Instruction::Call(*function, argument))
            }
        }
    }

    fn sum(&mut self, terms: &[Expr]) -> Register {
        let mut total = self.register(&terms[0]);
        for term in &terms[1..] {
            let term = self.register(term);
            // a + (-b) and (-b) + a are a - b
            total = self.emit(match (self.negated(total), self.negated(term)) {
                (_, Some(positive)) => Instruction::Subtract(total, positive),
                (Some(positive), None) => Instruction::Subtract(term, positive),
                (None, None) => Instruction::Add(total, term),
            });
        }
        total
    }

    /// What the register negates, if that is what it does.
    fn negated(&self, register: Register) -> Option<Register> {
        match self.instructions[register] {
            Instruction::Negate(positive) => Some(positive),
            _ => None,
        }
    }

    fn product(&mut self, factors: &[Expr]) -> Register {
        let mut above = None;
        let mut below = None;
        let mut minus = false;
        for factor in factors {
            let (operand, side) = match below_the_line(factor) {
                Some(operand) => (operand, &mut below),
                None if *factor == Expr::from(-1) => {
                    minus = true;
                    continue;
                }
                None => (factor.clone(), &mut above),
            };
            let register = self.register(&operand);
            *side = Some(match *side {
                None => register,
                Some(so_far) => self.emit(Instruction::Multiply(so_far, register)),
            });
        }
        let above = match above {
            Some(above) => above,
            None => self.constant(1.0),
        };
        let quotient = match below {
            Some(below) => self.emit(Instruction::Divide(above, below)),
            None => above,
        };
        if minus { self.emit(Instruction::Negate(quotient)) } else { quotient }
    }

    fn power(&mut self, base: &Expr, exponent: &Expr) -> Register {
        let Some(number) = exponent.number() else {
            let (base, exponent) = (self.register(base), self.register(exponent));
            return self.emit(Instruction::Power(base, exponent));
        };
        if number.is_negative() {
            let below = self.register(&base.pow(&-exponent));
            let one = self.constant(1.0);
            return self.emit(Instruction::Divide(one, below));
        }
        let base = self.register(base);
        match (number, number.integer().and_then(|n| i32::try_from(n).ok())) {
            (_, Some(2)) => self.emit(Instruction::Multiply(base, base)),
            (_, Some(n)) => self.emit(Instruction::IntegerPower(base, n)),
            (Number::Ratio(1, 2), _) => self.emit(Instruction::SquareRoot(base)),
            _ => {
                let exponent = self.constant(number.value());
                self.emit(Instruction::Power(base, exponent))
            }
        }
    }
}

impl Instruction {
    fn execute(&self, inputs: &[f64], r: &[f64]) -> f64 {
        match *self {
            Instruction::Constant(bits) => f64::from_bits(bits),
            Instruction::Input(index) => inputs.get(index).copied().unwrap_or(f64::NAN),
            Instruction::Add(a, b) => r[a] + r[b],
            Instruction::Subtract(a, b) => r[a] - r[b],
            Instruction::Multiply(a, b) => r[a] * r[b],
            Instruction::Divide(a, b) => r[a] / r[b],
            Instruction::Negate(a) => -r[a],
            Instruction::Power(a, b) => r[a].powf(r[b]),
            Instruction::IntegerPower(a, n) => r[a].powi(n),
            Instruction::SquareRoot(a) => r[a].sqrt(),
            Instruction::Call(function, a) => function.value(r[a]),
        }
    }

    /// The same instruction on other registers.
    fn with_operands(self, mut rename: impl FnMut(Register) -> Register) -> Instruction {
        match self {
            Instruction::Constant(_) | Instruction::Input(_) => self,
            Instruction::Add(a, b) => Instruction::Add(rename(a), rename(b)),
            Instruction::Subtract(a, b) => Instruction::Subtract(rename(a), rename(b)),
            Instruction::Multiply(a, b) => Instruction::Multiply(rename(a), rename(b)),
            Instruction::Divide(a, b) => Instruction::Divide(rename(a), rename(b)),
            Instruction::Negate(a) => Instruction::Negate(rename(a)),
            Instruction::Power(a, b) => Instruction::Power(rename(a), rename(b)),
            Instruction::IntegerPower(a, n) => Instruction::IntegerPower(rename(a), n),
            Instruction::SquareRoot(a) => Instruction::SquareRoot(rename(a)),
            Instruction::Call(function, a) => Instruction::Call(function, rename(a)),
        }
    }

    fn called(&self) -> Option<&'static str> {
        match self {
            Instruction::Power(..) | Instruction::IntegerPower(..) => Some("pow"),
            Instruction::SquareRoot(_) => Some("sqrt"),
            Instruction::Call(function, _) => Some(function.name()),
            _ => None,
        }
    }
}

impl fmt::Display for Program {
    /// One line per instruction, `t3 = sin(t0)`, then the results.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (register, instruction) in self.instructions.iter().enumerate() {
            write!(f, "t{register} = ")?;
            match *instruction {
                Instruction::Constant(bits) => write!(f, "{}", f64::from_bits(bits))?,
                Instruction::Input(index) => f.write_str(self.variables.get(index).map_or("?", String::as_str))?,
                Instruction::Add(a, b) => write!(f, "t{a} + t{b}")?,
                Instruction::Subtract(a, b) => write!(f, "t{a} - t{b}")?,
                Instruction::Multiply(a, b) => write!(f, "t{a} * t{b}")?,
                Instruction::Divide(a, b) => write!(f, "t{a} / t{b}")?,
                Instruction::Negate(a) => write!(f, "-t{a}")?,
                Instruction::Power(a, b) => write!(f, "t{a} ^ t{b}")?,
                Instruction::IntegerPower(a, n) => write!(f, "t{a} ^ {n}")?,
                Instruction::SquareRoot(a) => write!(f, "sqrt(t{a})")?,
                Instruction::Call(function, a) => write!(f, "{}(t{a})", function.name())?,
            }
            writeln!(f)?;
        }
        let results: Vec<String> = self.results.iter().map(|result| format!("t{result}")).collect();
        write!(f, "return {}", results.join(", "))
    }
}
