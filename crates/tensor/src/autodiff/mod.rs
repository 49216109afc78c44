//! Automatic differentiation: one machinery under a functional face (as in JAX) and a tape face (as in PyTorch).
//!
//! # Levels
//!
//! A transformation (`grad`, `jvp`, `vmap`, …) opens a *level* with a number larger than that of any transformation
//! around it, and marks its inputs with a mark of that level. A tensor's marks form a list, innermost
//! transformation first; the data are shared by all of them. An operation takes the highest level among its inputs,
//! removes that mark, applies itself to what remains (the *primals*), and marks the result again: with a node of the
//! recorded graph, with a tangent, or with the position of the batch axis. Since the rules for all three are written in
//! tensor operations on the primals, which may carry marks of lower levels, derivatives nest in any order without
//! perturbation confusion. Level 0 is the tape face.

mod apply;
mod backward;
mod checkpoint;
mod custom;
mod dot;
mod functional;
mod gradcheck;
mod node;
mod numeric;
mod partial;
mod tape;
mod trace;
mod tree;
mod vmap;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Tensor;

pub(crate) use apply::apply;
pub use checkpoint::{Chain, KeptChain, checkpoint};
pub use custom::CustomOp;
pub(crate) use functional::try_vjp;
pub use functional::{
    grad, hessian, hvp, jacfwd, jacobian, jacrev, jvp, linearize, per_sample_grad, value_and_grad, vjp,
};
pub use gradcheck::{CheckError, GradCheck, Mismatch, gradcheck};
pub use node::Point;
pub(crate) use node::{Grads, Node, Saves, check_like};
pub use numeric::{Numerical, Scheme, numerical_jacobian, try_numerical_jacobian};
pub(crate) use partial::{partial_jvp, partial_vjp};
pub use tape::{grad_of, no_grad};
pub(crate) use trace::depends_on;
pub use trace::{Source, Trace, TraceStep};
pub use tree::Tree;
pub use vmap::vmap;

/// Number of a transformation under way; 0 is the tape face.
pub(crate) type Level = u64;

/// A mark that one level has put on a tensor.
pub(crate) struct Track {
    pub(crate) level: Level,
    /// The marks of lower levels.
    pub(crate) inner: Option<Arc<Track>>,
    pub(crate) kind: Kind,
}

/// What a level does with its tensors.
#[allow(clippy::large_enum_variant, reason = "marks are behind a counted reference, one allocation each")]
pub(crate) enum Kind {
    /// Reverse mode: a node of the recorded graph.
    Taped(Node),
    /// Forward mode: the derivative in the chosen direction.
    Dual(Tensor),
    /// Vectorisation: the logical tensor is the first slice of a physical one with a further axis in front.
    Batched { size: usize, stride: isize },
}

/// A number above that of every transformation that could be around this one.
pub(crate) fn new_level() -> Level {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Track {
    /// Whether a `vmap` level is among the marks.
    pub(crate) fn is_batched(&self) -> bool {
        matches!(self.kind, Kind::Batched { .. }) || self.inner.as_ref().is_some_and(|inner| inner.is_batched())
    }

    pub(crate) fn node(&self) -> Option<&Node> {
        match &self.kind {
            Kind::Taped(node) => Some(node),
            _ => None,
        }
    }
}

impl Tensor {
    /// The tensor as the levels below its highest mark see it.
    pub(crate) fn lower(&self) -> Tensor {
        match self.track() {
            None => self.clone(),
            Some(track) => match track.kind {
                Kind::Batched { size, stride } => self.with_leading_axis(size, stride),
                _ => self.untracked(),
            }
            .with_track(track.inner.clone()),
        }
    }

    /// The tensor as the levels below `level` see it.
    pub(crate) fn below(&self, level: Level) -> Tensor {
        match self.track() {
            Some(track) if track.level >= level => self.lower().below(level),
            _ => self.clone(),
        }
    }

    /// This tensor's mark of exactly this level, which must be its highest.
    pub(crate) fn track_at(&self, level: Level) -> Option<&Arc<Track>> {
        self.track().filter(|track| track.level == level)
    }

    #[inline]
    pub(crate) fn is_batched(&self) -> bool {
        self.track().is_some_and(|track| track.is_batched())
    }

    /// Marks the tensor for a higher level than those it carries.
    pub(crate) fn marked(self, level: Level, kind: Kind) -> Tensor {
        debug_assert!(self.track().is_none_or(|track| track.level < level));
        let inner = self.track().cloned();
        self.with_track(Some(Arc::new(Track { level, inner, kind })))
    }

    /// The same values, cut off from every derivative.
    ///
    /// ```
    /// use tove_tensor::{Tensor, grad};
    /// let slope = grad(|x: &Tensor| (x * &x.detach()).sum());
    /// assert_eq!(slope(&Tensor::from([3.0])).to_vec::<f64>(), [3.0]);
    /// ```
    pub fn detach(&self) -> Tensor {
        fn strip(track: &Arc<Track>) -> Option<Arc<Track>> {
            let inner = track.inner.as_ref().and_then(strip);
            match track.kind {
                Kind::Batched { size, stride } => {
                    let kind = Kind::Batched { size, stride };
                    Some(Arc::new(Track { level: track.level, inner, kind }))
                }
                _ => inner,
            }
        }
        if let Some(cut) = trace::detached(self) {
            return cut;
        }
        self.untracked().with_track(self.track().and_then(strip))
    }
}
