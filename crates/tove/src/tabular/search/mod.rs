//! The third stage: a search over the candidates on growing parts of the training rows.
//!
//! Every candidate is first fitted to a small sample and scored on rows that take no part in any fit, before any candidate is
//! fitted to more. Each further round has four times as many rows. Learning curves flatten, so a candidate that would stay
//! behind the best even if every further round brought as much as the last one is dropped (the rule of DAUB: Sabharwal,
//! Samulowitz, Tesauro, "Selecting near-optimal learners via incremental data allocation", 2016). The remaining candidates are
//! compared by cross-validation. In each round the best comes last, and is skipped if all others have been dropped by then. Small
//! tables begin with cross-validation: all candidates on the first fold, then all on the second, and so on.
//!
//! Candidates of a round share one encoding of its rows. Decisions depend on scores alone, so that the choice has the same
//! bits for any number of threads, as long as no time budget ends or skips a fit. With a budget, fits get shares of the time:
//! the first round at most half of it; in later ones a candidate that cannot be fitted in its share keeps the score it has; and
//! enough is reserved for the last fit of the best. A fit that was cut short counts if its estimator declares the capability
//! [`anytime`](tove_learn::Capabilities::anytime).

mod clock;
mod contender;
mod encoded;
mod final_fit;
mod folds;

use std::time::Instant;

use tove_learn::selection::{Fold, Scorer};
use tove_tensor::{DType, Key};

use super::prepared::{Prepared, check_weights};
use super::split::taken;
use super::{Candidate, CandidateResult, Event, Result, TabularError};
pub(super) use clock::Clock;
use clock::Pace;
use contender::{Contender, Kept};
use encoded::EncodedRows;
pub(super) use final_fit::Winner;
use folds::{KnownFold, known};

/// Numbers of the first round's encoded rows, about: enough for a score that says something, and quick for any table.
const CELLS: usize = 1 << 20;
/// Rows of the first round, at most and at least.
const MOST_FIRST: usize = 2048;
const LEAST_FIRST: usize = 256;
/// How much larger each round is.
const GROWTH: usize = 4;
/// Tables with fewer rows than so many first rounds begin with the folds.
const WHOLE: usize = 8;
/// Seconds of a decomposition for each product of rows, columns and the smaller of them, about.
const SECONDS: f64 = 1e-9;
/// Seconds that all candidates together may take beyond any budget.
const HARMLESS: f64 = 0.5;
/// Evaluation rows, at most, in rounds before cross-validation; and evaluation rows after which no further fold is needed.
const JUDGES: usize = 20_000;
/// Seconds that there are for the first candidate, however little the budget is.
const GRACE: f64 = 0.5;

/// Candidates and what they are compared on.
pub(super) struct Search<'a, 'd> {
    data: &'d Prepared<'d>,
    scorer: Scorer,
    clock: Clock,
    contenders: Vec<Contender<'a>>,
    /// All training rows, and the number of test rows.
    train: &'a [usize],
    test: usize,
    /// Rows of the largest fold: to fit, in an order of which every beginning is a fair sample, and to evaluate on.
    order: Vec<usize>,
    judges: Vec<usize>,
    /// Seconds for encoding.
    encoding: Pace,
    /// Seconds to score a row.
    judging: f64,
    /// Fits so far, of all candidates.
    done: usize,
    /// Models that could be compared, of all candidates and sizes.
    pub models: usize,
    /// Rows in the smallest evaluation set; with weights, their effective number.
    pub judged: usize,
    begun: bool,
}

impl<'a, 'd> Search<'a, 'd> {
    /// Candidates that cannot be compared are left out with a reason.
    pub fn new(
        data: &'d Prepared<'d>,
        candidates: &'a [Candidate],
        scorer: Scorer,
        clock: Clock,
        (train, test): (&'a [usize], usize),
    ) -> Self {
        let mut contenders: Vec<Contender<'a>> = candidates.iter().map(Contender::new).collect();
        for contender in &mut contenders {
            if let Err(error) = check_weights(data.plan, &data.schema, &*contender.candidate.estimator) {
                contender.fail(error.to_string());
            }
        }
        Search {
            data,
            scorer,
            clock,
            contenders,
            train,
            test,
            order: Vec::new(),
            judges: Vec::new(),
            encoding: Pace::default(),
            judging: 0.0,
            done: 0,
            models: 0,
            judged: 0,
            begun: false,
        }
    }

    /// Compares on rounds and folds of the training rows.
    pub fn run(&mut self, folds: &[Fold], watch: &mut dyn FnMut(&Event)) -> Result<()> {
        let Some(largest) = folds.iter().max_by_key(|fold| (fold.train.len(), std::cmp::Reverse(fold.train.first())))
        else {
            return Ok(());
        };
        let rows = |places: &[usize]| places.iter().map(|&place| self.train[place]).collect::<Vec<usize>>();
        (self.order, self.judges) = (self.mixed(rows(&largest.train))?, self.mixed(rows(&largest.test))?);
        let single = self.contenders.len() == 1;
        let unasked = single && self.data.plan.folds == 0;
        if unasked {
            // Nothing is compared; few rows are enough to see that a larger fit is no worse.
            self.order = self.mixed(self.train.to_vec())?;
            self.judges = self.order.split_off(self.order.len() - JUDGES.min(self.order.len() / 10));
        }
        self.judges.truncate(JUDGES);
        let sizes = self.sizes()?;
        for (round, &size) in sizes.iter().enumerate() {
            // One candidate needs no comparison, but a budget must know what it costs, and how that grows.
            if single && (!self.clock.is_limited() || round > 1 || self.last_fit() > 4.0 * self.clock.left()) {
                break;
            }
            if round > 0 && !single {
                self.drop_hopeless(sizes.len());
            }
            if self.running() == 0
                || round > 0 && self.running() == 1 && !single
                || !self.round(size, round, sizes.len(), watch)?
            {
                break;
            }
        }
        if !single && !self.data.plan.stopped() {
            self.drop_hopeless(sizes.len());
            self.second_chance(&sizes, watch)?;
        }
        let decided = !sizes.is_empty()
            && !single
            && (self.running() <= 1 || self.contenders.iter().all(|contender| contender.rungs.len() < sizes.len()));
        self.models = self.contenders.len() * (sizes.len() + 1);
        if !sizes.is_empty() {
            self.judged = self.data.effective(&self.judges);
        }
        if !decided && !unasked && !self.data.plan.stopped() {
            self.on_folds(folds, sizes.len(), watch)?;
        }
        if self.data.plan.stopped() {
            let short =
                |contender: &&mut Contender<'_>| contender.dropped.is_none() && contender.folds.len() < folds.len();
            for contender in self.contenders.iter_mut().filter(short).filter(|contender| contender.problem.is_none()) {
                contender.problem = Some("interrupted".to_owned());
            }
            watch(&Event::Interrupted);
        }
        Ok(())
    }

    /// What each candidate reached.
    pub fn results(&self) -> Vec<CandidateResult> {
        self.contenders.iter().map(Contender::tried).collect()
    }

    fn running(&self) -> usize {
        self.contenders.iter().filter(|contender| contender.running).count()
    }

    /// Sizes of the rounds before the folds; none for tables that are small.
    fn sizes(&self) -> Result<Vec<usize>> {
        let n = self.order.len();
        if n <= LEAST_FIRST || n <= WHOLE * LEAST_FIRST && !self.clock.is_limited() {
            return Ok(Vec::new());
        }
        let few = self.order[..n.min(LEAST_FIRST)].to_vec();
        let width = EncodedRows::new(self.data, few, Vec::new())?.encoder.feature_names().len();
        let first = (CELLS / width.max(1)).clamp(LEAST_FIRST, MOST_FIRST);
        // A closed form cannot be ended once it has begun: where rows are so long that decompositions of all of them may take more
        // than the time, small fits must say what they cost.
        let costs = SECONDS * self.contenders.len() as f64 * n as f64 * width as f64 * n.min(width) as f64;
        let long = n <= WHOLE * first && costs > (self.clock.left() / 2.0).max(HARMLESS);
        let first = if long { n / 16 } else { first };
        if n <= WHOLE * first {
            return Ok(Vec::new());
        }
        Ok(std::iter::successors(Some(first), |size| Some(size * GROWTH)).take_while(|&size| size * 2 <= n).collect())
    }

    /// Rows in an order of which every beginning is a fair sample: shuffled, and for classes each has its share in it, at least
    /// one row.
    fn mixed(&self, rows: Vec<usize>) -> Result<Vec<usize>> {
        let order = Key::new(self.data.plan.seed).fold(11).permutation(rows.len()).to_vec::<i64>();
        let rows: Vec<usize> = order.into_iter().map(|place| rows[place as usize]).collect();
        let count = self.data.target.classes().len();
        if count == 0 {
            return Ok(rows);
        }
        let codes = taken(self.data.target.y(), &rows)?.to_dtype(DType::I64).to_vec::<i64>();
        let mut counts = vec![0usize; count];
        let ranks: Vec<usize> = codes
            .iter()
            .map(|&code| {
                counts[code as usize] += 1;
                counts[code as usize] - 1
            })
            .collect();
        let key = |place: usize| ranks[place] as f64 / counts[codes[place] as usize] as f64;
        let mut places: Vec<usize> = (0..rows.len()).collect();
        places.sort_by(|&a, &b| key(a).total_cmp(&key(b)));
        Ok(places.into_iter().map(|place| rows[place]).collect())
    }

    /// Drops candidates that would stay behind the best even if every round up to the folds brought as much as the last one did, and
    /// if their scores were two standard errors better than they look. Candidates whose fit of the present round is still to come
    /// stay.
    fn drop_hopeless(&mut self, rounds: usize) {
        let last = |contender: &Contender<'_>| contender.rungs.last().copied();
        let Some(size) = self.contenders.iter().filter_map(last).map(|rung| rung.rows).max() else { return };
        let at_size = |contender: &Contender<'_>| last(contender).filter(|rung| rung.rows == size);
        let scores = self.contenders.iter().filter_map(last).map(|rung| rung.score);
        let best = scores.fold(f64::NEG_INFINITY, f64::max);
        let gain = self.contenders.iter().filter_map(Contender::gain).fold(0.0, f64::max);
        let slack = self.slack(best);
        for contender in self.contenders.iter_mut().filter(|contender| contender.running) {
            let more = (rounds + 1).saturating_sub(contender.rungs.len());
            let hopeless = |most: f64| most + slack < best;
            if at_size(contender).is_some() && contender.reachable(more, gain).is_some_and(hopeless) {
                contender.running = false;
                contender.dropped = Some(size);
            }
        }
    }

    /// Two standard errors of a score on the evaluation rows, about: of a mean of values between 0 and 1, or relative to the score of
    /// metrics that have no upper limit.
    fn slack(&self, best: f64) -> f64 {
        let range = if self.scorer.greater_is_better() { 1.0 } else { best.abs() };
        range / (self.judges.len().max(1) as f64).sqrt()
    }

    /// Fits dropped candidates whose fits may be cut short, and the leader, to as many rows as the time allows. Nets can be slow
    /// starters: on a small sample their learning curve says little about what they reach on many rows. Those that are no longer
    /// behind are compared further.
    fn second_chance(&mut self, sizes: &[usize], watch: &mut dyn FnMut(&Event)) -> Result<()> {
        let Some(leader) = self.leader() else { return Ok(()) };
        let again = |contender: &Contender<'_>| {
            contender.dropped.is_some() && contender.candidate.estimator.capabilities().anytime
        };
        let dropped: Vec<usize> =
            (0..self.contenders.len()).filter(|&place| place != leader && again(&self.contenders[place])).collect();
        let seen = |place: usize| self.contenders[place].rungs.last().map_or(0, |rung| rung.rows);
        let largest = dropped.iter().map(|&place| seen(place)).max().unwrap_or(usize::MAX);
        let spare = (self.clock.left() - self.last_fit()) / 2.0;
        let costs = |size: usize| -> f64 {
            let fits = dropped.iter().chain([&leader]).map(|&place| self.contenders[place].pace.seconds(size));
            fits.sum::<f64>() + self.encoding.seconds(size + self.judges.len())
        };
        let affordable = sizes.iter().rev().find(|&&size| size > largest && costs(size) <= spare);
        let Some(&size) = affordable else { return Ok(()) };
        let shared = EncodedRows::new(self.data, self.order[..size].to_vec(), self.judges.clone())?;
        if seen(leader) < size {
            watch(&self.event(leader, size, self.done + dropped.len() + 1));
            self.fit(leader, &shared, spare / 2.0, false)?;
        }
        let at_size = |contender: &Contender<'_>| {
            contender.rungs.iter().rev().find(|rung| rung.rows == size).map(|rung| rung.score)
        };
        let best = at_size(&self.contenders[leader]).unwrap_or(f64::NEG_INFINITY);
        for place in dropped {
            if self.data.plan.stopped() {
                break;
            }
            watch(&self.event(place, size, self.done + 1));
            self.fit(place, &shared, spare / 2.0, false)?;
            let contender = &mut self.contenders[place];
            if at_size(contender).is_some_and(|score| score >= best) {
                (contender.dropped, contender.running) = (None, true);
            } else {
                contender.dropped = Some(size);
            }
        }
        Ok(())
    }

    /// The candidate that is best so far, ties go to the first. One that was dropped can lead only if all others failed: its
    /// score is of fewer rows, and by chance it may lie above what the others reach on all folds.
    fn leader(&self) -> Option<usize> {
        self.best(|contender| contender.dropped.is_none()).or_else(|| self.best(|_| true))
    }

    fn best(&self, counts: impl Fn(&Contender<'_>) -> bool) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        let contenders = self.contenders.iter().enumerate().filter(|(_, contender)| counts(contender));
        for (place, value) in contenders.filter_map(|(place, contender)| Some((place, contender.value()?))) {
            if best.is_none_or(|(_, most)| value > most) {
                best = Some((place, value));
            }
        }
        best.map(|(place, _)| place)
    }

    /// Seconds to encode all rows, fit the best candidate so far to them and evaluate it.
    fn last_fit(&self) -> f64 {
        let n = self.train.len();
        let fit = self.leader().map_or(0.0, |place| self.contenders[place].pace.seconds(n));
        fit + self.encoding.seconds(n) + self.last_judgement()
    }

    /// Seconds to encode the test rows and those training rows that are scored for comparison, and to score the model on them.
    fn last_judgement(&self) -> f64 {
        let rows = self.test + self.train.len().min(super::evaluate::COMPARED);
        2.0 * self.judging * rows as f64 + self.encoding.seconds(rows) + 0.05
    }

    /// One round of all that are still running. Whether it took place: not when the time is up.
    fn round(&mut self, size: usize, round: usize, rounds: usize, watch: &mut dyn FnMut(&Event)) -> Result<bool> {
        let left = self.clock.left();
        let reserve = if round == 0 { left / 2.0 } else { self.last_fit().min(left / 2.0) };
        let spare = left - reserve - self.encoding.seconds(size + self.judges.len());
        let mut waiting = self.running();
        // Half of what is spare, or a round that is cheap would leave nothing for the next.
        let share =
            |spare: f64, waiting: usize| spare.max(0.0) / (waiting as f64 + if round + 1 < rounds { 1.0 } else { 0.0 });
        let able = |contender: &Contender<'_>, share: f64| {
            contender.pace.seconds(size) <= share || contender.candidate.estimator.capabilities().anytime
        };
        if round > 0 && self.clock.is_limited() {
            let share = share(spare, waiting);
            if spare < 0.05 || !self.contenders.iter().any(|contender| contender.running && able(contender, share)) {
                return Ok(false);
            }
        }
        let begun = Instant::now();
        let shared = EncodedRows::new(self.data, self.order[..size].to_vec(), self.judges.clone())?;
        let mut encoding = begun.elapsed().as_secs_f64();
        // The best comes last: the others may all drop out before.
        let mut order: Vec<usize> =
            (0..self.contenders.len()).filter(|&place| self.contenders[place].running).collect();
        if let Some(leader) = self.leader() {
            order.sort_by_key(|&place| place == leader);
        }
        for place in order {
            if self.data.plan.stopped() {
                return Ok(false);
            }
            if round > 0 && waiting == 1 && self.contenders.len() > 1 {
                self.drop_hopeless(rounds);
                if self.running() == 1 && self.contenders[place].running {
                    break;
                }
            }
            if round == 0 && self.begun && self.clock.left() <= 0.0 {
                self.contenders[place].fail("time budget exhausted".to_owned());
                continue;
            }
            let share = share(self.clock.left() - reserve, waiting);
            waiting -= 1;
            if round > 0 && self.clock.is_limited() && !able(&self.contenders[place], share) {
                self.contenders[place].running = false;
                continue;
            }
            let planned = self.done + waiting + 1 + (rounds - round - 1) * self.running();
            watch(&self.event(place, size, planned));
            encoding += self.fit(place, &shared, share, false)?;
        }
        self.encoding.note(size + self.judges.len(), encoding);
        Ok(true)
    }

    fn event(&self, place: usize, rows: usize, total: usize) -> Event {
        Event::Fitting { candidate: self.contenders[place].candidate.name.clone(), rows, done: self.done, total }
    }

    /// Fits a candidate within a number of seconds and scores it. Returns the seconds that encoding took.
    fn fit(&mut self, place: usize, shared: &EncodedRows<'_>, seconds: f64, on_fold: bool) -> Result<f64> {
        let clock = self.clock;
        let first = !std::mem::replace(&mut self.begun, true);
        let begun = Instant::now();
        let estimator = &*self.contenders[place].candidate.estimator;
        let encoded = shared.prepare(estimator).and_then(|()| shared.test(estimator));
        let encoding = begun.elapsed().as_secs_f64();
        let begun = Instant::now();
        // Without a model there is nothing to show for the time.
        let deadline = clock.within(if first { seconds.max(GRACE) } else { seconds });
        let fitted = encoded.and_then(|test| {
            // What fits of a comparison have to say is gathered: five times the same would hide everything else.
            let model = tove_optim::until(deadline, || tove_learn::quietly(|| shared.fit(estimator)))?;
            let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            let (took, begun) = (begun.elapsed().as_secs_f64(), Instant::now());
            let score = self.scorer.score(&*model, &test)?.value;
            Ok((model, score, (took, late), begun.elapsed().as_secs_f64() / test.len() as f64))
        });
        self.done += 1;
        let late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let contender = &mut self.contenders[place];
        match fitted {
            Ok((model, score, (took, late), judging)) if score.is_finite() => {
                self.judging = if self.judging == 0.0 { judging } else { 0.5 * (self.judging + judging) };
                let cut_short = late && !model.summary().converged;
                let kept = Kept { model, encoder: shared.encoder.clone(), rows: shared.rows.clone(), score };
                contender.note(kept, took, on_fold, cut_short);
            }
            Ok(_) => contender.fail("its predictions are not finite".to_owned()),
            Err(_) if self.data.plan.stopped() => contender.problem = Some("interrupted".to_owned()),
            // What it reached before stays.
            Err(TabularError::Learn(error)) if late && matches!(*error, tove_learn::LearnError::Interrupted { .. }) => {
                contender.running = false;
                if contender.value().is_none() {
                    contender.problem = Some("time budget exhausted".to_owned());
                }
            }
            Err(error) => contender.fail(error.to_string()),
        }
        Ok(encoding)
    }

    /// Cross-validates the candidates that are left, fold by fold, until the time is up or enough rows were used for evaluation.
    fn on_folds(&mut self, folds: &[Fold], rounds: usize, watch: &mut dyn FnMut(&Event)) -> Result<()> {
        let contenders = self.contenders.len();
        let mut judged = 0;
        // One fold alone shares nothing.
        let several = rounds == 0 || contenders == 1 || folds.iter().any(|fold| fold.test.len() < JUDGES);
        let mut known = match several && !self.clock.is_limited() {
            true => {
                let running = self.contenders.iter().filter(|contender| contender.running);
                let mut estimators = running.map(|contender| &*contender.candidate.estimator);
                known(self.data, (self.train, folds), estimators.find(|one| one.capabilities().moments))?
            }
            false => None,
        }
        .map(Vec::into_iter);
        for (number, fold) in folds.iter().enumerate() {
            // One model is asked for all its folds; for a choice so many rows are enough.
            if self.data.plan.stopped() || rounds > 0 && contenders > 1 && judged >= JUDGES {
                break;
            }
            let size = fold.train.len();
            let left = self.clock.left();
            let costs: f64 = self
                .contenders
                .iter()
                .filter(|contender| contender.running)
                .map(|contender| contender.pace.seconds(size))
                .sum();
            let first = number == 0 && rounds == 0;
            let reserve = if first { left / 2.0 } else { self.last_fit() };
            if self.clock.is_limited()
                && !first
                && left < costs + self.encoding.seconds(size + fold.test.len()) + reserve
            {
                self.late(folds.len());
                break;
            }
            let known = known.as_mut().and_then(Iterator::next);
            self.fold((fold, known), (number, folds.len()), reserve, watch)?;
            judged += fold.test.len();
            let judges: Vec<usize> = fold.test.iter().map(|&place| self.train[place]).collect();
            let judges = self.data.effective(&judges);
            self.judged = if self.judged == 0 { judges } else { self.judged.min(judges) };
        }
        // Means are compared over the folds that all of them have.
        let common = self
            .contenders
            .iter()
            .filter(|contender| !contender.folds.is_empty())
            .map(|contender| contender.folds.len())
            .min();
        if let Some(common) = common {
            self.contenders.iter_mut().for_each(|contender| contender.folds.truncate(common));
        }
        Ok(())
    }

    /// Notes for those with fewer folds than asked for that the time was up.
    fn late(&mut self, folds: usize) {
        let short = |contender: &&mut Contender<'_>| {
            contender.running && contender.rungs.is_empty() && contender.folds.len() < folds
        };
        for contender in self.contenders.iter_mut().filter(short).filter(|contender| contender.problem.is_none()) {
            contender.problem = Some("time budget exhausted".to_owned());
        }
    }

    /// All that are still running on one fold.
    fn fold(
        &mut self,
        (fold, known): (&Fold, Option<KnownFold>),
        (number, count): (usize, usize),
        reserve: f64,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<()> {
        let rows = |places: &[usize]| places.iter().map(|&place| self.train[place]).collect::<Vec<usize>>();
        let begun = Instant::now();
        let (train, test) = (rows(&fold.train), rows(&fold.test));
        let shared = match known {
            Some(known) => EncodedRows::of_fold(self.data, known, train, test),
            None => EncodedRows::new(self.data, train, test)?,
        };
        let mut encoding = begun.elapsed().as_secs_f64();
        let mut waiting = self.running();
        for place in 0..self.contenders.len() {
            if !self.contenders[place].running {
                continue;
            }
            if self.data.plan.stopped() {
                break;
            }
            let left = self.clock.left();
            if self.begun && left <= 0.0 {
                self.late(count);
                self.contenders[place].running = self.contenders[place].value().is_some();
                continue;
            }
            let share = (left - reserve) / waiting as f64;
            waiting -= 1;
            let planned = self.done + waiting + 1 + (count - number - 1) * self.running();
            watch(&self.event(place, shared.rows.len(), planned));
            encoding += self.fit(place, &shared, share, true)?;
        }
        self.encoding.note(shared.rows.len() + fold.test.len(), encoding);
        Ok(())
    }
}
