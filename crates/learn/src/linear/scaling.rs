//! Least squares with different scalings of the objective.
//!
//! Textbooks write the same minimum with different factors, and a step size or penalty is only meaningful together with
//! them. [`LeastSquares`] is the objective with its gradient; [`Scaling::alpha`] converts a penalty between
//! conventions.

use tove_optim::Objective;
use tove_optim::settings::Choice;
use tove_tensor::{Tensor, TryOps, TryUnary};

use crate::{LearnError, Result};

/// The factors of the squared error and of the penalty λ‖w‖².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Scaling {
    /// (1/n) ‖y − Xw‖² + λ ‖w‖², with gradient (2/n) Xᵀ(Xw − y) + 2λw.
    #[default]
    Mean,
    /// (1/2n) ‖y − Xw‖² + λ ‖w‖², with gradient (1/n) Xᵀ(Xw − y) + 2λw.
    HalfMean,
    /// (1/2) ‖y − Xw‖² + (λ/2) ‖w‖², with gradient Xᵀ(Xw − y) + λw; the minimum is (XᵀX + λI)⁻¹ Xᵀy.
    Half,
}

impl Scaling {
    /// The factor of ‖y − Xw‖² for n samples.
    pub fn of_error(self, n: usize) -> f64 {
        match self {
            Scaling::Mean => 1.0 / n as f64,
            Scaling::HalfMean => 0.5 / n as f64,
            Scaling::Half => 0.5,
        }
    }

    /// The factor of λ‖w‖².
    pub fn of_penalty(self) -> f64 {
        match self {
            Scaling::Half => 0.5,
            _ => 1.0,
        }
    }

    /// The `alpha` of [`Ridge`](super::Ridge), that is the λ' of (XᵀX + λ'I)⁻¹ Xᵀy, for a λ under this scaling: the
    /// ratio of the two factors. It is nλ for the mean, 2nλ for half the mean, λ for half the sum.
    ///
    /// ```
    /// use tove_learn::linear::Scaling;
    /// assert_eq!((Scaling::Mean.alpha(0.5, 10), Scaling::HalfMean.alpha(0.5, 10), Scaling::Half.alpha(0.5, 10)), (5.0, 10.0, 0.5));
    /// ```
    pub fn alpha(self, lambda: f64, n: usize) -> f64 {
        lambda * self.of_penalty() / self.of_error(n)
    }

    /// The λ under this scaling for an `alpha` of [`Ridge`](super::Ridge); the inverse of [`Scaling::alpha`].
    pub fn lambda(self, alpha: f64, n: usize) -> f64 {
        alpha * self.of_error(n) / self.of_penalty()
    }
}

/// The objective a ‖y − Xw − 1b‖² + c λ ‖w‖² with the factors of a [`Scaling`]; the point is (w, b), or w alone.
///
/// ```
/// use tove_learn::linear::{LeastSquares, Scaling};
/// use tove_optim::Objective;
/// use tove_tensor::Tensor;
/// let f = LeastSquares::new(&Tensor::from([[1.0], [2.0]]), &Tensor::from([1.0, 3.0]), Scaling::Mean, false)?;
/// assert_eq!(f.value(&Tensor::from([1.0]))?, 0.5);
/// assert_eq!(f.gradient(&Tensor::from([1.0]))?.to_vec::<f64>(), [-2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LeastSquares {
    x: Tensor,
    y: Tensor,
    scaling: Scaling,
    intercept: bool,
    penalty: f64,
}

impl LeastSquares {
    /// Creates the objective for features (n, d) and targets (n), optionally with an intercept as the last entry of the
    /// point.
    pub fn new(x: &Tensor, y: &Tensor, scaling: Scaling, intercept: bool) -> Result<LeastSquares> {
        if x.rank() != 2 || y.dims() != &x.dims()[..1] || y.numel() == 0 {
            let problem =
                format!("features of shape {} and targets of shape {}; give (n, d) and (n)", x.shape(), y.shape());
            return Err(LearnError::parameter("LeastSquares", problem));
        }
        Ok(LeastSquares { x: x.detach(), y: y.detach(), scaling, intercept, penalty: 0.0 })
    }

    /// Adds a penalty λ on w; the intercept is not penalized.
    pub fn penalised(self, lambda: f64) -> LeastSquares {
        LeastSquares { penalty: lambda, ..self }
    }

    /// The scaling in use.
    pub fn scaling(&self) -> Scaling {
        self.scaling
    }

    fn parts(&self, point: &Tensor) -> tove_tensor::Result<(Tensor, Tensor)> {
        let d = self.x.dims()[1];
        let w = point.try_narrow(0, 0, d)?;
        let product = self.x.try_matmul(&w)?;
        let predicted = if self.intercept { product.try_add(&point.try_narrow(0, d, 1)?)? } else { product };
        Ok((w, predicted.try_sub(&self.y)?))
    }

    /// The gradient in closed form: 2a Xᵀ(Xw + 1b − y) + 2cλ w, and 2a Σ(Xw + 1b − y) for the intercept.
    pub fn closed_gradient(&self, point: &Tensor) -> Result<Tensor> {
        let (w, residual) = self.parts(&point.detach())?;
        let error = Tensor::scalar(2.0 * self.scaling.of_error(self.y.numel())).to_dtype(w.dtype());
        let penalty = Tensor::scalar(2.0 * self.scaling.of_penalty() * self.penalty).to_dtype(w.dtype());
        let by_w = self.x.try_t()?.try_matmul(&residual)?.try_mul(&error)?.try_add(&w.try_mul(&penalty)?)?;
        if !self.intercept {
            return Ok(by_w);
        }
        let by_b = residual.try_sum()?.try_mul(&error)?.try_reshape([1])?;
        Ok(Tensor::try_concat(&[&by_w, &by_b], 0)?)
    }
}

impl Objective for LeastSquares {
    fn evaluate(&self, point: &Tensor) -> tove_tensor::Result<Tensor> {
        let (w, residual) = self.parts(point)?;
        let error = Tensor::scalar(self.scaling.of_error(self.y.numel())).to_dtype(self.x.dtype());
        let value = residual.try_square()?.try_sum()?.try_mul(&error)?;
        if self.penalty == 0.0 {
            return Ok(value);
        }
        let penalty = Tensor::scalar(self.scaling.of_penalty() * self.penalty).to_dtype(self.x.dtype());
        value.try_add(&w.try_square()?.try_sum()?.try_mul(&penalty)?)
    }
}
