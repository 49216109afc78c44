//! Bagging: k bootstrap sets of samples drawn with replacement, a model for each, answers averaged (Breiman 1996).
//!
//! A set of n draws from n samples holds about 1 − 1/e = 63.2 % of them; the others judge its model (out-of-bag score).
//! Weights of samples are chances of being drawn.

use tove_optim::settings::{Hyperparameter, Hyperparameters, Value};
use tove_tensor::{DType, Key, Tensor};

use super::fitted::{FittedEnsemble, Member};
use crate::features::take_columns;
use crate::pipeline::dotted;
use crate::selection::in_parallel;
use crate::{Abilities, About, Estimator, Labels, LearnError, Model, Predict, Result, Samples, Summary, Task, Tunable};

/// How sets are drawn, with scikit-learn's names and defaults.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Bagging")]
pub struct BaggingSettings {
    /// Number of models.
    #[hyper(default = 10, range = "[1, inf)")]
    pub n_estimators: usize,
    /// Samples drawn for each model, as a share of all.
    #[hyper(default = 1.0, range = "(0, 1]")]
    pub max_samples: f64,
    /// Features drawn for each model, as a share of all.
    #[hyper(default = 1.0, range = "(0, 1]")]
    pub max_features: f64,
    /// Whether samples are drawn with replacement.
    #[hyper(default = true)]
    pub bootstrap: bool,
    /// Whether features are drawn with replacement.
    #[hyper(default = false)]
    pub bootstrap_features: bool,
    /// Whether to judge each model on the samples it did not see.
    #[hyper(default = false)]
    pub oob_score: bool,
    /// Seed of the draws.
    #[hyper(default = 0)]
    pub seed: u64,
}

macro_rules! bagging {
    ($(#[$doc:meta])* $type:ident, $name:literal, $task:expr) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $type {
            settings: BaggingSettings,
            estimator: Box<dyn Estimator>,
        }

        impl $type {
            /// Ten models of this estimator, each on a bootstrap set.
            pub fn new(estimator: impl Estimator + 'static) -> $type {
                $type { settings: BaggingSettings::default(), estimator: estimator.duplicate() }
            }

            /// Number of models.
            #[must_use]
            pub fn n_estimators(mut self, count: usize) -> $type {
                self.settings.n_estimators = count;
                self
            }

            /// Samples drawn for each model, as a share of all.
            #[must_use]
            pub fn max_samples(mut self, share: f64) -> $type {
                self.settings.max_samples = share;
                self
            }

            /// Features drawn for each model, as a share of all.
            #[must_use]
            pub fn max_features(mut self, share: f64) -> $type {
                self.settings.max_features = share;
                self
            }

            /// Whether samples are drawn with replacement.
            #[must_use]
            pub fn bootstrap(mut self, with_replacement: bool) -> $type {
                self.settings.bootstrap = with_replacement;
                self
            }

            /// Whether to judge each model on the samples it did not see.
            #[must_use]
            pub fn oob_score(mut self, judge: bool) -> $type {
                self.settings.oob_score = judge;
                self
            }

            /// Seed of the draws.
            #[must_use]
            pub fn seed(mut self, seed: u64) -> $type {
                self.settings.seed = seed;
                self
            }

            /// The places that are drawn from n samples for each model.
            ///
            /// # Errors
            /// If the settings cannot be used, or weights do not go with them.
            pub fn sets(&self, n: usize, weights: Option<&[f64]>) -> Result<Vec<Vec<usize>>> {
                self.settings.validate()?;
                let draw = |number: usize| self.settings.rows(number, n, weights);
                (0..self.settings.n_estimators).map(draw).collect()
            }

            /// Fits all models; the typed face of [`Estimator::fit_any`].
            pub fn fit_samples(&self, samples: &Samples) -> Result<FittedEnsemble> {
                self.validate_any()?;
                let values = self.values_any().into_iter().map(|(name, value)| (name, value.to_json())).collect();
                fit($name, $task, &self.settings, &*self.estimator, samples, values)
            }
        }

        impl Tunable for $type {
            fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
                match name.strip_prefix("estimator.") {
                    Some(inner) => self.estimator.set_any(inner, text),
                    None => Ok(self.settings.set(name, text)?),
                }
            }

            fn values_any(&self) -> Vec<(String, Value)> {
                let own = self.settings.values().into_iter().map(|(name, value)| (name.to_owned(), value));
                own.chain(dotted("estimator", self.estimator.values_any())).collect()
            }

            fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
                let own = self.settings.schema().hyperparameters.iter();
                let own = own.map(|entry| (entry.name.to_owned(), entry.clone()));
                own.chain(dotted("estimator", self.estimator.describe_any())).collect()
            }

            fn validate_any(&self) -> Result<()> {
                self.settings.validate()?;
                if self.estimator.task() != $task {
                    let fix = "take BaggingRegressor for a regression, BaggingClassifier for a classifier";
                    return Err(LearnError::unsupported($name, "joins models of the other task", fix));
                }
                self.estimator.validate_any()
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
                abilities(&*self.estimator)
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

bagging!(
    /// Averages regressions that were fitted to bootstrap sets, as scikit-learn's `BaggingRegressor`.
    BaggingRegressor,
    "BaggingRegressor",
    Task::Regression
);
bagging!(
    /// Joins classifiers that were fitted to bootstrap sets, by their probabilities where there are any, as scikit-learn's
    /// `BaggingClassifier`.
    BaggingClassifier,
    "BaggingClassifier",
    Task::Classification
);

fn abilities(estimator: &dyn Estimator) -> Abilities {
    // Which samples are drawn depends on their places; weights are chances, not copies.
    Abilities {
        order_free: false,
        weights: true,
        probabilities: estimator.task() == Task::Classification,
        ..estimator.abilities()
    }
}

/// A share of so many, at least one.
fn count(share: f64, all: usize) -> usize {
    ((share * all as f64) as usize).max(1)
}

impl BaggingSettings {
    fn key(&self, number: usize) -> Key {
        Key::new(self.seed).fold(number as u64)
    }

    /// The samples drawn for a model.
    fn rows(&self, number: usize, n: usize, weights: Option<&[f64]>) -> Result<Vec<usize>> {
        // Equal chances are no weights, so that they draw the same.
        let weights = weights.filter(|weights| weights.iter().any(|weight| *weight != weights[0]));
        draw(self.key(number).fold(0), n, count(self.max_samples, n), self.bootstrap, weights)
    }

    /// The features drawn for a model, ascending; none for all of them.
    fn columns(&self, number: usize, d: usize) -> Result<Option<Vec<usize>>> {
        let wanted = count(self.max_features, d);
        if wanted == d && !self.bootstrap_features {
            return Ok(None);
        }
        let mut columns = draw(self.key(number).fold(1), d, wanted, self.bootstrap_features, None)?;
        columns.sort_unstable();
        Ok(Some(columns))
    }
}

/// Places drawn with or without replacement.
fn draw(key: Key, n: usize, count: usize, replace: bool, weights: Option<&[f64]>) -> Result<Vec<usize>> {
    let places: Vec<i64> = match (replace, weights) {
        (true, None) => key.try_integers(0, n as i64, [count])?.to_vec::<i64>(),
        (true, Some(weights)) => key.try_categorical(&Tensor::from_slice(weights), count)?.to_vec::<i64>(),
        (false, None) => tove_tensor::random::permutation(key, n).into_iter().take(count).collect(),
        (false, Some(_)) => {
            let fix = "set `bootstrap` to true, or leave out the weights";
            return Err(LearnError::unsupported("Bagging", "takes no weights when drawing without replacement", fix));
        }
    };
    Ok(places.into_iter().map(|place| place as usize).collect())
}

fn fit(
    name: &'static str,
    task: Task,
    settings: &BaggingSettings,
    estimator: &dyn Estimator,
    samples: &Samples,
    values: serde_json::Value,
) -> Result<FittedEnsemble> {
    let (n, d) = (samples.len(), samples.width());
    if settings.oob_score && !settings.bootstrap {
        let fix = "set `bootstrap` to true";
        return Err(LearnError::unsupported(name, "has an out-of-bag score only when drawing with replacement", fix));
    }
    let classes = match task {
        Task::Regression => Vec::new(),
        Task::Classification => Labels::several(name, samples.y())?.classes().to_vec(),
    };
    let weights = samples.weights().map(Tensor::to_f64_vec);
    let plain = if weights.is_some() { unweighted(samples)? } else { samples.clone() };
    let work = |i: usize| -> Result<(Member, Vec<usize>)> {
        let drawn = settings.rows(i, n, weights.as_deref())?;
        let own = settings.columns(i, d)?;
        let set = plain.take(&drawn)?;
        let set = match &own {
            Some(own) => set.with_x(take_columns(set.x(), own)?)?,
            None => set,
        };
        Ok((Member { model: estimator.fit_any(&set)?, columns: own }, drawn))
    };
    let made: Vec<(Member, Vec<usize>)> =
        in_parallel(settings.n_estimators, work).into_iter().collect::<Result<_>>()?;
    let (members, drawn): (Vec<Member>, Vec<Vec<usize>>) = made.into_iter().unzip();
    let mut summary = Summary::exact();
    let oob = match settings.oob_score {
        true => Some(out_of_bag(task, &members, &drawn, &plain, &classes, &mut summary)?),
        false => None,
    };
    let hard = !estimator.abilities().probabilities && task == Task::Classification;
    let about = About::new(name, task, d, samples.x().dtype(), values).classes(&classes).summary(summary);
    Ok(FittedEnsemble { about, members, weights: None, hard, oob })
}

fn unweighted(samples: &Samples) -> Result<Samples> {
    match samples.may_miss() {
        true => Samples::with_missing(samples.x(), samples.y()),
        false => Samples::new(samples.x(), samples.y()),
    }
}

/// R² or accuracy of the answers that each sample gets from the models that did not see it.
fn out_of_bag(
    task: Task,
    members: &[Member],
    drawn: &[Vec<usize>],
    samples: &Samples,
    classes: &[i64],
    summary: &mut Summary,
) -> Result<f64> {
    let (n, m) = (samples.len(), classes.len().max(1));
    let answers = in_parallel(members.len(), |i| -> Result<(Vec<usize>, Vec<f64>)> {
        let mut seen = vec![false; n];
        drawn[i].iter().for_each(|&place| seen[place] = true);
        let unseen: Vec<usize> = (0..n).filter(|&place| !seen[place]).collect();
        if unseen.is_empty() {
            return Ok((unseen, Vec::new()));
        }
        let x = members[i].rows(&samples.x().take(&unseen)?)?;
        let model = &*members[i].model;
        let found = match task {
            Task::Regression => model.predict(&x)?,
            Task::Classification => FittedEnsemble::spread(classes, model, &x.to_dtype(model.dtype()), false)?,
        };
        Ok((unseen, found.to_f64_vec()))
    });
    let (mut sums, mut counts) = (vec![0.0; n * m], vec![0.0; n]);
    for answer in answers {
        let (unseen, found) = answer?;
        for (place, values) in unseen.iter().zip(found.chunks(m)) {
            counts[*place] += 1.0;
            sums[place * m..(place + 1) * m].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    let judged: Vec<usize> = (0..n).filter(|&place| counts[place] > 0.0).collect();
    if judged.len() < n {
        let missed = n - judged.len();
        summary.warn(format!("Bagging: {missed} samples were seen by every model, so the out-of-bag score leaves them out; raise `n_estimators`"));
    }
    if judged.is_empty() {
        return Err(LearnError::data("Bagging", "no sample was left out of any set", "raise `n_estimators`"));
    }
    match task {
        Task::Regression => {
            let truth = samples.targets("Bagging")?;
            let mean = judged.iter().map(|&i| truth[i]).sum::<f64>() / judged.len() as f64;
            let rest: f64 = judged.iter().map(|&i| (truth[i] - sums[i] / counts[i]).powi(2)).sum();
            let all: f64 = judged.iter().map(|&i| (truth[i] - mean).powi(2)).sum();
            Ok(1.0 - rest / all)
        }
        Task::Classification => {
            let truth = samples.y().to_dtype(DType::I64).to_vec::<i64>();
            let right = |&i: &usize| {
                let row = &sums[i * m..(i + 1) * m];
                let best = (1..m).fold(0, |best, k| if row[k] > row[best] { k } else { best });
                f64::from(classes[best] == truth[i])
            };
            Ok(judged.iter().map(right).sum::<f64>() / judged.len() as f64)
        }
    }
}
