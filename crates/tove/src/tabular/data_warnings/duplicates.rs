//! Test rows that are copies of training rows.

use std::collections::HashSet;

use tove_data::table::{Column, Role, Schema, Table};

use super::DataWarning;
use crate::tabular::fingerprint::{row_hashes, values};

/// Copies per hundred test rows from which on it matters.
const SHARE: f64 = 0.01;
/// Number of copies that is not due to chance.
const SEVERAL: usize = 5;
/// Rows that tell how many different values a column has.
const LOOKED_AT: usize = 2000;

/// How many of the test rows are among the training rows. A table of a few small categories has equal rows by chance, so that is
/// not reported: the columns must allow ten times as many different rows as there are.
pub fn duplicates(table: &Table, schema: &Schema, train: &[usize], test: &[usize]) -> Option<DataWarning> {
    let names: Vec<&str> = schema.with(Role::Feature).chain(schema.with(Role::Target)).collect();
    let columns: Vec<&Column> = names.iter().filter_map(|name| table.column(name).ok()).collect();
    let variety: f64 = columns.iter().map(|column| distinct(column) as f64).product();
    if variety < 10.0 * table.n_rows() as f64 || test.is_empty() {
        return None;
    }
    let hashes = row_hashes(&columns, table.n_rows());
    let known: HashSet<u64> = train.iter().map(|&row| hashes[row]).collect();
    let rows = test.iter().filter(|&&row| known.contains(&hashes[row])).count();
    (rows >= SEVERAL && rows as f64 >= SHARE * test.len() as f64)
        .then_some(DataWarning::Copies { rows, of: test.len() })
}

fn distinct(column: &Column) -> usize {
    let step = column.len().div_ceil(LOOKED_AT).max(1);
    let value = values(column);
    (0..column.len()).step_by(step).map(value).collect::<HashSet<u64>>().len().max(1)
}
