//! The program as text, alone or beside the reverse program.

use std::collections::BTreeSet;
use std::fmt::{self, Write};

use super::{Source, Trace, TraceStep};

impl Trace {
    /// Primal and reverse program side by side, one variable and its adjoint per line. The primal is read downwards, the
    /// reverse program upwards; `~%2` is the adjoint of `%2`, and `~%3 d%3/d%2` what step `%3` passes on to it.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// let trace = Trace::of(|x| x[0].sin() * &x[0], &[Tensor::scalar(1.0)]);
    /// println!("{}", trace.dual());
    /// assert!(trace.dual().contains("~%0 = ~%1 d%1/d%0 + ~%2 d%2/d%0"));
    /// ```
    pub fn dual(&self) -> String {
        let mut terms: Vec<Vec<String>> = vec![Vec::new(); self.variables()];
        if let Some(output) = self.number(&self.output) {
            terms[output].push("1".to_string());
        }
        for (j, step) in self.steps.iter().enumerate() {
            let own = self.inputs.len() + j;
            // An operand that is named twice, next to itself or not, has one partial derivative.
            let operands: BTreeSet<usize> = step.inputs.iter().filter_map(|source| self.number(source)).collect();
            operands.into_iter().for_each(|number| terms[number].push(format!("~%{own} d%{own}/d%{number}")));
        }
        let primal: Vec<String> = (0..self.variables()).map(|number| self.statement(number)).collect();
        let width = primal.iter().map(|line| line.chars().count()).max().unwrap_or(0).max("primal, downwards".len());
        let mut text = format!("{:width$} | reverse, upwards\n", "primal, downwards");
        for (number, line) in primal.iter().enumerate() {
            let sum = if terms[number].is_empty() { "0".to_string() } else { terms[number].join(" + ") };
            let _ = writeln!(text, "{line:width$} | ~%{number} = {sum}");
        }
        text
    }

    /// One line of the primal program.
    fn statement(&self, number: usize) -> String {
        let value = self.variable(number).map(|x| format!("    {} {}", x.shape(), x.dtype())).unwrap_or_default();
        match number.checked_sub(self.inputs.len()) {
            None => format!("%{number} = input{value}"),
            Some(j) => format!("%{number} = {}{value}", self.call(&self.steps[j])),
        }
    }

    /// The call that a step makes, such as `sum(%1, axes=[-1], keep=false)`.
    pub(in crate::autodiff) fn call(&self, step: &TraceStep) -> String {
        let mut arguments: Vec<String> = step.inputs.iter().map(|source| self.name(source)).collect();
        arguments.extend(Some(step.attributes()).filter(|attributes| !attributes.is_empty()));
        format!("{}({})", step.op(), arguments.join(", "))
    }

    fn name(&self, source: &Source) -> String {
        match (self.number(source), source) {
            (Some(number), _) => format!("%{number}"),
            (None, Source::Constant(value)) if value.numel() == 1 && !value.is_batched() => {
                value.to_f64_vec().iter().map(f64::to_string).collect()
            }
            _ => format!("constant {}", self.value_of(source).shape()),
        }
    }
}

/// The primal program.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (0..self.variables()).try_for_each(|number| writeln!(f, "{}", self.statement(number)))?;
        writeln!(f, "return {}", self.name(&self.output))
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} inputs, {} steps)", self.inputs.len(), self.steps.len())
    }
}
