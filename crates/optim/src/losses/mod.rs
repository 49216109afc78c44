//! Losses: a number for how far a prediction is from its target, lower meaning better.
//!
//! | loss | formula per sample | targets |
//! |---|---|---|
//! | [`Squared`] | (ŷ − y)² | numbers |
//! | [`Absolute`] | ∣ŷ − y∣ | numbers |
//! | [`Huber`] | e²/2 for ∣e∣ ≤ δ, δ(∣e∣ − δ/2) beyond | numbers |
//! | [`Hinge`] | max(0, 1 − yŷ) | −1, +1 |
//! | [`Logistic`] | ln(1 + e^(−yŷ)) | −1, +1 |
//! | [`Exponential`] | e^(−yŷ) | −1, +1 |
//! | [`CrossEntropy`] | −Σ y ln p, from probabilities | classes or distributions |
//! | [`Softmax`] | LSE(a) − a_y, from scores | classes or distributions |
//! | [`BinaryCrossEntropy`] | −y ln p − (1−y) ln(1−p), from probabilities | 0 … 1 |
//! | [`BinaryLogits`] | the same with p = σ(z), from logits | 0 … 1 |
//! | [`ZeroOne`] | 1 if sign(ŷ) ≠ y | −1, +1; cannot be trained on |
//! | [`Margin`] | yŷ, a score, higher is better | −1, +1; cannot be trained on |
//!
//! A loss is differentiable at least almost everywhere. At kinks the engine's derivative is a subgradient: 0 for ∣e∣ at 0 and
//! for the hinge at margin 1. Predictions and targets must have equal shapes; (n) against (n, 1) is refused, since it would
//! stretch to (n, n) in silence.
//!
//! ```
//! use tove_optim::losses::{Huber, Loss};
//! use tove_tensor::Tensor;
//! let loss = Huber::default().mean(&Tensor::from([0.5, 2.0]), &Tensor::from([0.0, 0.0]))?;
//! assert_eq!(loss.item::<f64>(), (0.125 + 1.5) / 2.0);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

mod entropy;
mod margin;
mod regression;

pub use entropy::{BinaryCrossEntropy, BinaryLogits, CrossEntropy, Smoothing, Softmax, smooth_targets};
pub use margin::{Exponential, Hinge, Logistic, Margin, ZeroOne, margins};
pub use regression::{Absolute, Huber, Squared};

use tove_tensor::{Reduction, Result, Tensor, TryOps};

use crate::fault;

/// The prediction at which a loss is smallest, or why there is none.
#[derive(Clone, Debug)]
pub enum Perfect {
    /// This prediction.
    At(Tensor),
    /// None, for this reason.
    Never(&'static str),
}

/// A map from prediction and target to a number, lower meaning better.
pub trait Loss {
    /// The name used in messages.
    fn name(&self) -> &'static str;

    /// The loss of every sample, unreduced.
    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor>;

    /// Where the loss is smallest for this target; `like` is any prediction of the right shape.
    fn perfect(&self, like: &Tensor, target: &Tensor) -> Result<Perfect>;

    /// An error if the loss cannot be trained on, with the reason and what to take instead.
    fn trainable(&self) -> Result<()> {
        Ok(())
    }

    /// How much each sample counts in a mean, where that follows from its target (class weights); [`Loss::each`] contains these
    /// weights already.
    fn counts(&self, _target: &Tensor) -> Result<Option<Tensor>> {
        Ok(None)
    }

    /// The mean over all samples: Σ l / Σ c with the counts c that follow from the targets, 1 if there are none. Rank 0.
    fn mean(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        let losses = self.each(prediction, target)?;
        match self.counts(target)? {
            None => losses.try_mean(),
            Some(counts) => losses.try_sum()?.try_div(&counts.try_sum()?),
        }
    }

    /// The mean, the sum, or all losses one by one.
    fn reduced(&self, prediction: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
        match reduction {
            Reduction::Mean => self.mean(prediction, target),
            Reduction::Sum => self.each(prediction, target)?.try_sum(),
            Reduction::None => self.each(prediction, target),
        }
    }

    /// Σ w l / Σ w c with a weight w per sample. A weight of 2 counts as two copies.
    fn weighted(&self, prediction: &Tensor, target: &Tensor, weights: &Tensor) -> Result<Tensor> {
        let losses = self.each(prediction, target)?;
        fault::alike(self.name(), &losses, weights, "give one weight per loss")?;
        let total = match self.counts(target)? {
            None => weights.try_sum()?,
            Some(counts) => weights.try_mul(&counts)?.try_sum()?,
        };
        losses.try_mul(weights)?.try_sum()?.try_div(&total)
    }
}

/// Prediction and target must agree in shape and type.
fn paired(op: &'static str, prediction: &Tensor, target: &Tensor) -> Result<()> {
    fault::float(op, prediction)?;
    fault::alike(op, prediction, target, "prediction and target must have one shape; `reshape` one of them")
}
