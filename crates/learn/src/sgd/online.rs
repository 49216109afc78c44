//! Classifiers for incremental fitting on batches.

use tove_tensor::kernels::math::Float;
use tove_tensor::{DType, Element, Key, Tensor};

use super::classifier::{Job, SgdClassifier, Stepwise, linear};
use super::run::{Set, State};
use crate::logistic::FittedLinearClassifier;
use crate::logistic::linear::outputs;
use crate::logistic::problem::Data;
use crate::{ClassWeight, Labels, LearnError, Learner, PartialFit, Result, Samples, Summary, with_real};

/// The state of an incremental fit of a classifier.
#[derive(Clone, Debug)]
pub struct OnlineClassifier<E> {
    settings: E,
    classes: Vec<i64>,
    states: Vec<State>,
    dtype: DType,
    batches: usize,
    objective: f64,
}

impl<E: Stepwise> OnlineClassifier<E> {
    pub(super) fn new(settings: &E, classes: &[i64]) -> Result<OnlineClassifier<E>> {
        settings.validate()?;
        let (settings, states) = (settings.clone(), Vec::new());
        Ok(OnlineClassifier {
            settings,
            classes: Labels::listed(classes)?,
            states,
            dtype: DType::F64,
            batches: 0,
            objective: f64::NAN,
        })
    }
}

impl<E: Stepwise> Learner for OnlineClassifier<E> {
    type Fitted = FittedLinearClassifier<E>;

    fn learn(&mut self, samples: &Samples) -> Result<()> {
        let settings = self.settings.as_sgd();
        samples.require_rows(E::NAME)?;
        samples.require_moderate(E::NAME, true)?;
        if settings.class_weight == ClassWeight::Balanced || settings.descent.early_stopping {
            let fix = "give sample weights instead, and decide yourself when to stop";
            return Err(LearnError::unsupported(
                E::NAME,
                "does not support `balanced` class weights or early stopping with `partial_fit`",
                fix,
            ));
        }
        let codes = Labels::of(E::NAME, samples.y()?)?.codes_among(E::NAME, &self.classes)?;
        let plan = settings.plan(E::NAME);
        if self.states.is_empty() {
            self.states = vec![State::new(&plan, samples.width()); outputs(self.classes.len())];
            self.dtype = samples.x().dtype();
        } else {
            samples.x().check_width(E::NAME, self.states[0].width())?;
        }
        let given = samples.weights().map(Tensor::to_f64_vec);
        let factors = settings.class_weight.factors(E::NAME, &self.classes, &codes, None)?;
        let rows: Vec<usize> = (0..samples.len()).collect();
        let (weights, factors) = (given.as_deref(), factors.as_deref());
        let job = Job { plan: &plan, classes: self.classes.len(), codes: &codes, weights, factors };
        let losses = with_real!(samples.x().dtype(), T => learn::<T>(&job, &mut self.states, samples, &rows, settings.descent.random_state)?);
        self.objective = losses.iter().sum();
        self.batches += 1;
        Ok(())
    }

    fn loss(&self) -> Option<f64> {
        self.objective.is_finite().then_some(self.objective)
    }

    fn model(&self) -> Result<FittedLinearClassifier<E>> {
        if self.states.is_empty() {
            let fix = "give at least one batch of data first".to_owned();
            return Err(LearnError::TooFew { who: E::NAME, found: 0, needed: 1, fix });
        }
        let linear = linear(&mut self.states.clone(), self.classes.len(), self.dtype)?;
        let mut summary = Summary::exact();
        (summary.iterations, summary.objective) = (self.batches, Some(self.objective));
        Ok(FittedLinearClassifier::new(&self.settings, &self.classes, linear, summary))
    }
}

fn learn<T: Float + Element>(
    job: &Job<'_>,
    states: &mut [State],
    samples: &Samples,
    rows: &[usize],
    seed: u64,
) -> Result<Vec<f64>> {
    let data = Data::<T>::of(samples.x())?;
    job.each(states, |plan, state, y, weights, output| {
        let set = Set { data, d: samples.width(), y, weights, train: rows, watch: &[] };
        state.epoch(plan, set, Key::new(seed).fold(output as u64))
    })
}

impl PartialFit for SgdClassifier {
    type Learner = OnlineClassifier<SgdClassifier>;

    fn learner(&self, classes: &[i64]) -> Result<OnlineClassifier<SgdClassifier>> {
        OnlineClassifier::new(self, classes)
    }
}
