//! One thread makes all predictions: it takes every request that waits, joins their rows, and answers each with its part.

use std::sync::mpsc::{self, Receiver, Sender};

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tove::data::table::{CsvOptions, Table};
use tove::tabular::{Predictions, TabularModel};

use crate::commands::predict::answer;

/// Rows that are joined at most; beyond that joining wins nothing.
const JOINED: usize = 4096;

/// Why a request got no predictions.
pub struct Refusal {
    pub status: u16,
    pub text: String,
}

/// Predictions of a request.
pub struct Answer {
    pub document: Value,
    pub rows: usize,
}

struct Job {
    table: Table,
    reply: oneshot::Sender<Result<Answer, Refusal>>,
}

/// The way to the thread that predicts.
pub struct Batcher {
    jobs: Sender<Job>,
    options: CsvOptions,
    max_rows: usize,
}

impl Batcher {
    pub fn start(model: TabularModel, max_rows: usize) -> Batcher {
        let options = CsvOptions::new().schema(model.schema()).delimiter(b',');
        let (jobs, waiting) = mpsc::channel();
        std::thread::spawn(move || work(&model, &waiting));
        Batcher { jobs, options, max_rows }
    }

    /// Predictions for the rows of a CSV text.
    pub async fn predict(&self, csv: Vec<u8>) -> Result<Answer, Refusal> {
        let bad = |text: String| Refusal { status: 400, text };
        let (table, _) = self.options.read_bytes(&csv).map_err(|error| bad(error.to_string()))?;
        if table.n_rows() == 0 {
            return Err(bad("no rows; send at least one".into()));
        }
        if table.n_rows() > self.max_rows {
            let text = format!("{} rows, but at most {} are taken at once", table.n_rows(), self.max_rows);
            return Err(Refusal { status: 413, text });
        }
        let (reply, answer) = oneshot::channel();
        let gone = |_| Refusal { status: 500, text: "the model's thread has ended; start the program anew".into() };
        self.jobs.send(Job { table, reply }).map_err(|_| gone(()))?;
        answer.await.unwrap_or_else(|_| Err(gone(())))
    }
}

fn work(model: &TabularModel, waiting: &Receiver<Job>) {
    while let Ok(first) = waiting.recv() {
        let mut jobs = vec![first];
        let mut rows = jobs[0].table.n_rows();
        while rows < JOINED
            && let Ok(job) = waiting.try_recv()
        {
            rows += job.table.n_rows();
            jobs.push(job);
        }
        answer_all(model, jobs);
    }
}

/// Predicts all rows at once; where the tables cannot be joined, or one of them is at fault, each alone.
fn answer_all(model: &TabularModel, jobs: Vec<Job>) {
    if jobs.len() > 1
        && let Some(joined) = join(model, &jobs)
        && let Ok(predictions) = model.predict(&joined)
    {
        let mut start = 0;
        for job in jobs {
            let rows: Vec<usize> = (start..start + job.table.n_rows()).collect();
            start += rows.len();
            let part = joined.take(&rows).ok().and_then(|part| Some((part, cut(&predictions, &rows)?)));
            let reply = match part {
                Some((part, predictions)) => tell(model, &part, &predictions),
                None => alone(model, &job.table),
            };
            let _ = job.reply.send(reply); // the caller may have left
        }
        return;
    }
    for job in jobs {
        let reply = alone(model, &job.table);
        let _ = job.reply.send(reply);
    }
}

/// The rows of all jobs as one table with the model's columns.
fn join(model: &TabularModel, jobs: &[Job]) -> Option<Table> {
    let mut joined: Option<Table> = None;
    for job in jobs {
        let (table, about) = model.schema().conform(&job.table).ok()?;
        if !about.extra.is_empty() || !about.unseen.is_empty() || !about.converted.is_empty() {
            return None; // what is to be told belongs to one request
        }
        joined = Some(match joined {
            None => table,
            Some(so_far) => so_far.append(&table).ok()?,
        });
    }
    joined
}

/// The predictions of some rows.
fn cut(predictions: &Predictions, rows: &[usize]) -> Option<Predictions> {
    let column = Table::new([("p", predictions.column.clone())]).ok()?.take(rows).ok()?.column("p").ok()?.clone();
    let probabilities = predictions.probabilities.as_ref().map(|all| all.narrow(0, rows[0], rows.len()).contiguous());
    Some(Predictions { column, probabilities, conformed: predictions.conformed.clone(), imputed: Vec::new() })
}

fn alone(model: &TabularModel, table: &Table) -> Result<Answer, Refusal> {
    match model.predict(table) {
        Ok(predictions) => tell(model, table, &predictions),
        Err(error) => Err(Refusal { status: 400, text: error.to_string() }),
    }
}

fn tell(model: &TabularModel, table: &Table, predictions: &Predictions) -> Result<Answer, Refusal> {
    let wrong = |error: &dyn std::fmt::Display| Refusal { status: 500, text: error.to_string() };
    let answer =
        answer(model, table, predictions, predictions.probabilities.is_some()).map_err(|error| wrong(&error))?;
    let rows = crate::commands::predict::rows(&answer);
    let about = &predictions.conformed;
    let unseen: Vec<Value> = about
        .unseen
        .iter()
        .map(|unseen| json!({"column": unseen.column, "value": unseen.value, "rows": unseen.rows}))
        .collect();
    let document = json!({"predictions": rows, "ignored_columns": about.extra, "unseen": unseen});
    Ok(Answer { document, rows: answer.n_rows() })
}
