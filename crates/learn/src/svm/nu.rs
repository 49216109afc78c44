//! ν-SVMs: parametrized by ν instead of C or ε.
//!
//! ν is an upper bound on the fraction of margin errors and a lower bound on the fraction of support vectors, which is
//! easier to choose than C. [`NuSvc`] has the solutions of [`Svc`](super::Svc) for some C, [`NuSvr`] those of
//! [`Svr`](super::Svr) for some ε. Class weights multiply sample weights (scikit-learn's NuSVC accepts `class_weight`
//! but ignores it).

use tove_optim::settings::Hyperparameters;

use super::classifier::{FittedSupportClassifier, KernelClassifier};
use super::regressor::{Error, FittedSupportRegressor, KernelRegressor, Settings};
use super::settings::{
    ClassifierSettings, KernelSettings, SolverSettings, classifier_settings_setters, kernel_settings_setters,
    solver_settings_setters,
};
use super::svc::DecisionShape;
use crate::kernel::{Gamma, KernelFunction, KernelKind};
use crate::{Algorithm, Capabilities, ClassWeight, Result, Samples};

/// Support vector classification with at most a fraction ν of margin errors.
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
    /// Upper bound on the fraction of margin errors, and lower bound on the fraction of support vectors.
    #[hyper(default = 0.5, range = "(0, 1]")]
    pub nu: f64,
    /// Hyperparameters shared by kernel classifiers.
    #[hyper(flatten)]
    pub machine: ClassifierSettings,
}

/// A fitted [`NuSvc`].
pub type FittedNuSvc = FittedSupportClassifier<NuSvc>;

impl KernelClassifier for NuSvc {
    fn machine(&self) -> &ClassifierSettings {
        &self.machine
    }

    fn nu(&self) -> Option<f64> {
        Some(self.nu)
    }
}

impl NuSvc {
    /// Fits with a user-defined kernel instead of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedNuSvc> {
        FittedSupportClassifier::fit_with(self, kernel, samples)
    }
}

impl Algorithm for NuSvc {
    type Fitted = FittedNuSvc;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        accuracy: 5e-3,
        decision_function: true,
        ..Capabilities::CLASSIFIER
    };

    fn capabilities_of(settings: &NuSvc) -> Capabilities {
        Capabilities { probabilities: settings.machine.probability, ..Self::CAPABILITIES }
    }

    fn train(&self, samples: &Samples) -> Result<FittedNuSvc> {
        FittedSupportClassifier::fit(self, samples)
    }
}

/// Support vector regression with at most a fraction ν of the samples outside the tube.
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
    /// Upper bound on the fraction of samples outside the tube, and lower bound on the fraction of support vectors.
    #[hyper(default = 0.5, range = "(0, 1]")]
    pub nu: f64,
    /// Inverse regularization strength: the penalty of errors outside the tube.
    #[hyper(default = 1.0, range = "(0, inf)", alias = "C")]
    pub c: f64,
    /// The kernel and its parameters.
    #[hyper(flatten)]
    pub kernel: KernelSettings,
    /// Stop when the violation of the optimality conditions is below this.
    #[hyper(default = 1e-3, range = "(0, inf)")]
    pub tol: f64,
    /// Hyperparameters of the solver.
    #[hyper(flatten)]
    pub solver: SolverSettings,
}

/// A fitted [`NuSvr`].
pub type FittedNuSvr = FittedSupportRegressor<NuSvr>;

impl KernelRegressor for NuSvr {
    fn settings(&self) -> Settings<'_> {
        let (error, tol, cost) = (Error::Share(self.nu), self.tol, self.c);
        Settings { kernel: &self.kernel, solver: &self.solver, tol, cost, error }
    }
}

impl NuSvr {
    /// Fits with a user-defined kernel instead of the named one.
    pub fn fit_with(&self, kernel: &KernelFunction, samples: &Samples) -> Result<FittedNuSvr> {
        FittedSupportRegressor::fit_with(self, kernel, samples)
    }
}

impl Algorithm for NuSvr {
    type Fitted = FittedNuSvr;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, accuracy: 5e-3, ..Capabilities::REGRESSOR };

    fn train(&self, samples: &Samples) -> Result<FittedNuSvr> {
        FittedSupportRegressor::fit(self, samples)
    }
}
