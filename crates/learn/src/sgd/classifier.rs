//! The SGD classifier, and code shared with the perceptron.

use std::sync::{Mutex, PoisonError};

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_optim::{deadline, until};
use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Key, Tensor};

use super::loss::{ClassLoss, Loss};
use super::run::{Plan, RunResult, Set, State};
use super::settings::{Averaging, DescentSettings, descent_settings_setters};
use super::{LearningRate, shares, split};
use crate::class_weight::against_rest;
use crate::logistic::linear::{Linear, Soft, outputs};
use crate::logistic::problem::Data;
use crate::logistic::{FittedLinearClassifier, LinearClassifier};
use crate::{Algorithm, Capabilities, ClassWeight, Labels, LearnError, Penalty, Result, Samples, Summary, with_real};

/// A linear classifier trained by stochastic gradient descent.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "SGDClassifier", check = check)]
pub struct SgdClassifier {
    /// The loss function.
    #[hyper(default = ClassLoss::Hinge)]
    pub loss: ClassLoss,
    /// The penalty.
    #[hyper(default = Penalty::L2)]
    pub penalty: Penalty,
    /// Hyperparameters shared by SGD models.
    #[hyper(flatten)]
    pub descent: DescentSettings,
    /// The learning rate schedule.
    #[hyper(default = LearningRate::Optimal)]
    pub learning_rate: LearningRate,
    /// Initial learning rate of the schedules other than optimal.
    #[hyper(default = 0.01, range = "(0, inf)")]
    pub eta0: f64,
    /// Exponent of the invscaling schedule.
    #[hyper(default = 0.5, range = "[0, inf)")]
    pub power_t: f64,
    /// Class weights: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
    /// Whether to average the weights over all steps; with a number, averaging starts after that many samples.
    #[hyper(default = Averaging::default())]
    pub average: Averaging,
}

fn check(settings: &SgdClassifier) -> Result<(), SettingError> {
    settings.descent.check(SgdClassifier::NAME, settings.learning_rate)
}

/// A fitted [`SgdClassifier`].
pub type FittedSgdClassifier = FittedLinearClassifier<SgdClassifier>;

/// An estimator whose fitted model is a linear classifier trained by SGD.
pub trait Stepwise: Algorithm {
    /// Converts the settings to those of an [`SgdClassifier`].
    fn as_sgd(&self) -> SgdClassifier;
}

impl<E: Stepwise> LinearClassifier for E {
    fn soft(&self) -> Option<Soft> {
        match self.as_sgd().loss {
            ClassLoss::LogLoss => Some(Soft::Sigmoid),
            ClassLoss::ModifiedHuber => Some(Soft::Clipped),
            _ => None,
        }
    }
}

impl Stepwise for SgdClassifier {
    fn as_sgd(&self) -> SgdClassifier {
        self.clone()
    }
}

impl SgdClassifier {
    pub(super) fn plan(&self, who: &'static str) -> Plan {
        let (l1, l2) = shares(self.penalty, self.descent.l1_ratio);
        Plan {
            who,
            loss: Loss::Class(self.loss),
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

impl Algorithm for SgdClassifier {
    type Fitted = FittedSgdClassifier;
    const CAPABILITIES: Capabilities = Capabilities {
        weights: true,
        sparse: true,
        partial_fit: true,
        decision_function: true,
        order_free: false,
        accuracy: 1e-6,
        anytime: true,
        ..Capabilities::CLASSIFIER
    };

    fn capabilities_of(settings: &SgdClassifier) -> Capabilities {
        Capabilities { probabilities: settings.soft().is_some(), ..Self::CAPABILITIES }
    }

    fn boxed_learner(&self, classes: &[i64]) -> Result<Box<dyn crate::AnyLearner>> {
        crate::partial::boxed(self, classes)
    }

    fn train(&self, samples: &Samples) -> Result<FittedSgdClassifier> {
        fit(self, samples)
    }
}

/// Fits any estimator of this kind.
pub(super) fn fit<E: Stepwise>(estimator: &E, samples: &Samples) -> Result<FittedLinearClassifier<E>> {
    let settings = estimator.as_sgd();
    let labels = Labels::several(E::NAME, samples.y()?)?;
    let given = samples.weights().map(Tensor::to_f64_vec);
    let factors = settings.class_weight.factors(E::NAME, labels.classes(), labels.codes(), given.as_deref())?;
    let share = settings.descent.early_stopping.then_some(settings.descent.validation_fraction);
    let (train, watch) = split(labels.codes(), share, settings.descent.random_state);
    if train.is_empty() || (share.is_some() && watch.is_empty()) {
        let fix = "turn `early_stopping` off, or choose another `validation_fraction`".to_owned();
        return Err(LearnError::TooFew { who: E::NAME, found: samples.len(), needed: 2 * labels.classes().len(), fix });
    }
    let plan = settings.plan(E::NAME);
    let mut states = vec![State::new(&plan, samples.width()); outputs(labels.classes().len())];
    let (weights, factors) = (given.as_deref(), factors.as_deref());
    let job = Job { plan: &plan, classes: labels.classes().len(), codes: labels.codes(), weights, factors };
    let results = with_real!(samples.x().dtype(), T => {
        let data = Data::<T>::of(samples.x())?;
        job.each(&mut states, |plan, state, y, weights, output| {
            let key = Key::new(settings.descent.random_state).fold(output as u64);
            let set = Set { data, d: samples.width(), y, weights, train: &train, watch: &watch };
            state.run(plan, set, key)
        })?
    });
    let linear = linear(&mut states, labels.classes().len(), samples.x().dtype())?;
    let max_of = |figure: fn(&RunResult) -> f64| results.iter().map(figure).fold(f64::NEG_INFINITY, f64::max);
    let epochs = results.iter().map(|result| result.epochs).max().unwrap_or(0);
    let converged = results.iter().all(|result| result.converged);
    let objective = results.iter().map(|result| result.objective).sum();
    let mut summary = Summary::iterative(E::NAME, epochs, converged, max_of(|result| result.fall), objective);
    // Outputs that stopped earlier keep their last objective.
    let at = |result: &RunResult, epoch: usize| result.curve.get(epoch).or(result.curve.last()).copied().unwrap_or(0.0);
    summary.curve = (0..epochs).map(|epoch| results.iter().map(|result| at(result, epoch)).sum()).collect();
    Ok(FittedLinearClassifier::new(estimator, labels.classes(), linear, summary))
}

/// The current classifier.
pub(super) fn linear(states: &mut [State], classes: usize, dtype: DType) -> Result<Linear> {
    let mut parameters = Vec::new();
    let mut width = 0;
    for state in states {
        let (weights, intercept) = state.parameters();
        width = weights.len();
        parameters.extend(weights);
        parameters.push(intercept);
    }
    Linear::from_parameters(&parameters, width, classes, dtype)
}

/// A state with the result of its task.
type Slot<'a, R> = Mutex<(&'a mut State, Option<Result<R>>)>;

/// One-vs-rest problems.
pub(super) struct Job<'a> {
    pub(super) plan: &'a Plan,
    pub(super) classes: usize,
    pub(super) codes: &'a [usize],
    pub(super) weights: Option<&'a [f64]>,
    /// Class weights.
    pub(super) factors: Option<&'a [f64]>,
}

impl Job<'_> {
    /// Runs `body` for each output with its ±1 targets and its weights, in parallel.
    pub(super) fn each<R: Send>(
        &self,
        states: &mut [State],
        body: impl Fn(&Plan, &mut State, &[f64], Option<&[f64]>, usize) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let slots: Vec<Slot<'_, R>> = states.iter_mut().map(|state| Mutex::new((state, None))).collect();
        let limit = deadline();
        parallel_for(slots.len(), &|output| {
            let positive = if self.classes == 2 { 1 } else { output };
            let y: Vec<f64> = self.codes.iter().map(|&code| if code == positive { 1.0 } else { -1.0 }).collect();
            let mut slot = slots[output].lock().unwrap_or_else(PoisonError::into_inner);
            let own = self.factors.map(|factors| against_rest(factors, self.codes, positive, self.weights));
            // The time limit is thread-local and must be passed on.
            let outcome = until(limit, || body(self.plan, slot.0, &y, own.as_deref().or(self.weights), output));
            slot.1 = Some(outcome);
        });
        let outcomes = slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner).1);
        outcomes.collect()
    }
}
