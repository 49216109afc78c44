//! Hyperparameter search by cross-validation on the training samples.
//!
//! Every candidate is fitted and evaluated on every fold, several in parallel. The one with the best mean score is
//! refitted to all training samples. A failed candidate is recorded with its message; a raised stop flag ends the
//! search with the table so far.
//!
//! A search is an estimator too, so nested cross-validation, whose score is not biased by the selection, is one line:
//!
//! ```
//! use tove_learn::selection::{Grid, GridSearch, KFold, Scorer, cross_val_score};
//! use tove_learn::{Ridge, Samples};
//! use tove_tensor::{DType, Key, Tensor};
//! let x = Key::new(1).normal([40, 3], DType::F64);
//! let y = x.matmul(&Tensor::from([1.0, -2.0, 0.5]));
//! let samples = Samples::new(&x, &y)?;
//! let search = GridSearch::new(Ridge::default(), Grid::new().over("alpha", [0.01, 100.0]));
//! let outer = cross_val_score(&search, &samples, KFold::new(4), Scorer::R2)?;
//! assert!(outer.iter().all(|&r2| r2 > 0.99));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::fmt;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use tove_optim::settings::{Hyperparameters, SettingError};

use super::folds::{Fold, Splitter};
use super::grid::{Candidate, Grid, Space};
use super::parallel::in_parallel;
use super::scorer::Scorer;
use super::scoring::{Scoring, all};
use super::table::{SearchResult, Trial, rank};
use super::validate::{FoldReport, default_folds, evaluate_fold, fold_moments};
use crate::linear::LinearMoments;
use crate::{About, Algorithm, Capabilities, Estimator, Fit, Labels, LearnError, Result, Ridge, Samples};

/// Combinations of a grid that are tried, at most: more would not be done in a lifetime, and their list would not fit in memory.
const MOST: usize = 1_000_000;

/// What is not data: user-defined folds, scores and flags.
#[derive(Clone, Default)]
pub struct SearchOptions {
    splitter: Option<Arc<dyn Splitter>>,
    scorers: Vec<Scoring>,
    silent: bool,
    stop: Option<Arc<AtomicBool>>,
}

impl fmt::Debug for SearchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchOptions").field("scorers", &self.scorers).finish_non_exhaustive()
    }
}

impl PartialEq for SearchOptions {
    fn eq(&self, other: &SearchOptions) -> bool {
        let same = |a: &Option<Arc<dyn Splitter>>, b: &Option<Arc<dyn Splitter>>| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.scorers == other.scorers && same(&self.splitter, &other.splitter)
    }
}

/// Grid search: tries all combinations of a grid.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check_grid)]
pub struct GridSearch {
    /// The estimator to tune.
    #[hyper(default = Box::new(Ridge::default()))]
    pub estimator: Box<dyn Estimator>,
    /// The values of each hyperparameter.
    #[hyper(alias = "param_grid")]
    pub grid: Grid,
    /// Number of folds, stratified for classification, unless folds are given.
    #[hyper(default = 5, range = "[2, inf)")]
    pub cv: usize,
    /// The score that decides; accuracy or R² without it.
    pub scoring: Option<Scorer>,
    /// Whether the best settings are fitted to all training samples at the end.
    #[hyper(default = true)]
    pub refit: bool,
    /// User-defined folds, scores and flags.
    #[hyper(skip)]
    options: SearchOptions,
}

/// Random search: tries random draws from distributions.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
pub struct RandomSearch {
    /// The estimator to tune.
    #[hyper(default = Box::new(Ridge::default()))]
    pub estimator: Box<dyn Estimator>,
    /// The distribution of each hyperparameter.
    #[hyper(alias = "param_distributions")]
    pub space: Space,
    /// Number of draws.
    #[hyper(default = 10, range = "[1, inf)", alias = "n_iter")]
    pub iterations: usize,
    /// Seed of the draws.
    #[hyper(default = 0, alias = "random_state")]
    pub seed: u64,
    /// Number of folds, stratified for classification, unless folds are given.
    #[hyper(default = 5, range = "[2, inf)")]
    pub cv: usize,
    /// The score that decides; accuracy or R² without it.
    pub scoring: Option<Scorer>,
    /// Whether the best settings are fitted to all training samples at the end.
    #[hyper(default = true)]
    pub refit: bool,
    /// User-defined folds, scores and flags.
    #[hyper(skip)]
    options: SearchOptions,
}

fn check_grid(search: &GridSearch) -> Result<(), SettingError> {
    let count = search.grid.count();
    if count > MOST {
        let problem = format!("it has {count} combinations, and at most {MOST} are tried");
        let fix = "give fewer values, or draw some of them with RandomSearch";
        return Err(SettingError::conflict("GridSearch", "grid", problem, fix));
    }
    Ok(())
}

macro_rules! options {
    ($type:ident, |$search:ident| $candidates:expr) => {
        impl $type {
            /// Sets the folds.
            #[must_use]
            pub fn folds(mut self, splitter: impl Splitter + 'static) -> $type {
                self.options.splitter = Some(Arc::new(splitter));
                self
            }

            /// Sets the score to maximize; accuracy or R² by default.
            #[must_use]
            pub fn scorer(self, scorer: impl Into<Scoring>) -> $type {
                self.scorers(&[scorer.into()])
            }

            /// Records several scores; the first one decides.
            #[must_use]
            pub fn scorers<S: Clone + Into<Scoring>>(mut self, scorers: &[S]) -> $type {
                self.options.scorers = all(scorers);
                self
            }

            /// Does not refit the best candidate on all training samples.
            #[must_use]
            pub fn without_refit(self) -> $type {
                self.refit(false)
            }

            /// Disables the progress display.
            #[must_use]
            pub fn silent(mut self) -> $type {
                self.options.silent = true;
                self
            }

            /// Stops when the flag is raised, from another thread or by Ctrl-C; running fits are finished.
            #[must_use]
            pub fn stop_when(mut self, flag: Arc<AtomicBool>) -> $type {
                self.options.stop = Some(flag);
                self
            }
        }

        impl Algorithm for $type {
            type Fitted = SearchResult;
            const CAPABILITIES: Capabilities = Capabilities {
                order_free: false,
                partial_fit: false,
                passes: false,
                warm_start: false,
                moments: false,
                checks_finite: false,
                delegates: true,
                ..Ridge::CAPABILITIES
            };

            fn capabilities_of(settings: &$type) -> Capabilities {
                // The winner depends on the folds, hence on the order of the samples. Indices inside folds are not
                // those of the samples, so features are checked beforehand.
                let inner = settings.estimator.capabilities();
                Capabilities {
                    order_free: false,
                    partial_fit: false,
                    passes: false,
                    warm_start: false,
                    moments: false,
                    checks_finite: false,
                    delegates: true,
                    ..inner
                }
            }

            fn train(&self, samples: &Samples) -> Result<SearchResult> {
                let $search = self;
                let run = Run {
                    name: <$type as tove_optim::settings::Named>::NAME,
                    estimator: &*self.estimator,
                    cv: self.cv,
                    scoring: self.scoring,
                    refit: self.refit,
                    options: &self.options,
                    settings: self.to_json(),
                };
                run.go($candidates, samples)
            }
        }
    };
}
options!(GridSearch, |search| search.grid.candidates());
options!(RandomSearch, |search| search.space.candidates(search.iterations, search.seed)?);

impl GridSearch {
    /// Creates a search over a grid of an estimator's hyperparameters.
    pub fn new(estimator: impl Estimator + 'static, grid: Grid) -> GridSearch {
        GridSearch { estimator: estimator.duplicate(), grid, ..GridSearch::default() }
    }
}

impl RandomSearch {
    /// Creates a search over a space of an estimator's hyperparameters, with 10 draws and seed 0.
    pub fn new(estimator: impl Estimator + 'static, space: Space) -> RandomSearch {
        RandomSearch { estimator: estimator.duplicate(), space, ..RandomSearch::default() }
    }
}

/// A running search.
struct Run<'a> {
    name: &'static str,
    estimator: &'a dyn Estimator,
    cv: usize,
    scoring: Option<Scorer>,
    refit: bool,
    options: &'a SearchOptions,
    settings: serde_json::Value,
}

/// Result of one candidate on one fold.
enum End {
    Done(FoldReport),
    Failed(String),
    Skipped,
}

impl Run<'_> {
    fn stopped(&self) -> bool {
        self.options.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    fn go(&self, candidates: Vec<Candidate>, train: &Samples) -> Result<SearchResult> {
        if candidates.is_empty() {
            return Err(LearnError::parameter(self.name, "there is no candidate; give every name at least one value"));
        }
        let capabilities = self.estimator.capabilities();
        let folds = match &self.options.splitter {
            Some(splitter) => splitter.split_samples(train)?,
            None => default_folds(capabilities, self.cv).split_samples(train)?,
        };
        let scorers = match (self.options.scorers.is_empty(), self.scoring) {
            (false, _) => self.options.scorers.clone(),
            (true, Some(scorer)) => vec![scorer.into()],
            (true, None) => vec![Scorer::usual(capabilities)?.into()],
        };
        // A candidate may enable probabilities that the estimator lacks with its current settings.
        let widest = Capabilities { probabilities: true, decision_function: true, ..capabilities };
        scorers.iter().try_for_each(|scorer| scorer.check(self.estimator.name(), widest))?;
        let (k, total) = (folds.len(), candidates.len() * folds.len());
        let moments = fold_moments(capabilities, train, &folds); // hyperparameters have no part in them
        let bar = self.bar(total);
        let ends = in_parallel(total, |task| {
            let end = match self.stopped() || tove_optim::interrupted() {
                true => End::Skipped,
                false => {
                    let moments = moments.as_ref().map(|all| &all[task % k]);
                    self.attempt(&candidates[task / k], train, (&folds[task % k], moments), &scorers)
                }
            };
            bar.iter().for_each(|bar| bar.inc(1));
            end
        });
        bar.iter().for_each(ProgressBar::finish_and_clear);
        self.conclude(candidates, ends, scorers, k, train)
    }

    fn configured(&self, candidate: &Candidate) -> Result<Box<dyn Estimator>> {
        let mut estimator = self.estimator.duplicate();
        candidate.iter().try_for_each(|(name, value)| estimator.set(name, value.clone()))?;
        Ok(estimator)
    }

    /// An error or panic of one candidate does not end the search.
    fn attempt(
        &self,
        candidate: &Candidate,
        samples: &Samples,
        fold: (&Fold, Option<&LinearMoments>),
        scorers: &[Scoring],
    ) -> End {
        let work = || evaluate_fold(&*self.configured(candidate)?, samples, fold, scorers, false);
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(report)) => End::Done(report),
            Ok(Err(LearnError::Interrupted { .. })) => End::Skipped,
            Ok(Err(error)) => End::Failed(error.to_string()),
            Err(_) => End::Failed("it panicked".to_owned()),
        }
    }

    fn conclude(
        &self,
        candidates: Vec<Candidate>,
        ends: Vec<End>,
        scorers: Vec<Scoring>,
        k: usize,
        train: &Samples,
    ) -> Result<SearchResult> {
        let stopped = ends.iter().any(|end| matches!(end, End::Skipped));
        if stopped && !self.stopped() {
            return Err(LearnError::Interrupted { who: self.name }); // by Ctrl-C or a time limit, not by the search's own flag
        }
        let (done, total) = (ends.iter().filter(|end| matches!(end, End::Done(_))).count(), ends.len());
        let mut trials: Vec<Trial> = candidates
            .into_iter()
            .zip(ends.chunks(k))
            .map(|(settings, ends)| trial(settings, ends, scorers.len()))
            .collect();
        let Some(best) = rank(&mut trials) else {
            let failure = trials.iter().find_map(|trial| trial.failure.clone());
            if failure.is_some() && self.estimator.capabilities().classifies() {
                Labels::several(self.name, train.y()?)?; // the most likely reason
            }
            return Err(match (failure, stopped) {
                (Some(problem), false) => LearnError::data(
                    self.name,
                    format!("every candidate failed, the first with: {problem}"),
                    "fix the settings or the data named in the message",
                ),
                _ => LearnError::Stopped { done, total },
            });
        };
        let model = match self.refit && !stopped {
            true => Some(self.configured(&trials[best].settings)?.fit_samples(train)?),
            false => None,
        };
        let about = About::with(
            self.name,
            self.estimator.capabilities(),
            train.width(),
            train.x().dtype(),
            self.settings.clone(),
        );
        let scorers = scorers.iter().map(|scorer| scorer.name().to_owned()).collect();
        Ok(SearchResult::new(about, scorers, trials, best, model, stopped))
    }

    fn bar(&self, total: usize) -> Option<ProgressBar> {
        if self.options.silent || !std::io::stderr().is_terminal() {
            return None;
        }
        let bar = ProgressBar::new(total as u64);
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} fits, {eta} left");
        Some(style.map_or_else(|_| bar.clone(), |style| bar.clone().with_style(style)))
    }
}

fn trial(settings: Candidate, ends: &[End], scorers: usize) -> Trial {
    let mut trial = Trial {
        settings,
        scores: vec![Vec::new(); scorers],
        fit_seconds: 0.0,
        rank: None,
        failure: None,
        folds: ends.len(),
    };
    for end in ends {
        match end {
            End::Done(report) => {
                trial.fit_seconds += report.fit_seconds;
                trial.scores.iter_mut().zip(&report.test).for_each(|(list, score)| list.push(score.value));
            }
            End::Failed(problem) => trial.failure = trial.failure.take().or_else(|| Some(problem.clone())),
            End::Skipped => {}
        }
    }
    trial
}
