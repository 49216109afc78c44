//! What a model keeps of its training rows, so that later rows can be compared with them.

use tove_data::table::{Column, Kind, Schema, Table};
use tove_tensor::Key;
use tove_trust::drift::{DataColumn, DriftOptions, DriftReport, ProfileOptions, TrainingProfile};

use super::{Result, TabularError, TabularModel};

/// Training rows that a profile is made of, at most.
const ROWS: usize = 50_000;
/// Values that are stored of each column, at most.
const SAMPLE: usize = 1000;
/// Values that are stored of all columns together, if that leaves [`FEWEST`] of each.
const CELLS: usize = 50_000;
const FEWEST: usize = 50;

/// The profile of training rows; none if there is no column to compare. Every column is stored sorted by itself, so that rows cannot be
/// put together again.
pub(super) fn profile(
    table: &Table,
    schema: &Schema,
    rows: Option<&[usize]>,
    seed: u64,
) -> Result<Option<TrainingProfile>> {
    let count = rows.map_or(table.n_rows(), <[usize]>::len);
    let names: Vec<String> = compared(schema).filter(|name| table.has(name)).map(str::to_owned).collect();
    if names.is_empty() || count == 0 {
        return Ok(None);
    }
    let table = table.select(&names)?;
    let some = (count > ROWS).then(|| {
        let order = Key::new(seed).fold(11).permutation(count).to_vec::<i64>();
        order.into_iter().take(ROWS).map(|place| place as usize).collect::<Vec<usize>>()
    });
    let table = match (rows, some) {
        (None, None) => table,
        (Some(rows), None) => table.take(rows)?,
        (None, Some(some)) => table.take(&some)?,
        (Some(rows), Some(some)) => table.take(&some.into_iter().map(|place| rows[place]).collect::<Vec<_>>())?,
    };
    let sample = (CELLS / names.len()).clamp(FEWEST, SAMPLE);
    let options = ProfileOptions { sample, joint: false, seed, ..ProfileOptions::default() };
    Ok(TrainingProfile::new(&columns(&table), &options).ok())
}

/// The columns that are compared: features and groups, except text.
fn compared(schema: &Schema) -> impl Iterator<Item = &str> {
    let of_kind = |kind: Kind| kind != Kind::Text;
    schema
        .fields()
        .iter()
        .filter(move |field| field.role.is_needed() && of_kind(field.kind))
        .map(|field| field.name.as_str())
}

/// Columns of a table as numbers or names. Numbers that are not finite count as missing.
fn columns(table: &Table) -> Vec<DataColumn> {
    let column = |(name, column): (&str, &Column)| {
        let rows = 0..column.len();
        if let Column::Categorical(values) = column {
            return DataColumn::categories(name, rows.map(|row| values.get(row)));
        }
        let number = |row: usize| column.number(row).filter(|value| value.is_finite()).unwrap_or(f64::NAN);
        DataColumn::numbers(name, rows.map(number).collect())
    };
    table.iter().map(column).collect()
}

impl TabularModel {
    /// What is kept of the training rows; none for models of older versions.
    pub fn profile(&self) -> Option<&TrainingProfile> {
        self.profile.as_ref()
    }

    /// Compares the rows of a table with the training rows; the target is not needed.
    ///
    /// # Errors
    /// If the columns are not those of the model, or the model keeps no profile.
    pub fn drift(&self, table: &Table, options: &DriftOptions) -> Result<DriftReport> {
        let Some(profile) = &self.profile else {
            return Err(TabularError::plan(
                "the model file holds no profile of its training rows, as files written by earlier versions; fit the model \
                 again",
            ));
        };
        let (table, _) = self.schema.conform(table)?;
        let names: Vec<String> = compared(&self.schema).map(str::to_owned).collect();
        Ok(DriftReport::new(profile, &columns(&table.select(&names)?), options)?)
    }
}
