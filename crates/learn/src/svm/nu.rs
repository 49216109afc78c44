//! Machines with ν in place of C or ε.
//!
//! ν bounds the share of margin errors from above and that of support vectors from below, which is easier to choose than a cost.
//! [`NuSvc`] has the solutions of [`Svc`](super::Svc) for some C, [`NuSvr`] those of [`Svr`](super::Svr) for some ε.

use tove_optim::settings::Hyperparameters;

use super::classifier::{FittedSupportClassifier, KernelClassifier};
use super::regressor::{FittedSupportRegressor, KernelRegressor};
use super::svc::{DecisionShape, Svc};
use super::svr::Svr;
use crate::kernel::{Gamma, KernelFunction, KernelKind};
use crate::{Abilities, ClassWeight, Fit, Result, Samples, Task};

/// Support vector classification with a share ν of margin errors.
///
/// ```
/// use tove_learn::{Fit, Predict, svm::NuSvc};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [3.0], [4.0]]), Tensor::from([0i64, 0, 1, 1]));
/// let model = NuSvc::default().fit(&x, &y)?;
/// assert_eq!(model.predict(&x)?.to_vec::<i64>(), [0, 0, 1, 1]);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "NuSVC")]
pub struct NuSvc {
    /// Bound of the share of margin errors, and least share of support vectors.
    #[hyper(default = 0.5, range = "(0, 1]")]
    pub nu: f64,
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
    /// Whether probabilities are fitted too, by five more fits per pair.
    #[hyper(default = false)]
    pub probability: bool,
    /// The violation of optimality at which to stop.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Memory for kernel values in megabytes.
    #[hyper(default = 200.0, range = "(0, inf)")]
    pub cache_size: f64,
    /// Steps at most for a pair; ten million or 100 n without it.
    #[hyper(default = None, range = "[1, inf)")]
    pub max_iter: Option<usize>,
    /// Scores per class or per pair.
    #[hyper(default = DecisionShape::Ovr)]
    pub decision_function_shape: DecisionShape,
    /// Whether equal votes are decided by the decision values; else the first class wins.
    #[hyper(default = false)]
    pub break_ties: bool,
    /// Seed of the cross-validation behind the probabilities.
    #[hyper(default = 0)]
    pub random_state: u64,
}

/// A fitted [`NuSvc`].
pub type FittedNuSvc = FittedSupportClassifier<NuSvc>;

impl KernelClassifier for NuSvc {
    fn as_svc(&self) -> Svc {
        Svc {
            c: 1.0,
            kernel: self.kernel,
            degree: self.degree,
            gamma: self.gamma,
            coef0: self.coef0,
            shrinking: false,
            probability: self.probability,
            tol: self.tol,
            cache_size: self.cache_size,
            class_weight: ClassWeight::None,
            max_iter: self.max_iter,
            decision_function_shape: self.decision_function_shape,
            break_ties: self.break_ties,
            random_state: self.random_state,
        }
    }

    fn nu(&self) -> Option<f64> {
        Some(self.nu)
    }
}

impl NuSvc {
    /// Fits with a kernel of the user's own in place of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedNuSvc> {
        FittedSupportClassifier::fit_with(self, kernel, samples)
    }
}

impl Fit for NuSvc {
    type Fitted = FittedNuSvc;
    const NAME: &'static str = "NuSVC";
    const TASK: Task = Task::Classification;
    const ABILITIES: Abilities = Abilities { weights: true, several: true, accuracy: 5e-3, ..Abilities::PLAIN };

    fn fit_samples(&self, samples: &Samples) -> Result<FittedNuSvc> {
        FittedSupportClassifier::fit(self, samples)
    }
}

/// Support vector regression with a tube that leaves at most a share ν of the samples outside.
///
/// ```
/// use tove_learn::{Fit, KernelKind, Predict, svm::NuSvr};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [2.0], [3.0]]), Tensor::from([0.0, 1.0, 2.0, 3.0]));
/// let model = NuSvr::default().kernel(KernelKind::Linear).c(100.0).tol(1e-6).fit(&x, &y)?;
/// assert!((model.predict(&Tensor::from([[4.0]]))?.item::<f64>() - 4.0).abs() < 1e-3);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "NuSVR")]
pub struct NuSvr {
    /// Bound of the share of samples outside the tube, and least share of support vectors.
    #[hyper(default = 0.5, range = "(0, 1]")]
    pub nu: f64,
    /// Cost of an error beyond the tube.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub c: f64,
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
    /// Memory for kernel values in megabytes.
    #[hyper(default = 200.0, range = "(0, inf)")]
    pub cache_size: f64,
    /// Steps at most; ten million or 100 n without it.
    #[hyper(default = None, range = "[1, inf)")]
    pub max_iter: Option<usize>,
}

/// A fitted [`NuSvr`].
pub type FittedNuSvr = FittedSupportRegressor<NuSvr>;

impl KernelRegressor for NuSvr {
    fn as_svr(&self) -> Svr {
        Svr {
            kernel: self.kernel,
            degree: self.degree,
            gamma: self.gamma,
            coef0: self.coef0,
            tol: self.tol,
            c: self.c,
            epsilon: 0.0,
            shrinking: false,
            cache_size: self.cache_size,
            max_iter: self.max_iter,
        }
    }

    fn nu(&self) -> Option<f64> {
        Some(self.nu)
    }
}

impl NuSvr {
    /// Fits with a kernel of the user's own in place of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedNuSvr> {
        FittedSupportRegressor::fit_with(self, kernel, samples)
    }
}

impl Fit for NuSvr {
    type Fitted = FittedNuSvr;
    const NAME: &'static str = "NuSVR";
    const TASK: Task = Task::Regression;
    const ABILITIES: Abilities = Abilities { weights: true, accuracy: 5e-3, ..Abilities::PLAIN };

    fn fit_samples(&self, samples: &Samples) -> Result<FittedNuSvr> {
        FittedSupportRegressor::fit(self, samples)
    }
}
