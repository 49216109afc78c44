//! The last fit: the best candidate on all training rows, or on as many as the time allows.

use super::data::{Parts, add_counts};
use super::lane::Kept;
use super::race::{COMPARED, Race};
use super::shared::Shared;
use super::{Cut, Event, Result, Rung, TabularError};
use tove_learn::{LearnError, Model};

/// Seconds beyond the budget that the last fit may take when that makes it whole.
const GRACE: f64 = 0.3;
/// Seconds below which no further fit is begun.
const LEAST: f64 = 0.1;
/// How much larger a fit must be to be worth its time, beside one that is done.
const WORTH: f64 = 1.5;
/// Rows for one that could be fitted to its end, where a fit that is cut short counts: it then passes over them less often.
const THINNER: usize = 8;

/// The best candidate, fitted.
pub(super) struct Won {
    pub place: usize,
    pub model: Box<dyn Model>,
    pub parts: Parts,
    /// The rows it was fitted to.
    pub rows: Vec<usize>,
    /// If the time did not allow a whole fit to all rows.
    pub cut: Option<Cut>,
}

impl Race<'_, '_> {
    /// The best candidate. If the work is interrupted, or the time is up, as it was fitted in the comparison.
    pub(super) fn finish(&mut self, test: &[usize], watch: &mut dyn FnMut(&Event)) -> Result<Won> {
        let place = self.chosen()?;
        let (n, limited) = (self.train.len(), self.clock.is_limited());
        if !self.data.plan.stopped() {
            let estimator = &*self.lanes[place].candidate.estimator;
            let needed = self.last_fit() * if estimator.capabilities().anytime { WORTH } else { 1.0 };
            if !limited || self.lanes[place].kept.is_none() || needed <= self.clock.left() + GRACE {
                if let Some(won) = self.whole(place, test, watch)? {
                    return Ok(won);
                }
            } else {
                self.enlarge(place, watch)?;
            }
        }
        let kept = self.lanes[place].kept.take().ok_or_else(|| self.nothing())?;
        let of_kept = |rung: &&Rung| rung.rows == kept.rows.len() && rung.score == kept.score;
        let cut_short = self.lanes[place].rungs.iter().find(of_kept).is_some_and(|rung| rung.cut_short);
        let cut = (limited && !self.data.plan.stopped()).then_some(Cut { rows: kept.rows.len(), of: n, cut_short });
        let Kept { model, encoder, rows, .. } = kept;
        let estimator = &*self.lanes[place].candidate.estimator;
        let (train, mut imputed, _) = self.data.judged(&encoder, &rows[..rows.len().min(COMPARED)], estimator)?;
        let (test, more, unseen) = self.data.judged(&encoder, test, estimator)?;
        add_counts(&mut imputed, &more);
        Ok(Won { place, model, parts: Parts { encoder, train, test, imputed, unseen }, rows, cut })
    }

    /// Why there is no model.
    fn nothing(&self) -> TabularError {
        if self.data.plan.stopped() {
            return TabularError::Interrupted;
        }
        TabularError::Plan("the time was up before a model was fitted; allow more seconds".to_owned())
    }

    /// The candidate with the best scores; the only one, if nothing was compared.
    fn chosen(&self) -> Result<usize> {
        if let Some(place) = self.leader() {
            return Ok(place);
        }
        match &self.lanes[..] {
            [only] if only.problem.is_none() => Ok(0),
            _ if self.data.plan.stopped() => Err(TabularError::Interrupted),
            lanes => {
                let problem = lanes.iter().find_map(|lane| lane.problem.clone()).unwrap_or_default();
                Err(TabularError::Plan(format!("no model could be fitted: {problem}")))
            }
        }
    }

    /// A fit to all training rows; `None` if it was ended before it was of use.
    fn whole(&mut self, place: usize, test: &[usize], watch: &mut dyn FnMut(&Event)) -> Result<Option<Won>> {
        let lane = &self.lanes[place];
        let (estimator, rows) = (&*lane.candidate.estimator, self.train.to_vec());
        watch(&Event::Refitting { candidate: lane.candidate.name.clone(), rows: rows.len() });
        let parts = Shared::new(self.data, rows.clone(), test.to_vec())?.parts(estimator)?;
        // With nothing to fall back on a model is worth a little more time.
        let grace = if lane.kept.is_some() { 0.0 } else { GRACE };
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
        let cut = cut_short.then_some(Cut { rows: rows.len(), of: rows.len(), cut_short });
        Ok(Some(Won { place, model, parts, rows, cut }))
    }

    /// A fit to more rows than the comparison had for the candidate, as far as the time allows. It is judged on rows that it does
    /// not see, and kept only if it is better there than the one before.
    fn enlarge(&mut self, place: usize, watch: &mut dyn FnMut(&Event)) -> Result<()> {
        let lane = &self.lanes[place];
        let Some(known) = lane.kept.as_ref().map(|kept| kept.rows.len()) else { return Ok(()) };
        let (estimator, most) = (&*lane.candidate.estimator, self.order.len());
        let judgement = self.last_judgement() + self.judging * self.judges.len() as f64;
        let left = self.clock.left() - judgement;
        // Encoding goes with the rows; of the rest a part is kept in hand, as estimates are not exact.
        let affordable = |seconds: f64| match estimator.capabilities().anytime {
            true => lane.pace.rows(seconds).saturating_mul(THINNER),
            false => lane.pace.rows(0.8 * seconds),
        };
        let mut size = affordable(left).min(most);
        size = affordable(left - self.encoding.seconds(size)).min(most);
        let seconds = left - self.encoding.seconds(size + self.judges.len());
        if seconds < LEAST || (size as f64) < WORTH * known as f64 {
            return Ok(());
        }
        watch(&Event::Refitting { candidate: lane.candidate.name.clone(), rows: size });
        let shared = Shared::new(self.data, self.order[..size].to_vec(), self.judges.clone())?;
        // What is encoded when it is first asked for is not yet part of the time that was measured.
        shared.train(estimator)?;
        shared.test(estimator)?;
        // A fit that is cut short judges itself once more, on a tenth of its rows.
        let seconds = self.clock.left() - judgement - 0.1 * self.judging * size as f64;
        self.fit(place, &shared, seconds, false)?;
        Ok(())
    }
}
