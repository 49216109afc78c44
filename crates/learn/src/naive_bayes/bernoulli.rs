//! Bernoulli naive Bayes: features are present or absent.
//!
//! log P(c | x) = log π_c + Σⱼ (xⱼ log p_cj + (1 − xⱼ) log(1 − p_cj)) + constant with p_cj = (N_cj + α) / (N_c + 2α), where N_cj counts the samples
//! of class c that have feature j. Unlike in the multinomial model, a feature that is absent counts too.
//!
//! ```
//! use tove_learn::{BernoulliNb, Fit, Predict};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[1.0, 0.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 1.0, 0.0]]);
//! let model = BernoulliNb::default().fit(&x, &Tensor::from([0i64, 0, 1, 1]))?;
//! assert_eq!(model.predict(&Tensor::from([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))?.to_vec::<i64>(), [0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named};
use tove_tensor::Tensor;

use super::counts::{Counts, scores};
use super::partial::Summed;
use super::{most_probable, normalized};
use crate::partial::{AnyLearner, boxed};
use crate::{About, Algorithm, Capabilities, Csr, Fitted, LearnError, Model, Result, Rows, Samples};

/// A classifier by the presence of features in each class, as scikit-learn's `BernoulliNB`.
///
/// Unlike scikit-learn's, `alpha` must be positive. `binarize = 0` leaves features of 0 and 1 as they are.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "BernoulliNB")]
pub struct BernoulliNb {
    /// Additive (Laplace) smoothing.
    #[hyper(default = 1.0, range = "(0, inf)")]
    pub alpha: f64,
    /// A feature is present where its value is above this threshold.
    #[hyper(default = 0.0, range = "(-inf, inf)")]
    pub binarize: f64,
    /// Whether to learn the shares of the classes; otherwise they are equal.
    #[hyper(default = true)]
    pub fit_prior: bool,
}

/// A fitted [`BernoulliNb`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = BernoulliNb)]
pub struct FittedBernoulliNb {
    about: About,
    /// Logarithm of the probability that a feature is present, in each class.
    #[fitted(shape = "classes, features", double)]
    feature_log_prob: Tensor,
    /// Logarithm of the probability that a feature is absent, in each class.
    #[fitted(shape = "classes, features", double, hidden)]
    absent_log_prob: Tensor,
    /// Logarithm of the share of each class.
    #[fitted(shape = "classes", double)]
    class_log_prior: Tensor,
    /// Samples of each class that have a feature, or the sum of their weights.
    #[fitted(shape = "classes, features", double)]
    feature_count: Tensor,
    /// Samples of each class, or the sum of their weights.
    #[fitted(shape = "classes", double)]
    class_count: Tensor,
    /// The threshold above which a feature is present.
    #[fitted(hidden)]
    threshold: f64,
}

/// 1 where a value is above the threshold, 0 elsewhere.
fn binarized(who: &'static str, x: &Rows, threshold: f64) -> Result<Rows> {
    let above = |values: &Tensor| -> Result<Tensor> {
        let ones = values.to_f64_vec().into_iter().map(|value| f64::from(u8::from(value > threshold))).collect();
        Ok(Tensor::try_from_vec(ones, values.dims().to_vec())?)
    };
    match x {
        Rows::Dense(x) => Ok(Rows::Dense(above(x)?)),
        Rows::Sparse(_) if threshold < 0.0 => {
            let problem = format!("`binarize` = {threshold} would make every entry of sparse rows that is 0 a 1");
            Err(LearnError::data(who, problem, "use a threshold from 0 on, or dense rows"))
        }
        Rows::Sparse(x) => {
            let values = above(x.values())?;
            Ok(Rows::Sparse(Csr::new(x.indptr().to_vec(), x.indices().to_vec(), values, x.columns())?))
        }
    }
}

impl Algorithm for BernoulliNb {
    type Fitted = FittedBernoulliNb;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        probabilities: true,
        partial_fit: true,
        ..Capabilities::CLASSIFIER
    };

    fn train(&self, samples: &Samples) -> Result<FittedBernoulliNb> {
        self.at_once(samples)
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn AnyLearner>> {
        boxed(self, classes)
    }
}

impl Summed for BernoulliNb {
    type Sums = Counts;

    fn sums(&self, samples: &Samples, codes: &[usize], m: usize) -> Result<Counts> {
        Counts::of(&binarized(Self::NAME, samples.x(), self.binarize)?, codes, m, samples.weights())
    }

    fn merge(seen: &mut Counts, batch: &Counts) -> Result<()> {
        seen.add(batch)
    }

    fn finish(&self, about: About, counts: &Counts) -> Result<FittedBernoulliNb> {
        counts.require_all::<Self>(&about.classes)?;
        let (d, m) = (about.width, about.classes.len());
        let (mut with, mut without) = (Vec::with_capacity(m * d), Vec::with_capacity(m * d));
        for (row, &total) in counts.features.to_f64_vec().chunks(d).zip(&counts.classes) {
            let all = total + 2.0 * self.alpha;
            with.extend(row.iter().map(|count| ((count + self.alpha) / all).ln()));
            // Sums of weights in another order may exceed their total by rounding.
            without.extend(row.iter().map(|count| (((total - count).max(0.0) + self.alpha) / all).ln()));
        }
        Ok(FittedBernoulliNb {
            about,
            feature_log_prob: Tensor::try_from_vec(with, [m, d])?,
            absent_log_prob: Tensor::try_from_vec(without, [m, d])?,
            class_log_prior: Tensor::from_slice(&counts.log_prior(self.fit_prior)),
            class_count: Tensor::from_slice(&counts.classes),
            feature_count: counts.features.clone(),
            threshold: self.binarize,
        })
    }
}

impl Model for FittedBernoulliNb {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        most_probable(self.classes(), &self.proba_rows(x)?)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let (with, without) = (self.feature_log_prob.to_f64_vec(), self.absent_log_prob.to_f64_vec());
        let odds = with.iter().zip(&without).map(|(with, without)| with - without).collect();
        let odds = Tensor::try_from_vec(odds, self.feature_log_prob.dims().to_vec())?;
        let absent = without.chunks(self.width()).map(|row| row.iter().sum::<f64>());
        let constants: Vec<f64> = self.class_log_prior.to_f64_vec().iter().zip(absent).map(|(a, b)| a + b).collect();
        let joint = scores(&binarized(self.name(), x, self.threshold)?, &odds, &constants)?;
        normalized(self.name(), &joint, self.dtype())
    }
}
