//! Expressions compiled to a flat list of instructions.
//!
//! The graph is laid out operands first; every instruction writes one register, and an instruction that would compute
//! what another has computed already is not emitted (value numbering). So `sin(x)` is called once however often it
//! occurs, in one expression or in several compiled together, such as a function and its gradient.

use super::Expr;
use super::compile::{Instruction, Register, compile};
use super::expr::{Node, postorder};
use std::collections::BTreeMap;
use std::fmt;

use crate::{DType, Tensor};

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
        let (instructions, results) = compile(expressions, &variables);
        let mut program = Program { variables, instructions, results };
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

    /// The values of the expressions at tensors, element by element, by tensor operations: so they can be differentiated by
    /// the engine in either mode. Tensors of floating-point numbers that broadcast, in the order of the variables.
    ///
    /// ```
    /// use tove_tensor::symbolic::{Expr, Program};
    /// use tove_tensor::{Tensor, grad};
    /// let f: Expr = "x*sin(x)".parse()?;
    /// let program = Program::new(&[f.clone()]);
    /// let slope = grad(|x: &Tensor| program.run_tensors(&[x.clone()]).unwrap()[0].sum())(&Tensor::from([0.5]));
    /// assert!((slope.at::<f64>(&[0]) - f.diff("x").evaluate(&[("x", 0.5)])?).abs() < 1e-15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_tensors(&self, values: &[Tensor]) -> crate::Result<Vec<Tensor>> {
        if values.len() != self.variables.len() {
            let needed = self.variables.join(", ");
            let problem = format!("are {}, but the variables are {needed}", values.len());
            return Err(crate::Error::parameter("Program::run_tensors", "values", problem));
        }
        let dtype = values.first().map_or(DType::F64, Tensor::dtype);
        let mut registers: Vec<Tensor> = Vec::with_capacity(self.instructions.len());
        for instruction in &self.instructions {
            let value = instruction.apply(values, &registers, dtype)?;
            registers.push(value);
        }
        Ok(self.results.iter().map(|&result| registers[result].clone()).collect())
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
