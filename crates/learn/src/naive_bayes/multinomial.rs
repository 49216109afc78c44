//! Multinomial naive Bayes: features are counts, such as those of the words of a text.
//!
//! log P(c | x) = log π_c + Σⱼ xⱼ log θ_cj + constant with θ_cj = (N_cj + α) / (Σⱼ N_cj + α d), where N_cj is the (weighted) sum of feature j in
//! class c. α = 1 is Laplace's smoothing.
//!
//! ```
//! use tove_learn::{Fit, MultinomialNb, Predict};
//! use tove_tensor::Tensor;
//! // Counts of three words in four texts.
//! let x = Tensor::from([[3.0, 0.0, 1.0], [2.0, 1.0, 0.0], [0.0, 3.0, 1.0], [0.0, 2.0, 2.0]]);
//! let model = MultinomialNb::default().fit(&x, &Tensor::from([0i64, 0, 1, 1]))?;
//! assert_eq!(model.predict(&Tensor::from([[2.0, 0.0, 0.0], [0.0, 1.0, 1.0]]))?.to_vec::<i64>(), [0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::counts::{Counts, scores};
use super::partial::Summed;
use super::{most_probable, normalized};
use crate::partial::{AnyLearner, boxed};
use crate::{About, Algorithm, Capabilities, Fitted, Model, Result, Rows, Samples};

/// A classifier by multinomial distributions of counts in each class, as scikit-learn's `MultinomialNB`.
///
/// Unlike scikit-learn's, `alpha` must be positive: without smoothing, a word that a class has never seen has probability 0.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "MultinomialNB")]
pub struct MultinomialNb {
    /// Additive (Laplace) smoothing.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub alpha: f64,
    /// Whether to learn the shares of the classes; otherwise they are equal.
    #[hyper(default = true)]
    pub fit_prior: bool,
}

/// A fitted [`MultinomialNb`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = MultinomialNb)]
pub struct FittedMultinomialNb {
    about: About,
    /// Logarithm of the probability of each feature in each class.
    #[fitted(shape = "classes, features", double)]
    feature_log_prob: Tensor,
    /// Logarithm of the share of each class.
    #[fitted(shape = "classes", double)]
    class_log_prior: Tensor,
    /// Sum of each feature in each class.
    #[fitted(shape = "classes, features", double)]
    feature_count: Tensor,
    /// Samples of each class, or the sum of their weights.
    #[fitted(shape = "classes", double)]
    class_count: Tensor,
}

impl Algorithm for MultinomialNb {
    type Fitted = FittedMultinomialNb;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        nonnegative: true,
        probabilities: true,
        partial_fit: true,
        ..Capabilities::CLASSIFIER
    };

    fn train(&self, samples: &Samples) -> Result<FittedMultinomialNb> {
        self.at_once(samples)
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        boxed(self, classes)
    }
}

impl Summed for MultinomialNb {
    type Sums = Counts;

    fn sums(&self, samples: &Samples, codes: &[usize], m: usize) -> Result<Counts> {
        samples.x().require_nonnegative(Self::NAME)?;
        Counts::of(samples.x(), codes, m, samples.weights())
    }

    fn merge(seen: &mut Counts, batch: &Counts) -> Result<()> {
        seen.add(batch)
    }

    fn finish(&self, about: About, counts: &Counts) -> Result<FittedMultinomialNb> {
        counts.require_all::<Self>(&about.classes)?;
        let (d, m) = (about.width, about.classes.len());
        let mut table = counts.features.to_f64_vec();
        for row in table.chunks_mut(d) {
            let total = row.iter().sum::<f64>() + self.alpha * d as f64;
            row.iter_mut().for_each(|count| *count = ((*count + self.alpha) / total).ln());
        }
        Ok(FittedMultinomialNb {
            about,
            feature_log_prob: Tensor::try_from_vec(table, [m, d])?,
            class_log_prior: Tensor::from_slice(&counts.log_prior(self.fit_prior)),
            class_count: Tensor::from_slice(&counts.classes),
            feature_count: counts.features.clone(),
        })
    }
}

impl Model for FittedMultinomialNb {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        most_probable(self.classes(), &self.proba_rows(x)?)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let joint = scores(x, &self.feature_log_prob, &self.class_log_prior.to_f64_vec())?;
        normalized(self.name(), &joint, self.dtype())
    }
}
