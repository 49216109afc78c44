//! The reverse program: adjoints of all variables, from the last step to the first.

use smallvec::SmallVec;

use super::{Source, Trace, TraceStep};
use crate::autodiff::Point;
use crate::{Error, Result, Shape, Tensor, ops};

/// Adjoints of all variables, and what each step contributed to those of its operands.
pub(in crate::autodiff) struct Reverse {
    pub(in crate::autodiff) adjoints: Vec<Tensor>,
    /// Per step and operand; `None` where no derivative flows.
    pub(in crate::autodiff) flows: Vec<Vec<Option<Tensor>>>,
}

impl Trace {
    /// The derivative of the one-element result by every variable, arguments first. Variables without influence, and
    /// those that are not floating point, have zeros.
    ///
    /// ```
    /// use tove_tensor::{Tensor, Trace};
    /// let trace = Trace::of(|x| (&x[0] * &x[1]).sum(), &[Tensor::from([3.0]), Tensor::from([-2.0])]);
    /// let adjoints = trace.adjoints().unwrap();
    /// assert_eq!((adjoints[0].item::<f64>(), adjoints[1].item::<f64>()), (-2.0, 3.0));
    /// ```
    pub fn adjoints(&self) -> Result<Vec<Tensor>> {
        self.reverse().map(|reverse| reverse.adjoints)
    }

    pub(in crate::autodiff) fn reverse(&self) -> Result<Reverse> {
        let y = self.value();
        if y.numel() != 1 || !y.dtype().is_float() {
            let problem = "is not one floating-point number; adjoints belong to a scalar result";
            return Err(Error::shape("adjoints", y.shape(), problem));
        }
        let mut adjoints: Vec<Option<Tensor>> = vec![None; self.variables()];
        if let Some(output) = self.number(&self.output) {
            adjoints[output] = Some(y.detach().ones_like());
        }
        let mut flows = vec![Vec::new(); self.steps.len()];
        for (j, step) in self.steps.iter().enumerate().rev() {
            flows[j] = vec![None; step.inputs.len()];
            let Some(upstream) = adjoints[self.inputs.len() + j].clone() else { continue };
            for (k, flow) in self.pull(step, &upstream, false)?.into_iter().enumerate() {
                let (Some(number), Some(flow)) = (self.number(&step.inputs[k]), flow) else { continue };
                flows[j][k] = Some(flow.clone());
                adjoints[number] = Some(match adjoints[number].take() {
                    Some(sum) => ops::binary::add(&sum, &flow)?,
                    None => flow,
                });
            }
        }
        let zeros = |(number, adjoint): (usize, Option<Tensor>)| {
            adjoint.or_else(|| self.variable(number).map(|x| x.detach().zeros_like()))
        };
        Ok(Reverse { adjoints: adjoints.into_iter().enumerate().filter_map(zeros).collect(), flows })
    }

    /// What a step passes to its operands, given the derivative of the result by its own value; to constants only when
    /// asked.
    pub(in crate::autodiff) fn pull(
        &self,
        step: &TraceStep,
        upstream: &Tensor,
        constants: bool,
    ) -> Result<Vec<Option<Tensor>>> {
        let values: Vec<Option<Tensor>> = step.inputs.iter().map(|x| Some(self.value_of(x).clone())).collect();
        let shapes: Vec<Shape> = step.inputs.iter().map(|x| self.value_of(x).shape().clone()).collect();
        let needs =
            |x: &Source| (constants || !matches!(x, Source::Constant(_))) && self.value_of(x).dtype().is_float();
        let needs: SmallVec<[bool; 3]> = step.inputs.iter().map(needs).collect();
        if !step.value.dtype().is_float() || !needs.contains(&true) {
            return Ok(vec![None; step.inputs.len()]);
        }
        let at = Point { inputs: &values, output: Some(&step.value), shapes: &shapes, aux: &step.aux };
        let pulled = step.op.vjp(&at, upstream, &needs)?;
        let to_shape = |((flow, shape), &need): ((Option<Tensor>, &Shape), &bool)| {
            flow.filter(|_| need).map(|flow| ops::reduce::sum_to(flow, shape)).transpose()
        };
        pulled.into_iter().zip(&shapes).zip(&needs).map(to_shape).collect()
    }
}
