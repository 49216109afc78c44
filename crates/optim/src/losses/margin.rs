//! Losses of two classes y = ±1 as functions of the margin m = yŷ.
//!
//! The 0/1 loss is a step at m = 0, without a useful slope. Decreasing convex functions replace it: hinge, logistic and
//! exponential. Hinge and exponential bound it from above, and so does the logistic divided by ln 2.

use tove_tensor::{DType, Result, Tensor, TryOps, TryUnary};

use super::{Loss, Perfect, paired};
use crate::fault;

/// Targets must be −1 or +1; the classes 0 and 1 are the usual mistake.
fn signs(op: &'static str, target: &Tensor) -> Result<()> {
    let is_sign = |y: f64| y == 1.0 || y == -1.0;
    let all = match (target.dtype(), target.is_tracked()) {
        // Values of a batched or recorded tensor are not to be read.
        (_, true) => true,
        (DType::F32, _) => match target.as_slice::<f32>() {
            Ok(values) => values.iter().all(|&y| is_sign(f64::from(y))),
            Err(_) => target.to_f64_vec().into_iter().all(is_sign),
        },
        _ => match target.as_slice::<f64>() {
            Ok(values) => values.iter().all(|&y| is_sign(y)),
            Err(_) => target.to_f64_vec().into_iter().all(is_sign),
        },
    };
    if all {
        return Ok(());
    }
    Err(fault::parameter(op, "target", "must hold −1 and +1 only; map classes 0 and 1 with `y * 2 − 1`"))
}

/// yŷ: positive for a right and negative for a wrong prediction. Differentiable; a score, not a loss.
///
/// ```
/// use tove_optim::losses::margins;
/// use tove_tensor::Tensor;
/// assert_eq!(margins(&Tensor::from([2.0, 3.0]), &Tensor::from([1.0, -1.0]))?.to_vec::<f64>(), [2.0, -3.0]);
/// # Ok::<(), tove_tensor::Error>(())
/// ```
pub fn margins(prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
    paired("margin", prediction, target)?;
    signs("margin", target)?;
    prediction.try_mul(target)
}

/// Declares a surrogate: its documentation and example, the function of the margin, and where it is smallest.
macro_rules! surrogate {
    ($(#[$doc:meta])* $Name:ident $name:literal |$m:ident| $body:expr, $perfect:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $Name;

        impl Loss for $Name {
            fn name(&self) -> &'static str {
                $name
            }

            fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
                let $m = margins(prediction, target)?;
                $body
            }

            fn perfect(&self, _like: &Tensor, target: &Tensor) -> Result<Perfect> {
                let perfect: fn(&Tensor) -> Perfect = $perfect;
                Ok(perfect(target))
            }
        }
    };
}

const NEVER: &str = "it falls for ever as the margin grows, towards 0, which no finite prediction reaches";

surrogate! {
    /// max(0, 1 − yŷ), the loss of support vector machines. It has a kink at margin 1, where every number between −y and 0 is a
    /// subgradient; the engine gives 0.
    ///
    /// ```
    /// use tove_optim::losses::{Hinge, Loss};
    /// use tove_tensor::Tensor;
    /// let each = Hinge.each(&Tensor::from([2.0, 0.5, -1.0]), &Tensor::from([1.0, 1.0, 1.0]))?;
    /// assert_eq!(each.to_vec::<f64>(), [0.0, 0.5, 2.0]);
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    Hinge "hinge" |m| (1.0 - m).try_relu(), |target| Perfect::At(target.detach())
}

surrogate! {
    /// ln(1 + e^(−yŷ)), the loss of logistic regression; the same as [`BinaryLogits`](super::BinaryLogits) with targets 0 and 1.
    ///
    /// ```
    /// use tove_optim::losses::{Logistic, Loss};
    /// use tove_tensor::Tensor;
    /// assert_eq!(Logistic.mean(&Tensor::from([0.0]), &Tensor::from([1.0]))?.item::<f64>(), 2f64.ln());
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    Logistic "logistic" |m| (-m).try_softplus(), |_| Perfect::Never(NEVER)
}

surrogate! {
    /// e^(−yŷ), the loss of boosting. Wrong predictions count without bound, so it suffers from mislabelled samples.
    ///
    /// ```
    /// use tove_optim::losses::{Exponential, Loss};
    /// use tove_tensor::Tensor;
    /// assert_eq!(Exponential.mean(&Tensor::from([0.0]), &Tensor::from([1.0]))?.item::<f64>(), 1.0);
    /// # Ok::<(), tove_tensor::Error>(())
    /// ```
    Exponential "exponential" |m| (-m).try_exp(), |_| Perfect::Never(NEVER)
}

/// An error for a prediction that carries a derivative.
fn refuse_tracked(loss: &dyn Loss, prediction: &Tensor) -> Result<()> {
    if prediction.is_tracked() { loss.trainable() } else { Ok(()) }
}

/// 0 if sign(ŷ) = y, else 1; its mean is 1 − accuracy. sign(0) = 0, as in numpy: a prediction of exactly 0 takes no side and
/// counts as wrong for both classes.
///
/// Its slope is 0 wherever it is defined, so nothing can be learned from it: a prediction that carries a derivative is refused.
///
/// ```
/// use tove_optim::losses::{ZeroOne, Loss};
/// use tove_tensor::Tensor;
/// let y = Tensor::from([1.0, 1.0, -1.0, 1.0]);
/// assert_eq!(ZeroOne.mean(&Tensor::from([0.3, -2.0, -1.0, 0.0]), &y)?.item::<f64>(), 0.5);
/// assert!(ZeroOne.trainable().is_err());
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct ZeroOne;

impl Loss for ZeroOne {
    fn name(&self) -> &'static str {
        "zero_one"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        refuse_tracked(self, prediction)?;
        margins(prediction, target)?;
        prediction.try_sign()?.try_ne(target)?.try_to_dtype(prediction.dtype())
    }

    fn perfect(&self, _like: &Tensor, target: &Tensor) -> Result<Perfect> {
        Ok(Perfect::At(target.detach()))
    }

    fn trainable(&self) -> Result<()> {
        let problem = "its slope is 0 wherever it is defined, so training would not move; train on Hinge, Logistic or \
                       Exponential, which bound it, and report this one";
        Err(fault::derivative(self.name(), problem))
    }
}

/// yŷ as a score: higher is better. Minimising it would favour wrong answers, so it is refused for training.
///
/// ```
/// use tove_optim::losses::{Margin, Loss};
/// use tove_tensor::Tensor;
/// assert_eq!(Margin.mean(&Tensor::from([2.0]), &Tensor::from([-1.0]))?.item::<f64>(), -2.0);
/// assert!(Margin.trainable().is_err());
/// # Ok::<(), tove_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Margin;

impl Loss for Margin {
    fn name(&self) -> &'static str {
        "margin"
    }

    fn each(&self, prediction: &Tensor, target: &Tensor) -> Result<Tensor> {
        refuse_tracked(self, prediction)?;
        margins(prediction, target)
    }

    fn perfect(&self, _like: &Tensor, _target: &Tensor) -> Result<Perfect> {
        Ok(Perfect::Never("it is a score, not a loss: it grows with the correctness of a prediction, without bound"))
    }

    fn trainable(&self) -> Result<()> {
        let problem = "it is a score, higher meaning better: minimising it favours wrong answers; train on a loss that \
                       decreases in it, such as Hinge or Logistic";
        Err(fault::derivative(self.name(), problem))
    }
}
