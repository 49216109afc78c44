//! Fitting to a table in five stages: prepare, split, search, evaluate, package.
//!
//! A file that is read in chunks goes through the same stages (`stream.rs`), with one candidate instead of a search.

use std::time::Instant;

use tove_data::table::Table;
use tove_learn::selection::{Scorer, SelectionGuarantee, selection_guarantee};
use tove_metrics::hoeffding_union;

use super::evaluate::{Evaluated, learning_curve, usual_scorer};
use super::package::Fitted;
use super::prepared::{Prepared, check_candidates, no_classes};
use super::profile::profile;
use super::search::{Clock, Search, Winner};
use super::split::{self, TrainTest};
use super::{Candidate, CandidateResult, DataWarning, Event, Outcome, Plan, Result, TabularError, data_warnings};

/// Seconds of the last fit up to which a learning curve is made of four more.
const QUICK: f64 = 0.1;
/// Training rows below which there is no learning curve.
const FEW: usize = 40;
/// Training rows from which on a model that is fitted alone, within a budget, is first timed on a few of them.
const LARGE: usize = 2048;

/// What the search found.
struct Found {
    winner: Winner,
    /// Results of all candidates, if they were compared.
    candidates: Vec<CandidateResult>,
    scorer: Scorer,
    guarantee: Option<SelectionGuarantee>,
    /// Models that the guarantee covers.
    models: usize,
    /// Of fewer folds than asked for.
    warning: Option<DataWarning>,
    /// Whether the last fit was so quick that a few more do not matter.
    quick: bool,
}

impl Plan {
    /// Carries the plan out; `watch` is called with what happens.
    pub fn fit(&self, table: &Table, candidates: &[Candidate], watch: &mut dyn FnMut(&Event)) -> Result<Outcome> {
        self.fit_and_test(table, None, candidates, watch)
    }

    /// As [`Plan::fit`]; with a test table all rows of the first table are training rows, and the model is evaluated on the second.
    pub fn fit_and_test(
        &self,
        table: &Table,
        test: Option<&Table>,
        candidates: &[Candidate],
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Outcome> {
        let (start, clock) = (Instant::now(), Clock::new(self.budget));
        if candidates.is_empty() {
            return Err(TabularError::plan("no model to fit; name one"));
        }
        // Standardized numbers are negative.
        let nonnegative = candidates.iter().all(|one| one.estimator.capabilities().nonnegative);
        if let (true, Some(plan)) = (nonnegative, self.unscaled()) {
            return plan.fit_and_test(table, test, candidates, watch);
        }
        let data = self.prepare(table, test)?;
        check_candidates(candidates, data.classifies(), &self.target)?;
        if self.class_weights.is_some() && !data.classifies() {
            return Err(no_classes());
        }
        let rows = data.split(test.is_some())?;
        let mut warnings = data_warnings::of(&data, &rows, test.is_some());
        let found = self.search(&data, candidates, &rows, clock, watch)?;
        warnings.extend(found.warning);
        let Winner { place, model, parts, rows: train_rows, cut } = found.winner;
        let chosen = &candidates[place];
        let evaluated = Evaluated::new(&*model, &parts.train, &parts.test, self.scorer)?;
        let learning = match found.quick && data.own_rows >= FEW {
            true => learning_curve(chosen, &parts, self.seed, found.scorer, &*model),
            false => Vec::new(),
        };
        let compared = profile(&data.table, &data.schema, Some(&train_rows), self.seed)?;
        let package = self.package(Fitted {
            candidate: chosen,
            model,
            evaluated,
            schema: data.schema.with_typical(&data.table),
            labels: data.target.labels().clone(),
            encoder: parts.encoder,
            test: parts.test,
            rows: data.table.n_rows(),
            train_rows: train_rows.len(),
            dropped: data.dropped,
            imputed: parts.imputed,
            unseen: parts.unseen,
            profile: compared,
            fingerprints: Some([data.fingerprint, data.target_fingerprint]),
            start,
        });
        Ok(Outcome {
            candidates: found.candidates,
            cut,
            models: found.models,
            guarantee: found.guarantee,
            scorer: found.scorer,
            learning,
            train_rows,
            test_rows: rows.test,
            data_warnings: warnings,
            ..package
        })
    }

    /// The third stage: the best candidate, fitted to all training rows or as many as the time budget allows.
    fn search(
        &self,
        data: &Prepared<'_>,
        candidates: &[Candidate],
        rows: &TrainTest,
        clock: Clock,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Found> {
        let scorer = self.scorer.unwrap_or_else(|| usual_scorer(data.classifies()));
        let compares = candidates.len() > 1 || self.folds > 0;
        let mut warning = None;
        let mut search = Search::new(data, candidates, scorer, clock, (&rows.train, rows.test.len()));
        if compares || clock.is_limited() && rows.train.len() > LARGE {
            let folds = split::folds(data, &rows.train)?;
            let (asked, made) = (self.folds.max(2), folds.len());
            let fewer = DataWarning::FewerFolds { asked, made, rows: rows.train.len() };
            warning = (compares && made < asked).then_some(fewer);
            search.run(&folds, watch)?;
        }
        let tried: Vec<CandidateResult> = if compares { search.results() } else { Vec::new() };
        let begun = Instant::now();
        let winner = search.finish(&rows.test, watch)?;
        let quick = begun.elapsed().as_secs_f64() < QUICK && !self.stopped() && winner.cut.is_none();
        let guarantee = guarantee(&tried, scorer, search.judged, search.models)?;
        Ok(Found { winner, candidates: tried, scorer, guarantee, models: search.models, warning, quick })
    }
}

/// What the union bound says of the choice among classifiers by their errors on `rows` rows, the number of rows in the smallest
/// evaluation set. Which models are fitted depends on scores, but each of them is a function of rows that it is not evaluated on:
/// all `models` that could be fitted are fixed beforehand, and the bound over all of them holds whichever are. A fold's error is
/// the mean of independent values, given the model that was fitted without them; those of different folds depend on each other,
/// so that their average is promised only what one of them is: by convexity E exp(λ mean Zᶠ) ≤ mean E exp(λ Zᶠ), Hoeffding's
/// bound for the average is that of a single fold.
fn guarantee(
    tried: &[CandidateResult],
    scorer: Scorer,
    rows: usize,
    models: usize,
) -> Result<Option<SelectionGuarantee>> {
    let errors: Vec<f64> = tried.iter().filter_map(|tried| Some(1.0 - tried.mean()?)).collect();
    if scorer != Scorer::Accuracy || errors.len() < 2 || rows == 0 {
        return Ok(None);
    }
    let plain = selection_guarantee(&errors, rows, 1.0, 0.05)?;
    let epsilon = hoeffding_union(rows as f64, 1.0, plain.delta, models.max(errors.len()));
    Ok(Some(SelectionGuarantee { epsilon, excess: 2.0 * epsilon, upper: plain.error + epsilon, ..plain }))
}
