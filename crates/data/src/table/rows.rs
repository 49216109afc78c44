//! Choosing and reordering rows.

use std::collections::BTreeMap;

use tove_tensor::Key;
use tove_tensor::random::permutation;

use super::{Column, Dates, Table};
use crate::{DataError, Result};

impl Table {
    /// The rows at these indices, in this order; an index may occur several times.
    ///
    /// # Errors
    /// If an index is not below [`Table::n_rows`].
    pub fn take(&self, rows: &[usize]) -> Result<Table> {
        match rows.iter().find(|&&row| row >= self.rows) {
            Some(&index) => Err(DataError::Index { index, len: self.rows }),
            None => Ok(self.take_checked(rows)),
        }
    }

    fn take_checked(&self, rows: &[usize]) -> Table {
        let columns = self.columns.iter().map(|column| column.take(rows)).collect();
        Table { names: self.names.clone(), columns, rows: rows.len() }
    }

    /// The rows of a range, cut to the rows there are.
    pub fn slice(&self, rows: std::ops::Range<usize>) -> Table {
        let (start, end) = (rows.start.min(self.rows), rows.end.min(self.rows));
        self.take_checked(&(start..end).collect::<Vec<_>>())
    }

    /// The first rows.
    pub fn head(&self, rows: usize) -> Table {
        self.slice(0..rows)
    }

    /// The rows for which `keep` is true.
    ///
    /// ```
    /// use tove_data::table::{Column, Table};
    /// let table = Table::new([("a", Column::integers(vec![1, 2, 3]))])?;
    /// assert_eq!(table.filter(|row| row != 1).column("a")?.number(1), Some(3.0));
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    pub fn filter(&self, keep: impl Fn(usize) -> bool) -> Table {
        self.take_checked(&(0..self.rows).filter(|&row| keep(row)).collect::<Vec<_>>())
    }

    /// The rows in a random order.
    pub fn shuffle(&self, key: Key) -> Table {
        self.take_checked(&order(key, self.rows))
    }

    /// Two parts without overlap, drawn at random: `fraction` of the rows (rounded) and the rest.
    ///
    /// # Errors
    /// If the fraction is not between 0 and 1, or one part would be empty.
    pub fn split(&self, fraction: f64, key: Key) -> Result<(Table, Table)> {
        let (first, second) = self.split_rows(fraction, key)?;
        Ok((self.take_checked(&first), self.take_checked(&second)))
    }

    /// The row numbers of [`Table::split`].
    ///
    /// # Errors
    /// As [`Table::split`].
    pub fn split_rows(&self, fraction: f64, key: Key) -> Result<(Vec<usize>, Vec<usize>)> {
        check(fraction)?;
        let mut first = order(key, self.rows);
        let second = first.split_off((self.rows as f64 * fraction).round() as usize);
        filled(first, second)
    }

    /// As [`Table::split`], with each value of `column` divided in the same proportion (one row more or less). A
    /// missing value counts as a value.
    ///
    /// ```
    /// use tove_data::{Key, table::{Column, Table}};
    /// let table = Table::new([("y", Column::categories(["a", "b", "a", "b", "a", "b", "a", "b"]))])?;
    /// let (train, _) = table.split_stratified("y", 0.5, Key::new(1))?;
    /// let Column::Categorical(y) = train.column("y")? else { unreachable!() };
    /// assert_eq!(y.counts(), [2, 2]);
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::split`]; or if the column does not exist.
    pub fn split_stratified(&self, column: &str, fraction: f64, key: Key) -> Result<(Table, Table)> {
        let (first, second) = self.split_rows_stratified(column, fraction, key)?;
        Ok((self.take_checked(&first), self.take_checked(&second)))
    }

    /// The row numbers of [`Table::split_stratified`].
    ///
    /// # Errors
    /// As [`Table::split_stratified`].
    pub fn split_rows_stratified(&self, column: &str, fraction: f64, key: Key) -> Result<(Vec<usize>, Vec<usize>)> {
        check(fraction)?;
        let column = self.column(column)?;
        let mut classes: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
        for row in 0..self.rows {
            classes.entry(column.text(row).map(|text| text.into_owned())).or_default().push(row);
        }
        let (mut first, mut second, mut wanted) = (Vec::new(), Vec::new(), 0.0);
        for (number, members) in classes.values().enumerate() {
            // Rounding each class alone could add up: carry what it left over to the next class.
            wanted += members.len() as f64 * fraction;
            let count = ((wanted - first.len() as f64).round().max(0.0) as usize).min(members.len());
            let order = order(key.fold(number as u64), members.len());
            first.extend(order[..count].iter().map(|&i| members[i]));
            second.extend(order[count..].iter().map(|&i| members[i]));
        }
        let mixed = |rows: Vec<usize>, number: usize| -> Vec<usize> {
            order(key.fold((classes.len() + number) as u64), rows.len()).into_iter().map(|i| rows[i]).collect()
        };
        filled(mixed(first, 0), mixed(second, 1))
    }

    /// The rows of this table, then those of another with the same columns.
    ///
    /// # Errors
    /// If names, kinds or order of the columns differ.
    pub fn append(&self, other: &Table) -> Result<Table> {
        if self.names != other.names {
            let problem =
                format!("columns {:?} and {:?}; select the same ones in the same order", self.names, other.names);
            return Err(DataError::parameter("append", problem));
        }
        let pairs = self.names.iter().zip(self.columns.iter().zip(&other.columns));
        let columns = pairs.map(|(name, (first, second))| joined(name, first, second)).collect::<Result<Vec<_>>>()?;
        Ok(Table { names: self.names.clone(), columns, rows: self.rows + other.rows })
    }

    /// The rows of several tables with the same columns, one after the other; `None` for none. Halves are joined first, so that
    /// no row is copied often.
    ///
    /// ```
    /// use tove_data::table::{Column, Table};
    /// let piece = |x: i64| Table::new([("x", Column::integers(vec![x]))]);
    /// let whole = Table::concat(vec![piece(1)?, piece(2)?, piece(3)?])?;
    /// assert_eq!(whole.map(|table| table.n_rows()), Some(3));
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Table::append`].
    pub fn concat(mut tables: Vec<Table>) -> Result<Option<Table>> {
        while tables.len() > 1 {
            let mut next = Vec::with_capacity(tables.len().div_ceil(2));
            let mut rest = tables.into_iter();
            while let Some(first) = rest.next() {
                next.push(match rest.next() {
                    Some(second) => first.append(&second)?,
                    None => first,
                });
            }
            tables = next;
        }
        Ok(tables.pop())
    }
}

fn joined(name: &str, first: &Column, second: &Column) -> Result<Column> {
    let mut first = first.clone();
    match (&mut first, second) {
        (Column::Float(a), Column::Float(b)) => a.append(b.clone()),
        (Column::Integer(a), Column::Integer(b)) => a.append(b.clone()),
        (Column::Float(a), Column::Integer(b)) => a.append(b.map(|value| value as f64)),
        (Column::Integer(a), Column::Float(b)) => {
            let mut wide = a.map(|value| value as f64);
            wide.append(b.clone());
            first = Column::Float(wide);
        }
        (Column::Boolean(a), Column::Boolean(b)) => a.append(b.clone()),
        (Column::Text(a), Column::Text(b)) => a.append(b),
        (Column::Categorical(a), Column::Categorical(b)) => *a = a.iter().chain(b.iter()).collect(),
        (Column::Date(a), Column::Date(b)) if a.unit() == b.unit() => {
            let mut values = a.values().clone();
            values.append(b.values().clone());
            *a = Dates::new(values, a.unit());
        }
        (a, b) => {
            let problem = format!(
                "column {name:?} is {} in one table and {} in the other, or of another unit",
                a.kind(),
                b.kind()
            );
            return Err(DataError::parameter("append", problem));
        }
    }
    Ok(first)
}

fn order(key: Key, rows: usize) -> Vec<usize> {
    permutation(key, rows).into_iter().map(|row| row as usize).collect()
}

fn check(fraction: f64) -> Result<()> {
    if fraction > 0.0 && fraction < 1.0 {
        return Ok(());
    }
    let problem = format!("the fraction is {fraction}; give a number between 0 and 1, both excluded");
    Err(DataError::parameter("split", problem))
}

fn filled(first: Vec<usize>, second: Vec<usize>) -> Result<(Vec<usize>, Vec<usize>)> {
    if first.is_empty() || second.is_empty() {
        let sizes = format!("{} and {} rows", first.len(), second.len());
        let problem = format!("the parts would have {sizes}; choose a fraction that fills both");
        return Err(DataError::parameter("split", problem));
    }
    Ok((first, second))
}
