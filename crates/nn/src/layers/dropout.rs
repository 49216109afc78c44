//! Dropout (Srivastava et al. 2014): while training, units are left out at random.
//!
//! With keep probability q = 1 − p and mask m, the inverted kind gives m x / q in training and x in evaluation; the
//! original kind gives m x in training and q x in evaluation, which is the same as scaling the weights behind it (and not
//! their bias). The expectation is equal in both phases, for both kinds.

use tove_tensor::{Tensor, TryNorm, TryOps};

use super::Layer;
use crate::{Error, LayerReport, Module, Pass, Result, Walk, WalkMut};

/// When the outputs are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DropoutScaling {
    /// By 1/q in training (the inverted kind, PyTorch's).
    #[default]
    Training,
    /// By q in evaluation (the original kind).
    TrainingPoint,
}

/// Zeroes elements at random while training.
///
/// ```
/// use tove_nn::{Dropout, Layer, Pass};
/// use tove_tensor::{DType, Key, Tensor};
/// let (x, train) = (Tensor::ones([6], DType::F32), Pass::train(Key::new(1)));
/// let y = Dropout::original(0.25).forward(&x, &train)?;
/// assert!(y.to_vec::<f32>().iter().all(|&y| y == 0.0 || y == 1.0));
/// assert_eq!(Dropout::original(0.25).forward(&x, &Pass::eval())?.to_vec::<f32>(), [0.75; 6]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
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
        Dropout { p, scaling: DropoutScaling::TrainingPoint }
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
        if !(0.0..=1.0).contains(&self.p) {
            return Err(Error::setting("Dropout", "p", format!("is {}; a probability lies in [0, 1]", self.p)));
        }
        let keep = 1.0 - self.p;
        let y = match (self.scaling, pass.is_training()) {
            _ if self.p == 0.0 => x.clone(),
            (DropoutScaling::Training, true) => x.try_dropout(self.p, pass.next_key())?,
            (DropoutScaling::Training, false) => x.clone(),
            (DropoutScaling::TrainingPoint, true) => {
                let kept = pass.next_key().try_bernoulli(keep, x.shape().clone())?;
                x.try_mul(&kept.try_to_dtype(x.dtype())?)?
            }
            (DropoutScaling::TrainingPoint, false) => x * keep,
        };
        pass.tell(self, x, &y, LayerReport::default);
        Ok(y)
    }
}
