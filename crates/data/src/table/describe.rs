//! What a table holds, column by column.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use tove_tensor::pool::parallel_for;

use super::display::{clip, short};
use super::{Column, Kind, Table};

/// One column in figures.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ColumnSummary {
    /// The column's name.
    pub name: String,
    /// What it holds.
    pub kind: Kind,
    /// Number of rows.
    pub rows: usize,
    /// How many values are missing.
    pub missing: usize,
    /// How many different values there are.
    pub distinct: usize,
    /// Smallest number; of dates, in seconds since 1970.
    pub min: Option<f64>,
    /// Mean of the numbers; of truth values, the share of true ones.
    pub mean: Option<f64>,
    /// Standard deviation of the numbers, with n - 1 below.
    pub std: Option<f64>,
    /// Largest number.
    pub max: Option<f64>,
    /// The most common value and how often it occurs; of several alike, always the same one.
    pub most_common: Option<(String, usize)>,
}

/// The columns of a table in figures; prints as a small table.
///
/// ```
/// use tove_data::table::{Column, Table};
/// let table = Table::new([("fare", Column::floats(vec![1.0, 2.0, f64::NAN])), ("port", Column::categories(["S", "C", "S"]))])?;
/// let about = table.describe();
/// assert_eq!((about.columns[0].mean, about.columns[0].missing), (Some(1.5), 1));
/// assert_eq!(about.columns[1].most_common, Some(("S".to_owned(), 2)));
/// assert!(about.to_string().contains("fare"));
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Description {
    /// One summary per column.
    pub columns: Vec<ColumnSummary>,
}

impl Table {
    /// Each column in figures: kind, missing and distinct values, range and mean, the most common value.
    pub fn describe(&self) -> Description {
        let slots: Vec<Mutex<Option<ColumnSummary>>> = self.names().iter().map(|_| Mutex::new(None)).collect();
        parallel_for(slots.len(), &|at| {
            let made = summary(&self.names()[at], &self.columns()[at]);
            *slots[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(made);
        });
        let made = slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner));
        Description { columns: made.collect() }
    }
}

fn summary(name: &str, column: &Column) -> ColumnSummary {
    let rows = column.len();
    let numbers: Vec<f64> = (0..rows).filter_map(|row| column.number(row)).collect();
    let count = numbers.len() as f64;
    let mean = (!numbers.is_empty()).then(|| numbers.iter().sum::<f64>() / count);
    let variance = mean.filter(|_| numbers.len() > 1);
    let variance = variance.map(|mean| numbers.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (count - 1.0));
    let (distinct, most_common) = commonest(column);
    ColumnSummary {
        name: name.to_owned(),
        kind: column.kind(),
        rows,
        missing: column.missing(),
        distinct,
        min: numbers.iter().copied().reduce(f64::min),
        mean,
        std: variance.map(f64::sqrt),
        max: numbers.iter().copied().reduce(f64::max),
        most_common,
    }
}

/// Number of different values, and the most common one; of several alike, the one that comes first.
fn commonest(column: &Column) -> (usize, Option<(String, usize)>) {
    match column {
        Column::Text(text) => {
            let mut strings: HashMap<&str, usize> = HashMap::new();
            text.iter().flatten().for_each(|value| *strings.entry(value).or_insert(0) += 1);
            let best = strings.iter().max_by(|a, b| a.1.cmp(b.1).then_with(|| b.0.cmp(a.0)));
            (strings.len(), best.map(|(value, &times)| ((*value).to_owned(), times)))
        }
        Column::Categorical(values) => {
            let counts = values.counts();
            let most = counts.iter().copied().max().unwrap_or(0);
            let first =
                (0..values.len()).find(|&row| values.code(row).is_some_and(|code| counts[code as usize] == most));
            let best = first.and_then(|row| column.text(row)).map(|text| (text.into_owned(), most));
            (counts.iter().filter(|&&count| count > 0).count(), best)
        }
        _ => commonest_number(column),
    }
}

/// The same for values that are numbers: equal ones stand together once they are sorted.
fn commonest_number(column: &Column) -> (usize, Option<(String, usize)>) {
    let key = |row: usize| match column {
        Column::Integer(values) => values.get(row).map(|value| value as u64),
        Column::Date(dates) => dates.values().get(row).map(|value| value as u64),
        // Zero and minus zero are one value.
        _ => column.number(row).map(|value| (value + 0.0).to_bits()),
    };
    let mut keys: Vec<u64> = (0..column.len()).filter_map(key).collect();
    keys.sort_unstable();
    let runs = || keys.chunk_by(|a, b| a == b);
    let most = runs().map(<[u64]>::len).max().unwrap_or(0);
    let common: Vec<u64> = runs().filter(|run| run.len() == most).map(|run| run[0]).collect();
    let first = (0..column.len()).find(|&row| key(row).is_some_and(|key| common.binary_search(&key).is_ok()));
    let best = first.and_then(|row| column.text(row)).map(|text| (text.into_owned(), most));
    (runs().count(), best)
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heads = ["column", "kind", "missing", "distinct", "min", "mean", "max", "most common"];
        let mut lines = vec![heads.map(str::to_owned)];
        lines.extend(self.columns.iter().map(cells));
        let widths: Vec<usize> =
            (0..heads.len()).map(|i| lines.iter().map(|line| line[i].chars().count()).max().unwrap_or(0)).collect();
        for (number, line) in lines.iter().enumerate() {
            let mut text = String::new();
            for (i, (cell, &width)) in line.iter().zip(&widths).enumerate() {
                let left = matches!(i, 0 | 1 | 7);
                text += &if left { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") };
            }
            write!(f, "{}{}", if number == 0 { "" } else { "\n" }, text.trim_end())?;
        }
        Ok(())
    }
}

fn cells(column: &ColumnSummary) -> [String; 8] {
    let date = column.kind == Kind::Date;
    let number = |value: Option<f64>| match value {
        Some(seconds) if date => super::date::format((seconds / 86_400.0).floor() as i64, super::Unit::Days),
        Some(value) => short(value),
        None => String::new(),
    };
    let common = column.most_common.as_ref().map(|(value, times)| format!("{} ({times})", clip(value)));
    [
        clip(&column.name),
        column.kind.to_string(),
        column.missing.to_string(),
        column.distinct.to_string(),
        number(column.min),
        number(column.mean),
        number(column.max),
        common.unwrap_or_default(),
    ]
}
