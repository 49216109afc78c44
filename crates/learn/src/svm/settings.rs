//! Hyperparameters that several machines have.

use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

use super::svc::DecisionShape;
use crate::kernel::{Gamma, KernelFunction, KernelKind};
use crate::{ClassWeight, Result, Samples};

/// The kernel and its numbers.
///
/// ```
/// use tove_learn::{Gamma, svm::{KernelSettings, Svr}};
/// let svr = Svr::default().gamma(Gamma::Value(0.5));
/// assert_eq!(svr.kernel, KernelSettings::default().gamma(Gamma::Value(0.5)));
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct KernelSettings {
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
}

impl KernelSettings {
    /// The kernel with its numbers for these samples.
    pub(super) fn function(&self, samples: &Samples) -> Result<KernelFunction> {
        let weights = samples.weights().map(Tensor::to_f64_vec);
        self.kernel.function(self.degree, self.gamma, self.coef0, samples.x(), weights.as_deref())
    }
}

/// What machines for classes have in common.
///
/// ```
/// use tove_learn::svm::{NuSvc, Svc};
/// assert_eq!(Svc::default().tol(1e-6).machine, NuSvc::default().tol(1e-6).machine);
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct ClassifierSettings {
    /// The kernel and its numbers.
    #[hyper(flatten)]
    pub kernel: KernelSettings,
    /// Whether samples that seem settled are set aside during the fit.
    #[hyper(default = true)]
    pub shrinking: bool,
    /// Whether probabilities are fitted too, by five more fits per pair.
    #[hyper(default = false)]
    pub probability: bool,
    /// The violation of optimality at which to stop.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Memory for kernel values in megabytes.
    #[hyper(default = 200.0, range = "(0, inf)")]
    pub cache_size: f64,
    /// Weights of the classes: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
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

/// How the machine of a regression is solved.
///
/// ```
/// use tove_learn::svm::{NuSvr, Svr};
/// assert_eq!(Svr::default().max_iter(Some(9)).solver, NuSvr::default().max_iter(Some(9)).solver);
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct SolverSettings {
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
