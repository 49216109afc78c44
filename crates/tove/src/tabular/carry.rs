//! Carrying a plan out: split, choice, judgement.

use std::time::Instant;

use serde_json::json;
use tove_data::table::{Schema, Table, TableEncoder, Target, Task as TableTask};
use tove_learn::selection::{Scorer, SelectionGuarantee, selection_guarantee};
use tove_learn::{DummyClassifier, DummyRegressor, Estimator, Model, Rows, Samples, Task};
use tove_tensor::{DType, Tensor};

use super::compare::Trained;
use super::division::{self, check_finite, single_rows, taken};
use super::fingerprint::{feature_sum, fingerprint};
use super::model::{Known, TabularModel, encoded};
use super::{Candidate, ColumnCounts, Event, LearningPoint, NamedScore, Outcome, Plan, Result, TabularError, Tried};
use super::{ClassWeights, Division, Doubt, doubts, scores_of};

/// Seconds of the last fit up to which a learning curve is made of four more.
const QUICK: f64 = 0.1;
/// Shares of the training rows at which the learning curve is taken.
const SHARES: [f64; 4] = [0.1, 0.25, 0.5, 0.75];
/// Training rows below which there is no learning curve.
const FEW: usize = 40;

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
        let start = Instant::now();
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
        let weights = self.row_weights(&table, &schema)?;
        let (train_rows, test_rows) = match judge {
            Some(_) => ((0..fitted).collect(), (fitted..table.n_rows()).collect()),
            None => self.split(&table, &target)?,
        };
        check_finite(&table, &schema)?;
        let mut doubts = doubts::columns(&table, &schema);
        if judge.is_none() && self.division == Division::Random {
            doubts.extend(single_rows(&target).map(|classes| Doubt::SingleRow { classes }));
            doubts.extend(doubts::in_time(&table, &schema));
        }
        doubts.extend(doubts::telling(&table, &schema, &target, &train_rows));
        doubts.extend(doubts::copies(&table, &schema, &train_rows, &test_rows));
        let data = Data { table: &table, schema: &schema, target: &target, weights: weights.as_ref(), plan: self };
        let scorer = Scorer::usual(data.task());
        let (mut tried, mut kept) = (Vec::new(), None);
        let mut judged_in_folds = 0;
        if candidates.len() > 1 || self.folds > 0 {
            let folds = division::folds(self, &table, &target, &train_rows)?;
            let (asked, made, rows) = (self.folds.max(2), folds.len(), train_rows.len());
            doubts.extend((made < asked).then_some(Doubt::FewerFolds { asked, made, rows }));
            judged_in_folds = folds.iter().map(|fold| fold.test.len()).min().unwrap_or(0);
            (tried, kept) = data.compare(candidates, &train_rows, &folds, scorer, watch)?;
        }
        let clock = Instant::now();
        let won = data.winner(candidates, &tried, (train_rows, &test_rows), kept, watch)?;
        let Trained { place, model, parts: encoded, rows: train_rows } = won;
        let (chosen, interrupted) = (&candidates[place], self.stopped());
        let quick = clock.elapsed().as_secs_f64() < QUICK && fitted >= FEW && !interrupted;
        let scores = Scores::of(&*model, &encoded.train, &encoded.test)?;
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
            guarantee: guarantee(&tried, data.task(), judged_in_folds)?,
            tried,
            interrupted,
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
    pub fn of(model: &dyn Model, train: &Samples, test: &Samples) -> Result<Scores> {
        let baseline = match model.task() {
            Task::Regression => DummyRegressor::default().fit_any(train)?,
            Task::Classification => DummyClassifier::default().fit_any(train)?,
        };
        let (train, baseline) = (scores_of(model, train), scores_of(&*baseline, test));
        Ok(Scores { train, test: scores_of(model, test), baseline })
    }
}

/// The scores as JSON, by name.
pub(super) fn document(scores: &[NamedScore]) -> serde_json::Value {
    let entry = |named: &NamedScore| {
        let interval = named.score.interval();
        (named.name.to_owned(), json!({"value": named.score.value, "n": named.score.n, "interval": interval}))
    };
    serde_json::Value::Object(scores.iter().map(entry).collect())
}

/// What the union bound says of the choice among classifiers by their mean errors over the folds, of which the smallest judges
/// `rows` rows. A fold's error is the mean of independent values, given the model that was fitted without them; those of
/// different folds depend on each other, so that their average is promised only what one of them is: by convexity
/// E exp(λ mean Zᶠ) ≤ mean E exp(λ Zᶠ), Hoeffding's bound for the average is that of a single fold.
fn guarantee(tried: &[Tried], task: Task, rows: usize) -> Result<Option<SelectionGuarantee>> {
    let errors: Vec<f64> = tried.iter().filter_map(|tried| Some(1.0 - tried.mean()?)).collect();
    if task == Task::Regression || errors.len() < 2 {
        return Ok(None);
    }
    Ok(Some(selection_guarantee(&errors, rows, 1.0, 0.05)?))
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
        let model = tove_learn::quietly(|| chosen.estimator.fit_any(&part))?;
        point(&*model, &part)
    };
    let points: Result<Vec<LearningPoint>> =
        SHARES.iter().map(|&share| part(share)).chain([point(whole, &encoded.train)]).collect();
    points.unwrap_or_default()
}

/// Weights of rows, times those of their classes.
pub(super) fn weigh(
    weights: Option<Tensor>,
    classes: Option<&ClassWeights>,
    (names, y): (&[String], &Tensor),
    counts: Option<&[usize]>,
) -> Result<Option<Tensor>> {
    let Some(classes) = classes else { return Ok(weights) };
    if names.is_empty() {
        return Err(TabularError::Plan("class weights are for classifications; this is a regression".into()));
    }
    let codes = y.to_dtype(DType::I64).to_vec::<i64>();
    let mut here = vec![0; names.len()];
    codes.iter().for_each(|&code| here[code as usize] += 1);
    let of = classes.per_class(names, counts.unwrap_or(&here))?;
    let known = weights.map(|weights| weights.to_f64_vec());
    let row = |(place, &code): (usize, &i64)| of[code as usize] * known.as_ref().map_or(1.0, |known| known[place]);
    let product: Vec<f64> = codes.iter().enumerate().map(row).collect();
    Ok(Some(Tensor::try_from_vec(product, [codes.len()])?))
}

/// A table with what is known of it.
pub(super) struct Data<'t> {
    pub table: &'t Table,
    pub schema: &'t Schema,
    pub target: &'t Target,
    pub weights: Option<&'t Tensor>,
    pub plan: &'t Plan,
}

/// Rows to fit and rows to judge, encoded by what the first ones showed.
pub(super) struct Parts {
    pub encoder: TableEncoder,
    pub train: Samples,
    pub test: Samples,
    pub imputed: ColumnCounts,
    pub unseen: ColumnCounts,
}

/// Adds counts by column.
pub(super) fn add_counts(all: &mut ColumnCounts, more: &[(String, usize)]) {
    for (name, count) in more {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => all.push((name.clone(), *count)),
        }
    }
}

/// That the estimator takes the weights that classes have.
pub(super) fn check_weights(plan: &Plan, estimator: &dyn Estimator) -> Result<()> {
    if plan.class_weights.is_some() && !estimator.abilities().weights {
        let name = estimator.name();
        return Err(TabularError::Plan(format!("{name} takes no weights, so classes cannot be weighed")));
    }
    Ok(())
}

impl Data<'_> {
    pub(super) fn task(&self) -> Task {
        match self.target.task() {
            TableTask::Regression => Task::Regression,
            _ => Task::Classification,
        }
    }

    /// An encoder fitted on the first rows, and both parts encoded by it. Weights of rows that the estimator cannot take are
    /// left out for it; those of classes count at fitting only.
    pub(super) fn encode(&self, fit: &[usize], judge: &[usize], estimator: &dyn Estimator) -> Result<Parts> {
        check_weights(self.plan, estimator)?;
        let abilities = estimator.abilities();
        let table = self.table.take(fit)?;
        let target = Target::encode(table.column(&self.plan.target)?, Some(self.target.task().kind()))?;
        let (encoder, dense) = TableEncoder::fit_encode_chosen(&table, self.schema, &self.plan.encoding, &target)?;
        let mut imputed = dense.imputed;
        let fitted = if abilities.sparse && encoder.prefers_sparse() {
            encoded(&encoder, &table, true)?.x
        } else {
            dense.x.into()
        };
        let (test, judged, unseen) = self.judged(&encoder, judge, estimator)?;
        add_counts(&mut imputed, &judged);
        let train = self.part(fit, fitted, abilities.weights, self.plan.class_weights.as_ref())?;
        Ok(Parts { encoder, train, test, imputed, unseen })
    }

    /// Rows to judge by, with the columns in which values were missing, or categories never seen.
    pub(super) fn judged(
        &self,
        encoder: &TableEncoder,
        rows: &[usize],
        estimator: &dyn Estimator,
    ) -> Result<(Samples, ColumnCounts, ColumnCounts)> {
        let abilities = estimator.abilities();
        let judged = encoded(encoder, &self.table.take(rows)?, abilities.sparse)?;
        Ok((self.part(rows, judged.x, abilities.weights, None)?, judged.imputed, judged.unseen))
    }

    /// Samples of encoded rows, weighed if the estimator takes weights.
    fn part(&self, rows: &[usize], x: Rows, weighed: bool, classes: Option<&ClassWeights>) -> Result<Samples> {
        let y = taken(self.target.y(), rows)?;
        let known = self.weights.filter(|_| weighed).map(|all| taken(all, rows)).transpose()?;
        let weights = weigh(known, classes, (self.target.classes(), &y), None)?;
        let samples = Samples::new(x, &y)?;
        Ok(match weights {
            Some(weights) => samples.weighted(&weights)?,
            None => samples,
        })
    }
}
