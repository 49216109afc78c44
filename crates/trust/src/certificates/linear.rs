//! The exact distance of a row from the decision boundary of a linear classifier.
//!
//! Scores z = W x + b. The prediction c changes to j where (w_c − w_j)·x + b_c − b_j = 0, so by Hölder's inequality the
//! smallest change ‖δ/budgets‖ that reaches j is
//!
//! (z_c − z_j) / ‖budgets ∘ (w_c − w_j)‖*
//!
//! with the dual norm: l∞ for l1, l2 for l2, l1 for l∞. The radius is the smallest over all j. It is exact in both
//! directions: the certificate is the best attack. Scaling x ↦ s ∘ x + t before the model turns W into W diag(s), so that
//! budgets stay in the units of the features.

use tove_learn::{FittedPipeline, Model, Predict};
use tove_tensor::{Tensor, TryOps};

use super::models::{Front, front};
use super::network::Network;
use super::region::{dual, gamma};
use crate::robustness::AttackNorm;
use crate::{Result, TrustError};

const WHAT: &str = "LinearScores";

/// A linear classifier: a score per class, or one score for two classes that is positive for the second one.
#[derive(Clone, Debug, PartialEq)]
pub struct LinearScores {
    weights: Vec<Vec<f64>>,
    bias: Vec<f64>,
}

/// How far a row is from the nearest other class.
#[derive(Clone, Debug, PartialEq)]
pub struct RobustRadius {
    /// The predicted class, as a place among the classes.
    pub class: usize,
    /// No change with ‖δ/budgets‖ below this leads to another class. Rounded down; 0 on the boundary, infinite if no change
    /// does.
    pub radius: f64,
    /// The class on the other side; `None` if there is none within reach.
    pub other: Option<usize>,
    /// The nearest point of the boundary.
    pub boundary: Option<Vec<f64>>,
}

impl LinearScores {
    /// Scores W x + b with W (scores, features).
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// use tove_trust::certificates::LinearScores;
    /// use tove_trust::robustness::AttackNorm;
    /// let scores = LinearScores::new(&Tensor::from([[3.0, 4.0]]), &Tensor::from([0.0]))?;
    /// let radius = |norm| Ok::<_, tove_trust::TrustError>(scores.radius(&[1.0, 3.0], &[1.0, 1.0], norm)?.radius);
    /// // The score is 15, the dual norms of (3, 4) are 4, 5 and 7.
    /// assert!((radius(AttackNorm::L1)? - 15.0 / 4.0).abs() < 1e-12);
    /// assert!((radius(AttackNorm::L2)? - 3.0).abs() < 1e-12);
    /// assert!((radius(AttackNorm::LInf)? - 15.0 / 7.0).abs() < 1e-12);
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// Sizes that do not fit, numbers that are not finite.
    pub fn new(weights: &Tensor, bias: &Tensor) -> Result<LinearScores> {
        let &[scores, width] = weights.dims() else {
            let problem = format!("weights of shape {}", weights.shape());
            return Err(TrustError::data(WHAT, problem, "give a row of weights per score"));
        };
        let values = crate::input::reals(WHAT, "weights", weights)?;
        let bias = crate::input::numbers(WHAT, "intercepts", bias, scores)?;
        Ok(LinearScores { weights: values.chunks_exact(width).map(<[f64]>::to_vec).collect(), bias })
    }

    /// The scores of a fitted linear classifier, also behind the scalers and principal components of a pipeline.
    ///
    /// # Errors
    /// A model that is not a linear classifier, or behind a step that is not affine.
    pub fn of(model: &dyn Model) -> Result<LinearScores> {
        let unsupported = |problem: String| {
            let fix = "give a linear classifier, alone or in a pipeline behind scalers or PCA";
            TrustError::unsupported(WHAT, problem, fix)
        };
        let any: &dyn std::any::Any = model;
        let (before, last) = match any.downcast_ref::<FittedPipeline>() {
            Some(pipeline) => (front(pipeline)?, pipeline.last()),
            None => (Front::identity(model.width()), model),
        };
        let capabilities = last.capabilities();
        let coefficients = last.coefficients().filter(|_| capabilities.classifies());
        let Some(coefficients) = coefficients else {
            return Err(unsupported(format!("{} is not a linear classifier", last.name())));
        };
        let attributes = last.attributes();
        let intercept = attributes.iter().find(|(name, _)| *name == "intercept").map(|(_, tensor)| tensor);
        let Some(intercept) = intercept else {
            return Err(unsupported(format!("{} tells no intercept", last.name())));
        };
        let width = last.width();
        let rows = coefficients.try_reshape([coefficients.numel() / width.max(1), width])?;
        let own = LinearScores::new(&rows, &intercept.try_reshape([intercept.numel()])?)?;
        own.agree(last).map_err(|problem| match problem {
            Some(error) => error,
            None => unsupported(format!("the decisions of {} are not those of its coefficients", last.name())),
        })?;
        Ok(own.behind(&before))
    }

    /// That these are the model's scores, at a few points. `Err(None)` if they are not.
    fn agree(&self, model: &dyn Model) -> std::result::Result<(), Option<TrustError>> {
        let width = self.width();
        let point = |row: usize, i: usize| if row == 0 { 0.0 } else { ((row * 7 + i * 3) % 11) as f64 / 5.0 - 1.0 };
        let x: Vec<f64> = (0..4 * width).map(|i| point(i / width, i % width)).collect();
        let wide = |error: tove_tensor::Error| Some(TrustError::from(error));
        let tensor = Tensor::try_from_vec(x.clone(), [4, width]).map_err(wide)?;
        let found = model.decision_function(&tensor).map_err(|error| Some(error.into()))?.to_f64_vec();
        let ours: Vec<f64> = x.chunks_exact(width).flat_map(|x| self.at(x)).collect();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-4 * (1.0 + b.abs());
        if found.len() == ours.len() && found.iter().zip(&ours).all(near) { Ok(()) } else { Err(None) }
    }

    /// The same scores as a function of what an affine map takes.
    fn behind(self, front: &Front) -> LinearScores {
        let bias = self.weights.iter().zip(&self.bias).map(|(w, b)| b + front.constant(w)).collect();
        LinearScores { weights: self.weights.iter().map(|w| front.pull_back(w)).collect(), bias }
    }

    /// Number of features.
    pub fn width(&self) -> usize {
        self.weights[0].len()
    }

    /// The scores of a row.
    fn at(&self, x: &[f64]) -> Vec<f64> {
        let score = |(w, b): (&Vec<f64>, &f64)| w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + b;
        self.weights.iter().zip(&self.bias).map(score).collect()
    }

    /// The distance of a row from the nearest other class, with changes measured by ‖δ/budgets‖: a radius of 1 means that the
    /// budgets are just enough. A feature with a budget of 0 stays.
    ///
    /// # Errors
    /// Sizes that do not fit, negative budgets, numbers that are not finite.
    pub fn radius(&self, x: &[f64], budgets: &[f64], norm: AttackNorm) -> Result<RobustRadius> {
        let finite = x.iter().all(|x| x.is_finite()) && budgets.iter().all(|b| *b >= 0.0 && b.is_finite());
        if x.len() != self.width() || budgets.len() != self.width() || !finite {
            let problem =
                format!("a row of {} numbers with {} budgets for {} features", x.len(), budgets.len(), self.width());
            return Err(TrustError::data(WHAT, problem, "give a finite number and a budget of at least 0 per feature"));
        }
        let z = self.at(x);
        if z.iter().any(|z| !z.is_finite()) {
            return Err(TrustError::data(WHAT, "the scores of the row overflow", "scale the features"));
        }
        let class = Network::class_of(&z);
        let mut found = RobustRadius { class, radius: f64::INFINITY, other: None, boundary: None };
        let classes = self.weights.len().max(2);
        for other in (0..classes).filter(|other| *other != class) {
            let (w, b) = self.margin(class, other);
            let margin = w.iter().zip(x).map(|(w, x)| w * x).sum::<f64>() + b;
            let dual = dual(norm, w.iter().zip(budgets).map(|(w, budget)| w * budget));
            let size: f64 = w.iter().zip(x).map(|(w, x)| (w * x).abs()).sum::<f64>() + b.abs();
            let slack = gamma(x.len() + 4, f64::EPSILON);
            let radius = ((margin - slack * size).max(0.0) / dual) * (1.0 - slack);
            // A margin of 0 without slopes is a tie that no change resolves.
            if dual > 0.0 && radius < found.radius {
                let step = steepest(&w, budgets, norm, dual);
                let boundary = x.iter().zip(step).map(|(x, d)| x - margin / dual * d).collect();
                (found.radius, found.other, found.boundary) = (radius, Some(other), Some(boundary));
            }
        }
        Ok(found)
    }

    /// Slopes and constant of the score of one class minus that of another.
    fn margin(&self, class: usize, other: usize) -> (Vec<f64>, f64) {
        if self.weights.len() == 1 {
            let sign = if class == 1 { 1.0 } else { -1.0 };
            return (self.weights[0].iter().map(|w| sign * w).collect(), sign * self.bias[0]);
        }
        let slopes = self.weights[class].iter().zip(&self.weights[other]).map(|(a, b)| a - b).collect();
        (slopes, self.bias[class] - self.bias[other])
    }

    /// As a net, for regions with ranges, whole numbers or one-hot blocks; margins of an affine map are exact there.
    ///
    /// # Errors
    /// If the weights do not fit into memory.
    pub fn network(&self) -> Result<Network> {
        let flat: Vec<f64> = self.weights.iter().flatten().copied().collect();
        let weights = Tensor::try_from_vec(flat, [self.weights.len(), self.width()])?;
        Network::new(self.width())?.affine(&weights, Some(&Tensor::from_slice(&self.bias)))
    }
}

/// The δ with ‖δ/budgets‖ = 1 and w·δ = the dual norm.
fn steepest(w: &[f64], budgets: &[f64], norm: AttackNorm, dual: f64) -> Vec<f64> {
    let scaled: Vec<f64> = w.iter().zip(budgets).map(|(w, budget)| w * budget).collect();
    match norm {
        AttackNorm::LInf => {
            let sign = |w: f64| if w == 0.0 { 0.0 } else { w.signum() };
            scaled.iter().zip(budgets).map(|(w, budget)| sign(*w) * budget).collect()
        }
        AttackNorm::L2 => scaled.iter().zip(budgets).map(|(w, budget)| w / dual * budget).collect(),
        AttackNorm::L1 => {
            let best = scaled.iter().position(|w| w.abs() == dual).unwrap_or(0);
            let only = |i: usize| if i == best { scaled[i].signum() * budgets[i] } else { 0.0 };
            (0..w.len()).map(only).collect()
        }
    }
}
