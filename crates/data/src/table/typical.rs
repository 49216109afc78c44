//! Typical values of columns, for forms and example rows.

use serde_json::{Value, json};

use super::{Column, Role, Schema, Table};

/// Values of a column that a median is taken of, at most.
const SAMPLE: usize = 10_000;

/// The range and a typical value of a column, as JSON values: numbers, true or false, or text for dates and categories.
///
/// The typical value is the (lower) median of numbers and dates, and the most frequent category. Free text has none: it may be long,
/// and it may be about a person.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Typical {
    /// The smallest and the largest value, of numbers and dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<[Value; 2]>,
    /// The median, or the most frequent value.
    pub value: Value,
}

impl Typical {
    /// Of a column; `None` for free text and for columns without a value.
    ///
    /// ```
    /// use tove_data::table::{Column, Typical};
    /// let fares = Typical::of(&Column::floats(vec![7.5, f64::NAN, 80.25, 9.0])).unwrap();
    /// assert_eq!((fares.value, fares.range.unwrap()), (9.0.into(), [7.5.into(), 80.25.into()]));
    /// assert_eq!(Typical::of(&Column::categories(["S", "C", "S"])).unwrap().value, "S");
    /// assert_eq!(Typical::of(&Column::texts(["a long story"])), None);
    /// ```
    pub fn of(column: &Column) -> Option<Typical> {
        match column {
            Column::Text(_) => None,
            Column::Categorical(values) => {
                let counts = values.counts();
                let most = counts.iter().copied().max().filter(|&most| most > 0)?;
                let code = counts.iter().position(|&count| count == most)?;
                Some(Typical { range: None, value: json!(values.categories()[code]) })
            }
            Column::Boolean(values) => {
                let known = values.len() - values.missing();
                let yes = values.iter().flatten().filter(|&value| value).count();
                (known > 0).then(|| Typical { range: None, value: json!(2 * yes > known) })
            }
            Column::Float(_) | Column::Integer(_) | Column::Date(_) => {
                let known = |row: usize| column.number(row).filter(|value| value.is_finite()).map(|value| (value, row));
                let by_value = |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
                let all = || (0..column.len()).filter_map(known);
                let (least, largest) = (all().min_by(by_value)?, all().max_by(by_value)?);
                let step = column.len().div_ceil(SAMPLE).max(1);
                let mut sample: Vec<(f64, usize)> = (0..column.len()).step_by(step).filter_map(known).collect();
                let middle = sample.len().saturating_sub(1) / 2;
                let median = if sample.is_empty() { least } else { *sample.select_nth_unstable_by(middle, by_value).1 };
                Some(Typical {
                    range: Some([cell(column, least.1), cell(column, largest.1)]),
                    value: cell(column, median.1),
                })
            }
        }
    }
}

/// A number as a number, anything else as text.
fn cell(column: &Column, row: usize) -> Value {
    match column {
        Column::Float(values) => json!(values.get(row)),
        Column::Integer(values) => json!(values.get(row)),
        _ => json!(column.text(row)),
    }
}

impl Schema {
    /// The schema with typical values of its feature columns, from the rows of a table.
    ///
    /// ```
    /// use tove_data::table::{Column, Schema, Table};
    /// let table = Table::new([("age", Column::integers(vec![20, 70, 31]))])?;
    /// let schema = Schema::of(&table).with_typical(&table);
    /// assert_eq!(schema.field("age")?.typical.as_ref().unwrap().value, 31);
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    #[must_use]
    pub fn with_typical(mut self, table: &Table) -> Schema {
        for field in self.fields_mut().iter_mut().filter(|field| field.role == Role::Feature) {
            field.typical = table.column(&field.name).ok().and_then(Typical::of);
        }
        self
    }
}
