//! Hyperparameters shared by several SVMs.

use tove_optim::settings::Hyperparameters;
use tove_tensor::Tensor;

use super::svc::DecisionShape;
use crate::kernel::{Gamma, KernelFunction, KernelKind};
use crate::{ClassWeight, Result, Samples};

/// The kernel and its parameters.
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
    /// c₀ of the polynomial and sigmoid kernels.
    #[hyper(default = 0.0)]
    pub coef0: f64,
}

impl KernelSettings {
    /// The kernel function with its parameters for these samples.
    pub(super) fn function(&self, samples: &Samples) -> Result<KernelFunction> {
        let weights = samples.weights().map(Tensor::to_f64_vec);
        self.kernel.function(self.degree, self.gamma, self.coef0, samples.x(), weights.as_deref())
    }
}

/// Hyperparameters shared by kernel classifiers.
///
/// ```
/// use tove_learn::svm::{NuSvc, Svc};
/// assert_eq!(Svc::default().tol(1e-6).machine, NuSvc::default().tol(1e-6).machine);
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct ClassifierSettings {
    /// The kernel and its parameters.
    #[hyper(flatten)]
    pub kernel: KernelSettings,
    /// Whether to use the shrinking heuristic.
    #[hyper(default = true)]
    pub shrinking: bool,
    /// Whether to fit probabilities, by five more fits per pair.
    #[hyper(default = false)]
    pub probability: bool,
    /// Stop when the violation of the optimality conditions is below this.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Size of the kernel cache in megabytes.
    #[hyper(default = 200.0, range = "(0, inf)")]
    pub cache_size: f64,
    /// Class weights: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
    /// Maximum number of steps per pair; by default the larger of ten million and 100 n.
    #[hyper(default = None, range = "[1, inf)")]
    pub max_iter: Option<usize>,
    /// Shape of the decision function: one score per class or per pair.
    #[hyper(default = DecisionShape::Ovr)]
    pub decision_function_shape: DecisionShape,
    /// Whether to break ties of votes by the decision values; otherwise the first class wins.
    #[hyper(default = false)]
    pub break_ties: bool,
    /// Seed of the cross-validation for the probabilities.
    #[hyper(default = 0)]
    pub random_state: u64,
}

/// Hyperparameters of the solver of a regressor.
///
/// ```
/// use tove_learn::svm::{NuSvr, Svr};
/// assert_eq!(Svr::default().max_iter(Some(9)).solver, NuSvr::default().max_iter(Some(9)).solver);
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct SolverSettings {
    /// Whether to use the shrinking heuristic.
    #[hyper(default = true)]
    pub shrinking: bool,
    /// Size of the kernel cache in megabytes.
    #[hyper(default = 200.0, range = "(0, inf)")]
    pub cache_size: f64,
    /// Maximum number of steps; by default the larger of ten million and 100 n.
    #[hyper(default = None, range = "[1, inf)")]
    pub max_iter: Option<usize>,
}
