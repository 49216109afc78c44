//! A table without a target as a matrix: what clustering and dimensionality reduction start from.

use tove_data::table::encode::{ManyCategories, TextFeatures};
use tove_data::table::{Column, Encoding, Kind, NumberFormat, Role, Schema, Table, TableEncoder};
use tove_data::{Problem, Remedy};
use tove_tensor::Tensor;

use super::split::check_finite;
use super::{ColumnCounts, Plan, Result, TabularError};

/// Categories of a column that are one-hot encoded, at most.
const MOST_CATEGORIES: usize = 100;

/// Which columns a model without a target sees.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub roles: Vec<(String, Role)>,
    pub formats: Vec<(String, NumberFormat)>,
    /// Whether numbers stay as they are, instead of being standardized.
    pub raw: bool,
}

/// A column that was left out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The column.
    pub column: String,
    /// Why, as the end of a sentence that begins with the column.
    pub reason: String,
}

/// A table that is ready to be fitted to.
pub(super) struct Unlabeled {
    pub schema: Schema,
    pub encoder: TableEncoder,
    /// The encoded rows: standardized numbers (unless they stay as they are), one-hot encoded categories.
    pub x: Tensor,
    pub imputed: ColumnCounts,
    pub left_out: Vec<LeftOut>,
}

impl Columns {
    /// Encodes a table. Columns that do not distinguish rows are left out: all missing or constant ones, text, and categories with more
    /// than 100 values, which mostly are names.
    ///
    /// # Errors
    /// If there are fewer than two rows, a column does not exist or holds infinite numbers, or no column is left.
    pub(super) fn prepare(&self, table: &Table) -> Result<Unlabeled> {
        let rows = table.n_rows();
        if rows < 2 {
            let problem = format!("the table has {rows} row{}", if rows == 1 { "" } else { "s" });
            return Err(TabularError::plan(Problem::new(problem).advice("give at least two")));
        }
        let mut schema = Schema::of(table);
        for (column, role) in &self.roles {
            schema = schema.with_role(column, *role)?;
        }
        for (column, format) in &self.formats {
            schema = schema.with_format(column, *format)?;
        }
        let mut left_out = Vec::new();
        let features: Vec<String> = schema.with(Role::Feature).map(str::to_owned).collect();
        for column in features {
            if let Some(reason) = useless(table.column(&column)?) {
                schema = schema.with_role(&column, Role::Dropped)?;
                left_out.push(LeftOut { column, reason });
            }
        }
        if schema.with(Role::Feature).next().is_none() {
            return Err(nothing_left(&left_out));
        }
        check_finite(table, &schema)?;
        let options = Encoding {
            indicators: false,
            scale: !self.raw,
            max_one_hot: MOST_CATEGORIES,
            many: ManyCategories::Drop,
            text: TextFeatures::Drop,
            ..Plan::usual_encoding()
        };
        let encoder = TableEncoder::fit(table, &schema, &options)?;
        let encoded = encoder.encode(table)?;
        let schema = schema.with_typical(table);
        Ok(Unlabeled { schema, encoder, x: encoded.x, imputed: encoded.imputed, left_out })
    }
}

/// Why a column does not distinguish rows.
fn useless(column: &Column) -> Option<String> {
    let known = || (0..column.len()).filter(|&row| !column.is_missing(row));
    let Some(first) = known().next() else { return Some("has only missing values".to_owned()) };
    let value = column.text(first);
    // That a category is missing is a category too; a missing number becomes the mean.
    let whole = column.kind().is_numeric() || column.missing() == 0;
    if whole && known().all(|row| column.text(row) == value) {
        return Some(format!("is {} in every row", value.unwrap_or_default()));
    }
    match column {
        Column::Categorical(values) if values.categories().len() > MOST_CATEGORIES => {
            Some(format!("has {} categories, more than {MOST_CATEGORIES}", values.categories().len()))
        }
        _ if column.kind() == Kind::Text => Some("is text".to_owned()),
        _ => None,
    }
}

#[cold]
fn nothing_left(left_out: &[LeftOut]) -> TabularError {
    let shown: Vec<String> = left_out.iter().take(5).map(|one| format!("{} {}", one.column, one.reason)).collect();
    let more = if left_out.len() > 5 { ", …" } else { "" };
    let why = if shown.is_empty() { String::new() } else { format!(": {}{more}", shown.join(", ")) };
    let problem = Problem::new(format!("no column is left to learn from{why}"));
    TabularError::plan(problem.advice("give columns of numbers or categories that vary").remedy(Remedy::DropFewer))
}
