//! The rows of a request, from JSON or CSV to a table with the model's columns.

use serde_json::Value;
use tove::data::DataError;
use tove::data::table::csv::{Charset, MISSING};
use tove::data::table::{CsvOptions, Field, Schema, Table, Unit, parse_boolean};
use tove::tabular::TabularModel;

use super::json;
use super::refusal::Refusal;

/// The largest number of columns of a CSV body; those that the model does not use are ignored.
const WIDEST: usize = 1 << 16;

/// The columns that a row needs, and what comes back.
pub fn schema(model: &TabularModel) -> Value {
    let columns: Vec<Value> = needed(model.schema())
        .map(|field| {
            serde_json::json!({
                "name": field.name, "kind": field.kind.name(), "categories": field.categories,
                "role": field.role.name(),
                "typical": field.typical.as_ref().map(|typical| &typical.value),
                "range": field.typical.as_ref().and_then(|typical| typical.range.as_ref()),
            })
        })
        .collect();
    serde_json::json!({
        "columns": columns, "target": model.target(), "task": model.task().to_string(), "classes": model.classes(),
        "facts": model.facts(),
    })
}

/// The columns that a request has.
pub fn needed(schema: &Schema) -> impl Iterator<Item = &Field> {
    schema.fields().iter().filter(|field| field.role.is_for_prediction())
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Csv(Charset),
}

impl Format {
    /// By the content type; a body without one is taken for JSON.
    pub fn of(content_type: &str) -> Result<Format, Refusal> {
        let kind = content_type.to_ascii_lowercase();
        let mut parts = kind.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let charset = parts.find_map(|part| Some(part.strip_prefix("charset=")?.trim_matches('"')));
        match kind {
            "" | "application/json" => Ok(Format::Json),
            kind if kind.ends_with("+json") => Ok(Format::Json),
            "text/csv" | "application/csv" => match charset {
                None | Some("utf-8" | "utf8" | "us-ascii") => Ok(Format::Csv(Charset::Utf8)),
                Some("latin1" | "latin-1" | "iso-8859-1" | "windows-1252") => Ok(Format::Csv(Charset::Latin1)),
                Some(other) => Err(Refusal::new(415, format!("unsupported charset {other}; send utf-8"))),
            },
            other => {
                let other: String = other.chars().take(80).collect();
                Err(Refusal::new(
                    415,
                    format!("unsupported content type {other}; send application/json, or text/csv with a header line"),
                ))
            }
        }
    }
}

/// The rows of a request.
pub struct Rows {
    pub table: Table,
    /// Names in JSON objects that no column has; those of CSV tables stay in the table.
    pub ignored: Vec<String>,
}

/// Turns bodies into tables.
pub struct Reading {
    fields: Vec<Field>,
    options: CsvOptions,
    max_rows: usize,
}

impl Reading {
    pub fn new(schema: &Schema, max_rows: usize) -> Reading {
        let options = CsvOptions::new().schema(schema).delimiter(b',');
        Reading { fields: needed(schema).cloned().collect(), options, max_rows }
    }

    pub fn rows(&self, format: Format, body: &[u8]) -> Result<Rows, Refusal> {
        match format {
            Format::Json => self.json(body),
            Format::Csv(charset) => Ok(Rows { table: self.csv(charset, body)?, ignored: Vec::new() }),
        }
    }

    fn csv(&self, charset: Charset, body: &[u8]) -> Result<Table, Refusal> {
        if body.starts_with(&[0x1f, 0x8b]) {
            // A small packed body can hold more than fits into memory.
            return Err(Refusal::new(415, "gzip-encoded bodies are not supported; send plain CSV"));
        }
        // A body that is refused must not use memory: the reader itself stops at the limits.
        let options = self.options.clone().charset(charset).max_rows(self.max_rows).max_columns(WIDEST);
        let (table, _) = options.read_named("the body", body).map_err(|error| match error {
            DataError::TooLarge { what: "rows", most, .. } => Refusal::new(
                413,
                format!("more than {most} rows, the limit per request; split the request, or raise --max-rows"),
            ),
            DataError::TooLarge { most, .. } => {
                Refusal::new(413, format!("the header has more than {most} columns; send those of GET /schema"))
            }
            error => error.into(),
        })?;
        self.counted(table.n_rows())?;
        Ok(table)
    }

    fn counted(&self, rows: usize) -> Result<(), Refusal> {
        if rows == 0 {
            return Err(Refusal::bad("no rows; send at least one"));
        }
        if rows > self.max_rows {
            let most = self.max_rows;
            return Err(Refusal::new(
                413,
                format!("{rows} rows, but the limit per request is {most}; split the request, or raise --max-rows"),
            ));
        }
        Ok(())
    }

    fn json(&self, body: &[u8]) -> Result<Rows, Refusal> {
        let (columns, ignored) = json::read(body, &self.fields, |rows| self.counted(rows))?;
        if columns.is_empty() {
            let sent = if ignored.is_empty() { "none".to_owned() } else { ignored.join(", ") };
            return Err(Refusal::bad(format!(
                "none of the columns of the model were sent (got: {sent}); GET /schema lists them"
            )));
        }
        let table = Table::new(columns)?;
        Ok(Rows { table, ignored })
    }
}

/// Where a value is in a request: `rows[0].size`, or `rows[0]["name with spaces"]`.
pub fn path(row: usize, column: &str) -> String {
    let starts = column.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if starts && column.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
        format!("rows[{row}].{column}")
    } else {
        format!("rows[{row}][{}]", Value::from(column))
    }
}

#[cold]
fn misfit(field: &Field, row: usize, value: &Value, expected: &str) -> Refusal {
    let shown: String = value.to_string().chars().take(60).collect();
    Refusal::bad(format!("{}: expected {expected} or null, got {shown}", path(row, &field.name)))
}

/// Whether a text stands for a missing number.
fn absent(text: &str) -> bool {
    text.is_empty() || MISSING.contains(&text)
}

pub fn number(field: &Field, row: usize, value: &Value) -> Result<Option<f64>, Refusal> {
    let read = match value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_f64(),
        Value::String(text) if absent(text.trim()) => return Ok(None),
        Value::String(text) => match field.format {
            Some(format) => format.parse(text.trim()),
            None => text.trim().parse().ok(),
        },
        _ => None,
    };
    read.filter(|number| number.is_finite()).map(Some).ok_or_else(|| misfit(field, row, value, "a number"))
}

/// A number of a column of integers.
pub enum Whole {
    Integer(i64),
    /// Integers are numbers: a column that gets another one becomes a column of real numbers.
    Real(f64),
}

/// A cell of a column of integers.
pub fn whole(field: &Field, row: usize, value: &Value) -> Result<Option<Whole>, Refusal> {
    if let Some(number) = value.as_i64() {
        return Ok(Some(Whole::Integer(number)));
    }
    let short = |number: f64| number.fract() == 0.0 && number.abs() < 9e15;
    let read = number(field, row, value)?;
    Ok(read.map(|number| if short(number) { Whole::Integer(number as i64) } else { Whole::Real(number) }))
}

pub fn truth(field: &Field, row: usize, value: &Value) -> Result<Option<bool>, Refusal> {
    let text = match value {
        Value::Null => return Ok(None),
        Value::Bool(truth) => return Ok(Some(*truth)),
        // 1.0 and 0.0 are 1 and 0.
        Value::Number(number) => number.as_f64().map_or_else(String::new, |number| number.to_string()),
        Value::String(text) if absent(text.trim()) => return Ok(None),
        Value::String(text) => text.trim().to_owned(),
        _ => String::new(),
    };
    parse_boolean(&text).map(Some).ok_or_else(|| misfit(field, row, value, "true, false"))
}

/// A category or a text. Numbers that were names in a table were written without a point.
pub fn name(field: &Field, row: usize, value: &Value) -> Result<Option<String>, Refusal> {
    let known = |text: &str| field.categories.as_ref().is_some_and(|all| all.iter().any(|one| one == text));
    match value {
        Value::Null => Ok(None),
        Value::String(text) if text.is_empty() && !known(text) => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Bool(truth) => Ok(Some(truth.to_string())),
        Value::Number(number) => {
            let short = number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() < 9e15);
            Ok(Some(short.map_or_else(|| number.to_string(), |value| (value as i64).to_string())))
        }
        _ => Err(misfit(field, row, value, "a string")),
    }
}

/// A date in the unit of its column.
pub fn date(field: &Field, row: usize, value: &Value) -> Result<Option<i64>, Refusal> {
    let read = match value {
        Value::Null => return Ok(None),
        Value::String(text) if absent(text.trim()) => return Ok(None),
        Value::String(text) => date_unit(field).parse(text.trim()),
        _ => None,
    };
    read.map(Some).ok_or_else(|| misfit(field, row, value, "a date such as \"2026-01-31\""))
}

/// The unit of a column of dates.
pub fn date_unit(field: &Field) -> Unit {
    field.unit.unwrap_or(Unit::Microseconds)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use tove::data::table::Kind;

    fn reading() -> Reading {
        let train = CsvOptions::new()
            .read_bytes(b"size,count,good,color,day\n1.5,1,true,red,2026-01-31\n2.5,2,false,3,2026-02-01\n")
            .unwrap();
        let schema = Schema::of(&train.0);
        let kinds: Vec<Kind> = schema.fields().iter().map(|field| field.kind).collect();
        assert_eq!(kinds, [Kind::Float, Kind::Integer, Kind::Boolean, Kind::Categorical, Kind::Date]);
        Reading::new(&schema, 3)
    }

    /// The cells of the first row, as texts.
    fn first(body: &str) -> Result<Vec<Option<String>>, String> {
        let rows = reading().rows(Format::Json, body.as_bytes()).map_err(|refusal| refusal.text)?;
        Ok(rows.table.iter().map(|(_, column)| column.text(0).map(|text| text.into_owned())).collect())
    }

    #[test]
    fn json_becomes_a_table() {
        let some = |text: &str| Some(text.to_owned());
        let all = first(r#"{"size": 2, "count": 3.0, "good": true, "color": "red", "day": "2026-03-01"}"#).unwrap();
        assert_eq!(all, [some("2.0"), some("3"), some("true"), some("red"), some("2026-03-01")]);
        let texts = first(r#"[{"size": " 2.5", "count": "NA", "good": "No", "color": 3.0, "day": null}]"#).unwrap();
        assert_eq!(texts, [some("2.5"), None, some("false"), some("3"), None]);
        assert_eq!(first(r#"{"rows": [{"size": null}, {"size": 1}]}"#).unwrap(), [None]);
        // A column of integers takes other numbers.
        assert_eq!(first(r#"[{"count": 1.5}, {"count": 2}]"#).unwrap(), [some("1.5")]);
        assert_eq!(first(r#"[{"count": 1}, {"count": "2.5"}, {}]"#).unwrap(), [some("1.0")]);
        assert_eq!(first(r#"{"count": 1e300}"#).unwrap(), [some("1e300")]);
        // What stands beside the list of rows is not a row; columns that only later rows have are missing in the first.
        assert_eq!(first(r#"{"size": 7, "rows": [{}, {"size": 1}], "count": 3}"#).unwrap(), [None]);
    }

    #[test]
    fn what_cannot_be_is_named() {
        for (body, words) in [
            ("", vec!["not valid JSON"]),
            ("3", vec!["object"]),
            ("[3]", vec!["rows[0]"]),
            (r#"{"rows": 1}"#, vec!["`rows`"]),
            ("[]", vec!["no rows"]),
            ("[{}]", vec!["none of the columns", "/schema"]),
            (r#"{"sise": 1}"#, vec!["sise"]),
            (r#"[{"size": 1}, {"size": "big"}]"#, vec!["rows[1].size: expected a number or null, got \"big\""]),
            (r#"{"size": "inf"}"#, vec!["inf"]),
            (r#"{"size": [1]}"#, vec!["[1]"]),
            (r#"{"count": "one"}"#, vec!["count", "one", "number"]),
            (r#"{"count": "inf"}"#, vec!["count", "inf"]),
            (r#"{"size": 1, "size": 2}"#, vec!["rows[0]: duplicate key \"size\""]),
            (r#"[{"size": 1}, {"count": 1, "size": 1, "count": 2}]"#, vec!["rows[1]: duplicate key \"count\""]),
            (r#"{"good": 2}"#, vec!["good", "2"]),
            (r#"{"color": {}}"#, vec!["color"]),
            (r#"[{"day": null}, {"day": "2026-13-01"}]"#, vec!["rows[1].day", "2026-13-01"]),
            (r#"{"day": 5}"#, vec!["day", "5"]),
            (r#"[{"size":1},{"size":1},{"size":1},{"size":1}]"#, vec!["4 rows", "3"]),
            (r#"[{"size":1,"size":2}]"#, vec!["rows[0]", "size", "duplicate"]),
            (
                r#"{"size": [[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]]]}"#,
                vec!["size", "[[[1,2"],
            ),
        ] {
            let text = first(body).unwrap_err();
            assert!(words.iter().all(|word| text.contains(word)), "{body}: {text}");
        }
    }

    #[test]
    fn csv_has_as_many_rows_as_it_may() {
        let csv = |body: &str| reading().rows(Format::Csv(Charset::Utf8), body.as_bytes());
        assert_eq!(csv("size,count\n1,2\n\n3,4").unwrap().table.n_rows(), 2);
        assert_eq!(csv("size,\"b\n,x\"\r\n1,\"1\n\n\n\n2\"\r\n").unwrap().table.n_rows(), 1);
        let four = "1\n2\n3\n4\n";
        for body in [
            format!("size\n{four}"),
            format!("size\n{four}").replace('\n', "\r"),
            format!("size\n\"1\"\n{four}"),
            format!("size,b\"c\n{}", four.replace('\n', ",x\n")),
            format!("size,color\n5,6\" pipe\n{}", four.replace('\n', ",x\n")),
            format!("size,color\n{four}"), // rows of another length, too
        ] {
            let refused = csv(&body).err().unwrap();
            assert!(refused.status == 413 && refused.text.contains("more than 3 rows"), "{body:?}: {}", refused.text);
        }
        let wide = csv(&format!("{}\n1\n", "a,".repeat(1 << 17))).err().unwrap();
        assert!(wide.status == 413 && wide.text.contains("columns"), "{}", wide.text);
    }

    #[test]
    fn content_types_are_recognized() {
        for (text, format) in [
            ("", Format::Json),
            ("Application/JSON; charset=utf-8", Format::Json),
            ("application/vnd.api+json", Format::Json),
            ("text/csv", Format::Csv(Charset::Utf8)),
            ("text/csv; header=present; charset=\"ISO-8859-1\"", Format::Csv(Charset::Latin1)),
        ] {
            assert_eq!(Format::of(text).unwrap(), format, "{text}");
        }
        for text in ["text/plain", "application/x-www-form-urlencoded", "text/csv; charset=utf-7"] {
            assert_eq!(Format::of(text).unwrap_err().status, 415, "{text}");
        }
    }
}
