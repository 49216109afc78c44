//! What would have to change in a row for another prediction.

use tove_data::table::Table;
use tove_tensor::DType;

use super::{CellAttack, Result, TabularError, TabularModel};

/// Sizes of the changes that are tried, in standard deviations: from the first on, each larger by the factor.
const FIRST: f64 = 0.02;
const FACTOR: f64 = 1.25;
const LAST: f64 = 4.0;

/// A cell and its change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellChange {
    /// The column.
    pub column: String,
    /// The value.
    pub before: String,
    /// The value that it would have.
    pub after: String,
}

/// A small change of a row that leads to another class.
#[derive(Clone, Debug, PartialEq)]
pub struct RowCounterfactual {
    /// The class that is predicted.
    pub from: String,
    /// The class after the change.
    pub to: String,
    /// No number moves by more than this, in standard deviations of its training column.
    pub eps: f64,
    /// The changes; without any one of them the prediction stays.
    pub changes: Vec<CellChange>,
}

impl TabularModel {
    /// Searches a small change of numeric cells of a row (counted from 0) that leads to another class, within the range of the numbers in
    /// the table; none if no change of up to 4 standard deviations was found. Whole numbers stay whole, categories stay. It is a search, not a
    /// proof that there is nothing smaller, and it says nothing of what causes what in the world.
    ///
    /// # Errors
    /// A row that does not exist; a model other than a classifier with probabilities or decision scores; a row that does not fit it.
    pub fn row_counterfactual(&self, table: &Table, row: usize) -> Result<Option<RowCounterfactual>> {
        let own = self.model.capabilities();
        if self.classes().is_empty() || !(own.probabilities || own.decision_function) {
            let name = self.model.name();
            let problem =
                format!("counterfactuals need a classifier with probabilities or decision scores, not {name}");
            return Err(TabularError::plan(problem));
        }
        let one = table.take(&[row])?;
        let class = |table: &Table| -> Result<usize> {
            let (rows, _) = self.rows(table)?;
            Ok(self.ask(&rows)?.values.to_dtype(DType::I64).to_vec::<i64>()[0] as usize)
        };
        let (from, dials) = (class(&one)?, self.dials(table, &[])?);
        let mut eps = FIRST;
        while eps <= LAST {
            let found = CellAttack::new(eps).search(self, one.clone(), &[from], &dials)?;
            if !found.wrong[0] {
                eps *= FACTOR;
                continue;
            }
            // Every change that is not needed is undone.
            let mut changed = found.table;
            for dial in &dials {
                let undone = changed.with_column(dial.name.as_str(), one.column(&dial.name)?.clone())?;
                if class(&undone)? != from {
                    changed = undone;
                }
            }
            let text = |table: &Table, name: &str| -> Result<String> {
                Ok(table.column(name)?.text(0).map_or_else(String::new, |text| text.into_owned()))
            };
            let mut changes = Vec::new();
            for dial in &dials {
                let (before, after) = (text(&one, &dial.name)?, text(&changed, &dial.name)?);
                if before != after {
                    changes.push(CellChange { column: dial.name.clone(), before, after });
                }
            }
            let name = |class: usize| self.classes().get(class).cloned().unwrap_or_default();
            return Ok(Some(RowCounterfactual { from: name(from), to: name(class(&changed)?), eps, changes }));
        }
        Ok(None)
    }
}
