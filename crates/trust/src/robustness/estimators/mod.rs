//! Scores of fitted estimators as differentiable functions of their input, built from what the models publish: coefficients,
//! support vectors, kernels, and the parameters of the steps of a pipeline.

mod kernel;
mod queries;
mod steps;

use tove_learn::{Capabilities, FittedPipeline, LearnError, Model, Predict};
use tove_tensor::{DType, Tensor, TryOps, TryUnary};

use self::kernel::KernelScores;
use super::model::{DifferentiableModel, decisions};
use crate::{Result, TrustError};

pub use queries::ModelQueries;
pub use steps::DifferentiableSteps;

const WHAT: &str = "EstimatorScores";

/// How far scores may be from the model's own, relative to their size.
const TOLERANCE: f64 = 1e-4;

/// The scores of a fitted estimator as a [`DifferentiableModel`].
///
/// | estimator | scores |
/// |---|---|
/// | linear and logistic classifiers, linear SVM, discriminant analysis | W x + b |
/// | linear and generalized linear regressions | w·x + b, or the inverse link of it |
/// | `SVC`, `NuSVC`, two classes | Σ cⱼ k(x, zⱼ) + b |
/// | `SVC`, `NuSVC`, more classes | soft votes: the sum over pairs of tanh of the pair's score; votes decide, as the model does |
/// | `SVR`, `NuSVR`, `KernelRidge` | Σ cⱼ k(x, zⱼ) + b; its sign decides between two classes |
/// | a pipeline that ends with one of these | the same behind its scalers, PCA and column selections |
///
/// For nets give a closure of their forward pass; [`DifferentiableSteps`] is the part of a pipeline before it. Labels are
/// positions in [`EstimatorScores::classes`]. A model with other scores is refused: a few of its own scores are compared first.
///
/// ```
/// use tove_learn::{Fit, LogisticRegression, Pipeline, StandardScaler};
/// use tove_tensor::Tensor;
/// use tove_trust::robustness::{AttackLoss, EstimatorScores, input_gradient};
/// let (x, y) = (Tensor::from([[0.0, 9.0], [1.0, 5.0], [3.0, 7.0], [4.0, 6.0]]), Tensor::from([0i64, 0, 1, 1]));
/// let model = Pipeline::of(StandardScaler::default()).then(LogisticRegression::default()).fit(&x, &y)?;
/// let scores = EstimatorScores::of(&model)?;
/// let slope = input_gradient(&scores, &x, &y, AttackLoss::CrossEntropy)?;
/// assert!(slope.at::<f64>(&[0, 0]) > 0.0 && slope.at::<f64>(&[3, 0]) < 0.0); // towards the other class
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
pub struct EstimatorScores {
    steps: DifferentiableSteps,
    head: Head,
    classes: Vec<i64>,
}

/// The final model.
enum Head {
    /// x Wᵀ + b, or exp of it.
    Linear {
        weights: Tensor,
        intercept: Tensor,
        exponential: bool,
    },
    Kernel(KernelScores),
}

impl EstimatorScores {
    /// Reads a fitted model.
    ///
    /// # Errors
    /// A model, or a step of a pipeline, without a differentiable score that is known here.
    pub fn of(model: &dyn Model) -> Result<EstimatorScores> {
        let any: &dyn std::any::Any = model;
        let (steps, last) = match any.downcast_ref::<FittedPipeline>() {
            Some(pipeline) => (DifferentiableSteps::of(pipeline)?, pipeline.last()),
            None => (DifferentiableSteps::none(model.dtype()), model),
        };
        let head = match KernelScores::of(last)? {
            Some(kernel) => Head::Kernel(kernel),
            None => Head::linear(last)?,
        };
        let mut scores = EstimatorScores { steps, head, classes: model.classes().to_vec() };
        if scores.agrees(model)? {
            return Ok(scores);
        }
        if let Head::Linear { exponential, .. } = &mut scores.head {
            *exponential = true; // a logarithmic link
            if scores.agrees(model)? {
                return Ok(scores);
            }
        }
        Err(unknown(last))
    }

    /// The classes of the model, in the order of its scores; empty for a regression.
    pub fn classes(&self) -> &[i64] {
        &self.classes
    }

    /// The classes of labels as positions in [`EstimatorScores::classes`], which attacks take.
    ///
    /// # Errors
    /// A label that the model does not know.
    pub fn codes(&self, labels: &Tensor) -> Result<Tensor> {
        queries::codes(WHAT, &self.classes, labels)
    }

    /// Whether scores are the model's own at a few inputs: those at its origin, and at unit distance from it.
    fn agrees(&self, model: &dyn Model) -> Result<bool> {
        let d = model.width();
        let origin = self.steps.origin(d);
        let point = |shift: f64| (0..d).map(move |i| shift * if i % 2 == 0 { 1.0 } else { -0.5 });
        let rows: Vec<f64> = [0.0, 1.0, -1.0]
            .into_iter()
            .flat_map(|shift| {
                point(shift).zip(&origin).map(|(step, at)| at + step * (1.0 + 0.1 * at.abs())).collect::<Vec<_>>()
            })
            .collect();
        let x = Tensor::try_from_vec(rows, [3, d])?.to_dtype(model.dtype());
        let own = self.scores(&x)?;
        if self.classes.len() > 2 {
            let labels = model.predict(&x)?.to_f64_vec();
            let predicted = self.predicted(&x, &own)?;
            return Ok(predicted.iter().zip(labels).all(|(&code, label)| self.classes[code] as f64 == label));
        }
        let theirs =
            if model.capabilities().decision_function { model.decision_function(&x) } else { model.predict(&x) };
        let (own, theirs) = match theirs {
            Ok(theirs) => (own.to_f64_vec(), theirs.to_f64_vec()),
            Err(LearnError::Data { .. }) => return Ok(true), // beyond the numbers of the model
            Err(error) => return Err(error.into()),
        };
        let size = theirs.iter().fold(1.0f64, |size, value| size.max(value.abs()));
        Ok(own.len() == theirs.len() && own.iter().zip(theirs).all(|(a, b)| (a - b).abs() <= TOLERANCE * size))
    }
}

impl DifferentiableModel for EstimatorScores {
    fn scores(&self, x: &Tensor) -> Result<Tensor> {
        let x = self.steps.apply(x)?;
        match &self.head {
            Head::Linear { weights, intercept, exponential } => {
                let z = x.try_matmul(weights)?.try_add(intercept)?;
                Ok(if *exponential { z.try_exp()? } else { z })
            }
            Head::Kernel(kernel) => kernel.scores(&x),
        }
    }

    fn predicted(&self, x: &Tensor, scores: &Tensor) -> Result<Vec<usize>> {
        match &self.head {
            Head::Kernel(kernel) if kernel.votes() => kernel.decisions(&self.steps.apply(x)?),
            _ => Ok(decisions(scores)),
        }
    }
}

impl Head {
    fn linear(model: &dyn Model) -> Result<Head> {
        let attributes = model.attributes();
        let intercept = attributes.iter().find(|(name, _)| *name == "intercept");
        let (Some(coef), Some((_, intercept))) = (model.coefficients(), intercept) else {
            return Err(unknown(model));
        };
        // (d) of a single score, (k, d) of several.
        let k = if coef.rank() == 2 { coef.dims()[0] } else { 1 };
        let weights = coef.try_reshape([k, coef.numel() / k])?.try_t()?.try_contiguous()?;
        let intercept = intercept.to_dtype(weights.dtype()).try_reshape([intercept.numel()])?;
        Ok(Head::Linear { weights, intercept, exponential: false })
    }
}

/// Casts only where types differ: the model's precision decides.
fn cast(x: &Tensor, dtype: DType) -> Result<Tensor> {
    Ok(if x.dtype() == dtype { x.clone() } else { x.try_to_dtype(dtype)? })
}

#[cold]
fn unknown(model: &dyn Model) -> TrustError {
    let Capabilities { probabilities, decision_function, .. } = model.capabilities();
    let fix = if probabilities || decision_function {
        "use an attack that needs queries only, such as `ScoreAttack` or `BoundaryAttack` with `ModelQueries`; for a net \
         give a closure of its forward pass"
    } else {
        "use `BoundaryAttack` with `ModelQueries`, which needs predictions only; for a net give a closure of its forward pass"
    };
    TrustError::unsupported(WHAT, format!("{} has no score whose derivative is known here", model.name()), fix)
}
