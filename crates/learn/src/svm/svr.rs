//! Kernel support vector regression with an ε-insensitive loss.

use tove_optim::settings::Hyperparameters;

use super::regressor::{Error, FittedSupportRegressor, KernelRegressor, Settings};
use super::settings::{KernelSettings, SolverSettings, kernel_settings_setters, solver_settings_setters};
use crate::kernel::{Gamma, KernelFunction, KernelKind};
use crate::{Algorithm, Capabilities, Result, Samples};

/// Support vector regression: min ½‖w‖² + C Σ wᵢ max(0, |yᵢ − f(xᵢ)| − ε), in the feature space of a kernel.
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
    /// The kernel and its parameters.
    #[hyper(flatten)]
    pub kernel: KernelSettings,
    /// Stop when the violation of the optimality conditions is below this.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Inverse regularization strength: the penalty of errors outside the tube.
    #[hyper(default = 1.0, range = "(0, inf)", alias = "C")]
    pub c: f64,
    /// The epsilon-tube: errors up to this size have no loss.
    #[hyper(default = 0.1, range = "[0, inf)")]
    pub epsilon: f64,
    /// Hyperparameters of the solver.
    #[hyper(flatten)]
    pub solver: SolverSettings,
}

/// A fitted [`Svr`].
pub type FittedSvr = FittedSupportRegressor<Svr>;

impl KernelRegressor for Svr {
    fn settings(&self) -> Settings<'_> {
        let (error, tol, cost) = (Error::Tube(self.epsilon), self.tol, self.c);
        Settings { kernel: &self.kernel, solver: &self.solver, tol, cost, error }
    }
}

impl Svr {
    /// Fits with a user-defined kernel instead of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedSvr> {
        FittedSupportRegressor::fit_with(self, kernel, samples)
    }
}

impl Algorithm for Svr {
    type Fitted = FittedSvr;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, accuracy: 5e-3, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedSvr> {
        FittedSupportRegressor::fit(self, samples)
    }
}
