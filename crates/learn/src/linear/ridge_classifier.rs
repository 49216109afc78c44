//! Classification by ridge regression on targets −1 and +1, with one column per class for more than two classes.
//!
//! min Σ sᵢ ‖tᵢ − W xᵢ − b‖² + α‖W‖². The class with the largest W x + b wins; for two classes the sign decides
//! (Rifkin, Yeo and Poggio 2003). One linear system serves all classes, so it is much faster than logistic regression
//! for many classes.
//!
//! ```
//! use tove_learn::{Fit, Predict, linear::RidgeClassifier};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [3.0], [4.0]]), Tensor::from([3i64, 3, 7, 7]));
//! let model = RidgeClassifier::default().fit(&x, &y)?;
//! assert_eq!(model.predict(&x)?.to_vec::<i64>(), [3, 3, 7, 7]);
//! assert!(model.decision_function(&Tensor::from([[2.0]]))?.item::<f64>().abs() < 1e-12);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::ridge::{Ridge, RidgeSolver};
use crate::logistic::linear::{Linear, Soft};
use crate::logistic::{FittedLinearClassifier, LinearClassifier};
use crate::{Algorithm, Capabilities, ClassWeight, Labels, Model, Result, Samples};

/// Classifier using ridge regression on targets −1 and +1.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct RidgeClassifier {
    /// Regularization strength, relative to the sum of squared errors.
    #[hyper(default = 1.0, range = "[0, inf)")]
    pub alpha: f64,
    /// Whether an intercept is fitted; it is not penalized.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Class weights: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
    /// The solver.
    #[hyper(default = RidgeSolver::Auto)]
    pub solver: RidgeSolver,
    /// Whether to constrain coefficients to be non-negative.
    #[hyper(default = false)]
    pub positive: bool,
}

/// A fitted [`RidgeClassifier`].
pub type FittedRidgeClassifier = FittedLinearClassifier<RidgeClassifier>;

impl LinearClassifier for RidgeClassifier {
    fn soft(&self) -> Option<Soft> {
        None
    }
}

impl Algorithm for RidgeClassifier {
    type Fitted = FittedRidgeClassifier;
    const CAPABILITIES: Capabilities =
        Capabilities { weights: true, sparse: true, decision_function: true, ..Capabilities::CLASSIFIER };

    fn train(&self, samples: &Samples) -> Result<FittedRidgeClassifier> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let given = samples.weights().map(Tensor::to_f64_vec);
        let weights = self.class_weight.apply(Self::NAME, labels.classes(), labels.codes(), given)?;
        let (n, m) = (samples.len(), labels.classes().len());
        let columns: Vec<usize> = if m == 2 { vec![1] } else { (0..m).collect() };
        let side = |code: usize, class: usize| if code == class { 1.0 } else { -1.0 };
        let targets: Vec<f64> =
            labels.codes().iter().flat_map(|&code| columns.iter().map(move |&class| side(code, class))).collect();
        let mut samples = samples.with_y(&Tensor::try_from_vec(targets, [n, columns.len()])?)?;
        if let Some(weights) = weights {
            samples = samples.weighted(&Tensor::from_slice(&weights))?;
        }
        let ridge = Ridge::default().alpha(self.alpha).fit_intercept(self.fit_intercept).solver(self.solver);
        let model = ridge.positive(self.positive).train(&samples)?;
        let linear = Linear { coef: model.coef().try_contiguous()?, intercept: model.intercept().try_contiguous()? };
        Ok(FittedLinearClassifier::new(self, labels.classes(), linear, model.summary().clone()))
    }
}
