//! Hyperparameters chosen by cross-validation on the training samples.
//!
//! Every candidate is fitted and judged on every fold, several at once; the best mean wins and is fitted again to all
//! training samples. A candidate that fails is written down with its message; a raised stop flag ends the search with the
//! table so far.
//!
//! A search is an estimator too, so that judging one by folds of its own (nested cross-validation, whose score is not flattered
//! by the choice) is one line:
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

use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use tove_optim::settings::{Hyperparameter, Value};

use super::folds::{Fold, Splitter};
use super::grid::{Candidate, Grid, Space};
use super::plan::in_parallel;
use super::scorer::Scorer;
use super::scoring::{Scoring, all};
use super::split::Train;
use super::table::{SearchResult, Trial, rank};
use super::validate::{FoldReport, judge, usual_folds};
use crate::{Abilities, Estimator, LearnError, Model, Result, Samples, Task, Tunable};

/// What both kinds of search share.
#[derive(Clone)]
struct Plan {
    estimator: Box<dyn Estimator>,
    splitter: Option<Arc<dyn Splitter>>,
    scorers: Vec<Scoring>,
    refit: bool,
    silent: bool,
    stop: Option<Arc<AtomicBool>>,
}

/// Tries all combinations of a grid.
#[derive(Clone)]
pub struct GridSearch {
    plan: Plan,
    grid: Grid,
}

/// Tries draws from distributions.
#[derive(Clone)]
pub struct RandomSearch {
    plan: Plan,
    space: Space,
    iterations: usize,
    seed: u64,
}

macro_rules! options {
    ($type:ident) => {
        impl $type {
            /// Judges by these folds; five unless said, stratified for classes.
            #[must_use]
            pub fn folds(mut self, splitter: impl Splitter + 'static) -> $type {
                self.plan.splitter = Some(Arc::new(splitter));
                self
            }

            /// Decides by this score; accuracy or R² unless said.
            #[must_use]
            pub fn scorer(self, scorer: impl Into<Scoring>) -> $type {
                self.scorers(&[scorer.into()])
            }

            /// Notes several scores, of which the first decides.
            #[must_use]
            pub fn scorers<S: Clone + Into<Scoring>>(mut self, scorers: &[S]) -> $type {
                self.plan.scorers = all(scorers);
                self
            }

            /// Does not fit the best settings to all training samples at the end.
            #[must_use]
            pub fn without_refit(mut self) -> $type {
                self.plan.refit = false;
                self
            }

            /// Shows no progress, on a terminal neither.
            #[must_use]
            pub fn silent(mut self) -> $type {
                self.plan.silent = true;
                self
            }

            /// Ends early when the flag is raised, from another thread or by Ctrl-C: fits under way are finished.
            #[must_use]
            pub fn stop_when(mut self, flag: Arc<AtomicBool>) -> $type {
                self.plan.stop = Some(flag);
                self
            }
        }

        impl Tunable for $type {
            fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
                self.plan.estimator.set_any(name, text)
            }

            fn values_any(&self) -> Vec<(String, Value)> {
                self.plan.estimator.values_any()
            }

            fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
                self.plan.estimator.describe_any()
            }

            fn validate_any(&self) -> Result<()> {
                self.plan.estimator.validate_any()
            }
        }

        impl Estimator for $type {
            fn name(&self) -> &'static str {
                stringify!($type)
            }

            fn task(&self) -> Task {
                self.plan.estimator.task()
            }

            fn abilities(&self) -> Abilities {
                // Which candidate wins depends on the folds, hence on the order of the samples.
                Abilities { order_free: false, ..self.plan.estimator.abilities() }
            }

            fn fit_any(&self, samples: &Samples) -> Result<Box<dyn Model>> {
                let found = self.fit(&Train::new(samples))?;
                found.model()?; // the error says why there is none
                found.into_model().ok_or(LearnError::Stopped { done: 0, total: 0 })
            }

            fn duplicate(&self) -> Box<dyn Estimator> {
                Box::new(self.clone())
            }
        }
    };
}
options!(GridSearch);
options!(RandomSearch);

impl GridSearch {
    /// A search over a grid of an estimator's hyperparameters.
    pub fn new(estimator: impl Estimator + 'static, grid: Grid) -> GridSearch {
        GridSearch { plan: Plan::new(&estimator), grid }
    }

    /// Searches; only training samples can be given.
    pub fn fit(&self, train: &Train) -> Result<SearchResult> {
        self.plan.run(self.grid.candidates(), train)
    }
}

impl RandomSearch {
    /// A search over draws from a space of an estimator's hyperparameters: 10 of them, from seed 0.
    pub fn new(estimator: impl Estimator + 'static, space: Space) -> RandomSearch {
        RandomSearch { plan: Plan::new(&estimator), space, iterations: 10, seed: 0 }
    }

    /// Draws so many candidates.
    #[must_use]
    pub fn iterations(self, iterations: usize) -> RandomSearch {
        RandomSearch { iterations, ..self }
    }

    /// Draws from this seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> RandomSearch {
        RandomSearch { seed, ..self }
    }

    /// Searches; only training samples can be given.
    pub fn fit(&self, train: &Train) -> Result<SearchResult> {
        self.plan.run(self.space.candidates(self.iterations, self.seed)?, train)
    }
}

/// How one fold of one candidate ended.
enum End {
    Done(FoldReport),
    Failed(String),
    Skipped,
}

impl Plan {
    fn new(estimator: &dyn Estimator) -> Plan {
        let (estimator, scorers) = (estimator.duplicate(), Vec::new());
        Plan { estimator, splitter: None, scorers, refit: true, silent: false, stop: None }
    }

    fn stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    fn run(&self, candidates: Vec<Candidate>, train: &Train) -> Result<SearchResult> {
        if candidates.is_empty() {
            return Err(LearnError::parameter("search", "there is no candidate; give every name at least one value"));
        }
        let folds = match &self.splitter {
            Some(splitter) => splitter.split(train.y())?,
            None => usual_folds(self.estimator.task()).split(train.y())?,
        };
        let scorers = match self.scorers.is_empty() {
            true => vec![Scorer::usual(self.estimator.task()).into()],
            false => self.scorers.clone(),
        };
        let (k, total) = (folds.len(), candidates.len() * folds.len());
        let bar = self.bar(total);
        let ends = in_parallel(total, |task| {
            let end = match self.stopped() {
                true => End::Skipped,
                false => self.attempt(&candidates[task / k], train, &folds[task % k], &scorers),
            };
            bar.iter().for_each(|bar| bar.inc(1));
            end
        });
        bar.iter().for_each(ProgressBar::finish_and_clear);
        self.conclude(candidates, ends, scorers, k, train)
    }

    fn configured(&self, candidate: &Candidate) -> Result<Box<dyn Estimator>> {
        let mut estimator = self.estimator.duplicate();
        candidate.iter().try_for_each(|(name, value)| estimator.set_any(name, value))?;
        Ok(estimator)
    }

    /// Neither an error nor a panic of one candidate ends the search.
    fn attempt(&self, candidate: &Candidate, samples: &Samples, fold: &Fold, scorers: &[Scoring]) -> End {
        let work = || judge(&*self.configured(candidate)?, samples, fold, scorers, false);
        match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(report)) => End::Done(report),
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
        train: &Train,
    ) -> Result<SearchResult> {
        let stopped = ends.iter().any(|end| matches!(end, End::Skipped));
        let (done, total) = (ends.iter().filter(|end| matches!(end, End::Done(_))).count(), ends.len());
        let mut trials: Vec<Trial> = candidates
            .into_iter()
            .zip(ends.chunks(k))
            .map(|(settings, ends)| trial(settings, ends, scorers.len()))
            .collect();
        let Some(best) = rank(&mut trials) else {
            let failure = trials.iter().find_map(|trial| trial.failure.clone());
            return Err(match (failure, stopped) {
                (Some(problem), false) => LearnError::data(
                    "search",
                    format!("every candidate failed, the first with: {problem}"),
                    "repair that",
                ),
                _ => LearnError::Stopped { done, total },
            });
        };
        let model = match self.refit && !stopped {
            true => Some(self.configured(&trials[best].settings)?.fit_any(train)?),
            false => None,
        };
        Ok(SearchResult { scorers, trials, best, model, stopped })
    }

    fn bar(&self, total: usize) -> Option<ProgressBar> {
        if self.silent || !std::io::stderr().is_terminal() {
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
