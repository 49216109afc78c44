//! The last fit: the best candidate on all training rows, or on as many as the time allows.

use tove_data::{Problem, Remedy};
use tove_learn::diagnostics::paired_margin;
use tove_learn::{LearnError, Model};

use super::Search;
use super::contender::{Contender, Kept};
use super::encoded::EncodedRows;
use crate::tabular::evaluate::COMPARED;
use crate::tabular::prepared::{Parts, add_counts};
use crate::tabular::{BudgetLimit, Event, Result, SubsampleFit, TabularError};

/// Seconds beyond the budget that the last fit may take when that makes it whole.
const GRACE: f64 = 0.3;
/// Seconds below which no further fit is begun.
const LEAST: f64 = 0.1;
/// How much larger a fit must be to be worth its time, beside one that is done.
const WORTH: f64 = 1.5;
/// Rows for one that could be fitted to its end, where a fit that is cut short counts: it then passes over them less often.
const THINNER: usize = 8;

/// The best candidate, fitted.
pub(in crate::tabular) struct Winner {
    pub place: usize,
    pub model: Box<dyn Model>,
    pub parts: Parts,
    /// The rows it was fitted to.
    pub rows: Vec<usize>,
    /// If the time did not allow a whole fit to all rows.
    pub cut: Option<BudgetLimit>,
}

impl Search<'_, '_> {
    /// The best candidate. If the work is interrupted, or the time is up, as it was fitted in the comparison.
    pub(in crate::tabular) fn finish(&mut self, test: &[usize], watch: &mut dyn FnMut(&Event)) -> Result<Winner> {
        let place = self.chosen()?;
        let (n, limited) = (self.train.len(), self.clock.is_limited());
        if !self.data.plan.stopped() {
            let estimator = &*self.contenders[place].candidate.estimator;
            let needed = self.last_fit() * if estimator.capabilities().anytime { WORTH } else { 1.0 };
            if !limited || self.contenders[place].kept.is_none() || needed <= self.clock.left() + GRACE {
                if let Some(won) = self.whole(place, test, watch)? {
                    return Ok(won);
                }
            } else {
                // What a larger fit costs is known better after each.
                while !self.data.plan.stopped() && self.enlarge(place, watch)? {}
                if self.last_fit() <= self.clock.left()
                    && let Some(winner) = self.whole(place, test, watch)?
                {
                    return Ok(winner);
                }
            }
        }
        let kept = self.contenders[place].kept.take().ok_or_else(|| self.nothing())?;
        let of_kept = |rung: &&SubsampleFit| rung.rows == kept.rows.len() && rung.score == kept.score;
        let cut_short = self.contenders[place].rungs.iter().find(of_kept).is_some_and(|rung| rung.cut_short);
        let cut =
            (limited && !self.data.plan.stopped()).then_some(BudgetLimit { rows: kept.rows.len(), of: n, cut_short });
        let Kept { model, encoder, rows, .. } = kept;
        let estimator = &*self.contenders[place].candidate.estimator;
        let (train, mut imputed, _) = self.data.held_out(&encoder, &rows[..rows.len().min(COMPARED)], estimator)?;
        let (test, more, unseen) = self.data.held_out(&encoder, test, estimator)?;
        add_counts(&mut imputed, &more);
        Ok(Winner { place, model, parts: Parts { encoder, train, test, imputed, unseen }, rows, cut })
    }

    /// Why there is no model.
    fn nothing(&self) -> TabularError {
        if self.data.plan.stopped() {
            return TabularError::Interrupted;
        }
        let problem = Problem::new("the time budget was exhausted before a model was fitted");
        TabularError::plan(problem.remedy(Remedy::Budget))
    }

    /// The candidate with the best scores; the only one, if nothing was compared.
    fn chosen(&self) -> Result<usize> {
        if let Some(place) = self.leader() {
            return Ok(self.preferred(place));
        }
        match &self.contenders[..] {
            [only] if only.problem.is_none() => Ok(0),
            _ if self.data.plan.stopped() => Err(TabularError::Interrupted),
            contenders => {
                let problem = contenders.iter().find_map(|contender| contender.problem.clone()).unwrap_or_default();
                Err(TabularError::plan(format!("no model could be fitted: {problem}")))
            }
        }
    }

    /// The best candidate, or one that provides probabilities and is not clearly worse: people rank, choose thresholds and weigh
    /// costs by them.
    fn preferred(&self, best: usize) -> usize {
        let has = |contender: &Contender<'_>| contender.candidate.estimator.capabilities().probabilities;
        let first = &self.contenders[best];
        if !self.data.classifies() || has(first) {
            return best;
        }
        let value = |place: usize| self.contenders[place].value().unwrap_or(f64::NEG_INFINITY);
        let others = (0..self.contenders.len()).filter(|&place| {
            let other = &self.contenders[place];
            has(other) && other.dropped.is_none() && other.value().is_some()
        });
        match others.max_by(|&a, &b| value(a).total_cmp(&value(b)).then(b.cmp(&a))) {
            Some(other) if value(best) - value(other) <= self.margin(first, &self.contenders[other]) => other,
            _ => best,
        }
    }

    /// How far two candidates may lie apart without a clear difference: by a paired test over common folds, otherwise two standard
    /// errors of a mean of values between 0 and 1.
    fn margin(&self, first: &Contender<'_>, second: &Contender<'_>) -> f64 {
        let by_chance = 1.0 / (self.judged.max(1) as f64).sqrt();
        paired_margin(&first.folds, &second.folds).unwrap_or(by_chance)
    }

    /// A fit to all training rows; `None` if it was ended before it was of use.
    fn whole(&mut self, place: usize, test: &[usize], watch: &mut dyn FnMut(&Event)) -> Result<Option<Winner>> {
        let contender = &self.contenders[place];
        let (estimator, rows) = (&*contender.candidate.estimator, self.train.to_vec());
        watch(&Event::Refitting { candidate: contender.candidate.name.clone(), rows: rows.len() });
        let parts = EncodedRows::new(self.data, rows.clone(), test.to_vec())?.parts(estimator)?;
        // With nothing to fall back on a model is worth a little more time.
        let grace = if contender.kept.is_some() { 0.0 } else { GRACE };
        let deadline = self.clock.within((self.clock.left() - self.last_judgement()).max(grace));
        let model = match tove_optim::until(deadline, || estimator.fit_boxed(&parts.train)) {
            Err(LearnError::Interrupted { .. }) => {
                if self.data.plan.stopped() {
                    watch(&Event::Interrupted);
                }
                return Ok(None);
            }
            model => model?,
        };
        let late = deadline.is_some_and(|deadline| std::time::Instant::now() >= deadline);
        let cut_short = late && !model.summary().converged;
        let cut = cut_short.then_some(BudgetLimit { rows: rows.len(), of: rows.len(), cut_short });
        Ok(Some(Winner { place, model, parts, rows, cut }))
    }

    /// A fit to more rows than the comparison had for the candidate, as far as the time allows. It is evaluated on rows that it does
    /// not see, and kept only if it is better there than the one before.
    /// Whether there was such a fit.
    fn enlarge(&mut self, place: usize, watch: &mut dyn FnMut(&Event)) -> Result<bool> {
        let contender = &self.contenders[place];
        let Some(known) = contender.rungs.iter().map(|rung| rung.rows).max() else { return Ok(false) };
        let (estimator, most) = (&*contender.candidate.estimator, self.order.len());
        let judgement = self.last_judgement() + self.judging * self.judges.len() as f64;
        let left = self.clock.left() - judgement;
        // Encoding goes with the rows; of the rest a part is kept in hand, as estimates are not exact.
        let affordable = |seconds: f64| match estimator.capabilities().anytime {
            true => contender.pace.rows(seconds).saturating_mul(THINNER),
            false => contender.pace.rows(0.8 * seconds),
        };
        let mut size = affordable(left).min(most);
        size = affordable(left - self.encoding.seconds(size)).min(most);
        let seconds = left - self.encoding.seconds(size + self.judges.len());
        if seconds < LEAST || (size as f64) < WORTH * known as f64 {
            return Ok(false);
        }
        watch(&Event::Refitting { candidate: contender.candidate.name.clone(), rows: size });
        let shared = EncodedRows::new(self.data, self.order[..size].to_vec(), self.judges.clone())?;
        // What is encoded when it is first asked for is not yet part of the time that was measured.
        shared.train(estimator)?;
        shared.test(estimator)?;
        // A fit that is cut short judges itself once more, on a tenth of its rows.
        let seconds = self.clock.left() - judgement - 0.1 * self.judging * size as f64;
        self.fit(place, &shared, seconds, false)?;
        Ok(true)
    }
}
