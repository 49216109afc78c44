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

use crate::{Algorithm, LearnError, Model, Result, Samples};

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

    /// Ends a pass over all batches. Returns whether another pass over the same batches in the same order is needed, which only
    /// methods that declare [`passes`](crate::Capabilities::passes) ask for.
    fn end_pass(&mut self) -> Result<bool> {
        Ok(false)
    }

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

    /// Ends a pass over all batches, as [`Learner::end_pass`].
    fn end_pass_any(&mut self) -> Result<bool>;

    /// Returns the current model.
    fn model_any(&self) -> Result<Box<dyn Model>>;

    /// Mean regularized loss over the last batch, if the method tracks it.
    fn loss_any(&self) -> Option<f64>;
}

impl<L: Learner<Fitted: Model> + Send> AnyLearner for L {
    fn learn_any(&mut self, samples: &Samples) -> Result<()> {
        self.learn(samples)
    }

    fn end_pass_any(&mut self) -> Result<bool> {
        self.end_pass()
    }

    fn model_any(&self) -> Result<Box<dyn Model>> {
        Ok(Box::new(self.model()?))
    }

    fn loss_any(&self) -> Option<f64> {
        self.loss()
    }
}

/// Fits to data that come again in every pass: `pass` gives all batches, in the same order each time, to the function it is called
/// with. The memory is that of one batch and of the learner.
///
/// ```
/// use tove_learn::{Estimator, KMeans, Samples, fit_passes};
/// use tove_tensor::Tensor;
/// let batches = [Tensor::from([[0.0], [5.0]]), Tensor::from([[0.2], [5.2]])];
/// let mut learner = KMeans::default().n_clusters(2).any_learner(&[])?;
/// let passes = fit_passes(&mut *learner, |learn| {
///     batches.iter().try_for_each(|batch| learn(&Samples::unlabeled(batch.clone())?))
/// })?;
/// assert!(passes >= 2 && learner.model_any()?.summary().converged);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
///
/// # Errors
/// Those of `pass` and of the learner; [`LearnError::Interrupted`] if the process or a time limit asked for the end.
pub fn fit_passes(
    learner: &mut dyn AnyLearner,
    mut pass: impl FnMut(&mut dyn FnMut(&Samples) -> Result<()>) -> Result<()>,
) -> Result<usize> {
    let mut passes = 0;
    loop {
        pass(&mut |samples| {
            if tove_optim::interrupted() {
                return Err(LearnError::Interrupted { who: "fit_passes" });
            }
            learner.learn_any(samples)
        })?;
        passes += 1;
        if !learner.end_pass_any()? {
            return Ok(passes);
        }
    }
}

/// Boxes a learner, for [`Algorithm::boxed_learner`].
pub(crate) fn boxed<E: PartialFit<Learner: Send + 'static>>(
    estimator: &E,
    classes: &[i64],
) -> Result<Box<dyn AnyLearner>> {
    Ok(Box::new(estimator.learner(classes)?))
}
