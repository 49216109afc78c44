//! From the body of a request to its answer.
//!
//! Each request is predicted by itself, never joined with others that wait: a matrix product over more rows may add in
//! another order, and the answer must not depend on what else is asked at the time. Requests that take but a moment
//! are answered on the thread that read them; the others go to threads of their own, as many as there are cores, so that
//! they hold up nobody who asks for little.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokio::sync::Semaphore;
use tove::data::table::{Column, Table};
use tove::tabular::{Predictions, TabularModel};

use super::refusal::Refusal;
use super::rows::{Format, Reading};
use crate::commands::predict::answer;

/// What may be answered on the thread that reads: bytes of a body, and the time it will probably take.
const SMALL: usize = 1 << 14;
const MOMENT: Duration = Duration::from_millis(1);

/// The predictions of a request, as JSON.
pub struct Answer {
    pub document: String,
    pub rows: usize,
}

/// The model and how it is asked.
pub struct Predictor {
    model: TabularModel,
    reading: Reading,
    /// Nanoseconds that a byte of a body took lately; none is known at first.
    cost: AtomicU64,
    slots: Arc<Semaphore>,
}

impl Predictor {
    pub fn new(model: TabularModel, max_rows: usize) -> Predictor {
        let reading = Reading::new(model.schema(), max_rows);
        let slots = Arc::new(Semaphore::new(tove::tensor::num_threads()));
        Predictor { model, reading, cost: AtomicU64::new(u64::MAX), slots }
    }

    /// The answer to a body, by way of the thread that suits its size.
    pub async fn answer(self: Arc<Predictor>, format: Format, body: Bytes) -> Result<Answer, Refusal> {
        let likely = Duration::from_nanos(self.cost.load(Ordering::Relaxed).saturating_mul(body.len() as u64));
        if body.len() <= SMALL && likely <= MOMENT {
            return self.work(format, &body);
        }
        // Who gives up while waiting here leaves the queue.
        let slot = Arc::clone(&self.slots).acquire_owned().await.map_err(|_| Refusal::fault("the server is ending"))?;
        let work = move || {
            let answer = self.work(format, &body);
            drop(slot);
            answer
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| Err(Refusal::fault("a thread of the server ended")))
    }

    fn work(&self, format: Format, body: &[u8]) -> Result<Answer, Refusal> {
        let start = Instant::now();
        let answer = catch_unwind(AssertUnwindSafe(|| self.predict(format, body)));
        let answer = answer.unwrap_or_else(|_| Err(Refusal::fault("the model failed on these rows")));
        let nanoseconds = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.cost.store(nanoseconds / (body.len() as u64).max(1), Ordering::Relaxed);
        answer
    }

    fn predict(&self, format: Format, body: &[u8]) -> Result<Answer, Refusal> {
        let rows = self.reading.rows(format, body)?;
        let predictions = self.model.predict(&rows.table).map_err(|error| Refusal::bad(error.to_string()))?;
        check(&rows.table, &predictions)?;
        let answer = answer(&self.model, &rows.table, &predictions, predictions.probabilities.is_some())
            .map_err(|error| Refusal::fault(error.to_string()))?;
        let ignored = if rows.ignored.is_empty() { &predictions.conformed.extra } else { &rows.ignored };
        Ok(Answer { document: document(&answer, &predictions, ignored), rows: answer.n_rows() })
    }
}

/// That all predictions are numbers: finite values can still be too large to calculate with.
fn check(rows: &Table, predictions: &Predictions) -> Result<(), Refusal> {
    let n = rows.n_rows();
    let probabilities = predictions.probabilities.as_ref().map(|all| all.to_f64_vec()).unwrap_or_default();
    let width = probabilities.len() / n.max(1);
    let sound = |row: usize| {
        let number = predictions.column.number(row);
        number.is_none_or(f64::is_finite)
            && !(predictions.column.kind().is_numeric() && predictions.column.is_missing(row))
            && probabilities[row * width..(row + 1) * width].iter().all(|value| value.is_finite())
    };
    let Some(row) = (0..n).find(|&row| !sound(row)) else { return Ok(()) };
    let numbers = rows.iter().filter(|(_, column)| column.kind().is_numeric());
    let sized = numbers.filter_map(|(name, column)| Some((name, column.number(row)?)));
    let largest = sized.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
    let place = largest.map_or(String::new(), |(name, value)| format!(", column {name:?}: {value:e}"));
    Err(Refusal::bad(format!("row {row} (from 0){place} is too large to calculate with; look at its unit")))
}

/// The answer as JSON, written straight down: building a document of a thousand rows takes longer than predicting them.
fn document(answer: &Table, predictions: &Predictions, ignored: &[String]) -> String {
    let names: Vec<String> = answer.names().iter().map(|name| format!("{}:", text(name))).collect();
    let columns: Vec<&Column> = answer.iter().map(|(_, column)| column).collect();
    let mut out = String::with_capacity(64 + answer.n_rows() * 24 * columns.len());
    out.push_str("{\"predictions\":[");
    for row in 0..answer.n_rows() {
        for (place, (name, column)) in names.iter().zip(&columns).enumerate() {
            out.push_str(match (place, row) {
                (0, 0) => "{",
                (0, _) => "},{",
                _ => ",",
            });
            out.push_str(name);
            cell(&mut out, column, row);
        }
    }
    out.push_str("}],\"ignored_columns\":");
    list(&mut out, ignored.iter().map(|name| text(name)));
    out.push_str(",\"unseen\":");
    let unseen = predictions.conformed.unseen.iter();
    list(&mut out, unseen.map(|one| entry(&[("column", &one.column), ("value", &one.value)], one.rows)));
    out.push_str(",\"filled\":");
    list(&mut out, predictions.imputed.iter().map(|(column, rows)| entry(&[("column", column)], *rows)));
    out.push('}');
    out
}

fn entry(texts: &[(&str, &str)], rows: usize) -> String {
    let texts: String = texts.iter().map(|(name, value)| format!("\"{name}\":{},", text(value))).collect();
    format!("{{{texts}\"rows\":{rows}}}")
}

fn list(out: &mut String, entries: impl Iterator<Item = String>) {
    out.push('[');
    out.push_str(&entries.collect::<Vec<_>>().join(","));
    out.push(']');
}

fn cell(out: &mut String, column: &Column, row: usize) {
    use std::fmt::Write;
    // Writing to a string cannot fail. The shortest digits that give the number back are what `{}` and serde_json write.
    match column {
        _ if column.is_missing(row) => out.push_str("null"),
        Column::Float(values) => {
            let value = values.get(row).unwrap_or(0.0);
            let _ = if value.abs() < 1e16 && (value == 0.0 || value.abs() >= 1e-5) {
                write!(out, "{value:?}")
            } else {
                write!(out, "{value:e}")
            };
        }
        Column::Integer(values) => {
            let _ = write!(out, "{}", values.get(row).unwrap_or(0));
        }
        _ => out.push_str(&text(&column.text(row).unwrap_or_default())),
    }
}

/// A text in quotes, as JSON has it.
fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_texts_come_back_as_they_were() {
        let values = [0.0, -0.0, 1.0, 0.1, 1e-5, 1e-300, 123_456_789.125, 1e16, -2.5e307, 5e-324, f64::MAX];
        let column = Column::floats(values.to_vec());
        for (row, value) in values.iter().enumerate() {
            let mut out = String::new();
            cell(&mut out, &column, row);
            let back: serde_json::Value = serde_json::from_str(&out).unwrap();
            assert_eq!(back.as_f64().unwrap().to_bits(), value.to_bits(), "{out}");
        }
        for (column, expected) in [
            (Column::categories(["a \"b\"\n"]), "\"a \\\"b\\\"\\n\""),
            (Column::integers(vec![i64::MIN]), "-9223372036854775808"),
            (Column::floats(vec![f64::NAN]), "null"),
        ] {
            let mut out = String::new();
            cell(&mut out, &column, 0);
            assert_eq!(out, expected);
        }
    }
}
