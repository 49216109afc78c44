//! Ratings or choices as a table has them: a row for a user and an item.

use std::collections::{BTreeMap, HashMap};

use tove_data::Problem;
use tove_data::table::{Column, Table};
use tove_learn::Csr;
use tove_tensor::Tensor;

use super::recommender::RatingColumns;
use super::{Result, TabularError};

/// The rating of an item by a user, or how often the user chose it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub user: usize,
    pub item: usize,
    pub value: f64,
}

/// The ratings of a table.
pub(super) struct Ratings {
    pub users: Vec<String>,
    pub items: Vec<String>,
    /// By user, then by item, each pair once.
    pub entries: Vec<Entry>,
    /// Rows in which a value is missing.
    pub dropped: usize,
    /// Rows that repeat a user and an item.
    pub repeated: usize,
}

/// Numbers of names, in the order in which they come.
#[derive(Default)]
struct Names {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl Names {
    fn place(&mut self, name: &str) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        self.places.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.names.len() - 1
    }
}

impl Ratings {
    /// Reads the ratings of a table. Several ratings of an item by a user are averaged; without ratings, rows are counted.
    ///
    /// # Errors
    /// If a column does not exist, ratings are not finite numbers or all equal, or there are fewer than two users or items.
    pub fn read(table: &Table, columns: &RatingColumns) -> Result<Ratings> {
        if columns.user == columns.item
            || columns.rating.as_ref().is_some_and(|name| [&columns.user, &columns.item].contains(&name))
        {
            return Err(TabularError::plan("users, items and ratings must be in different columns; name each"));
        }
        let (users, items) = (table.column(&columns.user)?, table.column(&columns.item)?);
        let ratings = columns.rating.as_ref().map(|name| rating_column(table, name)).transpose()?;
        let (mut known_users, mut known_items) = (Names::default(), Names::default());
        let mut sums: BTreeMap<(usize, usize), (f64, usize)> = BTreeMap::new();
        let mut dropped = 0;
        for row in 0..table.n_rows() {
            let value = ratings.map_or(Some(1.0), |column| column.number(row));
            let (Some(user), Some(item), Some(value)) = (name(users, row), name(items, row), value) else {
                dropped += 1;
                continue;
            };
            let sum = sums.entry((known_users.place(&user), known_items.place(&item))).or_insert((0.0, 0));
            *sum = (sum.0 + value, sum.1 + 1);
        }
        let mean = |sum: f64, count: usize| if ratings.is_some() { sum / count as f64 } else { sum };
        let entries: Vec<Entry> =
            sums.iter().map(|(&(user, item), &(sum, count))| Entry { user, item, value: mean(sum, count) }).collect();
        let repeated = table.n_rows() - dropped - entries.len();
        let found = Ratings { users: known_users.names, items: known_items.names, entries, dropped, repeated };
        found.check(columns)?;
        Ok(found)
    }

    fn check(&self, columns: &RatingColumns) -> Result<()> {
        for (column, names) in [(&columns.user, &self.users), (&columns.item, &self.items)] {
            if names.len() < 2 {
                let count = names.len();
                let problem =
                    format!("column {column} has {count} different value{}", if count == 1 { "" } else { "s" });
                let problem = Problem::new(problem);
                return Err(TabularError::plan(problem.advice("give a table with several users and several items")));
            }
        }
        let first = self.entries.first().map(|entry| entry.value);
        if let (Some(name), true) = (&columns.rating, self.entries.iter().all(|entry| Some(entry.value) == first)) {
            let problem = Problem::new(format!("every rating in column {name} is {}", first.unwrap_or_default()));
            let advice = "give ratings that differ, or leave the column out: rows are then choices (implicit feedback)";
            return Err(TabularError::plan(problem.advice(advice)));
        }
        Ok(())
    }

    /// Some entries as a matrix (users, items); they must be in order.
    pub fn matrix(&self, entries: &[Entry]) -> Result<Csr> {
        let mut starts = vec![0; self.users.len() + 1];
        entries.iter().for_each(|entry| starts[entry.user + 1] += 1);
        (0..self.users.len()).for_each(|user| starts[user + 1] += starts[user]);
        let values: Vec<f64> = entries.iter().map(|entry| entry.value).collect();
        let places = entries.iter().map(|entry| entry.item as u32).collect();
        Ok(Csr::new(starts, places, Tensor::from_slice(&values), self.items.len())?)
    }
}

/// The name in a row. Numbers are written as in the table, although a column of them may have fractions elsewhere.
fn name(column: &Column, row: usize) -> Option<std::borrow::Cow<'_, str>> {
    match column {
        Column::Float(values) => values.get(row).map(|number| number.to_string().into()),
        _ => column.text(row),
    }
}

/// The column of ratings.
fn rating_column<'t>(table: &'t Table, name: &str) -> Result<&'t Column> {
    let column = table.column(name)?;
    if !column.kind().is_numeric() {
        let problem = Problem::new(format!("the rating column {name} holds {} values, not numbers", column.kind()));
        return Err(TabularError::plan(problem.advice("fix its cells, or choose another column")));
    }
    let extreme = |value: f64| !(value == 0.0 || (1e-150..=1e150).contains(&value.abs()));
    let found = (0..column.len()).find_map(|row| Some((row, column.number(row).filter(|&value| extreme(value))?)));
    if let Some((row, value)) = found {
        let (size, advice) = match value.is_infinite() {
            true => ("infinite".to_owned(), "fix the value"),
            false => (format!("{value:e}"), "give ratings of moderate size"),
        };
        let problem = Problem::new(format!("the rating in column {name} is {size} in row {}", row + 1));
        return Err(TabularError::plan(problem.advice(advice)));
    }
    Ok(column)
}
