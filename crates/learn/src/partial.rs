//! Incremental fitting on batches, for data that do not fit in memory or arrive over time.
//!
//! ```
//! use tove_learn::{Learner, PartialFit, Predict, Samples, SgdClassifier};
//! use tove_tensor::Tensor;
//! let mut learner = SgdClassifier::default().learner(&[0, 1])?;
//! for _ in 0..20 {
//!     let batch = Samples::new(&Tensor::from([[-1.0], [2.0]]), &Tensor::from([0i64, 1]))?;
//!     learner.learn(&batch)?;
//! }
//! assert_eq!(learner.model()?.predict(&Tensor::from([[-3.0], [3.0]]))?.to_vec::<i64>(), [0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use crate::{Algorithm, Model, Result, Samples};

/// An estimator that supports incremental fitting.
pub trait PartialFit: Algorithm {
    /// The state between batches.
    type Learner: Learner<Fitted = Self::Fitted>;

    /// Creates a learner that has seen no data. A classifier needs the list of all classes, since a batch may lack
    /// some; a regressor takes an empty list.
    fn learner(&self, classes: &[i64]) -> Result<Self::Learner>;
}

/// The state of an incremental fit.
pub trait Learner {
    /// The resulting model.
    type Fitted;

    /// Makes one pass over the samples of a batch.
    fn learn(&mut self, samples: &Samples) -> Result<()>;

    /// Returns the current model.
    fn model(&self) -> Result<Self::Fitted>;

    /// Mean regularized loss over the last batch, if the method tracks it.
    fn loss(&self) -> Option<f64> {
        None
    }
}

/// An incremental fit of any kind; implemented for every [`Learner`].
pub trait AnyLearner: Send {
    /// Makes one pass over the samples of a batch.
    fn learn_any(&mut self, samples: &Samples) -> Result<()>;

    /// Returns the current model.
    fn model_any(&self) -> Result<Box<dyn Model>>;

    /// Mean regularized loss over the last batch, if the method tracks it.
    fn loss_any(&self) -> Option<f64>;
}

impl<L: Learner<Fitted: Model> + Send> AnyLearner for L {
    fn learn_any(&mut self, samples: &Samples) -> Result<()> {
        self.learn(samples)
    }

    fn model_any(&self) -> Result<Box<dyn Model>> {
        Ok(Box::new(self.model()?))
    }

    fn loss_any(&self) -> Option<f64> {
        self.loss()
    }
}

/// Boxes a learner, for [`Algorithm::boxed_learner`].
pub(crate) fn boxed<E: PartialFit<Learner: Send + 'static>>(
    estimator: &E,
    classes: &[i64],
) -> Result<Box<dyn AnyLearner>> {
    Ok(Box::new(estimator.learner(classes)?))
}
