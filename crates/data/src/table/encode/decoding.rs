//! From features back to columns.

use tove_tensor::Tensor;

use super::column_encoding::{ColumnEncoding, Form};
use super::{Table, TableEncoder};
use crate::table::{Categorical, Column};
use crate::{DataError, Result};

impl TableEncoder {
    /// The columns that have these features (rows, features): numbers with their mean and scale, and of one-hot encoded categories the one
    /// with the largest feature. Features of rows that were encoded give the columns back, with missing numbers filled; those that a
    /// model has changed give the nearest columns.
    ///
    /// ```
    /// use tove_data::table::{Column, Encoding, Schema, Table, TableEncoder};
    /// let table = Table::new([("age", Column::floats(vec![20.0, 40.0])), ("port", Column::categories(["S", "C"]))])?;
    /// let options = Encoding { scale: true, ..Encoding::default() };
    /// let encoder = TableEncoder::fit(&table, &Schema::of(&table), &options)?;
    /// let back = encoder.decode(&encoder.encode(&table)?.x)?;
    /// assert_eq!((back.column("age")?.number(1), back.column("port")?.text(0).as_deref()), (Some(40.0), Some("S")));
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// If the matrix has another number of features, or a column was encoded in a way that forgets its values: hashed, target-encoded,
    /// text or a date.
    pub fn decode(&self, x: &Tensor) -> Result<Table> {
        let width = self.feature_names().len();
        if x.rank() != 2 || x.dims()[1] != width {
            let problem = format!("features of shape {}, not (rows, {width})", x.shape());
            return Err(DataError::parameter("TableEncoder::decode", problem));
        }
        let values = x.to_f64_vec();
        let mut offset = 0;
        let mut columns = Vec::new();
        for part in &self.parts {
            let count = part.form.width();
            let rows = values.chunks_exact(width.max(1)).map(|row| &row[offset..offset + count]);
            columns.push((part.column.clone(), part.decode(rows)?));
            offset += count;
        }
        Table::new(columns)
    }
}

impl ColumnEncoding {
    fn decode<'a>(&self, rows: impl Iterator<Item = &'a [f64]>) -> Result<Column> {
        let numbers = &self.numbers;
        match &self.form {
            Form::Number { .. } => Ok(Column::floats(rows.map(|row| row[0] * numbers[2] + numbers[1]).collect())),
            Form::OneHot { categories, .. } => {
                let largest = |row: &[f64]| {
                    let of =
                        |best: (usize, f64), (place, &x): (usize, &f64)| if x > best.1 { (place, x) } else { best };
                    row.iter().enumerate().fold((0, f64::NEG_INFINITY), of).0
                };
                // The feature behind the categories says that the value is missing.
                Ok(Column::Categorical(rows.map(|row| categories.get(largest(row))).collect::<Categorical>()))
            }
            _ => Err(DataError::Schema {
                column: self.column.clone(),
                problem: "was encoded in a way that forgets its values; leave the column out".into(),
            }),
        }
    }
}
