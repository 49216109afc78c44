//! Cross-validation: every fold is evaluated with a model that was not trained on it.
//!
//! ```
//! use tove_learn::selection::{CrossValidation, KFold, Scorer};
//! use tove_learn::{DummyClassifier, Samples};
//! use tove_tensor::{DType, Tensor};
//! let y = Tensor::from([0i64, 1, 1, 1, 0, 1, 1, 1]);
//! let samples = Samples::new(&Tensor::zeros([8, 1], DType::F64), &y)?;
//! let report = CrossValidation::new(KFold::new(4))
//!     .scorers(&[Scorer::Accuracy, Scorer::NegLogLoss])
//!     .train_scores()
//!     .run(&DummyClassifier::default(), &samples)?;
//! assert_eq!(report.values(Scorer::Accuracy), [0.5, 1.0, 0.5, 1.0]);
//! assert_eq!(report.mean("accuracy"), 0.75);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::time::Instant;

use tove_metrics::Score;
use tove_tensor::Tensor;

use super::evaluation::Evaluation;
use super::folds::{Fold, KFold, Splitter, StratifiedKFold};
use super::parallel::in_parallel;
use super::scorer::Scorer;
use super::scoring::{Scoring, all};
use crate::linear::{LinearMoments, of_folds};
use crate::{Capabilities, Estimator, Fit, LearnError, Predict, Result, Samples};

/// Settings of a cross-validation.
pub struct CrossValidation {
    splitter: Box<dyn Splitter>,
    scorers: Vec<Scoring>,
    train_scores: bool,
}

/// The results of one fold.
#[derive(Clone, Debug)]
pub struct FoldReport {
    /// Test scores, one per scorer.
    pub test: Vec<Score>,
    /// Training scores, one per scorer; empty unless requested.
    pub train: Vec<Score>,
    /// Fitting time in seconds.
    pub fit_seconds: f64,
    /// Scoring time in seconds.
    pub score_seconds: f64,
}

/// The results of all folds.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The scorers in the order of the scores.
    pub scorers: Vec<Scoring>,
    /// The folds.
    pub folds: Vec<FoldReport>,
}

impl CrossValidation {
    /// Creates a cross-validation with these folds and the default score of the task.
    pub fn new(splitter: impl Splitter + 'static) -> CrossValidation {
        CrossValidation { splitter: Box::new(splitter), scorers: Vec::new(), train_scores: false }
    }

    /// Sets the scores, named or user-defined.
    #[must_use]
    pub fn scorers<S: Clone + Into<Scoring>>(mut self, scorers: &[S]) -> CrossValidation {
        self.scorers = all(scorers);
        self
    }

    /// Also computes training scores.
    #[must_use]
    pub fn train_scores(mut self) -> CrossValidation {
        self.train_scores = true;
        self
    }

    /// Fits and evaluates every fold, several in parallel; stops at the first error.
    pub fn run(&self, estimator: &dyn Estimator, samples: &Samples) -> Result<Folded> {
        let folds = self.splitter.split_samples(samples)?;
        let scorers = match self.scorers.is_empty() {
            true => vec![Scorer::usual(estimator.capabilities())?.into()],
            false => self.scorers.clone(),
        };
        scorers.iter().try_for_each(|scorer| scorer.check(estimator.name(), estimator.capabilities()))?;
        let moments = fold_moments(estimator.capabilities(), samples, &folds);
        let work = |task: usize| {
            let moments = moments.as_ref().map(|all| &all[task]);
            evaluate_fold(estimator, samples, (&folds[task], moments), &scorers, self.train_scores)
        };
        let folds = in_parallel(folds.len(), work).into_iter().collect::<Result<_>>()?;
        Ok(Folded { scorers, folds })
    }
}

/// The moments of each fold's training part, computed once for all of them, if the estimator is fitted to moments. What is wrong with
/// the samples is reported by the fits.
pub(super) fn fold_moments(
    capabilities: Capabilities,
    samples: &Samples,
    folds: &[Fold],
) -> Option<Vec<LinearMoments>> {
    if capabilities.moments { of_folds(samples, folds).ok().flatten() } else { None }
}

/// Fits to the training part, or to its moments, and evaluates on the test part.
pub(super) fn evaluate_fold(
    estimator: &dyn Estimator,
    samples: &Samples,
    (fold, moments): (&Fold, Option<&LinearMoments>),
    scorers: &[Scoring],
    train_scores: bool,
) -> Result<FoldReport> {
    let start = Instant::now();
    let model = match moments.map_or(Ok(None), |moments| estimator.fit_moments(moments))? {
        Some(model) => model,
        None => estimator.fit_samples(&samples.take(&fold.train)?)?,
    };
    let fit_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let test = samples.take(&fold.test)?;
    let score = |samples: &Samples| -> Result<Vec<Score>> {
        // Evaluated once for all scores; user-defined scores may work without targets.
        let evaluation = samples.targets().map(|_| Evaluation::new(&*model, samples)).transpose()?;
        scorers.iter().map(|scorer| scorer.of(&*model, samples, evaluation.as_ref())).collect()
    };
    let (test, train): (Result<Vec<Score>>, Result<Vec<Score>>) =
        (score(&test), if train_scores { score(&samples.take(&fold.train)?) } else { Ok(Vec::new()) });
    Ok(FoldReport { test: test?, train: train?, fit_seconds, score_seconds: start.elapsed().as_secs_f64() })
}

/// This many folds, stratified for classification.
pub(super) fn default_folds(capabilities: Capabilities, folds: usize) -> Box<dyn Splitter> {
    if capabilities.classifies() { Box::new(StratifiedKFold::new(folds)) } else { Box::new(KFold::new(folds)) }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation with n in the denominator, like scikit-learn.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let center = mean(values);
    (values.iter().map(|value| (value - center).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

impl Folded {
    fn column(&self, scorer: impl Into<Scoring>, of: impl Fn(&FoldReport) -> &[Score]) -> Vec<f64> {
        let scorer = scorer.into();
        let index = self.scorers.iter().position(|own| *own == scorer);
        let scores = self.folds.iter().filter_map(|fold| of(fold).get(index?));
        scores.map(|score| score.value).collect()
    }

    /// The scores of the folds; empty for a score that was not requested.
    pub fn values(&self, scorer: impl Into<Scoring>) -> Vec<f64> {
        self.column(scorer, |fold| &fold.test)
    }

    /// The training scores.
    pub fn train_values(&self, scorer: impl Into<Scoring>) -> Vec<f64> {
        self.column(scorer, |fold| &fold.train)
    }

    /// Mean over the folds.
    pub fn mean(&self, scorer: impl Into<Scoring>) -> f64 {
        mean(&self.values(scorer))
    }

    /// Standard deviation over the folds, with their number in the denominator.
    pub fn std(&self, scorer: impl Into<Scoring>) -> f64 {
        deviation(&self.values(scorer))
    }
}

/// Scores on every fold, including training scores.
pub fn cross_validate(
    estimator: &dyn Estimator,
    samples: &Samples,
    splitter: impl Splitter + 'static,
    scorers: &[impl Clone + Into<Scoring>],
) -> Result<Folded> {
    CrossValidation::new(splitter).scorers(scorers).train_scores().run(estimator, samples)
}

/// One score per fold.
pub fn cross_val_score(
    estimator: &dyn Estimator,
    samples: &Samples,
    splitter: impl Splitter + 'static,
    scorer: impl Into<Scoring>,
) -> Result<Vec<f64>> {
    let scoring = scorer.into();
    Ok(CrossValidation::new(splitter).scorers(&[&scoring]).run(estimator, samples)?.values(&scoring))
}

/// Out-of-fold predictions: each sample is predicted by a model that was not trained on it. The folds must test every
/// sample exactly once.
pub fn cross_val_predict(estimator: &dyn Estimator, samples: &Samples, splitter: &dyn Splitter) -> Result<Tensor> {
    samples.targets_for("cross_val_predict")?;
    let folds = splitter.split_samples(samples)?;
    let mut home = vec![usize::MAX; samples.len()];
    for (next, &index) in folds.iter().flat_map(|fold| &fold.test).enumerate() {
        if home[index] != usize::MAX {
            let problem = format!("sample {index} is tested several times; use folds such as KFold");
            return Err(LearnError::parameter("cross_val_predict", problem));
        }
        home[index] = next;
    }
    if let Some(index) = home.iter().position(|&home| home == usize::MAX) {
        let problem = format!("sample {index} is never tested; use folds such as KFold");
        return Err(LearnError::parameter("cross_val_predict", problem));
    }
    let work = |task: usize| {
        let model = estimator.fit_samples(&samples.take(&folds[task].train)?)?;
        model.predict(samples.x().take(&folds[task].test)?)
    };
    let parts: Vec<Tensor> = in_parallel(folds.len(), work).into_iter().collect::<Result<_>>()?;
    let all = Tensor::try_concat(&parts.iter().collect::<Vec<_>>(), 0)?;
    crate::rows::take(&all, &home)
}
