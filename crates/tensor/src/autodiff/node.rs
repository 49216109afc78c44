//! Nodes of the recorded graph, and what a rule sees of the place where it is applied.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::Track;
use crate::ops::Op;
use crate::{DType, Error, Result, Shape, Tensor};

/// Gradients with respect to each input, in order; `None` where none was asked for or the input has no influence.
pub type Grads = SmallVec<[Option<Tensor>; 3]>;

/// Which values an operation keeps for its derivative rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saves(u32);

impl Saves {
    const OUTPUT: u32 = 1 << 31;
    const ALL: u32 = 1 << 30;

    /// Nothing: the derivative does not depend on the values.
    pub const fn nothing() -> Saves {
        Saves(0)
    }

    /// The result.
    pub const fn output() -> Saves {
        Saves(Saves::OUTPUT)
    }

    /// All inputs, however many.
    pub const fn all_inputs() -> Saves {
        Saves(Saves::ALL)
    }

    /// These, and input `index` if `condition` holds.
    pub const fn input_if(self, index: usize, condition: bool) -> Saves {
        // Beyond the bits there are, one more input means all of them.
        let bit = if index < 30 { 1 << index } else { Saves::ALL };
        if condition { Saves(self.0 | bit) } else { self }
    }

    /// These, and input `index`.
    pub const fn input(self, index: usize) -> Saves {
        self.input_if(index, true)
    }

    /// These, and the result.
    pub const fn and_output(self) -> Saves {
        Saves(self.0 | Saves::OUTPUT)
    }

    pub(crate) fn has_input(self, index: usize) -> bool {
        self.0 & Saves::ALL != 0 || index < 30 && self.0 & (1 << index) != 0
    }

    pub(crate) fn has_output(self) -> bool {
        self.0 & Saves::OUTPUT != 0
    }
}

/// A tensor of the tape: a leaf that gradients are asked of, or the result of an operation.
pub(crate) struct Node {
    /// One more than the largest rank among the inputs; orders the backward pass.
    pub(crate) rank: u32,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
    pub(crate) kind: NodeKind,
}

#[allow(clippy::large_enum_variant, reason = "nodes are behind a counted reference, one allocation each")]
pub(crate) enum NodeKind {
    /// Collects a gradient.
    Leaf(Mutex<Option<Tensor>>),
    /// `None` once the graph has been freed.
    Step(Mutex<Option<Step>>),
}

/// One recorded application of an operation.
#[derive(Clone)]
pub(crate) struct Step {
    pub(crate) op: Box<dyn Op>,
    /// Marks of the inputs on this level; `None` for inputs that need no gradient.
    pub(crate) inputs: SmallVec<[Option<Arc<Track>>; 3]>,
    /// Shapes of the inputs; a single one stands for all where they are equal, as they mostly are.
    pub(crate) shapes: SmallVec<[Shape; 1]>,
    /// Values of the inputs, where the operation saves them.
    pub(crate) saved: SmallVec<[Option<Tensor>; 3]>,
    /// Value of the result. Data only: its own mark is attached again on use, so that there is no cycle.
    pub(crate) output: Option<Tensor>,
    /// By-products of a fused kernel for its backward kernel.
    pub(crate) aux: SmallVec<[Tensor; 2]>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    pub(crate) fn leaf(x: &Tensor) -> Node {
        let kind = NodeKind::Leaf(Mutex::new(None));
        Node { rank: 0, shape: x.shape().clone(), dtype: x.dtype(), kind }
    }

    /// Refuses a derivative that is not like the tensor it belongs to. Every one passes here on its way into a rule, so
    /// that kernels may rely on it, whoever wrote the rule before.
    #[inline]
    pub(crate) fn check(&self, op: &'static str, derivative: &Tensor) -> Result<()> {
        check_like(op, &self.shape, self.dtype, derivative)
    }

    pub(crate) fn step(&self) -> Option<MutexGuard<'_, Option<Step>>> {
        match &self.kind {
            NodeKind::Step(step) => Some(lock(step)),
            NodeKind::Leaf(_) => None,
        }
    }

    pub(crate) fn leaf_gradient(&self) -> Option<MutexGuard<'_, Option<Tensor>>> {
        match &self.kind {
            NodeKind::Leaf(slot) => Some(lock(slot)),
            NodeKind::Step(_) => None,
        }
    }
}

/// Refuses a tangent, cotangent or gradient of another shape or type than that of its tensor.
#[inline]
pub(crate) fn check_like(op: &'static str, shape: &Shape, dtype: DType, derivative: &Tensor) -> Result<()> {
    if derivative.dtype() != dtype {
        return Err(Error::DTypePair { op, left: dtype, right: derivative.dtype() });
    }
    if derivative.shape() != shape {
        let problem = "a derivative has the shape of what it belongs to";
        return Err(Error::shapes(op, shape, derivative.shape(), problem));
    }
    Ok(())
}

/// A chain of a hundred thousand steps must not recurse as deep when it is freed.
impl Drop for Node {
    #[inline]
    fn drop(&mut self) {
        let mut pending: Pending = SmallVec::new();
        self.take_inputs(&mut pending);
        while let Some(mut track) = pending.pop() {
            // Only the last holder may take a node apart, in place: nodes are large.
            if let Some(track) = Arc::get_mut(&mut track) {
                take_apart(track, &mut pending);
            } else if let Some(mut track) = Arc::into_inner(track) {
                // The other holder has let go in the meantime.
                take_apart(&mut track, &mut pending);
            }
        }
    }
}

type Pending = SmallVec<[Arc<Track>; 4]>;

/// Leaves a mark that refers to no other.
fn take_apart(track: &mut Track, pending: &mut Pending) {
    if let super::Kind::Taped(node) = &mut track.kind {
        node.take_inputs(pending);
    }
    pending.extend(track.inner.take());
}

impl Node {
    #[inline]
    fn take_inputs(&mut self, pending: &mut Pending) {
        let NodeKind::Step(step) = &mut self.kind else { return };
        if let Some(step) = step.get_mut().unwrap_or_else(PoisonError::into_inner) {
            for input in &mut step.inputs {
                if let Some(track) = input.take() {
                    pending.push(track);
                }
            }
        }
    }
}

/// The shape of an input in a list where a single one stands for all.
pub(crate) fn shape_of(shapes: &[Shape], index: usize) -> &Shape {
    &shapes[index.min(shapes.len() - 1)]
}

/// Where a derivative rule is applied: the values that the operation saved, and the shapes of all inputs.
pub struct Point<'a> {
    pub(crate) inputs: &'a [Option<Tensor>],
    pub(crate) output: Option<&'a Tensor>,
    pub(crate) shapes: &'a [Shape],
    pub(crate) aux: &'a [Tensor],
}

impl<'a> Point<'a> {
    /// The value of an input.
    ///
    /// # Panics
    /// If the operation does not declare that it saves it.
    #[track_caller]
    #[allow(clippy::expect_used)]
    pub fn input(&self, index: usize) -> &'a Tensor {
        self.inputs[index].as_ref().expect("the op declares that it saves this input")
    }

    /// The value of the result.
    ///
    /// # Panics
    /// If the operation does not declare that it saves it.
    #[track_caller]
    #[allow(clippy::expect_used)]
    pub fn output(&self) -> &'a Tensor {
        self.output.expect("the op declares that it saves its output")
    }

    /// The shape of an input, saved or not.
    pub fn shape(&self, index: usize) -> &'a Shape {
        shape_of(self.shapes, index)
    }

    /// Number of inputs.
    pub fn arity(&self) -> usize {
        self.inputs.len()
    }
}
