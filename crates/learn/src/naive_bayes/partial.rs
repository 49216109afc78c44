//! Incremental fits of naive Bayes: sums of batches are merged.
//!
//! The result is the model of all samples together, up to rounding. (scikit-learn's `GaussianNB` takes the largest variance, of
//! which `var_smoothing` is a share, from the last batch alone.)
//!
//! ```
//! use tove_learn::{Fit, Learner, Model, MultinomialNb, PartialFit, Samples};
//! use tove_tensor::Tensor;
//! let mut learner = MultinomialNb::default().learner(&[0, 1])?;
//! learner.learn(&Samples::new(&Tensor::from([[2.0, 1.0]]), &Tensor::from([0i64]))?)?;
//! learner.learn(&Samples::new(&Tensor::from([[0.0, 3.0]]), &Tensor::from([1i64]))?)?;
//! let whole = MultinomialNb::default().fit(&Tensor::from([[2.0, 1.0], [0.0, 3.0]]), &Tensor::from([0i64, 1]))?;
//! assert_eq!(learner.model()?.feature_log_prob().to_vec::<f64>(), whole.feature_log_prob().to_vec::<f64>());
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::DType;

use crate::{About, Algorithm, Labels, LearnError, Learner, PartialFit, Result, Samples};

/// A naive Bayes method: sums over samples, and the model that follows from them.
pub trait Summed: Algorithm {
    /// Sums over samples of each class.
    type Sums: Clone + Send + std::fmt::Debug;

    /// The sums of these samples, which have these class indices, for m classes.
    fn sums(&self, samples: &Samples, codes: &[usize], m: usize) -> Result<Self::Sums>;

    /// Adds the sums of a batch.
    fn merge(seen: &mut Self::Sums, batch: &Self::Sums) -> Result<()>;

    /// The model with these sums.
    fn finish(&self, about: About, sums: &Self::Sums) -> Result<Self::Fitted>;

    /// The model of all samples at once.
    fn at_once(&self, samples: &Samples) -> Result<Self::Fitted> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let sums = self.sums(samples, labels.codes(), labels.classes().len())?;
        self.finish(About::of(self, samples).classes(labels.classes()), &sums)
    }
}

/// The state of an incremental fit of naive Bayes.
#[derive(Clone, Debug)]
pub struct NaiveBayesLearner<E: Summed> {
    settings: E,
    classes: Vec<i64>,
    seen: Option<(E::Sums, usize, DType)>,
}

impl<E: Summed> NaiveBayesLearner<E> {
    fn new(settings: &E, classes: &[i64]) -> Result<NaiveBayesLearner<E>> {
        settings.validate()?;
        Ok(NaiveBayesLearner { settings: settings.clone(), classes: Labels::listed(classes)?, seen: None })
    }
}

impl<E: Summed> Learner for NaiveBayesLearner<E> {
    type Fitted = E::Fitted;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        let samples = crate::estimator::admit(&self.settings, samples)?;
        if let Some((_, width, _)) = &self.seen {
            samples.x().check_width(E::NAME, *width)?;
        }
        let codes = Labels::of(E::NAME, samples.y()?)?.codes_among(E::NAME, &self.classes)?;
        let batch = self.settings.sums(&samples, &codes, self.classes.len())?;
        match &mut self.seen {
            Some((seen, ..)) => E::merge(seen, &batch)?,
            None => self.seen = Some((batch, samples.width(), samples.x().dtype())),
        }
        Ok(())
    }

    fn model(&self) -> Result<E::Fitted> {
        let Some((sums, width, dtype)) = &self.seen else {
            let fix = "give at least one batch of data first".to_owned();
            return Err(LearnError::TooFew { who: E::NAME, found: 0, needed: 1, fix });
        };
        self.settings.finish(About::new(&self.settings, *width, *dtype).classes(&self.classes), sums)
    }
}

macro_rules! partial_fit {
    ($($type:ty),*) => {$(
        impl PartialFit for $type {
            type Learner = NaiveBayesLearner<$type>;

            fn learner(&self, classes: &[i64]) -> Result<NaiveBayesLearner<$type>> {
                NaiveBayesLearner::new(self, classes)
            }
        }
    )*};
}
partial_fit!(super::GaussianNb, super::MultinomialNb, super::BernoulliNb, super::ComplementNb);
