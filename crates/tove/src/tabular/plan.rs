//! Fitting to a table: roles, split, cross-validation, the choice, the judgement.

use std::time::{Duration, Instant};

use serde_json::json;
use tove_data::table::{Encoding, Role, Schema, Table, TableEncoder, Target, Task as TableTask, TaskKind};
use tove_learn::selection::{KFold, Scorer, SelectionGuarantee, Split, Splitter, StratifiedKFold, selection_guarantee};
use tove_learn::{DummyClassifier, DummyRegressor, Estimator, Model, Samples, Task};
use tove_tensor::{Tensor, TryIndex};

use super::model::{TabularModel, encoded};
use super::{Candidate, NamedScore, Result, TabularError, scores_of};

/// How to fit to a table.
#[derive(Clone, Debug)]
pub struct Plan {
    target: String,
    kind: Option<TaskKind>,
    roles: Vec<(String, Role)>,
    test_size: f64,
    folds: usize,
    seed: u64,
    encoding: Encoding,
    budget: Option<Duration>,
}

/// What happens while a plan is carried out.
#[derive(Clone, Debug)]
pub enum Event {
    /// A candidate is fitted to a fold.
    Fitting {
        /// The candidate.
        candidate: String,
        /// Number of the fit, from 0.
        done: usize,
        /// Fits planned.
        total: usize,
    },
    /// The winner is fitted to all training rows.
    Refitting {
        /// The winner.
        candidate: String,
    },
}

/// How a candidate did in cross-validation.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The candidate.
    pub name: String,
    /// Its score in each fold; empty if it failed or was not reached.
    pub scores: Vec<f64>,
    /// Seconds it took.
    pub seconds: f64,
    /// Why it has no scores.
    pub problem: Option<String>,
}

impl Tried {
    /// The mean score over the folds.
    pub fn mean(&self) -> Option<f64> {
        (!self.scores.is_empty()).then(|| self.scores.iter().sum::<f64>() / self.scores.len() as f64)
    }

    /// Standard deviation of the scores over the folds.
    pub fn spread(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some((self.scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / self.scores.len() as f64).sqrt())
    }
}

/// What came out of a plan.
pub struct Outcome {
    /// The fitted model.
    pub model: TabularModel,
    /// The winner's name.
    pub chosen: String,
    /// All candidates, if there was a comparison.
    pub tried: Vec<Tried>,
    /// The score that decided.
    pub scorer: Scorer,
    /// What holds for the choice (classification): the union bound over the candidates.
    pub guarantee: Option<SelectionGuarantee>,
    /// Scores on the rows it was fitted on.
    pub train: Vec<NamedScore>,
    /// Scores on rows that nothing was fitted on.
    pub test: Vec<NamedScore>,
    /// Scores of a constant prediction on those rows.
    pub baseline: Vec<NamedScore>,
    /// The samples of the test rows, for pictures.
    pub test_samples: Samples,
    /// Rows of the table that were fitted on.
    pub train_rows: Vec<usize>,
    /// Rows of the table that were judged on.
    pub test_rows: Vec<usize>,
    /// Rows left out because the target is missing.
    pub dropped: usize,
    /// Seconds from table to outcome.
    pub seconds: f64,
}

impl Plan {
    /// Predict this column: a quarter of the rows set aside, five folds.
    pub fn new(target: impl Into<String>) -> Plan {
        Plan {
            target: target.into(),
            kind: None,
            roles: Vec::new(),
            test_size: 0.25,
            folds: 5,
            seed: 0,
            encoding: Encoding { scale: true, ..Encoding::default() },
            budget: None,
        }
    }

    /// Overrides what the target's values propose.
    #[must_use]
    pub fn task(self, kind: TaskKind) -> Plan {
        Plan { kind: Some(kind), ..self }
    }

    /// Gives a column another role than that of a feature.
    #[must_use]
    pub fn role(mut self, column: impl Into<String>, role: Role) -> Plan {
        self.roles.push((column.into(), role));
        self
    }

    /// The share of rows set aside for the judgement.
    #[must_use]
    pub fn test_size(self, test_size: f64) -> Plan {
        Plan { test_size, ..self }
    }

    /// Folds of the cross-validation; 0 leaves it out where there is nothing to choose.
    #[must_use]
    pub fn folds(self, folds: usize) -> Plan {
        Plan { folds, ..self }
    }

    /// The seed of the split and the folds.
    #[must_use]
    pub fn seed(self, seed: u64) -> Plan {
        Plan { seed, ..self }
    }

    /// How columns become numbers.
    #[must_use]
    pub fn encoding(self, encoding: Encoding) -> Plan {
        Plan { encoding, ..self }
    }

    /// Time for the comparison; candidates that would begin after it are left out.
    #[must_use]
    pub fn budget(self, budget: Duration) -> Plan {
        Plan { budget: Some(budget), ..self }
    }

    /// The roles of the table's columns.
    pub fn schema(&self, table: &Table) -> Result<Schema> {
        let mut schema = Schema::of(table).with_role(&self.target, Role::Target)?;
        for (column, role) in &self.roles {
            if *column == self.target {
                return Err(TabularError::Plan(format!("the target {column} cannot have another role")));
            }
            schema = schema.with_role(column, *role)?;
        }
        Ok(schema)
    }

    /// Carries the plan out; `watch` hears what happens.
    pub fn fit(&self, table: &Table, candidates: &[Candidate], watch: &mut dyn FnMut(&Event)) -> Result<Outcome> {
        let start = Instant::now();
        if candidates.is_empty() {
            return Err(TabularError::Plan("no model to fit; name one".into()));
        }
        if !(self.test_size > 0.0 && self.test_size < 1.0) {
            let problem = format!("a test size of {}; give a share between 0 and 1", self.test_size);
            return Err(TabularError::Plan(problem));
        }
        let schema = self.schema(table)?;
        if schema.with(Role::Feature).next().is_none() {
            return Err(TabularError::Plan("no column is left to learn from; drop fewer".into()));
        }
        let (table, dropped) = table.drop_missing(&[&self.target])?;
        let target = Target::encode(table.column(&self.target)?, self.kind)?;
        let weights = self.weights(&table, &schema)?;
        let parts = self.split(&target).indices(target.y())?;
        let data = Data { table: &table, schema: &schema, target: &target, weights: weights.as_ref(), plan: self };
        let scorer = Scorer::usual(data.task());
        let tried = if candidates.len() > 1 || self.folds > 0 {
            data.compare(candidates, &parts.train, scorer, watch)?
        } else {
            Vec::new()
        };
        let place = best(&tried).unwrap_or(0);
        if let (false, None) = (tried.is_empty(), best(&tried)) {
            let problem = tried.iter().find_map(|tried| tried.problem.clone()).unwrap_or_default();
            return Err(TabularError::Plan(format!("no model could be fitted: {problem}")));
        }
        let chosen = &candidates[place];
        watch(&Event::Refitting { candidate: chosen.name.clone() });
        let (encoder, train, test) = data.encode(&parts.train, &parts.test, &*chosen.estimator)?;
        let model = chosen.estimator.fit_any(&train)?;
        let baseline = baseline(data.task(), &train)?;
        let guarantee = guarantee(&tried, data.task(), parts.train.len())?;
        let (train_scores, test_scores) = (scores_of(&*model, &train), scores_of(&*model, &test));
        let facts = json!({
            "seed": self.seed, "rows": table.n_rows(), "train_rows": parts.train.len(), "test_rows": parts.test.len(),
            "model": chosen.name, "dropped": dropped, "train": document(&train_scores), "test": document(&test_scores),
            "baseline": document(&scores_of(&*baseline, &test)),
        });
        let labels = target.labels().clone();
        let model = TabularModel { schema: schema.clone(), encoder, labels, target: self.target.clone(), model, facts };
        Ok(Outcome {
            chosen: chosen.name.clone(),
            tried,
            scorer,
            guarantee,
            train: train_scores,
            test: test_scores,
            baseline: scores_of(&*baseline, &test),
            test_samples: test,
            model,
            train_rows: parts.train,
            test_rows: parts.test,
            dropped,
            seconds: start.elapsed().as_secs_f64(),
        })
    }

    fn split(&self, target: &Target) -> Split {
        let split = Split::test(self.test_size).seed(self.seed);
        if target.task() == TableTask::Regression { split } else { split.stratified() }
    }

    fn weights(&self, table: &Table, schema: &Schema) -> Result<Option<Tensor>> {
        let Some(name) = schema.with(Role::Weight).next() else { return Ok(None) };
        let column = table.column(name)?;
        let numbers: Option<Vec<f64>> = (0..column.len()).map(|row| column.number(row)).collect();
        let numbers = numbers.ok_or_else(|| {
            TabularError::Plan(format!("the weights in column {name} must be numbers, none of them missing"))
        })?;
        Ok(Some(Tensor::try_from_vec(numbers, [column.len()])?))
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

/// The candidate with the largest mean score; the first of equal ones.
fn best(tried: &[Tried]) -> Option<usize> {
    let mut best: Option<(usize, f64)> = None;
    for (place, mean) in tried.iter().enumerate().filter_map(|(place, tried)| Some((place, tried.mean()?))) {
        if best.is_none_or(|(_, most)| mean > most) {
            best = Some((place, mean));
        }
    }
    best.map(|(place, _)| place)
}

/// What the union bound says of the choice among classifiers, by their mean errors over the training rows.
fn guarantee(tried: &[Tried], task: Task, rows: usize) -> Result<Option<SelectionGuarantee>> {
    let errors: Vec<f64> = tried.iter().filter_map(|tried| Some(1.0 - tried.mean()?)).collect();
    if task == Task::Regression || errors.len() < 2 {
        return Ok(None);
    }
    Ok(Some(selection_guarantee(&errors, rows, 1.0, 0.05)?))
}

fn baseline(task: Task, train: &Samples) -> Result<Box<dyn Model>> {
    Ok(match task {
        Task::Regression => DummyRegressor::default().fit_any(train)?,
        Task::Classification => DummyClassifier::default().fit_any(train)?,
    })
}

/// The entries of a vector at these places.
fn taken(x: &Tensor, rows: &[usize]) -> Result<Tensor> {
    let places: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    Ok(x.try_index_select(0, &Tensor::from_slice(&places))?)
}

/// A table with what is known of it.
struct Data<'t> {
    table: &'t Table,
    schema: &'t Schema,
    target: &'t Target,
    weights: Option<&'t Tensor>,
    plan: &'t Plan,
}

impl Data<'_> {
    fn task(&self) -> Task {
        match self.target.task() {
            TableTask::Regression => Task::Regression,
            _ => Task::Classification,
        }
    }

    /// An encoder fitted on the first rows, and both parts encoded by it. Weights that the estimator cannot take are left
    /// out for it.
    fn encode(
        &self,
        fit: &[usize],
        judge: &[usize],
        estimator: &dyn Estimator,
    ) -> Result<(TableEncoder, Samples, Samples)> {
        let abilities = estimator.abilities();
        let table = self.table.take(fit)?;
        let part = |rows: &[usize], x: tove_learn::Rows| -> Result<Samples> {
            let samples = Samples::new(x, &taken(self.target.y(), rows)?)?;
            match self.weights {
                Some(weights) if abilities.weights => Ok(samples.weighted(&taken(weights, rows)?)?),
                _ => Ok(samples),
            }
        };
        let target = Target::encode(table.column(&self.plan.target)?, Some(self.target.task().kind()))?;
        let (encoder, dense) = TableEncoder::fit_encode(&table, self.schema, &self.plan.encoding, &target)?;
        let fitted = if abilities.sparse && encoder.prefers_sparse() {
            encoded(&encoder, &table, true)?.0
        } else {
            dense.x.into()
        };
        let judged = encoded(&encoder, &self.table.take(judge)?, abilities.sparse)?.0;
        let (fitted, judged) = (part(fit, fitted)?, part(judge, judged)?);
        Ok((encoder, fitted, judged))
    }

    /// Every candidate on every fold of the training rows.
    fn compare(
        &self,
        candidates: &[Candidate],
        train: &[usize],
        scorer: Scorer,
        watch: &mut dyn FnMut(&Event),
    ) -> Result<Vec<Tried>> {
        let folds = self.plan.folds.max(2);
        let splitter: Box<dyn Splitter> = match self.task() {
            Task::Regression => Box::new(KFold::new(folds).shuffled(self.plan.seed)),
            Task::Classification => Box::new(StratifiedKFold::new(folds).shuffled(self.plan.seed)),
        };
        let folds = splitter.split(&taken(self.target.y(), train)?)?;
        let rows = |places: &[usize]| places.iter().map(|&place| train[place]).collect::<Vec<usize>>();
        let begun = Instant::now();
        let total = candidates.len() * folds.len();
        let mut tried = Vec::new();
        for (number, candidate) in candidates.iter().enumerate() {
            let late = self.plan.budget.is_some_and(|budget| begun.elapsed() > budget);
            if late && number > 0 {
                let problem = Some("the time was up".to_owned());
                tried.push(Tried { name: candidate.name.clone(), scores: Vec::new(), seconds: 0.0, problem });
                continue;
            }
            let clock = Instant::now();
            let mut scores = Vec::new();
            let mut problem = None;
            for (fold, part) in folds.iter().enumerate() {
                watch(&Event::Fitting { candidate: candidate.name.clone(), done: number * folds.len() + fold, total });
                let outcome = (|| -> Result<f64> {
                    let (_, fit, judge) = self.encode(&rows(&part.train), &rows(&part.test), &*candidate.estimator)?;
                    let model = candidate.estimator.fit_any(&fit)?;
                    Ok(scorer.score(&*model, &judge)?.value)
                })();
                match outcome {
                    Ok(score) => scores.push(score),
                    Err(error) => {
                        problem = Some(error.to_string());
                        scores.clear();
                        break;
                    }
                }
            }
            let seconds = clock.elapsed().as_secs_f64();
            tried.push(Tried { name: candidate.name.clone(), scores, seconds, problem });
        }
        Ok(tried)
    }
}
