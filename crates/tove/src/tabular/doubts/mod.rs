//! What makes a score doubtful, or a model worse than it could be, though everything ran.
//!
//! | doubt | how it is seen |
//! |---|---|
//! | a column names the rows | another value in every row: a counter, a name like `id`, or strings without blanks |
//! | a column says nothing | one value in all rows |
//! | numbers or dates taken for strings | nine of ten values are numbers once `%`, currency, separators are gone, or are like 31/12/2024 |
//! | a column tells the target | its nearest value among one half of the training rows leaves, on the other, at most 2 % of the wrong classes or 1 % of the squared error of a constant |
//! | rows are in both parts | equal features and target, in five judged rows and one of a hundred or more, where chance would not make them |
//! | the order is that of time | a column of dates rises from row to row, and rows drawn at random judge |
//! | a class has one row | it is learnt and never judged |
//! | fewer folds than asked for | the training rows, or those of the largest class, are too few |

mod copies;
mod spelling;
mod telling;

use std::collections::HashSet;
use std::fmt;

use tove_data::table::{Column, Role, Schema, Table};

pub(super) use copies::copies;
pub use spelling::{Spelling, spelling_of};
pub(super) use telling::telling;

/// Something about a table that makes a score doubtful.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Doubt {
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
    /// Rows that judge are also among those that were fitted on.
    Copies {
        /// How many of the judged rows.
        rows: usize,
        /// Rows judged.
        of: usize,
    },
    /// A class with a single row was learnt from and cannot judge.
    SingleRow {
        /// The classes.
        classes: Vec<String>,
    },
    /// The rows are in the order of time, and rows drawn at random judge.
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

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Doubt::NamesRows { column } => write!(
                f,
                "column {column} has another value in every row; if it names the rows, the model should not see it"
            ),
            Doubt::Constant { column } => write!(f, "column {column} has the same value in every row and says nothing"),
            Doubt::Spelt { column, example, spelling } => {
                write!(
                    f,
                    "column {column} is taken for strings, but its values look like {spelling}, such as {example}"
                )
            }
            Doubt::TellsTarget { column, left } => write!(
                f,
                "column {column} alone tells the target almost without error ({:.1} % of a constant's error are left); if it \
                 is not known before the target is, leave it out",
                100.0 * left
            ),
            Doubt::Copies { rows, of } => write!(
                f,
                "{rows} of {of} judged rows are also among the rows fitted on, target and all; on new rows the model does \
                 worse than on these"
            ),
            Doubt::SingleRow { classes } => {
                let shown = classes.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
                let more = if classes.len() > 8 { format!(" and {} more", classes.len() - 8) } else { String::new() };
                let (class, it) = if classes.len() == 1 { ("class", "it is") } else { ("classes", "they are") };
                write!(f, "{class} {shown}{more} with one row only: {it} learnt and never judged")
            }
            Doubt::InTime { column } => write!(
                f,
                "rows are in the order of {column}, and rows drawn from between them judge; if the model is to foresee, let \
                 the last ones judge"
            ),
            Doubt::FewerFolds { asked, made, rows } => {
                write!(f, "{rows} training rows are too few for {asked} folds; there are {made}")
            }
        }
    }
}

/// Rows from which a column can be said to name them.
const SEVERAL: usize = 20;

/// Doubts about single columns that need no target, features only.
pub(super) fn columns(table: &Table, schema: &Schema) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    for name in schema.with(Role::Feature) {
        let Ok(column) = table.column(name) else { continue };
        let owned = || name.to_owned();
        if let Some((spelling, example)) = spelling_of(column) {
            doubts.push(Doubt::Spelt { column: owned(), example, spelling });
        } else if is_constant(column) {
            doubts.push(Doubt::Constant { column: owned() });
        } else if table.n_rows() >= SEVERAL && names_rows(name, column) {
            doubts.push(Doubt::NamesRows { column: owned() });
        }
    }
    doubts
}

/// Whether a column of dates rises from row to row.
pub(super) fn in_time(table: &Table, schema: &Schema) -> Option<Doubt> {
    let rises = |name: &&str| match table.column(name) {
        Ok(Column::Date(dates)) if dates.values().missing() == 0 && table.n_rows() >= SEVERAL => {
            let days: Vec<i64> = dates.values().known().collect();
            days.first() < days.last() && days.windows(2).all(|two| two[0] <= two[1])
        }
        _ => false,
    };
    schema.with(Role::Feature).find(rises).map(|name| Doubt::InTime { column: name.to_owned() })
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
