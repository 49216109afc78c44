//! Models of different kinds on the same samples, averaged or outvoted.
//!
//! ```
//! use tove_learn::ensemble::VotingClassifier;
//! use tove_learn::{DummyClassifier, Estimator, Predict, Samples};
//! use tove_tensor::Tensor;
//! let samples = Samples::new(&Tensor::from([[0.0], [1.0], [2.0]]), &Tensor::from([1i64, 2, 2]))?;
//! let both = VotingClassifier::soft().with("a", DummyClassifier::default()).with("b", DummyClassifier::default());
//! assert_eq!(both.fit_any(&samples)?.predict(samples.x())?.to_vec::<i64>(), [2, 2, 2]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameter, Value};

use super::fitted::{FittedEnsemble, Member};
use crate::pipeline::{dotted, no_part};
use crate::selection::in_parallel;
use crate::{Abilities, About, Estimator, Labels, LearnError, Model, Result, Samples, Task, Tunable};

/// The mean of several regressions, as scikit-learn's `VotingRegressor`.
#[derive(Clone, Default)]
pub struct VotingRegressor {
    members: Vec<(String, Box<dyn Estimator>)>,
    weights: Option<Vec<f64>>,
    hard: bool,
}

/// Several classifiers, as scikit-learn's `VotingClassifier`: the most votes (hard), or the largest mean probability (soft).
#[derive(Clone, Default)]
pub struct VotingClassifier {
    members: Vec<(String, Box<dyn Estimator>)>,
    weights: Option<Vec<f64>>,
    hard: bool,
}

impl VotingRegressor {
    /// No models yet.
    pub fn new() -> VotingRegressor {
        VotingRegressor::default()
    }
}

impl VotingClassifier {
    /// Decides by the most votes; the smallest label of equal ones.
    pub fn hard() -> VotingClassifier {
        VotingClassifier { hard: true, ..VotingClassifier::default() }
    }

    /// Decides by the largest mean probability.
    pub fn soft() -> VotingClassifier {
        VotingClassifier::default()
    }
}

macro_rules! voting {
    ($type:ident, $name:literal, $task:expr) => {
        impl $type {
            /// Adds a model.
            #[must_use]
            pub fn with(mut self, name: &str, estimator: impl Estimator + 'static) -> $type {
                self.members.push((name.to_owned(), estimator.duplicate()));
                self
            }

            /// Gives each model a weight.
            #[must_use]
            pub fn weights(mut self, weights: &[f64]) -> $type {
                self.weights = Some(weights.to_vec());
                self
            }

            /// Fits all models; the typed face of [`Estimator::fit_any`].
            pub fn fit_samples(&self, samples: &Samples) -> Result<FittedEnsemble> {
                self.validate_any()?;
                let settings = self.values_any().into_iter().map(|(name, value)| (name, value.to_json())).collect();
                let classes = match $task {
                    Task::Regression => Vec::new(),
                    Task::Classification => Labels::of($name, samples.y())?.classes().to_vec(),
                };
                let work = |i: usize| Ok(Member { model: self.members[i].1.fit_any(samples)?, columns: None });
                let members = in_parallel(self.members.len(), work).into_iter().collect::<Result<_>>()?;
                let about = About::new($name, $task, samples.width(), samples.x().dtype(), settings).classes(&classes);
                Ok(FittedEnsemble { about, members, weights: self.weights.clone(), hard: self.hard, oob: None })
            }
        }

        impl Tunable for $type {
            fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
                for (own, member) in &mut self.members {
                    if let Some(inner) = name.strip_prefix(own.as_str()).and_then(|rest| rest.strip_prefix('.')) {
                        return member.set_any(inner, text);
                    }
                }
                Err(no_part($name, name, &self.members.iter().map(|member| member.0.clone()).collect::<Vec<_>>()))
            }

            fn values_any(&self) -> Vec<(String, Value)> {
                self.members.iter().flat_map(|(name, member)| dotted(name, member.values_any())).collect()
            }

            fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
                self.members.iter().flat_map(|(name, member)| dotted(name, member.describe_any())).collect()
            }

            fn validate_any(&self) -> Result<()> {
                let (count, given) = (self.members.len(), self.weights.as_ref().map_or(self.members.len(), Vec::len));
                if count == 0 || given != count {
                    let problem =
                        format!("{count} models and {given} weights; give at least one model, and a weight for each");
                    return Err(LearnError::parameter($name, problem));
                }
                for (name, member) in &self.members {
                    if member.task() != $task {
                        let fix = "leave it out, or take the voting of its task";
                        return Err(LearnError::unsupported(
                            $name,
                            format!("cannot join `{name}`, which is of another task"),
                            fix,
                        ));
                    }
                    if $task == Task::Classification && !self.hard && !member.abilities().probabilities {
                        let fix = "choose hard voting, or a classifier with probabilities";
                        return Err(LearnError::unsupported(
                            $name,
                            format!("needs probabilities, and `{name}` gives none"),
                            fix,
                        ));
                    }
                    member.validate_any()?;
                }
                Ok(())
            }
        }

        impl Estimator for $type {
            fn name(&self) -> &'static str {
                $name
            }

            fn task(&self) -> Task {
                $task
            }

            fn abilities(&self) -> Abilities {
                let each: Vec<Abilities> = self.members.iter().map(|member| member.1.abilities()).collect();
                let all = |has: fn(&Abilities) -> bool| each.iter().all(has);
                Abilities {
                    weights: all(|a| a.weights),
                    sparse: all(|a| a.sparse),
                    several: all(|a| a.several),
                    probabilities: !self.hard && all(|a| a.probabilities),
                    order_free: all(|a| a.order_free),
                    accuracy: each.iter().fold(Abilities::PLAIN.accuracy, |most, a| most.max(a.accuracy)),
                }
            }

            fn fit_any(&self, samples: &Samples) -> Result<Box<dyn Model>> {
                Ok(Box::new(self.fit_samples(samples)?))
            }

            fn duplicate(&self) -> Box<dyn Estimator> {
                Box::new(self.clone())
            }
        }
    };
}

voting!(VotingRegressor, "VotingRegressor", Task::Regression);
voting!(VotingClassifier, "VotingClassifier", Task::Classification);
