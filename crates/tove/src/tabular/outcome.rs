//! Progress and result of a plan.

use tove_learn::Samples;
use tove_learn::selection::{Answers, Scorer, SelectionGuarantee};

use super::{ColumnCounts, DataWarning, NamedScore, TabularModel};

/// What happens while a plan is carried out.
#[derive(Clone, Debug)]
pub enum Event {
    /// A candidate is fitted to some of the training rows.
    Fitting {
        /// The candidate.
        candidate: String,
        /// The rows.
        rows: usize,
        /// Number of the fit, from 0.
        done: usize,
        /// Fits planned, as far as can be said.
        total: usize,
    },
    /// The work was interrupted; what is done is kept.
    Interrupted,
    /// The winner is fitted to all training rows, or to as many as the time allows.
    Refitting {
        /// The winner.
        candidate: String,
        /// The rows.
        rows: usize,
    },
    /// A pass over a file that is read in pieces.
    Pass {
        /// What it is for.
        purpose: String,
        /// Rows read so far.
        rows: usize,
    },
}

/// A fit of a candidate to a part of the training rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SubsampleFit {
    /// Training rows.
    pub rows: usize,
    /// The score on rows that take no part in any fit of the comparison.
    pub score: f64,
    /// Seconds for the fit.
    pub seconds: f64,
    /// Whether the time limit ended the fit early.
    pub cut_short: bool,
}

/// What the time budget left undone at the last fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetLimit {
    /// Training rows that the model was fitted to.
    pub rows: usize,
    /// Training rows that there are.
    pub of: usize,
    /// Whether the time limit ended the fit early.
    pub cut_short: bool,
}

/// How a candidate did in the comparison.
#[derive(Clone, Debug)]
pub struct CandidateResult {
    /// The candidate.
    pub name: String,
    /// Whether its model provides probabilities of classes.
    pub probabilities: bool,
    /// Its score in each fold, or the one on `rows` rows if it did not come to the folds; empty if it failed or was not reached.
    pub scores: Vec<f64>,
    /// Training rows of the fits behind the scores.
    pub rows: usize,
    /// Fits to growing parts of the training rows, before the folds.
    pub rungs: Vec<SubsampleFit>,
    /// The training rows at which it was dropped: it would have stayed behind even if it had gone on to improve as before.
    pub dropped: Option<usize>,
    /// Seconds for all fits.
    pub seconds: f64,
    /// Why scores are missing, or fewer than asked for.
    pub problem: Option<String>,
    /// The first warning of the fits, and how many folds had one.
    pub warning: Option<(String, usize)>,
}

impl CandidateResult {
    /// Mean of the scores.
    pub fn mean(&self) -> Option<f64> {
        (!self.scores.is_empty()).then(|| self.scores.iter().sum::<f64>() / self.scores.len() as f64)
    }

    /// Standard deviation of the scores over the folds.
    pub fn spread(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / self.scores.len() as f64).sqrt())
    }
}

/// Scores of the winner when it learns from fewer rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LearningPoint {
    /// Training rows.
    pub rows: usize,
    /// The score on those rows.
    pub train: f64,
    /// The score on the test rows.
    pub test: f64,
}

/// How a file that was read in pieces was gone through.
#[derive(Clone, Debug, PartialEq)]
pub struct Streamed {
    /// Passes over the file.
    pub passes: usize,
    /// Held-out rows, of which as many were evaluated as fit in memory.
    pub set_aside: usize,
    /// The mean objective of each epoch, where there were several.
    pub curve: Vec<f64>,
}

/// What came out of a plan.
pub struct Outcome {
    /// The fitted model.
    pub model: TabularModel,
    /// The winner's name.
    pub chosen: String,
    /// All candidates, if there was a comparison.
    pub candidates: Vec<CandidateResult>,
    /// Whether the work was interrupted: the model is then that of a fold, or of the rows read so far.
    pub interrupted: bool,
    /// If the time budget did not allow a whole fit to all training rows, what it allowed.
    pub cut: Option<BudgetLimit>,
    /// The score that decided.
    pub scorer: Scorer,
    /// Models that the union bound covers: all candidates at all sizes.
    pub models: usize,
    /// What holds for the choice (classification): the union bound over the candidates.
    pub guarantee: Option<SelectionGuarantee>,
    /// Scores on the rows it was fitted on; on some of them, if there are more than 50,000.
    pub train: Vec<NamedScore>,
    /// Scores on rows that nothing was fitted on.
    pub test: Vec<NamedScore>,
    /// Scores of a constant prediction on those rows.
    pub baseline: Vec<NamedScore>,
    /// The samples of the test rows, for charts.
    pub test_samples: Samples,
    /// The model's answers to the test rows, from which all scores on them were computed.
    pub answers: Answers,
    /// Scores by the number of training rows; empty where that would take long.
    pub learning: Vec<LearningPoint>,
    /// How many rows were fitted on.
    pub n_train: usize,
    /// Number of test rows.
    pub n_test: usize,
    /// Rows of the table that were fitted on; empty if the file was read in pieces.
    pub train_rows: Vec<usize>,
    /// Test rows of the table, those of a second table behind those of the first; empty likewise.
    pub test_rows: Vec<usize>,
    /// Rows left out because the target is missing.
    pub dropped: usize,
    /// Columns in which missing values were filled, and how many, in training and test rows together.
    pub imputed: ColumnCounts,
    /// Columns with categories in the test rows that the training rows do not have, and in how many rows.
    pub unseen: ColumnCounts,
    /// What makes the scores doubtful; not looked for in a file that was read in pieces.
    pub data_warnings: Vec<DataWarning>,
    /// If the file was read in pieces, how.
    pub streamed: Option<Streamed>,
    /// Seconds from table to outcome.
    pub seconds: f64,
}
