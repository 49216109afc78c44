//! What happens while a plan is carried out, and what comes of it.

use tove_learn::Samples;
use tove_learn::selection::{Scorer, SelectionGuarantee};

use super::{ColumnCounts, Doubt, NamedScore, TabularModel};

/// What happens while a plan is carried out.
#[derive(Clone, Debug)]
pub enum Event {
    /// A candidate is fitted to a fold.
    Fitting {
        /// The candidate.
        candidate: String,
        /// Number of the fit, from 0.
        done: usize,
        /// Fits planned.
        total: usize,
    },
    /// The work was interrupted; what is done is kept.
    Interrupted,
    /// The winner is fitted to all training rows.
    Refitting {
        /// The winner.
        candidate: String,
    },
    /// A pass over a file that is read in pieces.
    Pass {
        /// What it is for.
        purpose: String,
        /// Rows read so far.
        rows: usize,
    },
}

/// How a candidate did in cross-validation.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The candidate.
    pub name: String,
    /// Its score in each fold; empty if it failed or was not reached.
    pub scores: Vec<f64>,
    /// Seconds for all folds.
    pub seconds: f64,
    /// Why there are no scores.
    pub problem: Option<String>,
    /// The first warning of the fits, and how many folds had one.
    pub warning: Option<(String, usize)>,
}

impl Tried {
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
    /// Rows set aside, of which as many were judged as fit in memory.
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
    pub tried: Vec<Tried>,
    /// Whether the work was interrupted: the model is then that of a fold, or of the rows read so far.
    pub interrupted: bool,
    /// The score that decided.
    pub scorer: Scorer,
    /// What holds for the choice (classification): the union bound over the candidates.
    pub guarantee: Option<SelectionGuarantee>,
    /// Scores on the rows it was fitted on.
    pub train: Vec<NamedScore>,
    /// Scores on rows that nothing was fitted on.
    pub test: Vec<NamedScore>,
    /// Scores of a constant prediction on those rows.
    pub baseline: Vec<NamedScore>,
    /// The samples of the test rows, for pictures.
    pub test_samples: Samples,
    /// Scores by the number of training rows; empty where that would take long.
    pub learning: Vec<LearningPoint>,
    /// How many rows were fitted on.
    pub fitted_rows: usize,
    /// How many rows were judged on.
    pub judged_rows: usize,
    /// Rows of the table that were fitted on; empty if the file was read in pieces.
    pub train_rows: Vec<usize>,
    /// Rows of the table that were judged on, those of a second table behind those of the first; empty likewise.
    pub test_rows: Vec<usize>,
    /// Rows left out because the target is missing.
    pub dropped: usize,
    /// Columns in which missing values were filled, and how many, in fitted and judged rows together.
    pub imputed: ColumnCounts,
    /// Columns with categories in the judged rows that the fitted rows do not have, and in how many rows.
    pub unseen: ColumnCounts,
    /// What makes the scores doubtful; not looked for in a file that was read in pieces.
    pub doubts: Vec<Doubt>,
    /// If the file was read in pieces, how.
    pub streamed: Option<Streamed>,
    /// Seconds from table to outcome.
    pub seconds: f64,
}
