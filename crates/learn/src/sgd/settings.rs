//! Hyperparameters shared by all linear SGD models.

use tove_optim::settings::{Hyperparameters, Setting, SettingError, Value, ValueKind};

use super::LearningRate;

/// Hyperparameters shared by the classifier, the regressor and the perceptron.
///
/// ```
/// use tove_learn::{Perceptron, SgdClassifier};
/// assert_eq!(SgdClassifier::default().max_iter(7).descent, Perceptron::default().max_iter(7).descent);
/// ```
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(shared)]
pub struct DescentSettings {
    /// Regularization strength; also sets the learning rate of the optimal schedule.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub alpha: f64,
    /// Fraction of l1 in an elasticnet penalty.
    #[hyper(default = 0.15, range = "[0, 1]")]
    pub l1_ratio: f64,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Maximum number of epochs.
    #[hyper(default = 1000, range = "[1, inf)")]
    pub max_iter: usize,
    /// Minimum improvement of the loss; if not set, all epochs are run.
    #[hyper(default = Some(1e-3), range = "[0, inf)")]
    pub tol: Option<f64>,
    /// Whether to shuffle the samples in each epoch.
    #[hyper(default = true)]
    pub shuffle: bool,
    /// Whether to hold out a validation set to decide when to stop.
    #[hyper(default = false)]
    pub early_stopping: bool,
    /// Fraction of the samples in the validation set.
    #[hyper(default = 0.1, range = "(0, 1)")]
    pub validation_fraction: f64,
    /// Number of epochs without improvement after which training stops.
    #[hyper(default = 5, range = "[1, inf)")]
    pub n_iter_no_change: usize,
    /// Seed of the shuffling.
    #[hyper(default = 0)]
    pub random_state: u64,
}

impl DescentSettings {
    /// Checks that the learning rate of the optimal schedule, which is 1 / alpha, is defined.
    pub(super) fn check(&self, who: &'static str, schedule: LearningRate) -> Result<(), SettingError> {
        if self.alpha > 0.0 || schedule != LearningRate::Optimal {
            return Ok(());
        }
        let problem = "must be positive, since the optimal learning rate is computed from it";
        Err(SettingError::conflict(
            who,
            "alpha",
            problem,
            "choose another `learning_rate` and `eta0`, or a positive alpha",
        ))
    }
}

/// Whether, and from which sample on, the weights are averaged over the steps.
///
/// ```
/// use tove_learn::sgd::Averaging;
/// use tove_optim::settings::Setting;
/// assert_eq!((Averaging::parse("true"), Averaging::parse("10")), (Some(Averaging::from(true)), Some(Averaging::after(10))));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Averaging(usize);

impl Averaging {
    /// Starts averaging after this number of samples.
    pub fn after(samples: usize) -> Averaging {
        Averaging(samples)
    }

    /// The first averaged step; 0 for none.
    pub(super) fn first(self) -> usize {
        self.0
    }
}

impl From<bool> for Averaging {
    fn from(on: bool) -> Averaging {
        Averaging(usize::from(on))
    }
}

impl Setting for Averaging {
    fn kind() -> ValueKind {
        ValueKind::Text
    }

    fn value(&self) -> Value {
        match self.0 {
            0 => Value::Switch(false),
            1 => Value::Switch(true),
            samples => samples.value(),
        }
    }

    fn from_value(value: &Value) -> Option<Averaging> {
        bool::from_value(value).map(Averaging::from).or_else(|| usize::from_value(value).map(Averaging))
    }

    fn parse(text: &str) -> Option<Averaging> {
        bool::parse(text).map(Averaging::from).or_else(|| usize::parse(text).map(Averaging))
    }

    fn expected() -> Option<&'static str> {
        Some("true, false or a number of samples")
    }
}
