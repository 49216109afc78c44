//! The evaluation trace: a function's run as a straight program, and the reverse program beside it.
//!
//! Running y = f(x₁, …, xₙ) executes steps v_k = op_k(earlier values) one after the other. A [`Trace`] keeps them all, with
//! every value. The reverse program visits the steps from the last to the first with one adjoint v̄_k = ∂y/∂v_k per
//! variable: it starts from ȳ = 1 and, at step k, adds v̄_k ∂v_k/∂v_j to v̄_j for each operand v_j.
//!
//! ```
//! use tove_tensor::{Tensor, Trace};
//! let x = [Tensor::from([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])];
//! let trace = Trace::of(|x| x[0].tanh().sum(), &x);
//! assert_eq!(trace.to_string(), "\
//! %0 = input    (2, 3) f64
//! %1 = tanh(%0)    (2, 3) f64
//! %2 = sum(%1, axes=[-2, -1], keep=false)    () f64
//! return %2
//! ");
//! assert_eq!(trace.replay(&x).unwrap().item::<f64>(), trace.value().item::<f64>());
//! assert_eq!(trace.adjoints().unwrap()[1].to_vec::<f64>(), [1.0; 6]); // ∂y/∂%1
//! ```

mod print;
mod record;
mod reverse;

use super::apply::{apply_dyn, refs};
use crate::ops::{Aux, Op};
use crate::{Error, Result, Tensor};

pub(crate) use record::depends_on;
pub(super) use record::{detached, is_tracing, note};
pub(super) use reverse::Reverse;

/// Where a step takes an operand from.
#[derive(Clone, Debug)]
pub enum Source {
    /// Argument i of the function.
    Input(usize),
    /// The result of step j.
    Step(usize),
    /// A value that does not depend on the arguments.
    Constant(Tensor),
}

/// One application of an operation.
#[derive(Clone)]
pub struct TraceStep {
    pub(super) op: Box<dyn Op>,
    inputs: Vec<Source>,
    value: Tensor,
    aux: Aux,
}

impl TraceStep {
    /// The operation's name.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// assert_eq!(Trace::of(|x| x[0].exp(), &[Tensor::from([1.0])]).steps()[0].op(), "exp");
    /// ```
    pub fn op(&self) -> &'static str {
        self.op.name()
    }

    /// Its attributes, such as `axes=[-1], keep=false`; empty if there are none.
    pub fn attributes(&self) -> String {
        self.op.attributes()
    }

    /// Its operands, in order.
    pub fn inputs(&self) -> &[Source] {
        &self.inputs
    }

    /// Its result.
    pub fn value(&self) -> &Tensor {
        &self.value
    }

    /// Refuses a result that is not like the recorded one: what comes after was checked against that when it was recorded.
    fn check(&self, value: &Tensor) -> Result<()> {
        let own = &self.value;
        if value.shape() != own.shape() {
            let problem = "the operation gave another shape than in its trace; trace again";
            return Err(Error::shapes(self.op(), value.shape(), own.shape(), problem));
        }
        if value.dtype() != own.dtype() {
            return Err(Error::DTypePair { op: self.op(), left: value.dtype(), right: own.dtype() });
        }
        Ok(())
    }
}

/// A function's evaluation, step by step in the order in which it ran.
///
/// Variables are numbered: arguments first, then the results of steps. What the function did outside tensor operations
/// (branches, numbers read out of tensors) is not part of the program.
#[derive(Clone)]
pub struct Trace {
    inputs: Vec<Tensor>,
    steps: Vec<TraceStep>,
    output: Source,
}

impl Trace {
    /// The arguments.
    pub fn inputs(&self) -> &[Tensor] {
        &self.inputs
    }

    /// The steps, in the order in which they ran.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace, autodiff::Source};
    /// let trace = Trace::of(|x| x[0].sin().exp(), &[Tensor::from([1.0])]);
    /// assert!(matches!(trace.steps()[1].inputs(), [Source::Step(0)]));
    /// ```
    pub fn steps(&self) -> &[TraceStep] {
        &self.steps
    }

    /// Where the function's result comes from.
    pub fn output(&self) -> &Source {
        &self.output
    }

    /// The function's result.
    pub fn value(&self) -> &Tensor {
        self.value_of(&self.output)
    }

    /// Number of variables: arguments and results of steps.
    pub fn variables(&self) -> usize {
        self.inputs.len() + self.steps.len()
    }

    /// The value of variable `number`; arguments come first.
    pub fn variable(&self, number: usize) -> Option<&Tensor> {
        match number.checked_sub(self.inputs.len()) {
            None => self.inputs.get(number),
            Some(step) => self.steps.get(step).map(|step| &step.value),
        }
    }

    pub(super) fn value_of<'a>(&'a self, source: &'a Source) -> &'a Tensor {
        match source {
            Source::Input(i) => &self.inputs[*i],
            Source::Step(j) => &self.steps[*j].value,
            Source::Constant(value) => value,
        }
    }

    /// The number of the variable that a source names; `None` for constants.
    pub fn number(&self, source: &Source) -> Option<usize> {
        match source {
            Source::Input(i) => Some(*i),
            Source::Step(j) => Some(self.inputs.len() + j),
            Source::Constant(_) => None,
        }
    }

    /// Runs the program again on arguments of the same shapes and types. On the same values the result has the same bits.
    /// Where an operation chose its steps by values that have changed (the positions of a mask, say), it is refused, and so
    /// is a result of another shape or type than the one recorded.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// let trace = Trace::of(|x| &x[0] * 2.0 + 1.0, &[Tensor::from([1.0])]);
    /// assert_eq!(trace.replay(&[Tensor::from([10.0])]).unwrap().item::<f64>(), 21.0);
    /// ```
    pub fn replay(&self, inputs: &[Tensor]) -> Result<Tensor> {
        if inputs.len() != self.inputs.len() {
            let problem = format!("are {} where the trace has {}", inputs.len(), self.inputs.len());
            return Err(Error::parameter("replay", "inputs", problem));
        }
        for (given, own) in inputs.iter().zip(&self.inputs) {
            if given.shape() != own.shape() {
                return Err(Error::shapes("replay", given.shape(), own.shape(), "a trace is made for fixed shapes"));
            }
            if given.dtype() != own.dtype() {
                return Err(Error::DTypePair { op: "replay", left: given.dtype(), right: own.dtype() });
            }
        }
        let mut values: Vec<Tensor> = Vec::with_capacity(self.steps.len());
        fn pick(source: &Source, inputs: &[Tensor], values: &[Tensor]) -> Tensor {
            match source {
                Source::Input(i) => inputs[*i].clone(),
                Source::Step(j) => values[*j].clone(),
                Source::Constant(value) => value.clone(),
            }
        }
        for step in &self.steps {
            let operands: Vec<Tensor> = step.inputs.iter().map(|source| pick(source, inputs, &values)).collect();
            let value = apply_dyn(&*step.op, &refs(&operands))?;
            step.check(&value)?;
            values.push(value);
        }
        Ok(pick(&self.output, inputs, &values))
    }
}
