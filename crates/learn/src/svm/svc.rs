//! Classification with kernels: a soft margin for each pair of classes.

use tove_optim::settings::{Choice, Hyperparameters};

use super::classifier::{FittedSupportClassifier, KernelClassifier};
use crate::kernel::{Gamma, KernelFunction, KernelKind};
use crate::{Abilities, ClassWeight, Fit, Result, Samples, Task};

/// What the decision function of more than two classes gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum DecisionShape {
    /// A score per class: votes of the pairs, and between equal votes their decision values.
    #[default]
    Ovr,
    /// A decision value per pair of classes, positive for the first.
    Ovo,
}

/// Support vector classification: min ½‖w‖² + C Σ wᵢ ξᵢ for each pair of classes, in the space of a kernel; the pairs vote.
///
/// ```
/// use tove_learn::{Fit, Predict, KernelKind, svm::Svc};
/// use tove_tensor::Tensor;
/// let (x, y) = (Tensor::from([[0.0], [1.0], [3.0], [4.0]]), Tensor::from([0i64, 0, 1, 1]));
/// let model = Svc::default().kernel(KernelKind::Linear).c(100.0).fit(&x, &y)?;
/// assert_eq!(model.support(), [1, 2]); // the margin lies between 1 and 3
/// assert!(model.decision_function(&Tensor::from([[2.0]]))?.item::<f64>().abs() < 1e-3);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "SVC")]
pub struct Svc {
    /// Cost of a violated margin; the larger, the weaker the regularisation.
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

/// A fitted [`Svc`].
pub type FittedSvc = FittedSupportClassifier<Svc>;

impl KernelClassifier for Svc {
    fn as_svc(&self) -> Svc {
        self.clone()
    }
}

impl Svc {
    /// Fits with a kernel of the user's own in place of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedSvc> {
        FittedSupportClassifier::fit_with(self, kernel, samples)
    }
}

impl Fit for Svc {
    type Fitted = FittedSvc;
    const NAME: &'static str = "SVC";
    const TASK: Task = Task::Classification;
    const ABILITIES: Abilities = Abilities { weights: true, several: true, accuracy: 5e-3, ..Abilities::PLAIN };

    fn fit_samples(&self, samples: &Samples) -> Result<FittedSvc> {
        FittedSupportClassifier::fit(self, samples)
    }
}
