//! Stacking: a final estimator is trained on the predictions of other estimators (Wolpert 1992).
//!
//! The features of the final estimator are out-of-fold predictions: of `cv` folds, each is predicted by estimators that were
//! fitted to the others, so that the final estimator does not learn to trust an estimator that has memorized its targets. The
//! estimators that predict later are fitted to all samples.
//!
//! ```
//! use tove_learn::ensemble::StackingRegressor;
//! use tove_learn::{DummyRegressor, Fit, LinearRegression, Predict, Ridge};
//! use tove_tensor::{DType, Key, Tensor};
//! let x = Key::new(1).normal([40, 3], DType::F64);
//! let y = x.matmul(&Tensor::from([1.0, -2.0, 0.5]));
//! let stack = StackingRegressor::default()
//!     .with("ridge", Ridge::default())
//!     .with("mean", DummyRegressor::default())
//!     .final_estimator(Box::new(LinearRegression::default()));
//! assert!(stack.fit(&x, &y)?.score(&x, &y)?.value > 0.99);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};

use super::out_of_fold::out_of_fold;
use super::stacked::FittedStacking;
use crate::selection::{KFold, Splitter, StratifiedKFold, in_parallel};
use crate::{
    About, Algorithm, Capabilities, Estimator, Fit, Labels, LogisticRegression, Model, Result, RidgeCv, Samples, Steps,
};

/// Which answers of the estimators the final estimator is trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum StackMethod {
    /// The first of the others that an estimator has.
    #[default]
    Auto,
    /// `predict_proba`.
    PredictProba,
    /// `decision_function`.
    DecisionFunction,
    /// `predict`.
    Predict,
}

impl StackMethod {
    /// The method to ask an estimator for.
    pub(super) fn of(self, capabilities: Capabilities) -> StackMethod {
        match self {
            StackMethod::Auto if capabilities.classifies() && capabilities.probabilities => StackMethod::PredictProba,
            StackMethod::Auto if capabilities.classifies() && capabilities.decision_function => {
                StackMethod::DecisionFunction
            }
            StackMethod::Auto => StackMethod::Predict,
            other => other,
        }
    }
}

/// Trains a classifier on out-of-fold predictions of other classifiers, as scikit-learn's `StackingClassifier`.
///
/// Sample weights go to the estimators and to the final estimator; folds do not look at them.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_classifier)]
pub struct StackingClassifier {
    /// The base classifiers with their names.
    pub estimators: Steps,
    /// The classifier that combines them.
    #[hyper(default = Box::new(LogisticRegression::default()))]
    pub final_estimator: Box<dyn Estimator>,
    /// Number of stratified folds of the out-of-fold predictions.
    #[hyper(default = 5, range = "[2, inf)")]
    pub cv: usize,
    /// What the base classifiers are asked for: auto, predict_proba, decision_function or predict.
    #[hyper(default = StackMethod::Auto)]
    pub stack_method: StackMethod,
    /// Whether the final estimator is trained on the original features too.
    #[hyper(default = false)]
    pub passthrough: bool,
}

/// Trains a regressor on out-of-fold predictions of other regressors, as scikit-learn's `StackingRegressor`.
///
/// Sample weights go to the estimators and to the final estimator; folds do not look at them.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_regressor)]
pub struct StackingRegressor {
    /// The base regressors with their names.
    pub estimators: Steps,
    /// The regressor that combines them.
    #[hyper(default = Box::new(RidgeCv::default()))]
    pub final_estimator: Box<dyn Estimator>,
    /// Number of folds of the out-of-fold predictions.
    #[hyper(default = 5, range = "[2, inf)")]
    pub cv: usize,
    /// Whether the final estimator is trained on the original features too.
    #[hyper(default = false)]
    pub passthrough: bool,
}

fn check_classifier(settings: &StackingClassifier) -> Result<(), SettingError> {
    let who = StackingClassifier::NAME;
    check(who, &Capabilities::CLASSIFIER, &settings.estimators, &*settings.final_estimator)?;
    let (has, what): (fn(&Capabilities) -> bool, &str) = match settings.stack_method {
        StackMethod::PredictProba => (|own| own.probabilities, "predict_proba"),
        StackMethod::DecisionFunction => (|own| own.decision_function, "decision_function"),
        _ => return Ok(()),
    };
    match settings.estimators.iter().find(|member| !has(&member.1.capabilities())) {
        Some((name, _)) => {
            let problem = format!("`{name}` does not implement `{what}`");
            Err(SettingError::conflict(who, "stack_method", problem, "choose auto, or another estimator"))
        }
        None => Ok(()),
    }
}

fn check_regressor(settings: &StackingRegressor) -> Result<(), SettingError> {
    check(StackingRegressor::NAME, &Capabilities::REGRESSOR, &settings.estimators, &*settings.final_estimator)
}

fn check(who: &'static str, wanted: &Capabilities, members: &Steps, last: &dyn Estimator) -> Result<(), SettingError> {
    members.check_names(who)?;
    if members.is_empty() {
        return Err(SettingError::conflict(who, "estimators", "the list is empty", "add estimators with `with`"));
    }
    let other = |own: &dyn Estimator| !own.capabilities().predicts_like(wanted);
    let refuse = |field: &'static str, name: &str, own: &dyn Estimator| {
        let problem = format!("`{name}` of `{field}` is a {}", own.capabilities().kind());
        Err(SettingError::conflict(who, field, problem, format!("give a {}", wanted.kind())))
    };
    if let Some((name, member)) = members.iter().find(|member| other(&*member.1)) {
        return refuse("estimators", name, &**member);
    }
    if other(last) { refuse("final_estimator", last.name(), last) } else { Ok(()) }
}

/// What a stack of these estimators takes and gives.
fn joined(members: &Steps, last: Capabilities, base: Capabilities, passthrough: bool) -> Capabilities {
    let each: Vec<Capabilities> = members.iter().map(|member| member.1.capabilities()).collect();
    let all = |has: fn(&Capabilities) -> bool| !each.is_empty() && each.iter().all(has);
    Capabilities {
        weights: all(|own| own.weights) && last.weights,
        sparse: all(|own| own.sparse) && (last.sparse || !passthrough),
        missing: all(|own| own.missing) && (last.missing || !passthrough),
        multiclass: base.multiclass && all(|own| own.multiclass) && last.multiclass,
        probabilities: last.probabilities,
        decision_function: last.decision_function,
        transform: true,
        fills: !passthrough,
        order_free: false,
        delegates: true,
        accuracy: each.iter().fold(last.accuracy, |most, own| most.max(own.accuracy)),
        ..base
    }
}

macro_rules! stacking {
    ($type:ident, $base:expr, |$settings:ident| $method:expr) => {
        impl $type {
            /// Adds a base estimator.
            #[must_use]
            pub fn with(mut self, name: &str, estimator: impl Estimator + 'static) -> $type {
                self.estimators.push(name, estimator.duplicate());
                self
            }
        }

        impl Algorithm for $type {
            type Fitted = FittedStacking;
            const CAPABILITIES: Capabilities = $base;

            fn capabilities_of(settings: &$type) -> Capabilities {
                joined(&settings.estimators, settings.final_estimator.capabilities(), $base, settings.passthrough)
            }

            fn train(&self, samples: &Samples) -> Result<FittedStacking> {
                let $settings = self;
                let plan =
                    Plan { stack: self, last: &*self.final_estimator, cv: self.cv, passthrough: self.passthrough };
                plan.train(&self.estimators, $method, samples)
            }
        }
    };
}
stacking!(StackingRegressor, Capabilities::REGRESSOR, |_settings| StackMethod::Predict);
stacking!(StackingClassifier, Capabilities::CLASSIFIER, |settings| settings.stack_method);

/// A stack that is to be fitted.
struct Plan<'a> {
    stack: &'a dyn Estimator,
    last: &'a dyn Estimator,
    cv: usize,
    passthrough: bool,
}

impl Plan<'_> {
    fn train(&self, members: &Steps, method: StackMethod, samples: &Samples) -> Result<FittedStacking> {
        let (who, classifies) = (self.stack.name(), self.stack.capabilities().classifies());
        let classes = match classifies {
            true => Labels::several(who, samples.y()?)?.classes().to_vec(),
            false => Vec::new(),
        };
        let folds = match classifies {
            true => StratifiedKFold::new(self.cv).split(samples.y()?)?,
            false => KFold::new(self.cv).split(samples.y()?)?,
        };
        let list: Vec<&dyn Estimator> = members.iter().map(|member| &*member.1).collect();
        let methods: Vec<StackMethod> = list.iter().map(|own| method.of(own.capabilities())).collect();
        let answers = out_of_fold(&list, samples, &folds, |number, model, x| {
            super::stacked::ask(who, methods[number], model, x, &classes)
        })?;
        let x = super::stacked::beside(&answers, samples.x(), self.passthrough)?;
        let meta = if samples.may_miss() { samples.with_x_and_missing(x)? } else { samples.with_x(x)? };
        let last = self.last.fit_samples(&meta)?;
        let models = in_parallel(list.len(), |number| list[number].fit_samples(samples));
        let models: Vec<Box<dyn Model>> = models.into_iter().collect::<Result<_>>()?;
        let about = About::new(self.stack, samples.width(), samples.x().dtype())
            .classes(&classes)
            .outputs(last.width())
            .summary(last.summary().clone());
        let named = members.iter().map(|member| member.0.clone()).zip(models).collect();
        Ok(FittedStacking { about, members: named, methods, last, passthrough: self.passthrough })
    }
}
