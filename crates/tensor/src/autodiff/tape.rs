//! The tape face: `requires_grad`, `backward`, `grad`, `no_grad`, as in PyTorch. It is level 0 of the same machinery that
//! serves the functional face.
//!
//! ```
//! use tove_tensor::Tensor;
//! let w = Tensor::from([2.0, -1.0]).requires_grad();
//! let loss = (&w * &w).sum();
//! loss.backward();
//! assert_eq!(w.grad().unwrap().to_vec::<f64>(), [4.0, -2.0]);
//! ```

use std::cell::Cell;
use std::sync::Arc;

use super::backward::{Options, node_of, sweep};
use super::node::check_like;
use super::{Kind, Node, Track};
use crate::error::OrPanic;
use crate::{DType, Error, Result, Shape, Tensor, ops};

thread_local! {
    static RECORDING: Cell<bool> = const { Cell::new(true) };
}

#[inline]
pub(crate) fn is_recording() -> bool {
    RECORDING.get()
}

/// Runs `work` without recording on the tape: results inside do not require gradients. The functional face is not
/// affected.
///
/// ```
/// use tove_tensor::{Tensor, no_grad};
/// let w = Tensor::from([1.0]).requires_grad();
/// assert!(!no_grad(|| &w * 2.0).is_tracked());
/// ```
pub fn no_grad<R>(work: impl FnOnce() -> R) -> R {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            RECORDING.set(self.0);
        }
    }
    let _restore = Restore(RECORDING.replace(false));
    work()
}

impl Tensor {
    /// A leaf of the tape with these values: operations on it are recorded and [`Tensor::backward`] fills its gradient.
    /// The result is cut off from whatever graph this tensor belonged to.
    #[track_caller]
    pub fn requires_grad(&self) -> Tensor {
        self.try_requires_grad().or_panic()
    }

    /// As [`Tensor::requires_grad`]; an error for types that have no derivatives.
    pub fn try_requires_grad(&self) -> Result<Tensor> {
        if !self.dtype().is_float() {
            let dtype = self.dtype();
            return Err(Error::DType { op: "requires_grad", dtype, expected: "only f32 and f64 have derivatives" });
        }
        let plain = self.detach();
        if plain.track().is_some() {
            return Err(Error::derivative("requires_grad", "not inside `vmap`; use the functional face there"));
        }
        let leaf = Node::leaf(&plain);
        Ok(plain.marked(0, Kind::Taped(leaf)))
    }

    /// Whether any derivative is being tracked through this tensor.
    pub fn is_tracked(&self) -> bool {
        self.track().is_some()
    }

    /// Whether this is a leaf of the tape.
    ///
    /// ```
    /// let w = tove_tensor::Tensor::from([3.0]).requires_grad();
    /// assert!(w.is_leaf() && !w.square().is_leaf());
    /// ```
    pub fn is_leaf(&self) -> bool {
        self.track_at(0).and_then(|track| track.node()).is_some_and(|node| node.rank == 0)
    }

    /// The gradient collected by this leaf so far.
    pub fn grad(&self) -> Option<Tensor> {
        self.track_at(0)?.node()?.leaf_gradient()?.clone()
    }

    /// Replaces the gradient of this leaf; `None` clears it. The gradient has the leaf's shape and type.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let w = Tensor::from([3.0]).requires_grad();
    /// w.set_grad(Some(Tensor::from([0.5])));
    /// assert_eq!(w.grad().unwrap().item::<f64>(), 0.5);
    /// ```
    #[track_caller]
    pub fn set_grad(&self, gradient: Option<Tensor>) {
        self.try_set_grad(gradient).or_panic();
    }

    /// As [`Tensor::set_grad`], with the error returned.
    pub fn try_set_grad(&self, gradient: Option<Tensor>) -> Result<()> {
        let Some(node) = self.track_at(0).and_then(|track| track.node()) else { return Ok(()) };
        if let Some(gradient) = &gradient {
            node.check("set_grad", gradient)?;
        }
        if let Some(mut slot) = node.leaf_gradient() {
            *slot = gradient;
        }
        Ok(())
    }

    /// Takes the gradient out of this leaf, leaving none.
    ///
    /// ```
    /// let w = tove_tensor::Tensor::from([3.0]).requires_grad();
    /// w.square().sum().backward();
    /// assert_eq!(w.take_grad().unwrap().item::<f64>(), 6.0);
    /// assert!(w.grad().is_none());
    /// ```
    pub fn take_grad(&self) -> Option<Tensor> {
        self.track_at(0)?.node()?.leaf_gradient()?.take()
    }

    /// Adds the gradient of this one-element tensor to every leaf it depends on, and frees the graph.
    #[track_caller]
    pub fn backward(&self) {
        self.try_backward().or_panic();
    }

    /// As [`Tensor::backward`], with the error returned.
    pub fn try_backward(&self) -> Result<()> {
        accumulate(self, seed(self)?, Options::default())
    }

    /// As [`Tensor::backward`] from a tensor of any shape, given the derivative of what is wanted by each of its numbers:
    /// leaves gain `Jᵀ seed`.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let w = Tensor::from([1.0, 2.0]).requires_grad();
    /// w.square().backward_with(&Tensor::from([1.0, 10.0]));
    /// assert_eq!(w.grad().unwrap().to_vec::<f64>(), [2.0, 40.0]);
    /// ```
    #[track_caller]
    pub fn backward_with(&self, seed: &Tensor) {
        self.try_backward_with(seed).or_panic();
    }

    /// As [`Tensor::backward_with`], with the error returned.
    pub fn try_backward_with(&self, seed: &Tensor) -> Result<()> {
        accumulate(self, seed.untracked(), Options::default())
    }

    /// As [`Tensor::backward`], keeping the graph for another pass.
    ///
    /// ```
    /// let w = tove_tensor::Tensor::from([3.0]).requires_grad();
    /// let loss = w.square().sum();
    /// loss.backward_keep();
    /// loss.backward();
    /// assert_eq!(w.grad().unwrap().item::<f64>(), 12.0); // both passes added up
    /// assert!(loss.try_backward().is_err()); // the graph is gone
    /// ```
    #[track_caller]
    pub fn backward_keep(&self) {
        seed(self).and_then(|seed| accumulate(self, seed, Options { keep: true, record: false })).or_panic();
    }

    /// Overwrites the values of this leaf or plain tensor in place, keeping its place in the tape: what optimisers do.
    /// `update` gets the values without tracking; if a graph still holds the buffer, it works on a copy. Shape and type
    /// must stay: a tensor that changes them is plain afterwards, and that is an error. So is a tensor inside `vmap`, which
    /// stands for all rows of the batch at once, be it overwritten or put in place of the values.
    pub fn update(&mut self, update: impl FnOnce(&mut Tensor) -> Result<()>) -> Result<()> {
        /// Gives the mark back at the end, also where `update` fails or panics.
        struct Marked<'a> {
            tensor: &'a mut Tensor,
            track: Option<Arc<Track>>,
            shape: Shape,
            dtype: DType,
        }
        impl Marked<'_> {
            fn kept(&self) -> Result<()> {
                if self.tensor.is_batched() {
                    return Err(Error::derivative("update", "the new values depend on a `vmap` under way"));
                }
                check_like("update", &self.shape, self.dtype, self.tensor)
            }
        }
        impl Drop for Marked<'_> {
            fn drop(&mut self) {
                if self.kept().is_ok() {
                    self.tensor.set_track(self.track.take());
                } else if !self.tensor.is_batched() {
                    // Of another shape or type it is no longer what the mark speaks of.
                    self.tensor.set_track(None);
                }
            }
        }
        // The mark of a batch describes memory; put back on other memory, it would lead outside of it.
        if self.is_batched() {
            return Err(Error::derivative("update", "values cannot be overwritten inside `vmap`"));
        }
        let (shape, dtype) = (self.shape().clone(), self.dtype());
        let track = self.take_track();
        let marked = Marked { tensor: self, track, shape, dtype };
        update(marked.tensor)?;
        marked.kept()
    }
}

/// The seed of a backward pass: one, for a tensor with one element.
fn seed(y: &Tensor) -> Result<Tensor> {
    if y.numel() != 1 {
        let problem = "has not exactly one element; reduce it (`sum`, `mean`) or use `vjp` with a cotangent";
        return Err(Error::shape("backward", y.shape(), problem));
    }
    Ok(y.untracked().ones_like())
}

fn root(y: &Tensor) -> Result<Arc<Track>> {
    node_of(y, 0).ok_or_else(|| {
        let problem = if y.track().is_some_and(|track| track.level > 0) {
            "the tensor belongs to a `grad`, `jvp` or `vmap` under way; call `backward` outside of it"
        } else {
            "the tensor does not depend on any leaf; make one with `requires_grad`"
        };
        Error::derivative("backward", problem)
    })
}

fn accumulate(y: &Tensor, seed: Tensor, options: Options) -> Result<()> {
    let root = root(y)?;
    sweep(&root, seed, options, |track, gradient| {
        let Some(mut slot) = track.node().and_then(Node::leaf_gradient) else { return Ok(()) };
        *slot = Some(match slot.take() {
            Some(sum) => ops::binary::add_owned(sum, gradient.clone())?,
            None => gradient.clone(),
        });
        Ok(())
    })
}

/// The gradients of the one-element tensor `y` with respect to any tensors of its graph, leaves or intermediate, without
/// touching the leaves' slots. With `record`, the results can be differentiated again. Zeros where there is no influence.
///
/// ```
/// use tove_tensor::{Tensor, grad_of};
/// let x = Tensor::from([2.0]).requires_grad();
/// let y = (&x * &x * &x).sum();
/// let first = grad_of(&y, &[&x], true).unwrap();
/// let second = grad_of(&first[0].sum(), &[&x], false).unwrap();
/// assert_eq!((first[0].item::<f64>(), second[0].item::<f64>()), (12.0, 12.0));
/// ```
pub fn grad_of(y: &Tensor, with_respect_to: &[&Tensor], record: bool) -> Result<Vec<Tensor>> {
    let root = root(y)?;
    let targets: Vec<Option<Arc<Track>>> = with_respect_to.iter().map(|x| node_of(x, 0)).collect();
    if targets.iter().any(Option::is_none) {
        return Err(Error::derivative("grad_of", "a tensor asked for is not part of the tape"));
    }
    let mut found: Vec<Option<Tensor>> = vec![None; targets.len()];
    sweep(&root, seed(y)?, Options { keep: true, record }, |track, gradient| {
        for (target, slot) in targets.iter().zip(&mut found) {
            if target.as_ref().is_some_and(|target| Arc::ptr_eq(target, track)) {
                *slot = Some(gradient.clone());
            }
        }
        Ok(())
    })?;
    let zeros = |x: &Tensor| x.untracked().zeros_like();
    Ok(found.into_iter().zip(with_respect_to).map(|(found, x)| found.unwrap_or_else(|| zeros(x))).collect())
}
