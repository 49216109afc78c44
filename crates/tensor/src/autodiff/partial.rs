//! Derivatives of a function at some of its inputs, the others held fixed: the rules of operations that are defined by
//! a function of tensors.

use super::functional::{try_jvp, try_vjp_once};
use super::node::{Grads, Point};
use crate::{Result, Tensor};

/// The inputs, with those that move taken out and put back.
struct Partial {
    inputs: Vec<Tensor>,
    moving: Vec<usize>,
}

impl Partial {
    fn new(at: &Point<'_>, moves: impl Fn(usize) -> bool) -> Partial {
        let inputs = (0..at.arity()).map(|i| at.input(i).clone()).collect();
        Partial { inputs, moving: (0..at.arity()).filter(|&i| moves(i)).collect() }
    }

    fn argument(&self) -> Vec<Tensor> {
        self.moving.iter().map(|&i| self.inputs[i].clone()).collect()
    }

    fn with(&self, moved: &[Tensor]) -> Vec<Tensor> {
        let mut inputs = self.inputs.clone();
        self.moving.iter().zip(moved).for_each(|(&i, other)| inputs[i] = other.clone());
        inputs
    }
}

/// The derivative of `function` in the direction of the tangents there are.
pub(crate) fn partial_jvp(
    function: impl Fn(&[Tensor]) -> Result<Tensor>,
    at: &Point<'_>,
    tangents: &[Option<&Tensor>],
) -> Result<Option<Tensor>> {
    let partial = Partial::new(at, |i| tangents[i].is_some());
    let direction: Vec<Tensor> = tangents.iter().filter_map(|tangent| tangent.cloned()).collect();
    let moved = |moved: &Vec<Tensor>| function(&partial.with(moved));
    try_jvp(moved, &partial.argument(), &direction).map(|(_, tangent)| Some(tangent))
}

/// The gradients of `function` at the inputs in `needs`.
pub(crate) fn partial_vjp(
    function: impl Fn(&[Tensor]) -> Result<Tensor>,
    at: &Point<'_>,
    grad: &Tensor,
    needs: &[bool],
) -> Result<Grads> {
    let partial = Partial::new(at, |i| needs[i]);
    let moved = |moved: &Vec<Tensor>| function(&partial.with(moved));
    let mut grads: Grads = smallvec::smallvec![None; needs.len()];
    for (&index, gradient) in partial.moving.iter().zip(try_vjp_once(moved, &partial.argument(), grad)?) {
        grads[index] = Some(gradient);
    }
    Ok(grads)
}
