//! Voting: models of different kinds on the same samples, combined by averaging or majority vote.
//!
//! ```
//! use tove_learn::ensemble::VotingClassifier;
//! use tove_learn::{DummyClassifier, Fit, Predict};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [2.0]]), Tensor::from([1i64, 2, 2]));
//! let both = VotingClassifier::soft().with("a", DummyClassifier::default()).with("b", DummyClassifier::default());
//! assert_eq!(both.fit(&x, &y)?.predict(&x)?.to_vec::<i64>(), [2, 2, 2]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};

use super::fitted::FittedEnsemble;
use crate::selection::in_parallel;
use crate::{About, Algorithm, Capabilities, Estimator, Fit, Labels, Result, Samples, Steps};

/// How classifiers are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum Voting {
    /// Majority vote; ties go to the smallest label.
    #[default]
    Hard,
    /// The largest mean probability.
    Soft,
}

/// Averages several regressors, like scikit-learn's `VotingRegressor`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_regressor)]
pub struct VotingRegressor {
    /// The regressors with their names.
    pub estimators: Steps,
    /// One weight per model; equal by default.
    #[hyper(range = "[0, inf)")]
    pub weights: Option<Vec<f64>>,
}

/// Combines several classifiers by majority vote (hard) or by the largest mean probability (soft), like scikit-learn's
/// `VotingClassifier`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_classifier)]
pub struct VotingClassifier {
    /// The classifiers with their names.
    pub estimators: Steps,
    /// How they are combined: hard or soft.
    #[hyper(default = Voting::Hard)]
    pub voting: Voting,
    /// One weight per model; equal by default.
    #[hyper(range = "[0, inf)")]
    pub weights: Option<Vec<f64>>,
}

impl VotingClassifier {
    /// Creates a majority-vote ensemble; ties go to the smallest label.
    pub fn hard() -> VotingClassifier {
        VotingClassifier::default()
    }

    /// Creates an ensemble that predicts the largest mean probability.
    pub fn soft() -> VotingClassifier {
        VotingClassifier::default().voting(Voting::Soft)
    }
}

fn check_regressor(settings: &VotingRegressor) -> Result<(), SettingError> {
    check(VotingRegressor::NAME, &Capabilities::REGRESSOR, &settings.estimators, settings.weights.as_deref())
}

fn check_classifier(settings: &VotingClassifier) -> Result<(), SettingError> {
    let who = VotingClassifier::NAME;
    check(who, &Capabilities::CLASSIFIER, &settings.estimators, settings.weights.as_deref())?;
    let mute = settings.estimators.iter().find(|member| !member.1.capabilities().probabilities);
    match mute {
        Some((name, _)) if settings.voting == Voting::Soft => {
            let problem = format!("soft voting needs probabilities, but `{name}` does not provide them");
            let fix = "choose hard voting, or a classifier with probabilities";
            Err(SettingError::conflict(who, "voting", problem, fix))
        }
        _ => Ok(()),
    }
}

fn check(
    who: &'static str,
    wanted: &Capabilities,
    members: &Steps,
    weights: Option<&[f64]>,
) -> Result<(), SettingError> {
    members.check_names(who)?;
    if members.is_empty() {
        return Err(SettingError::conflict(who, "estimators", "there are none", "add some with `with`"));
    }
    if let Some(weights) = weights {
        let conflict = |problem: String, fix: &str| Err(SettingError::conflict(who, "weights", problem, fix));
        if weights.len() != members.len() {
            return conflict(format!("{} weights for {} models", weights.len(), members.len()), "give each model one");
        }
        if weights.iter().all(|&weight| weight == 0.0) {
            return conflict("all weights are 0".to_owned(), "give at least one model a positive weight");
        }
    }
    match members.iter().find(|member| !member.1.capabilities().predicts_like(wanted)) {
        Some((name, member)) => {
            let problem = format!("`{name}` is a {}", member.capabilities().kind());
            Err(SettingError::conflict(who, "estimators", problem, format!("give a {}", wanted.kind())))
        }
        None => Ok(()),
    }
}

/// Capabilities of a voting ensemble.
fn joined(members: &Steps, base: Capabilities, soft: bool) -> Capabilities {
    let each: Vec<Capabilities> = members.iter().map(|member| member.1.capabilities()).collect();
    let all = |has: fn(&Capabilities) -> bool| each.iter().all(has);
    Capabilities {
        weights: all(|own| own.weights),
        sparse: all(|own| own.sparse),
        missing: all(|own| own.missing) && !each.is_empty(),
        multiclass: base.multiclass && all(|own| own.multiclass),
        multi_output: all(|own| own.multi_output) && base.regresses(),
        probabilities: soft && all(|own| own.probabilities),
        delegates: true,
        order_free: all(|own| own.order_free),
        accuracy: each.iter().fold(base.accuracy, |max, own| max.max(own.accuracy)),
        ..base
    }
}

macro_rules! voting {
    ($type:ident, $base:expr, |$settings:ident| $soft:expr) => {
        impl $type {
            /// Adds a model.
            #[must_use]
            pub fn with(mut self, name: &str, estimator: impl Estimator + 'static) -> $type {
                self.estimators.push(name, estimator.duplicate());
                self
            }
        }

        impl Algorithm for $type {
            type Fitted = FittedEnsemble;
            const CAPABILITIES: Capabilities = $base;

            fn capabilities_of($settings: &$type) -> Capabilities {
                joined(&$settings.estimators, $base, $soft)
            }

            fn train(&self, samples: &Samples) -> Result<FittedEnsemble> {
                let $settings = self;
                train(self, &self.estimators, self.weights.clone(), $soft, samples)
            }
        }
    };
}
voting!(VotingRegressor, Capabilities::REGRESSOR, |_settings| false);
voting!(VotingClassifier, Capabilities::CLASSIFIER, |settings| settings.voting == Voting::Soft);

fn train(
    ensemble: &dyn Estimator,
    members: &Steps,
    weights: Option<Vec<f64>>,
    soft: bool,
    samples: &Samples,
) -> Result<FittedEnsemble> {
    let classifies = ensemble.capabilities().classifies();
    let classes = if classifies { Labels::of(ensemble.name(), samples.y()?)?.classes().to_vec() } else { Vec::new() };
    let list: Vec<&dyn Estimator> = members.iter().map(|member| &*member.1).collect();
    let work = |i: usize| list[i].fit_samples(samples);
    let members = in_parallel(list.len(), work).into_iter().collect::<Result<_>>()?;
    let about = About::new(ensemble, samples.width(), samples.x().dtype()).classes(&classes);
    Ok(FittedEnsemble { about, members, columns: None, weights, hard: classifies && !soft, oob_score: None })
}
