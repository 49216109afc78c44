//! Linear regression trained by stochastic gradient descent.
//!
//! ```
//! use tove_learn::{Fit, Predict, SgdRegressor};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[-1.5], [-0.5], [0.5], [1.5]]);
//! let y = Tensor::from([-2.0, 0.0, 2.0, 4.0]);
//! let model = SgdRegressor::default().fit(&x, &y)?;
//! // The penalty and the early stop keep it a little short of y = 2x + 1.
//! assert!((model.coef().at::<f64>(&[0]) - 2.0).abs() < 0.3 && (model.intercept() - 1.0).abs() < 0.3);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::{DType, Key, Tensor, TryOps};

use super::loss::{Loss, RegressionLoss};
use super::run::{Plan, Set, State};
use super::settings::{Averaging, DescentSettings, descent_settings_setters};
use super::{LearningRate, shares, split};
use crate::logistic::problem::Data;
use crate::{
    About, Algorithm, Capabilities, Fitted, LearnError, Learner, Model, PartialFit, Penalty, Result, Rows, Samples,
    Summary, with_real,
};

/// A linear regression trained by stochastic gradient descent.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "SGDRegressor", check = check)]
pub struct SgdRegressor {
    /// The loss function.
    #[hyper(default = RegressionLoss::SquaredError)]
    pub loss: RegressionLoss,
    /// The penalty.
    #[hyper(default = Penalty::L2)]
    pub penalty: Penalty,
    /// Hyperparameters shared by SGD models.
    #[hyper(flatten)]
    pub descent: DescentSettings,
    /// Threshold of the huber and epsilon_insensitive losses.
    #[hyper(default = 0.1, range = "[0, inf)")]
    pub epsilon: f64,
    /// The learning rate schedule.
    #[hyper(default = LearningRate::Invscaling)]
    pub learning_rate: LearningRate,
    /// Initial learning rate.
    #[hyper(default = 0.01, range = "(0, inf)")]
    pub eta0: f64,
    /// Exponent of the invscaling schedule.
    #[hyper(default = 0.25, range = "[0, inf)")]
    pub power_t: f64,
    /// Whether to average the weights over all steps; with a number, averaging starts after that many samples.
    #[hyper(default = Averaging::default())]
    pub average: Averaging,
}

fn check(settings: &SgdRegressor) -> Result<(), SettingError> {
    settings.descent.check(SgdRegressor::NAME, settings.learning_rate)
}

impl SgdRegressor {
    fn plan(&self) -> Plan {
        let (l1, l2) = shares(self.penalty, self.descent.l1_ratio);
        Plan {
            who: Self::NAME,
            loss: Loss::Regression(self.loss, self.epsilon),
            alpha: self.descent.alpha,
            l1,
            l2,
            fit_intercept: self.descent.fit_intercept,
            schedule: self.learning_rate,
            eta0: self.eta0,
            power_t: self.power_t,
            max_iter: self.descent.max_iter,
            tol: self.descent.tol,
            shuffle: self.descent.shuffle,
            patience: self.descent.n_iter_no_change,
            average: self.average.first(),
        }
    }
}

impl Algorithm for SgdRegressor {
    type Fitted = FittedSgdRegressor;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        order_free: false,
        accuracy: 1e-6,
        anytime: true,
        partial_fit: true,
        ..Capabilities::REGRESSOR
    };

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }

    fn train(&self, samples: &Samples) -> Result<FittedSgdRegressor> {
        let y = samples.single_target(Self::NAME)?;
        let weights = samples.weights().map(Tensor::to_f64_vec);
        let share = self.descent.early_stopping.then_some(self.descent.validation_fraction);
        let (train, watch) = split(&vec![0; y.len()], share, self.descent.random_state);
        if train.is_empty() || (share.is_some() && watch.is_empty()) {
            let fix = "turn `early_stopping` off, or choose another `validation_fraction`".to_owned();
            return Err(LearnError::TooFew { who: Self::NAME, found: y.len(), needed: 2, fix });
        }
        let plan = self.plan();
        let mut state = State::new(&plan, samples.width());
        let result = with_real!(samples.x().dtype(), T => {
            let (data, d) = (Data::<T>::of(samples.x())?, samples.width());
            let set = Set { data, d, y: &y, weights: weights.as_deref(), train: &train, watch: &watch };
            state.run(&plan, set, Key::new(self.descent.random_state))?
        });
        let mut summary =
            Summary::iterative(Self::NAME, result.epochs, result.converged, result.fall, result.objective);
        summary.curve = result.curve;
        FittedSgdRegressor::new(self, &mut state, samples.x().dtype(), summary)
    }
}

/// A fitted [`SgdRegressor`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = SgdRegressor)]
pub struct FittedSgdRegressor {
    about: About,
    /// The weights (d).
    #[fitted(shape = "features")]
    coef: Tensor,
    /// The intercept.
    intercept: f64,
}

impl FittedSgdRegressor {
    fn new(settings: &SgdRegressor, state: &mut State, dtype: DType, summary: Summary) -> Result<FittedSgdRegressor> {
        let (weights, intercept) = state.parameters();
        let about = About::new(settings, weights.len(), dtype).summary(summary);
        Ok(FittedSgdRegressor { about, coef: Tensor::from(weights).to_dtype(dtype), intercept })
    }
}

impl Model for FittedSgdRegressor {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let scores = match x {
            Rows::Dense(x) => x.try_matmul(&self.coef)?,
            Rows::Sparse(x) => x.dot(&self.coef)?,
        };
        Ok(scores + self.intercept)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.coef)
    }
}

/// The state of an incremental fit of a regressor.
#[derive(Clone, Debug)]
pub struct OnlineRegressor {
    settings: SgdRegressor,
    state: Option<State>,
    dtype: DType,
    batches: usize,
    objective: f64,
}

impl PartialFit for SgdRegressor {
    type Learner = OnlineRegressor;

    fn learner(&self, _classes: &[i64]) -> Result<OnlineRegressor> {
        self.validate()?;
        let settings = self.clone();
        Ok(OnlineRegressor { settings, state: None, dtype: DType::F64, batches: 0, objective: f64::NAN })
    }
}

impl Learner for OnlineRegressor {
    type Fitted = FittedSgdRegressor;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        samples.require_rows(SgdRegressor::NAME)?;
        samples.require_moderate(SgdRegressor::NAME, true)?;
        let y = samples.single_target(SgdRegressor::NAME)?;
        let (plan, d) = (self.settings.plan(), samples.width());
        let state = match &mut self.state {
            Some(state) => state,
            None => {
                self.dtype = samples.x().dtype();
                self.state.insert(State::new(&plan, d))
            }
        };
        samples.x().check_width(SgdRegressor::NAME, state.width())?;
        let (weights, rows) = (samples.weights().map(Tensor::to_f64_vec), (0..y.len()).collect::<Vec<usize>>());
        self.objective = with_real!(samples.x().dtype(), T => {
            let data = Data::<T>::of(samples.x())?;
            let set = Set { data, d, y: &y, weights: weights.as_deref(), train: &rows, watch: &[] };
            state.epoch(&plan, set, Key::new(self.settings.descent.random_state))?
        });
        self.batches += 1;
        Ok(())
    }

    fn loss(&self) -> Option<f64> {
        self.objective.is_finite().then_some(self.objective)
    }

    fn model(&self) -> Result<FittedSgdRegressor> {
        let Some(mut state) = self.state.clone() else {
            let fix = "give at least one batch of data first".to_owned();
            return Err(LearnError::TooFew { who: SgdRegressor::NAME, found: 0, needed: 1, fix });
        };
        let mut summary = Summary::exact();
        (summary.iterations, summary.objective) = (self.batches, Some(self.objective));
        FittedSgdRegressor::new(&self.settings, &mut state, self.dtype, summary)
    }
}
