//! Bagging: k models, each fitted to a bootstrap sample, with averaged predictions (Breiman 1996).
//!
//! A bootstrap sample of n draws from n samples contains about 1 − 1/e = 63.2 % of them; the others evaluate its model
//! (out-of-bag score). Sample weights are drawing probabilities. A bootstrap sample may lack classes: its model then
//! gives them probability 0, and if only one class was drawn the model is constant.

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::{DType, Key, Tensor};

use super::fitted::{FittedEnsemble, seen};
use crate::features::take_columns;
use crate::selection::in_parallel;
use crate::{
    About, Algorithm, Capabilities, DummyClassifier, Estimator, Fit, Labels, LearnError, LinearRegression,
    LogisticRegression, Model, Predict, Result, Samples, Summary,
};

/// Settings of the bootstrap samples, with scikit-learn's names and defaults.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "Bagging", shared)]
pub struct BaggingSettings {
    /// Number of models.
    #[hyper(default = 10, range = "[1, inf)")]
    pub n_estimators: usize,
    /// Number of samples drawn for each model, as a fraction of all.
    #[hyper(default = 1.0, range = "(0, 1]")]
    pub max_samples: f64,
    /// Number of features drawn for each model, as a fraction of all.
    #[hyper(default = 1.0, range = "(0, 1]")]
    pub max_features: f64,
    /// Whether samples are drawn with replacement.
    #[hyper(default = true)]
    pub bootstrap: bool,
    /// Whether features are drawn with replacement.
    #[hyper(default = false)]
    pub bootstrap_features: bool,
    /// Whether to compute the out-of-bag score.
    #[hyper(default = false)]
    pub oob_score: bool,
    /// Seed of the draws.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
}

/// Averages regressors fitted to bootstrap samples, like scikit-learn's `BaggingRegressor`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_regressor)]
pub struct BaggingRegressor {
    /// The regressor fitted to each bootstrap sample.
    #[hyper(default = Box::new(LinearRegression::default()))]
    pub estimator: Box<dyn Estimator>,
    /// Settings of the bootstrap samples.
    #[hyper(flatten)]
    pub sets: BaggingSettings,
}

/// Combines classifiers fitted to bootstrap samples, by their probabilities if available, like scikit-learn's
/// `BaggingClassifier`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_classifier)]
pub struct BaggingClassifier {
    /// The classifier fitted to each bootstrap sample.
    #[hyper(default = Box::new(LogisticRegression::default()))]
    pub estimator: Box<dyn Estimator>,
    /// Settings of the bootstrap samples.
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
        let problem = "the out-of-bag score requires drawing with replacement";
        return Err(SettingError::conflict(who, "oob_score", problem, "set `bootstrap` to true"));
    }
    Ok(())
}

macro_rules! bagging {
    ($type:ident, $inner:ty) => {
        impl $type {
            /// Creates an ensemble of ten models of this estimator, each on a bootstrap sample.
            pub fn new(estimator: impl Estimator + 'static) -> $type {
                $type { estimator: estimator.duplicate(), ..$type::default() }
            }

            /// Returns the sample indices drawn for each model.
            ///
            /// # Errors
            /// If the settings are invalid, or weights are not supported with them.
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
                // Without replacement there are no drawing probabilities.
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
    // The draws depend on the order of the samples; weights are probabilities, not copies.
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
        passes: false,
        warm_start: false,
        moments: false,
        checks_finite: false,
        delegates: true,
        ..inner
    }
}

/// A fraction of a number, at least one.
fn count(share: f64, all: usize) -> usize {
    ((share * all as f64) as usize).max(1)
}

impl BaggingSettings {
    fn key(&self, number: usize) -> Key {
        Key::new(self.seed).fold(number as u64)
    }

    /// The samples drawn for a model.
    fn rows(&self, number: usize, n: usize, weights: Option<&[f64]>) -> Result<Vec<usize>> {
        // Equal weights are treated as none, so that they give the same draws.
        let weights = weights.filter(|weights| weights.iter().any(|weight| *weight != weights[0]));
        draw(self.key(number).fold(0), n, count(self.max_samples, n), self.bootstrap, weights)
    }

    /// The features drawn for a model, ascending; `None` for all of them.
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

/// Indices drawn with or without replacement.
fn draw(key: Key, n: usize, count: usize, replace: bool, weights: Option<&[f64]>) -> Result<Vec<usize>> {
    let indices: Vec<i64> = match (replace, weights) {
        (true, None) => key.try_integers(0, n as i64, [count])?.to_vec::<i64>(),
        (true, Some(weights)) => key.try_categorical(&Tensor::from_slice(weights), count)?.to_vec::<i64>(),
        (false, None) => tove_tensor::random::permutation(key, n).into_iter().take(count).collect(),
        (false, Some(_)) => {
            let fix = "set `bootstrap` to true, or leave out the weights";
            return Err(LearnError::unsupported(
                "Bagging",
                "does not support weights when drawing without replacement",
                fix,
            ));
        }
    };
    Ok(indices.into_iter().map(|index| index as usize).collect())
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
    let work = |i: usize| -> Result<Drawn> {
        let (rows, columns) = (settings.rows(i, n, weights.as_deref())?, settings.columns(i, d)?);
        let set = plain.take(&rows)?;
        let set = match &columns {
            Some(columns) => set.with_columns(take_columns(set.x(), columns)?),
            None => set,
        };
        let single = classifies && Labels::of(name, set.y()?)?.classes().len() == 1;
        // A bootstrap sample with a single class gets a constant model.
        let model = if single { DummyClassifier::default().fit_boxed(&set)? } else { estimator.fit_samples(&set)? };
        Ok(Drawn { model, rows, columns })
    };
    let drawn: Vec<Drawn> = in_parallel(settings.n_estimators, work).into_iter().collect::<Result<_>>()?;
    let mut summary = Summary::exact();
    let oob_score = match settings.oob_score {
        true => Some(out_of_bag(&drawn, &plain, &classes, &mut summary)?),
        false => None,
    };
    let hard = classifies && !estimator.capabilities().probabilities;
    let about = About::new(ensemble, d, samples.x().dtype()).classes(&classes).summary(summary);
    let (members, columns): (Vec<_>, Vec<_>) = drawn.into_iter().map(|drawn| (drawn.model, drawn.columns)).unzip();
    let columns: Option<Vec<Vec<usize>>> = columns.into_iter().collect();
    Ok(FittedEnsemble { about, members, columns, weights: None, hard, oob_score })
}

/// A model with the rows and columns that were drawn for it; all columns without a list.
struct Drawn {
    model: Box<dyn Model>,
    rows: Vec<usize>,
    columns: Option<Vec<usize>>,
}

/// R² or accuracy of the answers that each sample gets from the models that did not see it.
fn out_of_bag(drawn: &[Drawn], samples: &Samples, classes: &[i64], summary: &mut Summary) -> Result<f64> {
    let (n, m) = (samples.len(), classes.len().max(1));
    let answers = in_parallel(drawn.len(), |i| -> Result<(Vec<usize>, Vec<f64>)> {
        let mut known = vec![false; n];
        drawn[i].rows.iter().for_each(|&place| known[place] = true);
        let unseen: Vec<usize> = (0..n).filter(|&place| !known[place]).collect();
        if unseen.is_empty() {
            return Ok((unseen, Vec::new()));
        }
        let x = seen(&samples.x().take(&unseen)?, drawn[i].columns.as_ref())?;
        let model = &*drawn[i].model;
        let found = match classes.is_empty() {
            true => model.predict(&x)?,
            false => FittedEnsemble::spread(classes, model, &x.to_dtype(model.dtype()), false)?,
        };
        Ok((unseen, found.to_f64_vec()))
    });
    let (mut sums, mut counts) = (vec![0.0; n * m], vec![0.0; n]);
    for answer in answers {
        let (unseen, found) = answer?;
        for (index, values) in unseen.iter().zip(found.chunks(m)) {
            counts[*index] += 1.0;
            sums[index * m..(index + 1) * m].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }
    let evaluated: Vec<usize> = (0..n).filter(|&index| counts[index] > 0.0).collect();
    if evaluated.len() < n {
        let missed = n - evaluated.len();
        summary.warn(format!("Bagging: {missed} samples are in every bootstrap sample and are excluded from the out-of-bag score; increase `n_estimators`"));
    }
    if evaluated.is_empty() {
        return Err(LearnError::data("Bagging", "every sample is in every bootstrap sample", "raise `n_estimators`"));
    }
    match classes.is_empty() {
        true => {
            let truth = samples.single_target("Bagging")?;
            let mean = evaluated.iter().map(|&i| truth[i]).sum::<f64>() / evaluated.len() as f64;
            let rest: f64 = evaluated.iter().map(|&i| (truth[i] - sums[i] / counts[i]).powi(2)).sum();
            let all: f64 = evaluated.iter().map(|&i| (truth[i] - mean).powi(2)).sum();
            Ok(1.0 - rest / all)
        }
        false => {
            let truth = samples.y()?.to_dtype(DType::I64).to_vec::<i64>();
            let right = |&i: &usize| {
                let row = &sums[i * m..(i + 1) * m];
                let best = (1..m).fold(0, |best, k| if row[k] > row[best] { k } else { best });
                f64::from(classes[best] == truth[i])
            };
            Ok(evaluated.iter().map(right).sum::<f64>() / evaluated.len() as f64)
        }
    }
}
