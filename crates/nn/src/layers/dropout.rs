//! Dropout (Srivastava et al. 2014): while training, units are left out at random.
//!
//! With keep probability q = 1 − p and mask m, the inverted kind gives m x / q in training and x in evaluation; the
//! original kind gives m x in training and q x in evaluation, which is the same as scaling the weights behind it (and not
//! their bias). The expectation is equal in both phases, for both kinds.

use tove_tensor::{DType, Tensor, TryNorm};

use super::Layer;
use crate::{LayerReport, Module, Pass, Result, Walk, WalkMut};

/// When the outputs are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropoutScaling {
    /// By 1/q in training (the inverted kind, PyTorch's).
    #[default]
    Training,
    /// By q in evaluation (the original kind).
    Evaluation,
}

/// Zeroes elements at random while training.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// Probability of an element to be zeroed, as in PyTorch.
    pub p: f64,
    /// When the outputs are scaled.
    pub scaling: DropoutScaling,
}

impl Dropout {
    /// The inverted kind, dropping with probability `p`.
    pub fn new(p: f64) -> Dropout {
        Dropout { p, scaling: DropoutScaling::Training }
    }

    /// The original kind, dropping with probability `p`.
    pub fn original(p: f64) -> Dropout {
        Dropout { p, scaling: DropoutScaling::Evaluation }
    }
}

impl Module for Dropout {
    fn kind(&self) -> &'static str {
        "Dropout"
    }

    fn parts<'m>(&'m self, _: &mut dyn Walk<'m>) {}

    fn parts_mut<'m>(&'m mut self, _: &mut dyn WalkMut<'m>) {}
}

impl Layer for Dropout {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let keep = 1.0 - self.p;
        let y = match (self.scaling, pass.is_training()) {
            _ if self.p == 0.0 => x.clone(),
            (DropoutScaling::Training, true) => x.try_dropout(self.p, pass.next_key())?,
            (DropoutScaling::Training, false) => x.clone(),
            (DropoutScaling::Evaluation, true) => {
                let kept = pass.next_key().try_bernoulli(keep, x.shape().clone())?;
                x * kept.to_dtype(if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 })
            }
            (DropoutScaling::Evaluation, false) => x * keep,
        };
        pass.tell(self, x, &y, LayerReport::default);
        Ok(y)
    }
}
