//! Learning in pieces: data that do not fit into memory, or that arrive over time.
//!
//! ```
//! use tove_learn::{Learner, PartialFit, Predict, Samples, SgdClassifier};
//! use tove_tensor::Tensor;
//! let mut learner = SgdClassifier::default().learner(&[0, 1])?;
//! for _ in 0..20 {
//!     let piece = Samples::new(&Tensor::from([[-1.0], [2.0]]), &Tensor::from([0i64, 1]))?;
//!     learner.learn(&piece)?;
//! }
//! assert_eq!(learner.model()?.predict(&Tensor::from([[-3.0], [3.0]]))?.to_vec::<i64>(), [0, 1]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use crate::{Algorithm, Model, Result, Samples};

/// An estimator that can learn from one piece of the data after another.
pub trait PartialFit: Algorithm {
    /// What remembers the state between pieces.
    type Learner: Learner<Fitted = Self::Fitted>;

    /// A learner that has seen nothing. A classifier needs all its classes now, since a piece may lack some; a regression takes
    /// an empty list.
    fn learner(&self, classes: &[i64]) -> Result<Self::Learner>;
}

/// A fit under way.
pub trait Learner {
    /// The model that it leads to.
    type Fitted;

    /// Goes through the samples of a piece once.
    fn learn(&mut self, samples: &Samples) -> Result<()>;

    /// The model as it stands.
    fn model(&self) -> Result<Self::Fitted>;

    /// Mean loss with penalty over the last piece, where the method goes by it.
    fn loss(&self) -> Option<f64> {
        None
    }
}

/// A fit under way, of any kind; every [`Learner`] is one.
pub trait AnyLearner: Send {
    /// Goes through the samples of a piece once.
    fn learn_any(&mut self, samples: &Samples) -> Result<()>;

    /// The model as it stands.
    fn model_any(&self) -> Result<Box<dyn Model>>;

    /// Mean loss with penalty over the last piece, where the method goes by it.
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

/// A learner of any kind, for [`Algorithm::boxed_learner`].
pub(crate) fn boxed<E: PartialFit<Learner: Send + 'static>>(
    estimator: &E,
    classes: &[i64],
) -> Result<Box<dyn AnyLearner>> {
    Ok(Box::new(estimator.learner(classes)?))
}
