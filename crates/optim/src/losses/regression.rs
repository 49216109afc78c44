//! Losses of numbers: functions of the error e = ŷ − y.

use tove_tensor::{Reduction, Result, Tensor, TryOps, TryReduce, TryUnary};

use super::{Loss, Perfect, paired};
use crate::fault;

/// (ŷ − y)², with gradient 2(ŷ − y). The best constant prediction is the mean. A single far-off target can dominate it.
///
/// ```
/// use tove_optim::losses::{Squared, Loss};
/// use tove_tensor::Tensor;
/// assert_eq!(Squared.mean(&Tensor::from([1.0, 3.0]), &Tensor::from([0.0, 0.0]))?.item::<f64>(), 5.0);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Squared;

impl Loss for Squared {
    fn name(&self) -> &'static str {
        "squared"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        paired(self.name(), prediction, target)?;
        prediction.try_sub(target)?.try_square()
    }

    fn mean(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        paired(self.name(), prediction, target)?;
        prediction.try_mse_loss(target, Reduction::Mean) // one pass over the data
    }

    fn perfect(&self, _like: &Tensor, target: &Tensor) -> Result<Perfect> {
        Ok(Perfect::At(target.detach()))
    }
}

/// |ŷ − y|, with subgradient sign(ŷ − y); at 0 any number of [−1, 1] is one, and the engine gives 0. The best constant
/// prediction is a median.
///
/// ```
/// use tove_optim::losses::{Absolute, Loss};
/// use tove_tensor::Tensor;
/// assert_eq!(Absolute.mean(&Tensor::from([1.0, -3.0]), &Tensor::from([0.0, 0.0]))?.item::<f64>(), 2.0);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Absolute;

impl Loss for Absolute {
    fn name(&self) -> &'static str {
        "absolute"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        paired(self.name(), prediction, target)?;
        prediction.try_sub(target)?.try_abs()
    }

    fn perfect(&self, _like: &Tensor, target: &Tensor) -> Result<Perfect> {
        Ok(Perfect::At(target.detach()))
    }
}

/// e²/2 for |e| ≤ δ and δ(|e| − δ/2) beyond: quadratic near 0, linear far away, with continuous value and slope.
///
/// ```
/// use tove_optim::losses::{Huber, Loss};
/// use tove_tensor::Tensor;
/// let each = Huber::default().each(&Tensor::from([0.5, 2.0]), &Tensor::from([0.0, 0.0]))?;
/// assert_eq!(each.to_vec::<f64>(), [0.125, 1.5]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Huber {
    /// δ, where the line begins; positive.
    pub delta: f64,
}

impl Default for Huber {
    fn default() -> Huber {
        Huber { delta: 1.0 }
    }
}

impl Loss for Huber {
    fn name(&self) -> &'static str {
        "huber"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        paired(self.name(), prediction, target)?;
        fault::positive(self.name(), "delta", self.delta)?;
        let error = prediction.try_sub(target)?;
        let size = error.try_abs()?;
        let inside = size.try_le_scalar(self.delta)?;
        let square = fault::scaled(&error.try_square()?, 0.5)?;
        let line = fault::scaled(&(size - self.delta / 2.0), self.delta)?;
        inside.try_select(&square, &line)
    }

    fn perfect(&self, _like: &Tensor, target: &Tensor) -> Result<Perfect> {
        Ok(Perfect::At(target.detach()))
    }
}
