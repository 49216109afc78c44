//! The perceptron: w ← w + η y x for every misclassified sample.
//!
//! Equivalent to [`SgdClassifier`] with the perceptron loss, a constant learning rate and no penalty. On separable
//! classes it makes finitely many mistakes (Novikoff); otherwise it does not converge.
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
use super::settings::{DescentSettings, descent_settings_setters};
use super::{ClassLoss, FittedLinearClassifier, LearningRate, OnlineClassifier, SgdClassifier};
use crate::{Algorithm, Capabilities, ClassWeight, PartialFit, Penalty, Result, Samples};

/// The perceptron classifier.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct Perceptron {
    /// The penalty.
    #[hyper(default = Penalty::None)]
    pub penalty: Penalty,
    /// Hyperparameters shared by SGD models.
    #[hyper(flatten)]
    pub descent: DescentSettings,
    /// The learning rate; without a penalty it only scales the weights.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub eta0: f64,
    /// Class weights: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
}

/// A fitted [`Perceptron`].
pub type FittedPerceptron = FittedLinearClassifier<Perceptron>;

impl Stepwise for Perceptron {
    fn as_sgd(&self) -> SgdClassifier {
        SgdClassifier {
            loss: ClassLoss::Perceptron,
            penalty: self.penalty,
            descent: self.descent.clone(),
            learning_rate: LearningRate::Constant,
            eta0: self.eta0,
            class_weight: self.class_weight.clone(),
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
