//! A candidate in a comparison: what it reached so far, and what it may still reach.

use tove_data::table::TableEncoder;
use tove_learn::Model;

use super::clock::Pace;
use crate::tabular::outcome::SubsampleFit;
use crate::tabular::{Candidate, CandidateResult};

/// A candidate as it was fitted to some of the rows. The encoded rows are not kept: others need the memory.
pub(super) struct Kept {
    pub model: Box<dyn Model>,
    pub encoder: TableEncoder,
    pub rows: Vec<usize>,
    /// Its score on the held-out rows.
    pub score: f64,
}

/// A candidate on its way.
pub(super) struct Contender<'c> {
    pub candidate: &'c Candidate,
    /// Scores by growing parts of the training rows.
    pub rungs: Vec<SubsampleFit>,
    /// Scores of folds, all training rows of which were fitted.
    pub folds: Vec<f64>,
    pub pace: Pace,
    pub kept: Option<Kept>,
    /// Whether it is still compared.
    pub running: bool,
    pub problem: Option<String>,
    /// At so many rows it could no longer become the best.
    pub dropped: Option<usize>,
    warning: Option<(String, usize)>,
    seconds: f64,
    /// Rows of the largest fit.
    rows: usize,
}

impl<'c> Contender<'c> {
    pub fn new(candidate: &'c Candidate) -> Contender<'c> {
        Contender {
            candidate,
            rungs: Vec::new(),
            folds: Vec::new(),
            pace: Pace::default(),
            kept: None,
            running: true,
            problem: None,
            dropped: None,
            warning: None,
            seconds: 0.0,
            rows: 0,
        }
    }

    /// Leaves the comparison for this reason. Scores of folds count together or not at all.
    pub fn fail(&mut self, problem: String) {
        self.running = false;
        self.folds.clear();
        if self.rungs.is_empty() {
            self.kept = None; // it belongs to a fold that does not count
        }
        self.problem = Some(problem);
    }

    /// Takes a fit into account.
    pub fn note(&mut self, kept: Kept, seconds: f64, on_fold: bool, cut_short: bool) {
        self.seconds += seconds;
        self.rows = self.rows.max(kept.rows.len());
        // A fit that was cut short would have taken longer: that much is known.
        if !cut_short || seconds > self.pace.seconds(kept.rows.len()) {
            self.pace.note(kept.rows.len(), seconds);
        }
        if let Some(text) = kept.model.summary().warnings.first() {
            self.warning.get_or_insert_with(|| (text.clone(), 0)).1 += 1;
        }
        if on_fold {
            self.folds.push(kept.score);
        } else {
            self.rungs.push(SubsampleFit { rows: kept.rows.len(), score: kept.score, seconds, cut_short });
        }
        // A fit that was cut short may be worse than one to fewer rows.
        if on_fold || self.kept.as_ref().is_none_or(|known| !cut_short || kept.score > known.score) {
            self.kept = Some(kept);
        }
    }

    /// What it reached: the mean over the folds, or the score of the model that is kept.
    pub fn value(&self) -> Option<f64> {
        match self.folds.len() {
            0 => self.kept.as_ref().map(|kept| kept.score),
            n => Some(self.folds.iter().sum::<f64>() / n as f64),
        }
    }

    /// What the last enlargement brought; `None` until there are two fits that ran to their end.
    pub fn gain(&self) -> Option<f64> {
        let [.., before, last] = &self.rungs[..] else { return None };
        (!before.cut_short && !last.cut_short).then_some(last.score - before.score)
    }

    /// The score that it can reach after `more` further rounds, if none brings more than the last one: learning curves flatten. A
    /// curve that fell says nothing of how it will go on, and gets what the last round brought to others (`gain`). `None` until
    /// there are two fits that ran to their end.
    pub fn reachable(&self, more: usize, gain: f64) -> Option<f64> {
        let own = self.gain()?;
        let gain = if own > 0.0 { own } else { gain.max(0.0) };
        Some(self.rungs.last()?.score + more as f64 * gain)
    }

    /// Its result.
    pub fn tried(&self) -> CandidateResult {
        let scores = match (self.folds.is_empty(), &self.kept) {
            (true, Some(kept)) if !self.rungs.is_empty() => vec![kept.score],
            _ => self.folds.clone(),
        };
        // The rows behind the scores.
        let rows = match (&self.kept, scores.is_empty()) {
            (Some(kept), false) => kept.rows.len(),
            _ => self.rows,
        };
        CandidateResult {
            name: self.candidate.name.clone(),
            probabilities: self.candidate.estimator.capabilities().probabilities,
            scores,
            rows,
            rungs: self.rungs.clone(),
            dropped: self.dropped,
            seconds: self.seconds,
            problem: self.problem.clone(),
            warning: self.warning.clone(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_that_fell_may_still_rise_as_others_do() {
        let candidate = Candidate::named("Ridge").unwrap();
        let contender = |scores: [f64; 2]| {
            let mut contender = Contender::new(&candidate);
            let rung = |(rows, score)| SubsampleFit { rows, score, seconds: 0.0, cut_short: false };
            contender.rungs = [2048, 8192].into_iter().zip(scores).map(rung).collect();
            contender
        };
        // It may gain as much as before in each of three further rounds.
        assert!((contender([0.1, 0.2]).reachable(3, 0.01).unwrap() - 0.5).abs() < 1e-12);
        // One that fell gets what the others gained.
        assert!((contender([0.0204, 0.0074]).reachable(3, 0.033).unwrap() - 0.1064).abs() < 1e-12);
        assert_eq!(contender([0.3, 0.2]).reachable(3, 0.0), Some(0.2));
        let mut cut = contender([0.1, 0.2]);
        cut.rungs[1].cut_short = true;
        assert_eq!(cut.reachable(3, 0.1), None);
    }
}
