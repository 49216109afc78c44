//! Carrying a plan out: split, choice, judgement.

use std::time::Instant;

use serde_json::json;
use tove_data::table::{Schema, Table, Target, TaskKind};
use tove_learn::selection::{Scorer, SelectionGuarantee, selection_guarantee};
use tove_learn::{DummyClassifier, DummyRegressor, Estimator, Fit, Model, Samples};
use tove_metrics::hoeffding_union;

use super::clock::Clock;
use super::data::{Data, Parts};
use super::division::{self, check_finite, single_rows};
use super::fingerprint::{feature_sum, fingerprint};
use super::finish::Won;
use super::lane::Lane;
use super::model::{Known, TabularModel};
use super::race::{COMPARED, Race};
use super::scores::scores_with;
use super::{Candidate, Event, LearningPoint, NamedScore, Outcome, Plan, Result, TabularError, Tried};
use super::{Division, Doubt, doubts};

/// Seconds of the last fit up to which a learning curve is made of four more.
const QUICK: f64 = 0.1;
/// Shares of the training rows at which the learning curve is taken.
const SHARES: [f64; 4] = [0.1, 0.25, 0.5, 0.75];
/// Training rows below which there is no learning curve.
const FEW: usize = 40;
/// Training rows from which on a model that is fitted alone, within a budget, is first timed on a few of them.
const LARGE: usize = 2048;

impl Plan {
    /// Carries the plan out; `watch` hears what happens.
    pub fn fit(&self, table: &Table, candidates: &[Candidate], watch: &mut dyn FnMut(&Event)) -> Result<Outcome> {
        self.fit_judged(table, None, candidates, watch)
    }

    /// As [`Plan::fit`]; with a second table all rows of the first are fitted on, and those of the second judge.
    pub fn fit_judged(
        &self,
        table: &Table,
        judge: Option<&Table>,
        candidates: &[Candidate],
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Outcome> {
        let (start, clock) = (Instant::now(), Clock::new(self.budget));
        if candidates.is_empty() {
            return Err(TabularError::Plan("no model to fit; name one".into()));
        }
        let schema = self.schema(table)?;
        self.check(&schema)?;
        let (mut table, mut dropped) = table.drop_missing(&[&self.target])?;
        let fitted = table.n_rows();
        let known_by = fingerprint(feature_sum(&table, &schema));
        if let Some(judge) = judge {
            let (more, without) = self.conformed(&schema, judge)?;
            (table, dropped) = (table.append(&more)?, dropped + without);
        }
        let target = Target::encode(table.column(&self.target)?, self.kind)?;
        check_candidates(candidates, target.task().kind(), &self.target)?;
        let weights = self.row_weights(&table, &schema)?;
        let (train_rows, test_rows) = match judge {
            Some(_) => ((0..fitted).collect(), (fitted..table.n_rows()).collect()),
            None => self.split(&table, &target)?,
        };
        check_finite(&table, &schema)?;
        if let Some(weights) = &weights {
            self.check_parts(weights, [("training", &train_rows), ("test", &test_rows)])?;
        }
        let mut doubts = doubts::columns(&table, &schema);
        if judge.is_none() && self.division == Division::Random {
            doubts.extend(single_rows(&target).map(|classes| Doubt::SingleRow { classes }));
            doubts.extend(doubts::in_time(&table, &schema));
        }
        doubts.extend(doubts::telling(&table, &schema, &target, &train_rows));
        doubts.extend(doubts::codes(&table, &schema, &target, &train_rows));
        doubts.extend(doubts::copies(&table, &schema, &train_rows, &test_rows));
        let data = Data { table: &table, schema: &schema, target: &target, weights: weights.as_ref(), plan: self };
        let scorer = self.scorer.unwrap_or_else(|| usual_scorer(data.task()));
        let compares = candidates.len() > 1 || self.folds > 0;
        let mut race = Race::new(&data, candidates, scorer, clock, (&train_rows, test_rows.len()));
        if compares || clock.is_limited() && train_rows.len() > LARGE {
            let folds = division::folds(self, &table, &target, &train_rows)?;
            let (asked, made, rows) = (self.folds.max(2), folds.len(), train_rows.len());
            doubts.extend((compares && made < asked).then_some(Doubt::FewerFolds { asked, made, rows }));
            race.run(&folds, watch)?;
        }
        let begun = Instant::now();
        let tried: Vec<Tried> = race.lanes.iter().filter(|_| compares).map(Lane::tried).collect();
        let Won { place, model, parts: encoded, rows: fitted_rows, cut } = race.finish(&test_rows, watch)?;
        let (models, judges) = (race.models, race.judged);
        let (train_rows, chosen, interrupted) = (fitted_rows, &candidates[place], self.stopped());
        let quick = begun.elapsed().as_secs_f64() < QUICK && fitted >= FEW && !interrupted && cut.is_none();
        let scores = Scores::of(&*model, &encoded.train, &encoded.test, self.scorer)?;
        let learning = if quick { learning(chosen, &encoded, self.seed, scorer, &*model) } else { Vec::new() };
        let known = Known {
            schema: schema.clone(),
            encoder: encoded.encoder,
            labels: target.labels().clone(),
            target: self.target.clone(),
        };
        let facts = json!({
            "seed": self.seed, "rows": table.n_rows(), "train_rows": train_rows.len(), "test_rows": test_rows.len(),
            "model": chosen.name, "dropped": dropped, "train": document(&scores.train), "test": document(&scores.test),
            "baseline": document(&scores.baseline), "fingerprint": known_by,
        });
        Ok(Outcome {
            chosen: chosen.name.clone(),
            guarantee: guarantee(&tried, scorer, judges, models)?,
            tried,
            interrupted,
            cut,
            models,
            scorer,
            train: scores.train,
            test: scores.test,
            baseline: scores.baseline,
            test_samples: encoded.test,
            learning,
            model: TabularModel::new(known, model, facts),
            fitted_rows: train_rows.len(),
            judged_rows: test_rows.len(),
            train_rows,
            test_rows,
            dropped,
            imputed: encoded.imputed,
            unseen: encoded.unseen,
            doubts,
            streamed: None,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    /// A table to judge by, with the columns of the schema and a target in every row.
    pub(super) fn conformed(&self, schema: &Schema, judge: &Table) -> Result<(Table, usize)> {
        let (judge, _) = schema.conform(judge)?;
        let (judge, dropped) = judge.drop_missing(&[&self.target])?;
        if judge.n_rows() == 0 {
            return Err(TabularError::Plan("the table to judge by has no row with a target".into()));
        }
        Ok((judge, dropped))
    }
}

/// The scores that a report shows.
pub(super) struct Scores {
    pub train: Vec<NamedScore>,
    pub test: Vec<NamedScore>,
    pub baseline: Vec<NamedScore>,
}

impl Scores {
    /// The scores of a model, that of the metric that was asked for first.
    ///
    /// # Errors
    /// If the model has no such score.
    pub fn of(model: &dyn Model, train: &Samples, test: &Samples, first: Option<Scorer>) -> Result<Scores> {
        if let Some(scorer) = first {
            scorer.score(model, test)?;
        }
        let baseline = match model.capabilities().classifies() {
            false => DummyRegressor::default().fit_boxed(train)?,
            true => DummyClassifier::default().fit_boxed(train)?,
        };
        let baseline = scores_with(&*baseline, test, first);
        // Some of many rows tell as much.
        let step = train.len().div_ceil(COMPARED).max(1);
        let some: Vec<usize> = (0..train.len()).step_by(step).collect();
        let train =
            if step > 1 { scores_with(model, &train.take(&some)?, first) } else { scores_with(model, train, first) };
        Ok(Scores { train, test: scores_with(model, test, first), baseline })
    }
}

/// That every candidate predicts what the target asks for.
pub(super) fn check_candidates(candidates: &[Candidate], task: TaskKind, target: &str) -> Result<()> {
    match candidates.iter().find(|candidate| !candidate.suits(task)) {
        None => Ok(()),
        Some(candidate) => {
            let (name, kind) = (&candidate.name, candidate.estimator.capabilities().kind());
            let wanted = if task == TaskKind::Regression { "regressor" } else { "classifier" };
            Err(TabularError::Plan(format!(
                "{name} is a {kind}, and {target} asks for a {wanted}; choose another model"
            )))
        }
    }
}

/// The score that decides between models: accuracy, or R².
pub(super) fn usual_scorer(task: TaskKind) -> Scorer {
    match task {
        TaskKind::Regression => Scorer::R2,
        TaskKind::Classification => Scorer::Accuracy,
    }
}

/// The scores as JSON, by the ids of their metrics.
pub(super) fn document(scores: &[NamedScore]) -> serde_json::Value {
    let entry = |named: &NamedScore| {
        let interval = named.score.interval();
        (named.key().to_owned(), json!({"value": named.score.value, "n": named.score.n, "interval": interval}))
    };
    serde_json::Value::Object(scores.iter().map(entry).collect())
}

/// What the union bound says of the choice among classifiers by their errors on `rows` rows, of which the smallest set that judges
/// has so many. Which models are fitted depends on scores, but each of them is a function of rows that do not judge: all `models`
/// that could be fitted are fixed beforehand, and the bound over all of them holds whichever are. A fold's error is the mean of
/// independent values, given the model that was fitted without them; those of different folds depend on each other, so that
/// their average is promised only what one of them is: by convexity E exp(λ mean Zᶠ) ≤ mean E exp(λ Zᶠ), Hoeffding's bound for the
/// average is that of a single fold.
fn guarantee(tried: &[Tried], scorer: Scorer, rows: usize, models: usize) -> Result<Option<SelectionGuarantee>> {
    let errors: Vec<f64> = tried.iter().filter_map(|tried| Some(1.0 - tried.mean()?)).collect();
    if scorer != Scorer::Accuracy || errors.len() < 2 || rows == 0 {
        return Ok(None);
    }
    let plain = selection_guarantee(&errors, rows, 1.0, 0.05)?;
    let epsilon = hoeffding_union(rows as f64, 1.0, plain.delta, models.max(errors.len()));
    Ok(Some(SelectionGuarantee { epsilon, excess: 2.0 * epsilon, upper: plain.error + epsilon, ..plain }))
}

/// Scores of the candidate on growing parts of the training rows; none if a part cannot be fitted.
fn learning(chosen: &Candidate, encoded: &Parts, seed: u64, scorer: Scorer, whole: &dyn Model) -> Vec<LearningPoint> {
    let n = encoded.train.len();
    let mut order: Vec<usize> = (0..n).collect();
    let mixed = tove_tensor::Key::new(seed).fold(7).permutation(n).to_vec::<i64>();
    order.iter_mut().zip(mixed).for_each(|(place, row)| *place = row as usize);
    let point = |model: &dyn Model, train: &Samples| -> Result<LearningPoint> {
        let score = |samples: &Samples| -> Result<f64> { Ok(scorer.score(model, samples)?.value) };
        Ok(LearningPoint { rows: train.len(), train: score(train)?, test: score(&encoded.test)? })
    };
    let part = |share: f64| -> Result<LearningPoint> {
        let part = encoded.train.take(&order[..((n as f64 * share) as usize).max(10)])?;
        // Warnings of fits to a part would puzzle: they are not those of the model.
        let model = tove_learn::quietly(|| chosen.estimator.fit_samples(&part))?;
        point(&*model, &part)
    };
    let points: Result<Vec<LearningPoint>> =
        SHARES.iter().map(|&share| part(share)).chain([point(whole, &encoded.train)]).collect();
    points.unwrap_or_default()
}
