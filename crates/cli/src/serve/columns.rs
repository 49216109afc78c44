//! The columns of a request while it is parsed.

use std::collections::BTreeSet;

use serde::de::Error;
use serde_json::Value;
use tove::data::table::{Column, Dates, Field, Kind};

use super::refusal::Refusal;
use super::rows::{Whole, date, date_unit, name, number, truth, whole};

/// Names of unknown columns in a response, at most.
const NAMED: usize = 20;

/// The cells of a column so far.
enum Cells {
    Float(Vec<Option<f64>>),
    Integer(Vec<Option<i64>>),
    Boolean(Vec<Option<bool>>),
    Name(Vec<Option<String>>),
    /// In the unit of the column.
    Date(Vec<Option<i64>>),
}

/// Columns being read.
pub struct Columns<'f> {
    pub fields: &'f [Field],
    cells: Vec<Cells>,
    /// Whether any row has the column.
    present: Vec<bool>,
    /// The row in which a column was last seen, from 1.
    seen: Vec<usize>,
    /// Rows begun.
    pub rows: usize,
    /// Names that no column has.
    extra: BTreeSet<String>,
    /// Why reading ended.
    pub refusal: Option<Refusal>,
}

/// The columns of a body, by the names of their fields, and names that no column has.
pub type Read = (Vec<(String, Column)>, Vec<String>);

impl<'f> Columns<'f> {
    pub fn new(fields: &'f [Field]) -> Columns<'f> {
        let cells = |field: &Field| match field.kind {
            Kind::Float => Cells::Float(Vec::new()),
            Kind::Integer => Cells::Integer(Vec::new()),
            Kind::Boolean => Cells::Boolean(Vec::new()),
            Kind::Categorical | Kind::Text => Cells::Name(Vec::new()),
            Kind::Date => Cells::Date(Vec::new()),
        };
        Columns {
            fields,
            cells: fields.iter().map(cells).collect(),
            present: vec![false; fields.len()],
            seen: vec![0; fields.len()],
            rows: 0,
            extra: BTreeSet::new(),
            refusal: None,
        }
    }

    /// Ends the reading with this refusal.
    pub fn refuse<E: Error>(&mut self, refusal: Refusal) -> E {
        self.refusal.get_or_insert(refusal);
        E::custom("refused")
    }

    /// A name of the present row that no column has.
    pub fn unknown(&mut self, name: String) {
        if self.extra.len() < NAMED {
            self.extra.insert(name);
        }
    }

    /// A cell of the present row.
    pub fn put(&mut self, place: usize, value: Value) -> Result<(), Refusal> {
        let (field, row) = (&self.fields[place], self.rows - 1);
        if std::mem::replace(&mut self.seen[place], self.rows) == self.rows {
            return Err(Refusal::bad(format!("rows[{row}]: duplicate key {:?}", field.name)));
        }
        self.present[place] = true;
        match &mut self.cells[place] {
            Cells::Float(cells) => fill(cells, row, number(field, row, &value)?),
            Cells::Integer(cells) => match whole(field, row, &value)? {
                None => fill(cells, row, None),
                Some(Whole::Integer(number)) => fill(cells, row, Some(number)),
                Some(Whole::Real(number)) => {
                    let mut reals = cells.iter().map(|cell| cell.map(|number| number as f64)).collect();
                    fill(&mut reals, row, Some(number));
                    self.cells[place] = Cells::Float(reals);
                }
            },
            Cells::Boolean(cells) => fill(cells, row, truth(field, row, &value)?),
            Cells::Name(cells) => fill(cells, row, name(field, row, &value)?),
            Cells::Date(cells) => fill(cells, row, date(field, row, &value)?),
        }
        Ok(())
    }

    pub fn finish(self) -> Read {
        let rows = self.rows;
        let mut columns = Vec::new();
        for ((field, cells), _) in self.fields.iter().zip(self.cells).zip(self.present).filter(|(_, present)| *present)
        {
            let column = match cells {
                Cells::Float(cells) => Column::Float(whole_column(cells, rows)),
                Cells::Integer(cells) => Column::Integer(whole_column(cells, rows)),
                Cells::Boolean(cells) => Column::Boolean(whole_column(cells, rows)),
                Cells::Name(cells) if field.kind == Kind::Text => Column::Text(whole_column(cells, rows)),
                Cells::Name(cells) => Column::Categorical(whole_column(cells, rows)),
                Cells::Date(cells) => Column::Date(Dates::new(whole_column(cells, rows), date_unit(field))),
            };
            columns.push((field.name.clone(), column));
        }
        (columns, self.extra.into_iter().collect())
    }
}

/// Puts a cell behind those of the rows before, of which some may have none.
fn fill<T: Clone>(cells: &mut Vec<Option<T>>, row: usize, cell: Option<T>) {
    cells.resize(row, None);
    cells.push(cell);
}

/// A column of all rows, of which the last may have no cell.
fn whole_column<T: Clone, C: FromIterator<Option<T>>>(mut cells: Vec<Option<T>>, rows: usize) -> C {
    cells.resize(rows, None);
    cells.into_iter().collect()
}
