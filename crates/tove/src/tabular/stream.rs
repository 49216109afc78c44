//! Fitting to files larger than memory: the file is read again and again, some rows at a time.
//!
//! A first pass finds the kinds of the columns, a second one the means, categories and classes, further ones fit: one for
//! models with a closed form ([`LinearRegression`](tove_learn::linear::LinearRegression),
//! [`Ridge`](tove_learn::linear::Ridge): the same solution as in memory), one per epoch for stochastic gradients. Whether a row
//! is set aside depends on a hash of its number and the seed alone. Of the rows set aside as many are evaluated as take
//! [`JUDGED`] bytes. Stochastic gradients meet the rows in another order in every epoch, also in a file that is sorted by its target:
//! see [`TableSource`].

use std::time::Instant;

use tove_data::table::encode::EncoderFit;
use tove_data::table::{Role, Schema, Table, TableEncoder, TargetLabels, TaskKind};
use tove_data::{Problem, Remedy};
use tove_learn::{AnyLearner, Estimator, Samples};
use tove_optim::settings::Setting;
use tove_tensor::Key;

use super::evaluate::Evaluated;
use super::model::encoded;
use super::package::Fitted;
use super::prepared::{add_counts, check_candidates, check_weights, row_weights, weigh};
use super::profile::profile;
use super::source::TableSource;
use super::{Candidate, ColumnCounts, Event, Outcome, Plan, Result, Streamed, TabularError};

/// Bytes of encoded rows that are evaluated.
const JUDGED: usize = 32 << 20;
/// Bytes of encoded training rows that are evaluated for comparison.
const COMPARED: usize = 8 << 20;
/// Rows that decide what kind of task the target is.
const FIRST_ROWS: usize = 200_000;
/// Classes at most.
const MOST_CLASSES: usize = 10_000;

/// What the first pass over the rows found.
struct Found {
    schema: Schema,
    encoder: TableEncoder,
    labels: TargetLabels,
    /// Training rows of each class.
    counts: Vec<usize>,
    fitted: usize,
    held_out: usize,
    dropped: usize,
}

/// A number in [0, 1) that depends on the seed and the row's number alone (splitmix64).
fn lot(seed: u64, row: usize) -> f64 {
    let mut z = seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(row as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ z >> 31) >> 11) as f64 / (1u64 << 53) as f64
}

impl Plan {
    /// Fits a candidate to a file in batches; `judge` holds other rows for the evaluation, otherwise a share of the file is set aside.
    ///
    /// # Errors
    /// As [`Plan::fit`]; or if the estimator cannot learn in pieces.
    pub fn fit_stream(
        &self,
        source: &mut TableSource,
        test_table: Option<&Table>,
        candidate: &Candidate,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Outcome> {
        let start = Instant::now();
        let estimator = &*candidate.estimator;
        if !estimator.capabilities().partial_fit {
            let problem = Problem::new(format!("{} does not support partial_fit", candidate.name));
            return Err(TabularError::plan(problem.remedy(Remedy::Model)));
        }
        let share = if test_table.is_some() { 0.0 } else { self.test_size };
        let found = self.look(source, share, watch)?;
        check_candidates(std::slice::from_ref(candidate), found.labels.task.is_classification(), &self.target)?;
        check_weights(self, &found.schema, estimator)?;
        let sparse = estimator.capabilities().sparse;
        let width = if sparse && found.encoder.prefers_sparse() {
            4 * found.schema.fields().len()
        } else {
            found.encoder.feature_names().len()
        };
        let pass =
            Passing { plan: self, found: &found, share, sparse, width, weights: estimator.capabilities().weights };
        let (learner, mut kept) = pass.learn(source, estimator, watch)?;
        let mut dropped = found.dropped;
        if let Some(table) = test_table {
            let (rows, without) = self.conformed(&found.schema, table)?;
            (kept.test, dropped) = (vec![rows], dropped + without);
        }
        let model = learner.model_any()?;
        let schema = match kept.train.first() {
            Some(first) => found.schema.clone().with_typical(first),
            None => found.schema.clone(),
        };
        let compared = Table::concat(kept.train.clone())?;
        let compared = compared.map(|table| profile(&table, &found.schema, None, self.seed)).transpose()?.flatten();
        let part = |pieces: Vec<Table>, what: &str| -> Result<(Samples, ColumnCounts, ColumnCounts)> {
            let table = Table::concat(pieces)?
                .ok_or_else(|| TabularError::plan(format!("no {what} rows came out of the file")))?;
            let rows = encoded(&found.encoder, &table, None, sparse)?;
            let samples = Samples::new(rows.x, &found.labels.encode(table.column(&self.target)?)?)?;
            Ok((samples, rows.imputed, rows.unseen))
        };
        let (train, ..) = part(kept.train, "training")?;
        let (test, imputed, unseen) = part(kept.test, "test")?;
        add_counts(&mut kept.imputed, &imputed);
        let evaluated = Evaluated::new(&*model, &train, &test, self.scorer)?;
        let held_out = if test_table.is_some() { test.len() } else { found.held_out };
        let package = self.package(Fitted {
            candidate,
            model,
            evaluated,
            schema,
            labels: found.labels,
            encoder: found.encoder,
            test,
            rows: found.fitted + found.held_out,
            train_rows: found.fitted,
            dropped,
            imputed: kept.imputed,
            unseen,
            profile: compared,
            fingerprints: None,
            start,
        });
        Ok(Outcome {
            streamed: Some(Streamed { passes: source.passes(), set_aside: held_out, curve: kept.curve }),
            ..package
        })
    }

    /// The pass that learns how columns become numbers.
    fn look(&self, source: &mut TableSource, share: f64, watch: &mut dyn FnMut(&Event)) -> Result<Found> {
        let mut schema = source.schema().clone().with_role(&self.target, Role::Target)?;
        for (column, role) in &self.roles {
            schema = schema.with_role(column, *role)?;
        }
        self.check(&schema)?;
        let mut fit = EncoderFit::new(&schema, &self.encoding)?;
        let (mut row, mut fitted, mut dropped) = (0, 0, 0);
        let mut classes = Classes::default();
        let mut chunks = source.first_pass()?;
        while let Some(table) = chunks.next() {
            let (table, without) = table?.drop_missing(&[&self.target])?;
            source.note(row, chunks.place());
            dropped += without;
            let train: Vec<usize> = (0..table.n_rows()).filter(|&at| lot(self.seed, row + at) >= share).collect();
            row += table.n_rows();
            fitted += train.len();
            let train = table.take(&train)?;
            classes.see(&table, &train, &self.target)?;
            fit.see(&train)?;
            watch(&Event::Pass { purpose: "columns".to_owned(), rows: row });
            if self.stopped() {
                return Err(TabularError::Interrupted);
            }
        }
        source.end_first_pass(&chunks);
        for (name, categories) in fit.categories() {
            schema = schema.with_categories(&name, categories)?;
        }
        let (labels, counts) = classes.finish(&self.target, self.kind)?;
        Ok(Found { schema, encoder: fit.finish()?, labels, counts, fitted, held_out: row - fitted, dropped })
    }
}

/// The values of the target, as far as they matter: the first rows, and one row for each different value.
#[derive(Default)]
struct Classes {
    first: Vec<Table>,
    first_rows: usize,
    others: Vec<Table>,
    names: std::collections::HashMap<String, usize>,
    many: bool,
}

impl Classes {
    fn see(&mut self, table: &Table, train: &Table, target: &str) -> Result<()> {
        if self.first_rows < FIRST_ROWS {
            self.first.push(table.select(&[target])?);
            self.first_rows += table.n_rows();
        }
        if self.many {
            return Ok(());
        }
        for (rows, counted) in [(table, false), (train, true)] {
            let column = rows.column(target)?;
            let mut new = Vec::new();
            for row in 0..column.len() {
                let Some(name) = column.text(row) else { continue };
                match self.names.get_mut(name.as_ref()) {
                    Some(count) => *count += usize::from(counted),
                    None => {
                        self.names.insert(name.into_owned(), usize::from(counted));
                        new.push(row);
                    }
                }
            }
            self.others.push(rows.select(&[target])?.take(&new)?);
            self.many |= self.names.len() > MOST_CLASSES;
        }
        Ok(())
    }

    /// The labels, and the training rows of each class.
    fn finish(self, target: &str, kind: Option<TaskKind>) -> Result<(TargetLabels, Vec<usize>)> {
        let none = || TabularError::plan(format!("no row has a value of {target}"));
        let first = Table::concat(self.first)?.ok_or_else(none)?;
        let kind = TargetLabels::fit(first.column(target)?, kind)?.task.kind();
        let others = Table::concat(self.others)?.ok_or_else(none)?;
        if kind.is_classification() && self.many {
            let problem = Problem::new(format!("{target} has more than {MOST_CLASSES} classes"));
            return Err(TabularError::plan(problem.remedy(Remedy::Task(kind.other()))));
        }
        let column = if self.many { first.column(target)? } else { others.column(target)? };
        let labels = TargetLabels::fit(column, Some(kind))?;
        let counts = labels.classes.iter().map(|name| self.names.get(name).copied().unwrap_or(0)).collect();
        Ok((labels, counts))
    }
}

/// Passes that fit.
struct Passing<'a> {
    plan: &'a Plan,
    found: &'a Found,
    share: f64,
    sparse: bool,
    width: usize,
    /// Whether the estimator takes weights.
    weights: bool,
}

/// What is kept of the rows.
#[derive(Default)]
struct Kept {
    train: Vec<Table>,
    test: Vec<Table>,
    imputed: ColumnCounts,
    curve: Vec<f64>,
}

/// When passes end.
struct Rules {
    epochs: usize,
    tol: f64,
    patience: usize,
}

impl Rules {
    /// The rules of an estimator's hyperparameters; one pass for those that have none.
    fn of(estimator: &dyn Estimator) -> Rules {
        let number = |name: &str| f64::from_value(&estimator.value(name)?);
        Rules {
            epochs: number("max_iter").map_or(1, |epochs| epochs as usize),
            tol: number("tol").unwrap_or(f64::NEG_INFINITY),
            patience: number("n_iter_no_change").map_or(1, |patience| patience as usize),
        }
    }
}

impl Passing<'_> {
    /// Rows to learn from, in the model's numbers.
    /// None if all of them weigh 0.
    fn samples(&self, table: &Table, imputed: Option<&mut ColumnCounts>) -> Result<Option<Samples>> {
        let rows = encoded(&self.found.encoder, table, None, self.sparse)?;
        if let Some(imputed) = imputed {
            add_counts(imputed, &rows.imputed);
        }
        let y = self.found.labels.encode(table.column(&self.plan.target)?)?;
        let known = if self.weights { row_weights(table, &self.found.schema)? } else { None };
        let (classes, counts) = (&self.found.labels.classes, Some(&self.found.counts[..]));
        let weights = weigh(known, self.plan.class_weights.as_ref(), (classes, &y), counts)?;
        let samples = Samples::new(rows.x, &y)?;
        Ok(match weights {
            Some(weights) if weights.to_f64_vec().iter().all(|weight| *weight == 0.0) => None,
            Some(weights) => Some(samples.weighted(&weights)?),
            None => Some(samples),
        })
    }

    fn learn(
        &self,
        source: &mut TableSource,
        estimator: &dyn Estimator,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<(Box<dyn AnyLearner>, Kept)> {
        let classes: Vec<i64> = (0..self.found.labels.classes.len() as i64).collect();
        let mut learner = estimator.any_learner(&classes)?;
        let rules = Rules::of(estimator);
        let mut kept = Kept::default();
        let (mut best, mut idle) = (f64::INFINITY, 0);
        for epoch in 0..rules.epochs {
            let loss = self.epoch(source, &mut *learner, (epoch, rules.epochs > 1), &mut kept, watch)?;
            if rules.epochs > 1 {
                kept.curve.push(loss);
            }
            idle = if loss > best - rules.tol { idle + 1 } else { 0 };
            best = best.min(loss);
            if idle >= rules.patience || self.plan.stopped() {
                break;
            }
        }
        Ok((learner, kept))
    }

    /// One pass over the file, in an order of its own if `mixed`; the mean objective of its pieces.
    fn epoch(
        &self,
        source: &mut TableSource,
        learner: &mut dyn AnyLearner,
        (epoch, mixed): (usize, bool),
        kept: &mut Kept,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<f64> {
        let most = |bytes: usize| (bytes / (8 * self.width.max(1))).max(1000) as f64;
        let judged = self.share * (most(JUDGED) / self.found.held_out.max(1) as f64).min(1.0);
        let compared = 1.0 - (most(COMPARED) / self.found.fitted.max(1) as f64).min(1.0);
        let role = |role: &Role| matches!(role, Role::Feature | Role::Target | Role::Weight);
        let fields = self.found.schema.fields().iter().filter(|field| role(&field.role));
        let needed: Vec<String> = fields.map(|field| field.name.clone()).collect();
        let (mut row, mut sum, mut total) = (0, 0.0, 0.0);
        let key = mixed.then(|| Key::new(self.plan.seed).fold(epoch as u64));
        for piece in source.pieces(&self.plan.target, self.width, key)? {
            let (table, rows) = piece?;
            let lots: Vec<f64> = rows.into_iter().map(|row| lot(self.plan.seed, row)).collect();
            row += table.n_rows();
            if epoch == 0 {
                // Training rows have lots from `share` up to 1.
                let place = |lot: f64| (lot - self.share) / (1.0 - self.share);
                let needed = table.select(&needed)?;
                kept.test.push(needed.filter(|at| lots[at] < judged));
                kept.train.push(needed.filter(|at| lots[at] >= self.share && place(lots[at]) >= compared));
            }
            let train = table.filter(|at| lots[at] >= self.share);
            if train.n_rows() > 0
                && let Some(samples) = self.samples(&train, (epoch == 0).then_some(&mut kept.imputed))?
            {
                learner.learn_any(&samples)?;
                let objective = learner.loss_any().unwrap_or(0.0);
                sum += objective * samples.len() as f64;
                total += samples.len() as f64;
            }
            watch(&Event::Pass { purpose: format!("pass {} to fit", epoch + 1), rows: row });
            if self.plan.stopped() {
                watch(&Event::Interrupted);
                break;
            }
        }
        if total == 0.0 && row > 0 && !self.plan.stopped() {
            let problem = "the weights of all training rows are 0; give some rows a weight above 0";
            return Err(TabularError::plan(problem.to_owned()));
        }
        Ok(sum / f64::max(total, 1.0))
    }
}
