//! From the body of a request to its response: each is parsed, encoded and serialized by itself, and predicted in a batch with
//! others. Large bodies are processed on worker threads, so that they do not delay small ones.

use std::sync::Arc;

use serde_json::{Value, json};
use tove::data::table::{Column, Table};
use tove::learn::Rows;
use tove::tabular::{Answers, Predictions, RowContext, TabularModel};

use super::batches::Batches;
use super::refusal::{Refusal, guarded};
use super::room::{Body, SMALL};
use super::rows::{Format, Reading, path};
use crate::commands::predict::answer;

/// The predictions of a request, as JSON.
pub struct Answer {
    pub document: String,
    pub rows: usize,
}

/// A request that was found good, apart from its rows as the model takes them.
struct Request {
    table: Table,
    ignored: Vec<String>,
    context: RowContext,
}

/// The model and how it is asked.
pub struct Predictor {
    model: Arc<TabularModel>,
    reading: Reading,
    batches: Arc<Batches>,
    max_rows: usize,
}

/// Neighbors of a row if the request does not say how many.
pub const NEIGHBORS: usize = 5;

impl Predictor {
    pub fn new(model: Arc<TabularModel>, max_rows: usize, batches: Batches) -> Predictor {
        let reading = Reading::new(model.schema(), max_rows);
        Predictor { model, reading, batches: Arc::new(batches), max_rows }
    }

    /// Whether the model keeps the rows of its fit.
    pub fn has_neighbors(&self) -> bool {
        self.model.model().capabilities().neighbors
    }

    /// How many neighbors a query asks for: `k=N`, or nothing.
    pub fn neighbors_of(&self, query: &str) -> Result<usize, Refusal> {
        let wrong = |problem: &str| Refusal::bad(format!("{problem}; write /neighbors?k={NEIGHBORS}"));
        match query.split_once('=') {
            None if query.is_empty() => Ok(NEIGHBORS.min(self.max_rows)),
            Some(("k", number)) => match number.parse() {
                Ok(k) if k > self.max_rows => {
                    let most = self.max_rows;
                    Err(Refusal::new(413, format!("k {k}: at most {most}; ask for fewer, or raise --max-rows")))
                }
                Ok(k) if k > 0 => Ok(k),
                _ => Err(wrong("k must be a whole number from 1")),
            },
            _ => Err(wrong("the query has only k")),
        }
    }

    /// The nearest training rows of the rows of a body.
    pub async fn nearest(self: Arc<Predictor>, format: Format, k: usize, body: Body) -> Result<Answer, Refusal> {
        let slot = self.batches.slot().await?;
        let work = move || {
            let answer = guarded(|| self.neighbors(format, k, &body.bytes));
            drop((slot, body));
            answer
        };
        let worked = tokio::task::spawn_blocking(work).await;
        worked.unwrap_or_else(|_| Err(Refusal::fault("a worker thread of the server ended")))
    }

    fn neighbors(&self, format: Format, k: usize, body: &[u8]) -> Result<Answer, Refusal> {
        let (rows, request) = self.read(format, body)?;
        let found = self.model.kneighbors(&rows, k)?;
        let (numbers, distances) = (found.indices.to_f64_vec(), found.distances.to_f64_vec());
        let entry = |(numbers, distances): (&[f64], &[f64])| {
            let numbers: Vec<i64> = numbers.iter().map(|&number| number as i64).collect();
            json!({"rows": numbers, "distances": distances})
        };
        let all: Vec<Value> = numbers.chunks(k).zip(distances.chunks(k)).map(entry).collect();
        Ok(Answer {
            rows: all.len(),
            document: json!({"neighbors": all, "ignored_columns": request.ignored}).to_string(),
        })
    }

    /// The answer to a body, by way of the thread that suits its size.
    pub async fn answer(self: Arc<Predictor>, format: Format, body: Body) -> Result<Answer, Refusal> {
        if body.bytes.len() > SMALL {
            let slot = self.batches.slot().await?;
            let work = move || {
                let answer = guarded(|| self.large(format, &body.bytes));
                drop((slot, body));
                answer
            };
            let worked = tokio::task::spawn_blocking(work).await;
            return worked.unwrap_or_else(|_| Err(Refusal::fault("a worker thread of the server ended")));
        }
        let (rows, request) = guarded(|| self.read(format, &body.bytes))?;
        let answers = self.batches.ask(rows).await?;
        guarded(|| self.write(request, answers))
    }

    /// A request that is worth a batch of its own.
    fn large(&self, format: Format, body: &[u8]) -> Result<Answer, Refusal> {
        let (rows, request) = self.read(format, body)?;
        self.write(request, self.batches.alone(&rows)?)
    }

    fn read(&self, format: Format, body: &[u8]) -> Result<(Rows, Request), Refusal> {
        let super::rows::Rows { table, ignored } = self.reading.rows(format, body)?;
        let (rows, context) = self.model.rows(&table)?;
        Ok((rows, Request { table, ignored, context }))
    }

    fn write(&self, request: Request, answers: Answers) -> Result<Answer, Refusal> {
        let Request { table, ignored, context } = request;
        let predictions = self.model.predictions(answers, context)?;
        check(&table, &predictions)?;
        let answer = answer(&self.model, &table, &predictions, predictions.probabilities.is_some())
            .map_err(|error| Refusal::fault(error.to_string()))?;
        let ignored = if ignored.is_empty() { &predictions.conformed.extra } else { &ignored };
        Ok(Answer { document: document(&answer, &predictions, ignored), rows: answer.n_rows() })
    }
}

/// Checks that all predictions are finite: finite inputs can still overflow. This is the server's only check of values; texts that
/// are not finite numbers are refused where they are parsed.
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
    let place =
        largest.map_or(format!("rows[{row}]: a value"), |(name, value)| format!("{}: {value:e}", path(row, name)));
    Err(Refusal::bad(format!("{place} is too large, the prediction overflows; check its unit")))
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
        Column::Boolean(values) => out.push_str(if values.get(row) == Some(true) { "true" } else { "false" }),
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
