//! Bagging: k bootstrap sets of samples drawn with replacement, a model for each, answers averaged (Breiman 1996).
//!
//! A set of n draws from n samples holds about 1 − 1/e = 63.2 % of them; the others judge its model (out-of-bag score).
//! Weights of samples are chances of being drawn. A set may lack classes: its model then gives them probability 0, and where only one
//! class was drawn the model is a constant, that class.

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::{DType, Key, Tensor};

use super::fitted::{FittedEnsemble, Member};
use crate::features::take_columns;
use crate::selection::in_parallel;
use crate::{
    About, Algorithm, Capabilities, DummyClassifier, Estimator, Fit, Labels, LearnError, LinearRegression,
    LogisticRegression, Predict, Result, Samples, Summary,
};

/// How sets are drawn, with scikit-learn's names and defaults.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Bagging", shared)]
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
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

/// Averages regressors that were fitted to bootstrap sets, as scikit-learn's `BaggingRegressor`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_regressor)]
pub struct BaggingRegressor {
    /// The regressor that is fitted to each set.
    #[hyper(default = Box::new(LinearRegression::default()))]
    pub estimator: Box<dyn Estimator>,
    /// How sets are drawn.
    #[hyper(flatten)]
    pub sets: BaggingSettings,
}

/// Joins classifiers that were fitted to bootstrap sets, by their probabilities where there are any, as scikit-learn's
/// `BaggingClassifier`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_classifier)]
pub struct BaggingClassifier {
    /// The classifier that is fitted to each set.
    #[hyper(default = Box::new(LogisticRegression::default()))]
    pub estimator: Box<dyn Estimator>,
    /// How sets are drawn.
    #[hyper(flatten)]
    pub sets: BaggingSettings,
}

fn check_regressor(settings: &BaggingRegressor) -> Result<(), SettingError> {
    check(BaggingRegressor::NAME, &Capabilities::REGRESSOR, &*settings.estimator, &settings.sets)
}

fn check_classifier(settings: &BaggingClassifier) -> Result<(), SettingError> {
    check(BaggingClassifier::NAME, &Capabilities::CLASSIFIER, &*settings.estimator, &settings.sets)
}

fn check(
    who: &'static str,
    wanted: &Capabilities,
    estimator: &dyn Estimator,
    sets: &BaggingSettings,
) -> Result<(), SettingError> {
    if !estimator.capabilities().predicts_like(wanted) {
        let problem = format!("{} is a {}", estimator.name(), estimator.capabilities().kind());
        let other = match estimator.capabilities().kind() {
            "classifier" => ", or use BaggingClassifier",
            "regressor" => ", or use BaggingRegressor",
            _ => "",
        };
        return Err(SettingError::conflict(who, "estimator", problem, format!("give a {}{other}", wanted.kind())));
    }
    if sets.oob_score && !sets.bootstrap {
        let problem = "there is an out-of-bag score only when drawing with replacement";
        return Err(SettingError::conflict(who, "oob_score", problem, "set `bootstrap` to true"));
    }
    Ok(())
}

macro_rules! bagging {
    ($type:ident, $inner:ty) => {
        impl $type {
            /// Ten models of this estimator, each on a bootstrap set.
            pub fn new(estimator: impl Estimator + 'static) -> $type {
                $type { estimator: estimator.duplicate(), ..$type::default() }
            }

            /// The places that are drawn from n samples for each model.
            ///
            /// # Errors
            /// If the settings cannot be used, or weights do not go with them.
            pub fn draws(&self, n: usize, weights: Option<&[f64]>) -> Result<Vec<Vec<usize>>> {
                self.validate()?;
                let draw = |number: usize| self.sets.rows(number, n, weights);
                (0..self.sets.n_estimators).map(draw).collect()
            }
        }

        impl Algorithm for $type {
            type Fitted = FittedEnsemble;
            const CAPABILITIES: Capabilities = capabilities(<$inner>::CAPABILITIES);

            fn capabilities_of(settings: &$type) -> Capabilities {
                // Without replacement nothing is drawn by chance.
                let weights = settings.sets.bootstrap;
                Capabilities { weights, ..capabilities(settings.estimator.capabilities()) }
            }

            fn train(&self, samples: &Samples) -> Result<FittedEnsemble> {
                train(self, &*self.estimator, &self.sets, samples)
            }
        }
    };
}
bagging!(BaggingRegressor, LinearRegression);
bagging!(BaggingClassifier, LogisticRegression);

const fn capabilities(inner: Capabilities) -> Capabilities {
    // Which samples are drawn depends on their places; weights are chances, not copies.
    Capabilities {
        order_free: false,
        weights: true,
        multi_output: false,
        probabilities: inner.classifies(),
        decision_function: false,
        transform: false,
        fills: false,
        inverse_transform: false,
        score_samples: false,
        neighbors: false,
        partial_fit: false,
        checks_finite: false,
        delegates: true,
        ..inner
    }
}

/// A share of a number, at least one.
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

fn train(
    ensemble: &dyn Estimator,
    estimator: &dyn Estimator,
    settings: &BaggingSettings,
    samples: &Samples,
) -> Result<FittedEnsemble> {
    let (name, classifies) = (ensemble.name(), estimator.capabilities().classifies());
    let (n, d) = (samples.len(), samples.width());
    let classes = if classifies { Labels::several(name, samples.y()?)?.classes().to_vec() } else { Vec::new() };
    let weights = samples.weights().map(Tensor::to_f64_vec);
    let plain = samples.without_weights();
    let work = |i: usize| -> Result<(Member, Vec<usize>)> {
        let drawn = settings.rows(i, n, weights.as_deref())?;
        let own = settings.columns(i, d)?;
        let set = plain.take(&drawn)?;
        let set = match &own {
            Some(own) => set.with_columns(take_columns(set.x(), own)?),
            None => set,
        };
        let single = classifies && Labels::of(name, set.y()?)?.classes().len() == 1;
        // A set that drew one class only has a constant answer, whatever the estimator.
        let model = if single { DummyClassifier::default().fit_boxed(&set)? } else { estimator.fit_samples(&set)? };
        Ok((Member { model, columns: own }, drawn))
    };
    let made: Vec<(Member, Vec<usize>)> =
        in_parallel(settings.n_estimators, work).into_iter().collect::<Result<_>>()?;
    let (members, drawn): (Vec<Member>, Vec<Vec<usize>>) = made.into_iter().unzip();
    let mut summary = Summary::exact();
    let oob = match settings.oob_score {
        true => Some(out_of_bag(&members, &drawn, &plain, &classes, &mut summary)?),
        false => None,
    };
    let hard = classifies && !estimator.capabilities().probabilities;
    let about = About::new(ensemble, d, samples.x().dtype()).classes(&classes).summary(summary);
    Ok(FittedEnsemble { about, members, weights: None, hard, oob })
}

/// R² or accuracy of the answers that each sample gets from the models that did not see it.
fn out_of_bag(
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
        let found = match classes.is_empty() {
            true => model.predict(&x)?,
            false => FittedEnsemble::spread(classes, model, &x.to_dtype(model.dtype()), false)?,
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
    match classes.is_empty() {
        true => {
            let truth = samples.single_target("Bagging")?;
            let mean = judged.iter().map(|&i| truth[i]).sum::<f64>() / judged.len() as f64;
            let rest: f64 = judged.iter().map(|&i| (truth[i] - sums[i] / counts[i]).powi(2)).sum();
            let all: f64 = judged.iter().map(|&i| (truth[i] - mean).powi(2)).sum();
            Ok(1.0 - rest / all)
        }
        false => {
            let truth = samples.y()?.to_dtype(DType::I64).to_vec::<i64>();
            let right = |&i: &usize| {
                let row = &sums[i * m..(i + 1) * m];
                let best = (1..m).fold(0, |best, k| if row[k] > row[best] { k } else { best });
                f64::from(classes[best] == truth[i])
            };
            Ok(judged.iter().map(right).sum::<f64>() / judged.len() as f64)
        }
    }
}
