//! From the expression graph to instructions, each of which computes something that none before it does.

use super::expr::Node;
use super::number::Number;
use super::{Expr, Function};
use crate::{DType, Tensor, TryOps, TryUnary};
use std::collections::HashMap;

/// The number of the instruction that computes a value.
pub(super) type Register = usize;

/// One step of a program; its result goes to the register of its own number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Instruction {
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

/// The instructions of several expressions, and the register of each one's value.
pub(super) fn compile(expressions: &[Expr], variables: &[String]) -> (Vec<Instruction>, Vec<Register>) {
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
    (compiler.instructions, results)
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
struct Compiler<'a> {
    variables: &'a [String],
    instructions: Vec<Instruction>,
    known: HashMap<Instruction, Register>,
    registers: HashMap<Expr, Register>,
}

impl Compiler<'_> {
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
    pub fn execute(&self, inputs: &[f64], r: &[f64]) -> f64 {
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

    /// The same instruction on tensors.
    pub fn apply(&self, inputs: &[Tensor], r: &[Tensor], dtype: DType) -> crate::Result<Tensor> {
        match *self {
            Instruction::Constant(bits) => Ok(Tensor::scalar(f64::from_bits(bits)).to_dtype(dtype)),
            Instruction::Input(index) => Ok(inputs[index].clone()),
            Instruction::Add(a, b) => r[a].try_add(&r[b]),
            Instruction::Subtract(a, b) => r[a].try_sub(&r[b]),
            Instruction::Multiply(a, b) => r[a].try_mul(&r[b]),
            Instruction::Divide(a, b) => r[a].try_div(&r[b]),
            Instruction::Negate(a) => Ok(-&r[a]),
            Instruction::Power(a, b) => r[a].try_pow(&r[b]),
            Instruction::IntegerPower(a, n) => r[a].try_powf(f64::from(n)),
            Instruction::SquareRoot(a) => r[a].try_sqrt(),
            Instruction::Call(function, a) => function.apply(&r[a]),
        }
    }

    /// The same instruction on other registers.
    pub fn with_operands(self, mut rename: impl FnMut(Register) -> Register) -> Instruction {
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

    pub fn called(&self) -> Option<&'static str> {
        match self {
            Instruction::Power(..) | Instruction::IntegerPower(..) => Some("pow"),
            Instruction::SquareRoot(_) => Some("sqrt"),
            Instruction::Call(function, _) => Some(function.name()),
            _ => None,
        }
    }
}
