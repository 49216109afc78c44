//! What a search found.

use std::fmt;

use super::grid::Candidate;
use super::scoring::Scoring;
use super::validate::{deviation, mean};
use crate::{LearnError, Model, Result};

/// One candidate and how it went.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Names and values of its hyperparameters.
    pub settings: Candidate,
    /// The scores: a list per scorer, a number per fold. Shorter when the search was stopped or a fold failed.
    pub scores: Vec<Vec<f64>>,
    /// Seconds of fitting, over all folds.
    pub fit_seconds: f64,
    /// Place by the mean of the first score, from 1; none if not all folds are done.
    pub rank: Option<usize>,
    /// Why a fold failed, if one did.
    pub failure: Option<String>,
    pub(super) folds: usize,
}

impl Trial {
    /// Whether every fold was judged.
    pub fn complete(&self) -> bool {
        self.failure.is_none() && self.scores.iter().all(|scores| scores.len() == self.folds)
    }

    /// Mean of a score over the folds; NaN unless all are done.
    pub fn mean(&self, scorer: usize) -> f64 {
        if self.complete() { self.scores.get(scorer).map_or(f64::NAN, |scores| mean(scores)) } else { f64::NAN }
    }

    /// Standard deviation of a score over the folds; NaN unless all are done.
    pub fn std(&self, scorer: usize) -> f64 {
        if self.complete() { self.scores.get(scorer).map_or(f64::NAN, |scores| deviation(scores)) } else { f64::NAN }
    }
}

/// The whole table of a search, and the model fitted with the best settings.
pub struct SearchResult {
    pub(super) scorers: Vec<Scoring>,
    pub(super) trials: Vec<Trial>,
    pub(super) best: usize,
    pub(super) model: Option<Box<dyn Model>>,
    pub(super) stopped: bool,
}

impl fmt::Debug for SearchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchResult").field("trials", &self.trials).field("best", &self.best).finish_non_exhaustive()
    }
}

impl SearchResult {
    /// All candidates in the order in which they were listed or drawn.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// The scores of the table; the first decides.
    pub fn scorers(&self) -> &[Scoring] {
        &self.scorers
    }

    /// The candidate with the best mean of the first score; the first of equal ones.
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }

    /// Its place in the table.
    pub fn best_index(&self) -> usize {
        self.best
    }

    /// Whether the search was stopped before all was done.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The model with the best settings, fitted to all training samples.
    pub fn model(&self) -> Result<&dyn Model> {
        self.model.as_deref().ok_or_else(|| {
            let fix = "fit an estimator with the settings of `best()`";
            LearnError::model("the search was stopped, or told not to refit, so there is no fitted model", fix)
        })
    }

    /// As [`SearchResult::model`], to keep.
    pub fn into_model(self) -> Option<Box<dyn Model>> {
        self.model
    }
}

/// Places by the mean of the first score: equal ones share the better place, incomplete ones have none.
pub(super) fn rank(trials: &mut [Trial]) -> Option<usize> {
    let means: Vec<f64> = trials.iter().map(|trial| trial.mean(0)).collect();
    for (trial, &own) in trials.iter_mut().zip(&means) {
        trial.rank = (!own.is_nan()).then(|| 1 + means.iter().filter(|&&other| other > own).count());
    }
    trials.iter().position(|trial| trial.rank == Some(1))
}

impl fmt::Display for SearchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>4}", "rank")?;
        for scorer in &self.scorers {
            write!(f, "  {:>22}", scorer.to_string())?;
        }
        writeln!(f, "  settings")?;
        let mut order: Vec<&Trial> = self.trials.iter().collect();
        order.sort_by_key(|trial| trial.rank.unwrap_or(usize::MAX));
        for trial in order {
            let place = trial.rank.map_or("-".to_owned(), |rank| rank.to_string());
            write!(f, "{place:>4}")?;
            for scorer in 0..self.scorers.len() {
                let text = match trial.complete() {
                    true => format!("{:.4} ± {:.4}", trial.mean(scorer), trial.std(scorer)),
                    false => "-".to_owned(),
                };
                write!(f, "  {text:>22}")?;
            }
            let settings: Vec<String> =
                trial.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            write!(f, "  {}", settings.join(", "))?;
            match &trial.failure {
                Some(problem) => writeln!(f, "  failed: {problem}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}
