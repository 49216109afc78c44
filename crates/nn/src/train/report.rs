//! What a training run tells: while it runs, and in the end.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Scores by name.
pub type Scores = Vec<(String, f64)>;

/// One evaluation: the end of an epoch, or every so many steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingPoint {
    /// Epoch, counted from 1.
    pub epoch: usize,
    /// Steps taken so far.
    pub step: u64,
    /// Mean training loss since the evaluation before.
    #[serde(with = "super::numbers::one")]
    pub train_loss: f64,
    /// Scores on the validation set; empty without one.
    #[serde(with = "super::numbers::scores")]
    pub validation: Scores,
    /// Step size of the last step.
    pub learning_rate: f64,
    /// Seconds since the start, pauses between resumed runs not counted.
    pub seconds: f64,
}

impl fmt::Display for TrainingPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {:>3}  step {:>6}  train loss {:.4}", self.epoch, self.step, self.train_loss)?;
        for (name, value) in &self.validation {
            write!(f, "  {name} {value:.4}")?;
        }
        write!(f, "  {:.1} s", self.seconds)
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// All epochs or steps are done.
    Complete,
    /// The optimiser found nothing left to improve; only rules that evaluate the loss themselves (L-BFGS) can tell.
    Converged,
    /// The validation score stopped improving.
    EarlyStop,
    /// Somebody asked for it (Ctrl-C); the state is saved if there is a checkpoint.
    Interrupted,
    /// A callback asked for it.
    Callback,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainingReport {
    /// Why it ended.
    pub ending: Ending,
    /// Steps taken, those before a resumption included.
    pub steps: u64,
    /// Loss of every step.
    pub losses: Vec<f64>,
    /// All evaluations.
    pub history: Vec<TrainingPoint>,
    /// The best value of the watched score, and the step at which it was reached.
    pub best: Option<(f64, u64)>,
    /// Scores on the validation set of the weights that the net holds at the end: of the best ones if those were taken back,
    /// otherwise those of the last evaluation, after which an interrupted run may have made some steps.
    #[serde(default, with = "super::numbers::scores")]
    pub scores: Scores,
}

impl TrainingReport {
    /// The score of this name of the weights that the net holds at the end; see [`TrainingReport::scores`].
    pub fn score(&self, name: &str) -> Option<f64> {
        self.scores.iter().find(|(other, _)| other == name).map(|&(_, value)| value)
    }
}

impl fmt::Display for TrainingReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for evaluation in &self.history {
            writeln!(f, "{evaluation}")?;
        }
        let why = match self.ending {
            Ending::Complete => "complete",
            Ending::Converged => "converged",
            Ending::EarlyStop => "stopped early, best weights taken back",
            Ending::Interrupted => "interrupted",
            Ending::Callback => "stopped by a callback",
        };
        write!(f, "{} steps, {why}", self.steps)
    }
}
