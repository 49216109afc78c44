//! Candidates on folds of the training rows, and the winner.

use std::time::Instant;

use tove_data::table::TableEncoder;
use tove_learn::Model;
use tove_learn::selection::{Fold, Scorer};

use super::carry::{Data, Parts, add_counts};
use super::{Candidate, Event, Result, TabularError, Tried};

/// The candidate with the largest mean score, the first of equal ones; the first of all without a comparison.
fn chosen(tried: &[Tried]) -> Result<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (place, mean) in tried.iter().enumerate().filter_map(|(place, tried)| Some((place, tried.mean()?))) {
        if best.is_none_or(|(_, most)| mean > most) {
            best = Some((place, mean));
        }
    }
    match (best, tried.is_empty()) {
        (Some((place, _)), _) => Ok(place),
        (None, true) => Ok(0),
        (None, false) => {
            let problem = tried.iter().find_map(|tried| tried.problem.clone()).unwrap_or_default();
            Err(TabularError::Plan(format!("no model could be fitted: {problem}")))
        }
    }
}

/// A candidate as it was fitted to a fold. The encoded rows are not kept: the next candidate needs the memory.
pub(super) struct Kept {
    place: usize,
    model: Box<dyn Model>,
    encoder: TableEncoder,
    rows: Vec<usize>,
}

/// The winner, fitted.
pub(super) struct Trained {
    pub place: usize,
    pub model: Box<dyn Model>,
    pub parts: Parts,
    /// The rows it was fitted to.
    pub rows: Vec<usize>,
}

impl Data<'_> {
    /// Every candidate on every fold of the training rows; with the best one so far, as it was fitted to its last fold.
    pub(super) fn compare(
        &self,
        candidates: &[Candidate],
        train: &[usize],
        folds: &[Fold],
        scorer: Scorer,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<(Vec<Tried>, Option<Kept>)> {
        let rows = |places: &[usize]| places.iter().map(|&place| train[place]).collect::<Vec<usize>>();
        let (begun, total) = (Instant::now(), candidates.len() * folds.len());
        let (mut tried, mut kept): (Vec<Tried>, Option<Kept>) = (Vec::new(), None);
        for (number, candidate) in candidates.iter().enumerate() {
            let clock = Instant::now();
            let late = number > 0 && self.plan.budget.is_some_and(|budget| begun.elapsed() > budget);
            let mut problem = late.then(|| "the time was up".to_owned());
            let (mut scores, mut last, mut warning) = (Vec::new(), None, None);
            for (fold, part) in folds.iter().enumerate().filter(|_| !late) {
                if self.plan.stopped() {
                    problem = Some("interrupted".to_owned());
                    break;
                }
                watch(&Event::Fitting { candidate: candidate.name.clone(), done: number * folds.len() + fold, total });
                match self.fold(candidate, number, (rows(&part.train), &rows(&part.test)), scorer) {
                    Ok((score, trained)) => {
                        scores.push(score);
                        if let Some(text) = trained.model.summary().warnings.first() {
                            warning.get_or_insert_with(|| (text.clone(), 0)).1 += 1;
                        }
                        last = Some(trained);
                    }
                    Err(error) => {
                        let stopped = self.plan.stopped();
                        problem = Some(if stopped { "interrupted".to_owned() } else { error.to_string() });
                        break;
                    }
                }
            }
            if problem.is_some() {
                scores.clear();
            }
            let seconds = clock.elapsed().as_secs_f64();
            tried.push(Tried { name: candidate.name.clone(), scores, seconds, problem, warning });
            // Until some candidate has been through all folds, a model of any fold is better than none.
            if kept.is_none() || chosen(&tried).is_ok_and(|best| best == number) {
                kept = last.or(kept);
            }
        }
        if self.plan.stopped() {
            watch(&Event::Interrupted);
        }
        Ok((tried, kept))
    }

    /// A candidate fitted to some rows, and its score on others.
    fn fold(
        &self,
        candidate: &Candidate,
        place: usize,
        (rows, judge): (Vec<usize>, &[usize]),
        scorer: Scorer,
    ) -> Result<(f64, Kept)> {
        let parts = self.encode(&rows, judge, &*candidate.estimator)?;
        // What folds have to say is gathered: five times the same would hide everything else.
        let model = tove_learn::quietly(|| candidate.estimator.fit_any(&parts.train))?;
        let score = scorer.score(&*model, &parts.test)?.value;
        Ok((score, Kept { place, model, encoder: parts.encoder, rows }))
    }

    /// The winner, fitted to all training rows; if the work is interrupted, as it was fitted to its last fold.
    pub(super) fn winner(
        &self,
        candidates: &[Candidate],
        tried: &[Tried],
        (train, test): (Vec<usize>, &[usize]),
        kept: Option<Kept>,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Trained> {
        if !self.plan.stopped() {
            let place = chosen(tried)?;
            let estimator = &*candidates[place].estimator;
            watch(&Event::Refitting { candidate: candidates[place].name.clone() });
            let parts = self.encode(&train, test, estimator)?;
            match estimator.fit_any(&parts.train) {
                Err(_) if self.plan.stopped() => watch(&Event::Interrupted),
                model => return Ok(Trained { place, model: model?, parts, rows: train }),
            }
        }
        let Kept { place, model, encoder, rows } = kept.ok_or(TabularError::Interrupted)?;
        let estimator = &*candidates[place].estimator;
        let (train, mut imputed, _) = self.judged(&encoder, &rows, estimator)?;
        let (test, more, unseen) = self.judged(&encoder, test, estimator)?;
        add_counts(&mut imputed, &more);
        Ok(Trained { place, model, parts: Parts { encoder, train, test, imputed, unseen }, rows })
    }
}
