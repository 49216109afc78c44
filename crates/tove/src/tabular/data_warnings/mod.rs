//! What makes a score doubtful, or a model worse than it could be, though everything ran.
//!
//! | doubt | how it is seen |
//! |---|---|
//! | a column names the rows | another value in every row: a counter, a name like `id`, or strings without blanks |
//! | a column says nothing | one value in all rows |
//! | numbers or dates taken for strings | nine of ten values are numbers once `%`, currency, separators are gone, or are like 31/12/2024 |
//! | a column tells the target | its nearest value among one half of the training rows leaves, on the other, at most 2 % of the wrong classes or 1 % of the squared error of a constant |
//! | a column does nearly all | by the same measure it leaves at most 35 %, and every other column at least 85 % |
//! | numbers that are codes | whole numbers called an id, code or number, 50 or more different ones; or such that repeat and explain, each by itself, twice as much of the target as those next to them |
//! | codes taken for free text | strings without blanks that repeat |
//! | rows are in both parts | equal features and target, in at least five test rows and one of a hundred, where chance would not make them |
//! | the order is that of time | a column of dates rises from row to row, and test rows are drawn at random |
//! | a class has one row | it is in the training rows and never tested |
//! | fewer folds than asked for | the training rows, or those of the largest class, are too few |

mod codes;
mod duplicates;
mod leakage;
mod number_format;

use std::collections::HashSet;
use std::fmt;

use tove_data::table::{Column, Role, Schema, Table};

use super::Division;
use super::prepared::Prepared;
use super::split::{TrainTest, single_rows};
pub use number_format::{Spelling, spelling_of};

/// Something about a table that makes a score doubtful.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DataWarning {
    /// The column has another value in every row and looks like a name of it.
    NamesRows {
        /// The column.
        column: String,
    },
    /// The column has the same value in every row.
    Constant {
        /// The column.
        column: String,
    },
    /// The column holds strings, but they are numbers or dates that are spelt in another way.
    Spelt {
        /// The column.
        column: String,
        /// One of its values.
        example: String,
        /// How they are spelt.
        spelling: Spelling,
    },
    /// The column alone tells the target nearly without error.
    TellsTarget {
        /// The column.
        column: String,
        /// The part of a constant's error that is left.
        left: f64,
    },
    /// The column alone tells most of the target, and no other column tells much.
    Dominates {
        /// The column.
        column: String,
        /// The part of a constant's error that it leaves.
        left: f64,
        /// The part that the next best column leaves.
        next: f64,
    },
    /// The column holds whole numbers that look like codes, and is used as a quantity.
    Codes {
        /// The column.
        column: String,
        /// How many different ones.
        distinct: usize,
    },
    /// The column is taken for free text, but holds codes that repeat.
    CodesAsText {
        /// The column.
        column: String,
        /// How many different ones.
        distinct: usize,
    },
    /// Test rows are also among the training rows.
    Copies {
        /// How many of the test rows.
        rows: usize,
        /// Number of test rows.
        of: usize,
    },
    /// A class with a single row is in the training rows and cannot be tested.
    SingleRow {
        /// The classes.
        classes: Vec<String>,
    },
    /// The rows are in the order of time, and test rows are drawn at random.
    InTime {
        /// The column of dates.
        column: String,
    },
    /// The cross-validation has fewer folds than asked for.
    FewerFolds {
        /// Asked for.
        asked: usize,
        /// Made.
        made: usize,
        /// Training rows.
        rows: usize,
    },
}

impl fmt::Display for DataWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataWarning::NamesRows { column } => write!(
                f,
                "column {column} has another value in every row; if it names the rows, the model should not see it"
            ),
            DataWarning::Constant { column } => {
                write!(f, "column {column} has the same value in every row and says nothing")
            }
            DataWarning::Spelt { column, example, spelling } => {
                write!(
                    f,
                    "column {column} is taken for strings, but its values look like {spelling}, such as {example}"
                )
            }
            DataWarning::TellsTarget { column, left } => write!(
                f,
                "column {column} alone tells the target almost without error ({:.1} % of a constant's error are left); if it \
                 is not known before the target is, leave it out",
                100.0 * left
            ),
            DataWarning::Dominates { column, left, next } => write!(
                f,
                "column {column} alone explains {:.0} % of the target, and no other column more than {:.0} %; if it is \
                 recorded with the target or after it, leave it out",
                100.0 * (1.0 - left),
                100.0 * (1.0 - next)
            ),
            DataWarning::Codes { column, distinct } => write!(
                f,
                "column {column} has {distinct} different whole numbers that look like codes, but is used as a quantity; \
                 read it as a category, or leave it out"
            ),
            DataWarning::CodesAsText { column, distinct } => write!(
                f,
                "column {column} is taken for free text, but its {distinct} different values look like codes; read it as a \
                 category"
            ),
            DataWarning::Copies { rows, of } => write!(
                f,
                "{rows} of {of} test rows are also among the training rows, target and all; on new rows the model does \
                 worse than on these"
            ),
            DataWarning::SingleRow { classes } => {
                let shown = classes.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
                let more = if classes.len() > 8 { format!(" and {} more", classes.len() - 8) } else { String::new() };
                let (class, it) = if classes.len() == 1 { ("class", "it is") } else { ("classes", "they are") };
                write!(f, "{class} {shown}{more} with one row only: {it} in the training rows and never tested")
            }
            DataWarning::InTime { column } => write!(
                f,
                "rows are in the order of {column}, and the test rows are drawn from between them; if the model is to forecast, \
                 test on the last ones"
            ),
            DataWarning::FewerFolds { asked, made, rows } => {
                write!(f, "{rows} training rows are too few for {asked} folds; there are {made}")
            }
        }
    }
}

/// All warnings about a table and its split. A separate test table may have other columns in time, so that only the training rows count.
pub(super) fn of(data: &Prepared<'_>, rows: &TrainTest, separate: bool) -> Vec<DataWarning> {
    let Prepared { table, schema, target, .. } = data;
    let mut warnings = columns(table, schema);
    if !separate && data.plan.division == Division::Random {
        warnings.extend(single_rows(target).map(|classes| DataWarning::SingleRow { classes }));
        warnings.extend(time_order(table, schema));
    }
    warnings.extend(leakage::leakage(table, schema, target, &rows.train));
    warnings.extend(codes::codes(table, schema, target, &rows.train));
    warnings.extend(duplicates::duplicates(table, schema, &rows.train, &rows.test));
    warnings
}

/// Rows from which a column can be said to name them.
const SEVERAL: usize = 20;

/// Doubts about single columns that need no target, features only.
fn columns(table: &Table, schema: &Schema) -> Vec<DataWarning> {
    let mut data_warnings = Vec::new();
    for name in schema.with(Role::Feature) {
        let Ok(column) = table.column(name) else { continue };
        let owned = || name.to_owned();
        if let Some((spelling, example)) = spelling_of(column) {
            data_warnings.push(DataWarning::Spelt { column: owned(), example, spelling });
        } else if is_constant(column) {
            data_warnings.push(DataWarning::Constant { column: owned() });
        } else if table.n_rows() >= SEVERAL && names_rows(name, column) {
            data_warnings.push(DataWarning::NamesRows { column: owned() });
        } else if let Some(distinct) = number_codes(name, column) {
            data_warnings.push(DataWarning::Codes { column: owned(), distinct });
        } else if let Some(distinct) = text_codes(column) {
            data_warnings.push(DataWarning::CodesAsText { column: owned(), distinct });
        }
    }
    data_warnings
}

/// Different whole numbers from which on a column of codes is not a scale of a few steps.
const MANY_CODES: usize = 50;

/// How many different codes there are in a column of whole numbers that is called so.
fn number_codes(name: &str, column: &Column) -> Option<usize> {
    let Column::Integer(values) = column else { return None };
    if !called_a_name(name) && !called_a_code(name) {
        return None;
    }
    let distinct = values.known().collect::<HashSet<i64>>().len();
    (distinct >= MANY_CODES).then_some(distinct)
}

/// How many different strings there are in a column of text, if none has blanks and each is there twice in the mean.
fn text_codes(column: &Column) -> Option<usize> {
    let Column::Text(texts) = column else { return None };
    let mut seen = HashSet::new();
    let (mut known, rows) = (0, column.len());
    for text in (0..rows).filter_map(|row| texts.get(row)) {
        if text.is_empty() || text.contains(char::is_whitespace) {
            return None;
        }
        known += 1;
        seen.insert(text);
    }
    (seen.len() >= MANY_CODES && 2 * seen.len() <= known).then_some(seen.len())
}

/// Whether people call columns of codes so.
fn called_a_code(name: &str) -> bool {
    let small = name.to_lowercase();
    let last = small.rsplit(['_', ' ', '-', '.']).next().unwrap_or("");
    matches!(last, "code" | "zip" | "zipcode" | "postcode" | "sku" | "isbn" | "num")
}

/// Whether a column of dates rises from row to row.
fn time_order(table: &Table, schema: &Schema) -> Option<DataWarning> {
    let rises = |name: &&str| match table.column(name) {
        Ok(Column::Date(dates)) if dates.values().missing() == 0 && table.n_rows() >= SEVERAL => {
            let days: Vec<i64> = dates.values().known().collect();
            days.first() < days.last() && days.windows(2).all(|two| two[0] <= two[1])
        }
        _ => false,
    };
    schema.with(Role::Feature).find(rises).map(|name| DataWarning::InTime { column: name.to_owned() })
}

fn is_constant(column: &Column) -> bool {
    let first = column.text(0);
    column.missing() == 0
        && column.len() > 1
        && first.is_some()
        && (1..column.len()).all(|row| column.text(row) == first)
}

/// Another value in every row, and a reason to take it for a name rather than a quantity.
fn names_rows(name: &str, column: &Column) -> bool {
    if column.missing() > 0 {
        return false;
    }
    match column {
        Column::Integer(values) => {
            let (mut least, mut most, mut seen) = (i64::MAX, i64::MIN, HashSet::new());
            let distinct = values.known().all(|value| {
                (least, most) = (least.min(value), most.max(value));
                seen.insert(value)
            });
            distinct && (most.abs_diff(least) == column.len() as u64 - 1 || called_a_name(name))
        }
        Column::Text(_) | Column::Categorical(_) => {
            let mut seen = HashSet::new();
            (0..column.len()).all(|row| {
                let text = column.text(row);
                text.is_some_and(|text| !text.contains(char::is_whitespace) && seen.insert(text.into_owned()))
            })
        }
        _ => false,
    }
}

/// Whether people call columns of row names so.
fn called_a_name(name: &str) -> bool {
    let small = name.to_lowercase();
    let last = small.rsplit(['_', ' ', '-', '.']).next().unwrap_or("");
    matches!(last, "id" | "uuid" | "guid" | "key" | "index" | "number" | "no" | "nr")
        || small.starts_with("unnamed:")
        || name.ends_with("Id") && name.len() > 2
        || name.ends_with("ID")
}
