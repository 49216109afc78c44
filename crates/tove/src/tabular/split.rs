//! The second stage: training rows, test rows and folds.

use std::collections::{HashMap, HashSet};

use tove_data::table::{Column, Role, Schema, Table, Target};
use tove_data::{Problem, Remedy};
use tove_learn::selection::{Fold, GroupKFold, KFold, Split, Splitter, StratifiedKFold, TimeSeriesSplit};
use tove_tensor::{DType, Tensor, TryIndex};

use super::prepared::Prepared;
use super::{Division, Plan, Result, TabularError};

/// Rows of a table to fit to and rows to evaluate on.
pub(super) struct TrainTest {
    pub train: Vec<usize>,
    pub test: Vec<usize>,
}

impl Prepared<'_> {
    /// The training rows and the test rows; the latter are those of a separate test table, if there is one.
    ///
    /// # Errors
    /// If there are too few rows, or no row of a part has a positive weight.
    pub(super) fn split(&self, separate: bool) -> Result<TrainTest> {
        let (train, test) = match separate {
            true => ((0..self.own_rows).collect(), (self.own_rows..self.table.n_rows()).collect()),
            false => self.plan.split(&self.table, &self.target)?,
        };
        if let Some(weights) = &self.weights {
            self.plan.check_parts(weights, [("training", &train), ("test", &test)])?;
        }
        Ok(TrainTest { train, test })
    }
}

impl Plan {
    /// The training rows and the test rows that a fit would use, each in the order of the table. Rows without a target are left
    /// out.
    ///
    /// # Errors
    /// If the target does not exist or cannot be predicted, or there are too few rows.
    pub fn parts(&self, table: &Table) -> Result<(Table, Table)> {
        let (table, _) = table.drop_missing(&[&self.target])?;
        let target = Target::encode(table.column(&self.target)?, self.kind)?;
        let (mut train, mut test) = self.split(&table, &target)?;
        train.sort_unstable();
        test.sort_unstable();
        Ok((table.take(&train)?, table.take(&test)?))
    }

    /// Training rows and test rows. A random split is stratified by class; a class with a single row is in the training rows.
    pub(super) fn split(&self, table: &Table, target: &Target) -> Result<(Vec<usize>, Vec<usize>)> {
        let mut split = Split::test(self.test_size).seed(self.seed);
        match &self.division {
            Division::Random => {}
            Division::InOrder => split = split.in_order(),
            Division::Groups(column) => split = split.grouped(&groups(table.column(column)?, 0..table.n_rows())),
        }
        if !target.task().is_classification() || self.division != Division::Random {
            let parts = split.indices(target.y())?;
            return Ok((parts.train, parts.test));
        }
        let (codes, counts) = class_counts(target);
        let (several, single): (Vec<usize>, Vec<usize>) =
            (0..codes.len()).partition(|&row| counts[codes[row] as usize] > 1);
        if counts.iter().filter(|&&count| count > 1).count() < 2 {
            let (column, classes, rows) = (&self.target, counts.len(), codes.len());
            let problem = format!(
                "{rows} rows with {classes} different values of {column}: two classes need at least two rows each"
            );
            return Err(TabularError::plan(
                Problem::new(problem).advice("give more rows, or a target with fewer classes"),
            ));
        }
        let parts = split.stratified().indices(&taken(target.y(), &several)?)?;
        let train = parts.train.iter().map(|&place| several[place]).chain(single).collect();
        Ok((train, parts.test.iter().map(|&place| several[place]).collect()))
    }
}

/// The folds of the training rows: as many as asked for, or fewer where they would be too small for a score. R² needs two rows,
/// stratified folds a row of the largest class each.
pub(super) fn folds(data: &Prepared<'_>, train: &[usize]) -> Result<Vec<Fold>> {
    let Prepared { plan, table, target, .. } = data;
    let y = taken(target.y(), train)?;
    let asked = plan.folds.max(2);
    let regression = !data.classifies();
    let members = match &plan.division {
        Division::Groups(column) => Some(groups(table.column(column)?, train.iter().copied())),
        _ => None,
    };
    let most = match (&plan.division, &members) {
        (_, Some(members)) => members.iter().collect::<HashSet<_>>().len(),
        (Division::InOrder, _) => (train.len() / 2).saturating_sub(1),
        _ if regression => train.len() / 2,
        _ => {
            let mut counts = vec![0; target.classes().len()];
            y.to_dtype(DType::I64).to_vec::<i64>().iter().for_each(|&code| counts[code as usize] += 1);
            counts.into_iter().max().unwrap_or(0)
        }
    };
    if most < 2 {
        let problem = Problem::new(format!("{} training rows are too few for cross-validation", train.len()));
        return Err(TabularError::plan(problem.advice("give more rows").remedy(Remedy::Folds)));
    }
    let k = asked.min(most);
    let splitter: Box<dyn Splitter> = match (&plan.division, members) {
        (_, Some(members)) => Box::new(GroupKFold::new(k, &members)),
        (Division::InOrder, _) => Box::new(TimeSeriesSplit::new(k)),
        _ if regression => Box::new(KFold::new(k).shuffled(plan.seed)),
        _ => Box::new(StratifiedKFold::new(k).shuffled(plan.seed)),
    };
    Ok(splitter.split(&y)?)
}

/// A number for the value of each row; missing ones make one group.
fn groups(column: &Column, rows: impl Iterator<Item = usize>) -> Vec<i64> {
    let mut known: HashMap<String, i64> = HashMap::new();
    let mut number = |row: usize| {
        let next = known.len() as i64;
        *known.entry(column.text(row).unwrap_or_default().into_owned()).or_insert(next)
    };
    rows.map(&mut number).collect()
}

/// The codes of a classification's rows, and how many rows each class has.
fn class_counts(target: &Target) -> (Vec<i64>, Vec<usize>) {
    let codes = target.y().to_dtype(DType::I64).to_vec::<i64>();
    let mut counts = vec![0; target.classes().len()];
    codes.iter().for_each(|&code| counts[code as usize] += 1);
    (codes, counts)
}

/// Names of the classes that have one row, if there are any.
pub(super) fn single_rows(target: &Target) -> Option<Vec<String>> {
    if !target.task().is_classification() {
        return None;
    }
    let (_, counts) = class_counts(target);
    let single = target.classes().iter().zip(counts).filter(|(_, count)| *count == 1);
    let names: Vec<String> = single.map(|(name, _)| name.clone()).collect();
    (!names.is_empty()).then_some(names)
}

/// That no number of a column that the model uses is infinite.
pub(super) fn check_finite(table: &Table, schema: &Schema) -> Result<()> {
    let seen = [Role::Feature, Role::Target, Role::Weight].into_iter().flat_map(|role| schema.with(role));
    for name in seen {
        let column = table.column(name)?;
        let endless = (0..column.len()).find(|&row| column.number(row).is_some_and(f64::is_infinite));
        if let Some(row) = endless {
            let value = column.text(row).unwrap_or_default();
            let problem = Problem::new(format!("column {name} is {value} in row {}", row + 1)).advice("fix the value");
            return Err(TabularError::plan(problem.remedy(Remedy::DropColumn { column: name.to_owned() })));
        }
    }
    Ok(())
}

/// The entries of a vector at these places.
pub(super) fn taken(x: &Tensor, rows: &[usize]) -> Result<Tensor> {
    let places: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    Ok(x.try_index_select(0, &Tensor::from_slice(&places))?)
}
