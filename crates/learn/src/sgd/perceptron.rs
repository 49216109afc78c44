//! The perceptron: w ← w + η y x for every sample on the wrong side.
//!
//! It is [`SgdClassifier`] with the perceptron's loss, a constant rate and no penalty. On separable classes it makes finitely many
//! mistakes (Novikoff); on others it does not settle.
//!
//! ```
//! use tove_learn::{Fit, Perceptron, Predict};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), Tensor::from([0i64, 0, 0, 1]));
//! let model = Perceptron::default().fit(&x, &y)?;
//! assert_eq!(model.score(&x, &y)?.value, 1.0);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::Hyperparameters;

use super::classifier::{self, Stepwise};
use super::{ClassLoss, FittedLinearClassifier, OnlineClassifier, Schedule, SgdClassifier};
use crate::{Algorithm, Capabilities, ClassWeight, PartialFit, Penalty, Result, Samples};

/// The perceptron.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Perceptron {
    /// What is added to the loss.
    #[hyper(default = Penalty::None)]
    pub penalty: Penalty,
    /// Strength of the penalty.
    #[hyper(default = 1e-4, range = "(0, inf)")]
    pub alpha: f64,
    /// Share of l1 in an elasticnet penalty.
    #[hyper(default = 0.15, range = "[0, 1]")]
    pub l1_ratio: f64,
    /// Whether there is an intercept.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Epochs at most.
    #[hyper(default = 1000, range = "[1, inf)")]
    pub max_iter: usize,
    /// Improvement that counts as one; without it all epochs are made.
    #[hyper(default = Some(1e-3), range = "[0, inf)")]
    pub tol: Option<f64>,
    /// Whether samples come in a new order in each epoch.
    #[hyper(default = true)]
    pub shuffle: bool,
    /// The rate; without a penalty it changes the weights' size only.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub eta0: f64,
    /// Whether a part of the samples is held out to decide when to stop.
    #[hyper(default = false)]
    pub early_stopping: bool,
    /// The share that is held out.
    #[hyper(default = 0.1, range = "(0, 1)")]
    pub validation_fraction: f64,
    /// Epochs without improvement after which training ends.
    #[hyper(default = 5, range = "[1, inf)")]
    pub n_iter_no_change: usize,
    /// Weights of the classes: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
    /// Seed of the order.
    #[hyper(default = 0)]
    pub random_state: u64,
}

/// A fitted [`Perceptron`].
pub type FittedPerceptron = FittedLinearClassifier<Perceptron>;

impl Stepwise for Perceptron {
    fn as_sgd(&self) -> SgdClassifier {
        SgdClassifier {
            loss: ClassLoss::Perceptron,
            penalty: self.penalty,
            alpha: self.alpha,
            l1_ratio: self.l1_ratio,
            fit_intercept: self.fit_intercept,
            max_iter: self.max_iter,
            tol: self.tol,
            shuffle: self.shuffle,
            learning_rate: Schedule::Constant,
            eta0: self.eta0,
            early_stopping: self.early_stopping,
            validation_fraction: self.validation_fraction,
            n_iter_no_change: self.n_iter_no_change,
            class_weight: self.class_weight.clone(),
            random_state: self.random_state,
            ..SgdClassifier::default()
        }
    }
}

impl Algorithm for Perceptron {
    type Fitted = FittedPerceptron;
    const CAPABILITIES: Capabilities = SgdClassifier::CAPABILITIES;

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }

    fn train(&self, samples: &Samples) -> Result<FittedPerceptron> {
        classifier::fit(self, samples)
    }
}

impl PartialFit for Perceptron {
    type Learner = OnlineClassifier<Perceptron>;

    fn learner(&self, classes: &[i64]) -> Result<OnlineClassifier<Perceptron>> {
        OnlineClassifier::new(self, classes)
    }
}
