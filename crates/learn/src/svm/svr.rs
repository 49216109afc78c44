//! Regression with kernels and a tube of width ε in which errors cost nothing.

use tove_optim::settings::Hyperparameters;

use super::regressor::{FittedSupportRegressor, KernelRegressor};
use crate::kernel::{Gamma, KernelFunction, KernelKind};
use crate::{Abilities, Fit, Result, Samples, Task};

/// Support vector regression: min ½‖w‖² + C Σ wᵢ max(0, |yᵢ − f(xᵢ)| − ε), in the space of a kernel.
///
/// ```
/// use tove_learn::{Fit, Predict, KernelKind, svm::Svr};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([0.0, 1.0, 2.0]));
/// let model = Svr::default().kernel(KernelKind::Linear).epsilon(0.1).c(10.0).tol(1e-6).fit(&x, &y)?;
/// // The flattest line within 0.1 of the points.
/// assert!((model.predict(&Tensor::from([[2.0]]))?.item::<f64>() - 1.9).abs() < 1e-4);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "SVR")]
pub struct Svr {
    /// The kernel.
    #[hyper(default = KernelKind::Rbf)]
    pub kernel: KernelKind,
    /// Degree of the polynomial kernel.
    #[hyper(default = 3, range = "[0, 64]")]
    pub degree: usize,
    /// γ of the kernel: scale, auto or a number.
    #[hyper(default = Gamma::Scale, range = "[0, inf)")]
    pub gamma: Gamma,
    /// c₀ of the polynomial and the sigmoid kernel.
    #[hyper(default = 0.0)]
    pub coef0: f64,
    /// The violation of optimality at which to stop.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Cost of an error beyond the tube.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub c: f64,
    /// Half the width of the tube.
    #[hyper(default = 0.1, range = "[0, inf)")]
    pub epsilon: f64,
    /// Whether samples that seem settled are set aside during the fit.
    #[hyper(default = true)]
    pub shrinking: bool,
    /// Memory for kernel values in megabytes.
    #[hyper(default = 200.0, range = "(0, inf)")]
    pub cache_size: f64,
    /// Steps at most; ten million or 100 n without it.
    #[hyper(default = None, range = "[1, inf)")]
    pub max_iter: Option<usize>,
}

/// A fitted [`Svr`].
pub type FittedSvr = FittedSupportRegressor<Svr>;

impl KernelRegressor for Svr {
    fn as_svr(&self) -> Svr {
        self.clone()
    }
}

impl Svr {
    /// Fits with a kernel of the user's own in place of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedSvr> {
        FittedSupportRegressor::fit_with(self, kernel, samples)
    }
}

impl Fit for Svr {
    type Fitted = FittedSvr;
    const NAME: &'static str = "SVR";
    const TASK: Task = Task::Regression;
    const ABILITIES: Abilities = Abilities { weights: true, accuracy: 5e-3, ..Abilities::PLAIN };

    fn fit_samples(&self, samples: &Samples) -> Result<FittedSvr> {
        FittedSupportRegressor::fit(self, samples)
    }
}
