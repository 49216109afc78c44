//! Scores of a classifier, read and checked: what a map is fitted and applied to.

use tove_optim::settings::Choice;
use tove_tensor::Tensor;

use super::logistic;
use super::map::WHO;
use crate::{LearnError, Result};

/// What scores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum ScoreKind {
    /// Probabilities: (n, m), or (n) of the second of two classes.
    Probabilities,
    /// Logits of a softmax: (n, m), of which only differences count, or (n), the log-odds of the second of two classes.
    Logits,
    /// A decision function: (n, m), each column a score of its class against the rest, or (n) of the second of two classes.
    Decision,
}

/// Scores of samples: rows of `width` numbers; one for two classes.
#[derive(Clone, Debug)]
pub(crate) struct ScoreTable {
    pub kind: ScoreKind,
    pub values: Vec<f64>,
    pub width: usize,
}

impl ScoreTable {
    pub fn rows(&self) -> usize {
        self.values.len() / self.width
    }

    /// The scores of a class against the rest, as a curve takes them; `width` 1 means the second class.
    pub fn column(&self, column: usize, on_probabilities: bool) -> Vec<f64> {
        let own = |row: &[f64]| match (self.kind, on_probabilities) {
            (ScoreKind::Logits, _) if self.width > 1 => log_odds(row, column),
            _ => row[column],
        };
        let scores = self.values.chunks(self.width).map(own);
        match on_probabilities && self.kind != ScoreKind::Probabilities {
            true => scores.map(logistic).collect(),
            false => scores.collect(),
        }
    }

    /// Logits of all classes. A single decision score s is (−s, s), and of probabilities the logarithm is taken, as in scikit-learn;
    /// log-odds z are (0, z).
    pub fn logits(&self) -> Vec<f64> {
        let log = |p: f64| (p + 1e-12).ln();
        match (self.width, self.kind) {
            (1, ScoreKind::Decision) => self.values.iter().flat_map(|&score| [-score, score]).collect(),
            (1, ScoreKind::Logits) => self.values.iter().flat_map(|&z| [0.0, z]).collect(),
            (1, ScoreKind::Probabilities) => self.values.iter().flat_map(|&p| [log(1.0 - p), log(p)]).collect(),
            (_, ScoreKind::Probabilities) => self.values.iter().map(|&p| log(p)).collect(),
            _ => self.values.clone(),
        }
    }
}

/// The log-odds of a class: its logit minus the logarithm of the summed exponentials of the others.
fn log_odds(row: &[f64], class: usize) -> f64 {
    let others = || row.iter().enumerate().filter(|(other, _)| *other != class).map(|(_, z)| *z);
    let most = others().fold(f64::NEG_INFINITY, f64::max);
    row[class] - most - others().map(|z| (z - most).exp()).sum::<f64>().ln()
}

/// Reads and checks scores; for two classes one column remains, unless a map needs the logits of both.
pub(crate) fn table_of(
    who: &'static str,
    kind: ScoreKind,
    scores: &Tensor,
    classes: usize,
    both: bool,
) -> Result<ScoreTable> {
    let width = match *scores.dims() {
        [_] if classes == 2 => 1,
        [_, width] if width == classes => width,
        _ => {
            let problem = format!("scores of shape {} for {classes} classes", scores.shape());
            let fix = "give a row per sample and a column per class, or one score per sample for two classes";
            return Err(LearnError::data(who, problem, fix));
        }
    };
    if !scores.dtype().is_float() {
        let problem = format!("scores of type {}", scores.dtype());
        return Err(LearnError::data(who, problem, "give numbers of type f32 or f64"));
    }
    let values = scores.detach().contiguous().to_f64_vec();
    if let Some(place) = values.iter().position(|value| !value.is_finite()) {
        let problem = format!("the score in row {} is {}", place / width, values[place]);
        return Err(LearnError::data(who, problem, "remove such rows, or scale the features"));
    }
    if kind == ScoreKind::Probabilities {
        let bad = |row: &[f64]| {
            let sum: f64 = row.iter().sum();
            row.iter().any(|p| !(-1e-12..=1.0 + 1e-9).contains(p)) || (width > 1 && (sum - 1.0).abs() > 1e-4)
        };
        if let Some(row) = values.chunks(width).position(bad) {
            let problem =
                format!("row {row} holds numbers that are not probabilities: {:?}", &values[row * width..][..width]);
            return Err(LearnError::data(who, problem, "give probabilities that sum to 1, or say what the scores are"));
        }
    }
    let values = match (width, kind) {
        (2, ScoreKind::Probabilities) => values.chunks(2).map(|row| row[1].clamp(0.0, 1.0)).collect(),
        (2, _) if !both => values.chunks(2).map(|row| row[1] - row[0]).collect(),
        _ => return Ok(ScoreTable { kind, values, width }),
    };
    Ok(ScoreTable { kind, values, width: 1 })
}

/// Labels as columns of the scores.
pub(super) fn codes(labels: &Tensor, n: usize, classes: usize) -> Result<Vec<usize>> {
    if !matches!(labels.dims(), [_] | [_, 1]) || labels.numel() != n {
        return Err(LearnError::Lengths { rows: n, what: "labels", found: labels.numel() });
    }
    let code = |(row, value): (usize, f64)| {
        if value.fract() == 0.0 && value >= 0.0 && value < classes as f64 {
            return Ok(value as usize);
        }
        let problem = format!("the label in row {row} is {value}");
        Err(LearnError::data(WHO, problem, format!("give the column of the class, 0 to {}", classes - 1)))
    };
    labels.detach().to_f64_vec().into_iter().enumerate().map(code).collect()
}

/// Weights of `n` samples; ones if none are given.
pub(super) fn weights_of(weights: Option<&Tensor>, n: usize) -> Result<Vec<f64>> {
    let Some(weights) = weights else { return Ok(vec![1.0; n]) };
    if weights.numel() != n || !matches!(weights.dims(), [_] | [_, 1]) {
        return Err(LearnError::Lengths { rows: n, what: "weights", found: weights.numel() });
    }
    let values = weights.detach().to_f64_vec();
    match values.iter().position(|weight| !(weight.is_finite() && *weight >= 0.0)) {
        None => Ok(values),
        Some(row) => {
            let problem = format!("the weight in row {row} is {}", values[row]);
            Err(LearnError::data(WHO, problem, "weights must be finite and not negative"))
        }
    }
}
