//! Kernel support vector classification, one-vs-one.

use tove_optim::settings::{Choice, Hyperparameters};

use super::classifier::{FittedSupportClassifier, KernelClassifier};
use super::settings::{ClassifierSettings, classifier_settings_setters, kernel_settings_setters};
use crate::kernel::{Gamma, KernelFunction, KernelKind};
use crate::{Algorithm, Capabilities, ClassWeight, Result, Samples};

/// Shape of the decision function for more than two classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum DecisionShape {
    /// One score per class: pairwise votes, with ties broken by decision values.
    #[default]
    Ovr,
    /// One decision value per pair of classes, positive for the first.
    Ovo,
}

/// Support vector classification: min ½‖w‖² + C Σ wᵢ ξᵢ for each pair of classes in the feature space of a kernel;
/// one-vs-one voting.
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
    /// Inverse regularization strength: the penalty of margin violations.
    #[hyper(default = 1.0, range = "(0, inf)", alias = "C")]
    pub c: f64,
    /// Hyperparameters shared by kernel classifiers.
    #[hyper(flatten)]
    pub machine: ClassifierSettings,
}

/// A fitted [`Svc`].
pub type FittedSvc = FittedSupportClassifier<Svc>;

impl KernelClassifier for Svc {
    fn machine(&self) -> &ClassifierSettings {
        &self.machine
    }

    fn cost(&self) -> f64 {
        self.c
    }
}

impl Svc {
    /// Fits with a user-defined kernel instead of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedSvc> {
        FittedSupportClassifier::fit_with(self, kernel, samples)
    }
}

impl Algorithm for Svc {
    type Fitted = FittedSvc;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        accuracy: 5e-3,
        decision_function: true,
        ..Capabilities::CLASSIFIER
    };

    fn capabilities_of(settings: &Svc) -> Capabilities {
        Capabilities { probabilities: settings.machine.probability, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedSvc> {
        FittedSupportClassifier::fit(self, samples)
    }
}
