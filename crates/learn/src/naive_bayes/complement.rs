//! Complement naive Bayes: a class is what the other classes are not.
//!
//! With the counts Ñ_cj of feature j in all classes but c, θ_cj = (Ñ_cj + α) / (Σⱼ Ñ_cj + α d), a row scores −Σⱼ xⱼ log θ_cj (Rennie, Shih,
//! Teevan and Karger 2003). All weights come from about the same amount of data, which helps if classes differ in size.
//!
//! ```
//! use tove_learn::{ComplementNb, Fit, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[2.0, 1.0, 0.0], [3.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 0.0, 4.0]]);
//! let model = ComplementNb::default().fit(&x, &Tensor::from([0i64, 0, 1, 1]))?;
//! assert_eq!(model.predict(&Tensor::from([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))?.to_vec::<i64>(), [0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::counts::{Counts, scores};
use super::partial::Summed;
use super::{most_probable, normalized};
use crate::partial::{AnyLearner, boxed};
use crate::{About, Algorithm, Capabilities, Fitted, Model, Result, Rows, Samples};

/// A classifier by the counts of features outside of each class, as scikit-learn's `ComplementNB`.
///
/// Unlike scikit-learn's, `alpha` must be positive. Shares of the classes play no part.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "ComplementNB")]
pub struct ComplementNb {
    /// Additive (Laplace) smoothing.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub alpha: f64,
    /// Whether the weights of each class are divided by their sum.
    #[hyper(default = false)]
    pub norm: bool,
}

/// A fitted [`ComplementNb`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = ComplementNb)]
pub struct FittedComplementNb {
    about: About,
    /// Weight of each feature in each class.
    #[fitted(shape = "classes, features", double)]
    feature_log_prob: Tensor,
    /// Sum of each feature in each class.
    #[fitted(shape = "classes, features", double)]
    feature_count: Tensor,
    /// Samples of each class, or the sum of their weights.
    #[fitted(shape = "classes", double)]
    class_count: Tensor,
}

impl Algorithm for ComplementNb {
    type Fitted = FittedComplementNb;
    const CAPABILITIES: Capabilities = super::MultinomialNb::CAPABILITIES;

    fn train(&self, samples: &Samples) -> Result<FittedComplementNb> {
        self.at_once(samples)
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        boxed(self, classes)
    }
}

impl Summed for ComplementNb {
    type Sums = Counts;

    fn sums(&self, samples: &Samples, codes: &[usize], m: usize) -> Result<Counts> {
        samples.x().require_nonnegative(Self::NAME)?;
        Counts::of(samples.x(), codes, m, samples.weights())
    }

    fn merge(seen: &mut Counts, batch: &Counts) -> Result<()> {
        seen.add(batch)
    }

    fn finish(&self, about: About, counts: &Counts) -> Result<FittedComplementNb> {
        counts.require_all::<Self>(&about.classes)?;
        let (d, m) = (about.width, about.classes.len());
        let table = counts.features.to_f64_vec();
        let mut all = vec![self.alpha; d];
        table.chunks(d).for_each(|row| all.iter_mut().zip(row).for_each(|(sum, count)| *sum += count));
        let mut weights = Vec::with_capacity(m * d);
        for row in table.chunks(d) {
            // Differences of sums may fall below α by rounding.
            let rest: Vec<f64> = all.iter().zip(row).map(|(all, own)| (all - own).max(self.alpha)).collect();
            let total: f64 = rest.iter().sum();
            let logs: Vec<f64> = rest.iter().map(|count| (count / total).ln()).collect();
            let sum: f64 = logs.iter().sum();
            // All logarithms of one feature are 0, and so are their quotients.
            let divisor = if self.norm && sum < 0.0 { sum } else { -1.0 };
            weights.extend(logs.iter().map(|log| log / divisor));
        }
        Ok(FittedComplementNb {
            about,
            feature_log_prob: Tensor::try_from_vec(weights, [m, d])?,
            class_count: Tensor::from_slice(&counts.classes),
            feature_count: counts.features.clone(),
        })
    }
}

impl Model for FittedComplementNb {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        most_probable(self.classes(), &self.proba_rows(x)?)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let joint = scores(x, &self.feature_log_prob, &vec![0.0; self.classes().len()])?;
        normalized(self.name(), &joint, self.dtype())
    }
}
