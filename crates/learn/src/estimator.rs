//! Estimators: hyperparameters that can be fitted to samples.
//!
//! An estimator is a plain struct with `#[derive(Hyperparameters)]`. Implementing [`Fit`] gives the typed face
//! (`Ridge::default().alpha(0.1).fit(&x, &y)? -> FittedRidge`); the object-safe [`Estimator`] that grids, pipelines and the
//! command line use follows from it.

use tove_optim::settings::{Hyperparameter, Hyperparameters, Value};
use tove_tensor::Tensor;

use crate::{AnyLearner, LearnError, Model, Restore, Result, Rows, Samples, Task};

/// What an estimator can take and give, beyond dense features and one output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Abilities {
    /// Sample weights.
    pub weights: bool,
    /// Sparse rows.
    pub sparse: bool,
    /// Several outputs (regression), or more than two classes.
    pub several: bool,
    /// Probabilities of classes.
    pub probabilities: bool,
    /// Whether the order of the samples has no influence beyond `accuracy`.
    pub order_free: bool,
    /// How far predictions of two fits to the same problem may lie apart, relative to their size: stopping rules and rounding.
    pub accuracy: f64,
}

impl Abilities {
    /// Dense features, one output, an exact solution.
    pub const PLAIN: Abilities = Abilities {
        weights: false,
        sparse: false,
        several: false,
        probabilities: false,
        order_free: true,
        accuracy: 1e-8,
    };
}

/// Hyperparameters that can be fitted.
pub trait Fit: Hyperparameters + Default + Clone + Send + Sync + 'static {
    /// The fitted model.
    type Fitted: Restore;
    /// Name in messages, tables, files and on the command line.
    const NAME: &'static str;
    /// What the fitted model predicts.
    const TASK: Task;
    /// What can be taken and given.
    const ABILITIES: Abilities;
    /// Whether the fit itself notices features that are not finite, so that they need not be looked through beforehand.
    const FINDS_GAPS: bool = false;

    /// Fits to samples that were checked, with hyperparameters that were validated. Users call [`Fit::fit`].
    fn fit_samples(&self, samples: &Samples) -> Result<Self::Fitted>;

    /// A learner for data that come in pieces, where the estimator can learn so; classes as for
    /// [`PartialFit::learner`](crate::PartialFit::learner).
    fn pieces(&self, _classes: &[i64]) -> Option<Result<Box<dyn AnyLearner>>> {
        None
    }

    /// Fits to features (n, d) and targets (n).
    fn fit(&self, x: impl Into<Rows>, y: &Tensor) -> Result<Self::Fitted> {
        self.fit_checked(&self.samples(x, y)?)
    }

    /// The samples of a fit: checked, unless the fit does that on its way.
    #[doc(hidden)]
    fn samples(&self, x: impl Into<Rows>, y: &Tensor) -> Result<Samples> {
        if Self::FINDS_GAPS { Samples::with_missing(x, y) } else { Samples::new(x, y) }
    }

    /// Fits to samples of which each counts as often as its weight says.
    fn fit_weighted(&self, x: impl Into<Rows>, y: &Tensor, weights: &Tensor) -> Result<Self::Fitted> {
        self.fit_checked(&self.samples(x, y)?.weighted(weights)?)
    }

    /// Fits to samples: validates the hyperparameters, refuses what the estimator cannot take.
    fn fit_checked(&self, samples: &Samples) -> Result<Self::Fitted> {
        self.validate()?;
        let who = Self::NAME;
        if samples.weights().is_some() && !Self::ABILITIES.weights {
            return Err(LearnError::unsupported(who, "takes no sample weights", "leave them out, or repeat samples"));
        }
        if samples.may_miss() && !Self::FINDS_GAPS {
            samples.x().checked()?;
        }
        if let (Rows::Sparse(_), false) = (samples.x(), Self::ABILITIES.sparse) {
            samples.x().dense(who)?;
        }
        if samples.width() == 0 {
            return Err(LearnError::data(who, "the samples have no features", "give at least one column"));
        }
        self.fit_samples(samples)
    }
}

/// Hyperparameters behind an object: of one estimator or transformer, or of all parts of a composed one under dotted names.
pub trait Tunable {
    /// Sets a hyperparameter from text.
    fn set_any(&mut self, name: &str, text: &str) -> Result<()>;
    /// Names and present values of the hyperparameters.
    fn values_any(&self) -> Vec<(String, Value)>;
    /// The hyperparameters with their ranges and documentation.
    fn describe_any(&self) -> Vec<(String, Hyperparameter)>;
    /// Whether the hyperparameters can be used.
    fn validate_any(&self) -> Result<()>;
}

impl<H: Hyperparameters> Tunable for H {
    fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
        Ok(self.set(name, text)?)
    }

    fn values_any(&self) -> Vec<(String, Value)> {
        self.values().into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
        self.schema().hyperparameters.iter().map(|entry| (entry.name.to_owned(), entry.clone())).collect()
    }

    fn validate_any(&self) -> Result<()> {
        Ok(self.validate()?)
    }
}

/// `Tunable` for a box, by what is inside.
macro_rules! tunable_box {
    ($inner:ty) => {
        impl $crate::Tunable for Box<$inner> {
            fn set_any(&mut self, name: &str, text: &str) -> $crate::Result<()> {
                (**self).set_any(name, text)
            }

            fn values_any(&self) -> Vec<(String, tove_optim::settings::Value)> {
                (**self).values_any()
            }

            fn describe_any(&self) -> Vec<(String, tove_optim::settings::Hyperparameter)> {
                (**self).describe_any()
            }

            fn validate_any(&self) -> $crate::Result<()> {
                (**self).validate_any()
            }
        }

        impl Clone for Box<$inner> {
            fn clone(&self) -> Box<$inner> {
                (**self).duplicate()
            }
        }
    };
}
pub(crate) use tunable_box;
tunable_box!(dyn Estimator);

/// An estimator of any kind; every [`Fit`] is one.
pub trait Estimator: Tunable + Send + Sync {
    /// Name in messages and files.
    fn name(&self) -> &'static str;
    /// What the fitted model predicts.
    fn task(&self) -> Task;
    /// What can be taken and given.
    fn abilities(&self) -> Abilities;
    /// Fits to samples, after checking what can be checked.
    fn fit_any(&self, samples: &Samples) -> Result<Box<dyn Model>>;
    /// A learner for data that come in pieces, where the estimator can learn so.
    fn pieces_any(&self, _classes: &[i64]) -> Option<Result<Box<dyn AnyLearner>>> {
        None
    }
    /// A copy.
    fn duplicate(&self) -> Box<dyn Estimator>;
}

impl<E: Fit> Estimator for E {
    fn name(&self) -> &'static str {
        E::NAME
    }

    fn task(&self) -> Task {
        E::TASK
    }

    fn abilities(&self) -> Abilities {
        E::ABILITIES
    }

    fn fit_any(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        let model = self.fit_checked(samples)?;
        // Iterations that were asked to end have left a model that is not the one asked for.
        if tove_optim::interrupted() && !model.summary().converged {
            return Err(LearnError::Interrupted { who: E::NAME });
        }
        Ok(Box::new(model))
    }

    fn pieces_any(&self, classes: &[i64]) -> Option<Result<Box<dyn AnyLearner>>> {
        self.pieces(classes)
    }

    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

impl Estimator for Box<dyn Estimator> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn task(&self) -> Task {
        (**self).task()
    }

    fn abilities(&self) -> Abilities {
        (**self).abilities()
    }

    fn fit_any(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        (**self).fit_any(samples)
    }

    fn pieces_any(&self, classes: &[i64]) -> Option<Result<Box<dyn AnyLearner>>> {
        (**self).pieces_any(classes)
    }

    fn duplicate(&self) -> Box<dyn Estimator> {
        (**self).duplicate()
    }
}
