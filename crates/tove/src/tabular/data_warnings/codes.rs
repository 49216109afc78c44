//! Whole numbers that are codes, whatever their column is called.
//!
//! The training rows are halved. Rows of the second half are answered by the mean target of the rows of the first that have
//! the same number, and by that of the rows with the numbers nearest to it. Near a quantity its neighbors tell as much as it
//! does; near a code they tell nothing.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use tove_data::table::{Column, Role, Schema, Table, Target};
use tove_tensor::DType;

use super::{DataWarning, MANY_CODES, names_rows, number_codes};

/// Maximum number of rows that are read, and minimum number of rows for the evaluation.
const LOOKED_AT: usize = 40_000;
const JUDGES: usize = 200;
/// Rows of each number in the mean, at least.
const REPEATED: usize = 4;
/// Numbers on each side that count as neighbors.
const NEIGHBORS: usize = 3;
/// Rows at the mean of all that are added to those of a number, so that a few rows do not say too much.
const PRIOR: f64 = 3.0;
/// The part of the variance that the codes must explain, and the part of it that their neighbors may explain at most.
const EXPLAINED: f64 = 0.05;
const BY_NEIGHBORS: f64 = 0.5;
/// Classes that are distinguished; the rest are one more.
const CLASSES: i64 = 8;

/// The features that are used as quantities and look like codes by their values.
pub fn codes(table: &Table, schema: &Schema, target: &Target, train: &[usize]) -> Vec<DataWarning> {
    let step = train.len().div_ceil(LOOKED_AT).max(1);
    let rows: Vec<usize> = train.iter().step_by(step).copied().collect();
    let y: Vec<Vec<f64>> = match target.task().is_classification() {
        false => target.y().to_f64_vec().into_iter().map(|y| vec![y]).collect(),
        true => {
            let classes = target.y().to_dtype(DType::I64).to_vec::<i64>();
            let told = |class: i64| (0..CLASSES).map(|one| f64::from(u8::from(one == class))).collect();
            classes.into_iter().map(told).collect()
        }
    };
    let found = schema.with(Role::Feature).filter_map(|name| {
        let column = table.column(name).ok()?;
        // What its name or its values have told already is not told again.
        if number_codes(name, column).is_some() || names_rows(name, column) {
            return None;
        }
        let distinct = distinct_codes(column, &y, &rows)?;
        Some(DataWarning::Codes { column: name.to_owned(), distinct })
    });
    found.collect()
}

/// Sums of targets and numbers of rows.
#[derive(Clone, Default)]
struct Sum(Vec<f64>, f64);

impl Sum {
    fn add(&mut self, y: &[f64], rows: f64) {
        self.0.resize(y.len(), 0.0);
        self.0.iter_mut().zip(y).for_each(|(sum, y)| *sum += y);
        self.1 += rows;
    }

    /// The mean, drawn towards that of all rows.
    fn mean(&self, all: &[f64]) -> Vec<f64> {
        let sum = |place: usize| self.0.get(place).copied().unwrap_or(0.0);
        all.iter().enumerate().map(|(place, all)| (sum(place) + PRIOR * all) / (self.1 + PRIOR)).collect()
    }
}

/// How many different numbers there are, if they are codes.
fn distinct_codes(column: &Column, y: &[Vec<f64>], rows: &[usize]) -> Option<usize> {
    let Column::Integer(values) = column else { return None };
    let present: Vec<(i64, &[f64])> = rows.iter().filter_map(|&row| Some((values.get(row)?, &y[row][..]))).collect();
    let (mut known, mut all): (BTreeMap<i64, Sum>, Sum) = Default::default();
    for (value, y) in present.iter().step_by(2) {
        known.entry(*value).or_default().add(y, 1.0);
        all.add(y, 1.0);
    }
    let asked: Vec<&(i64, &[f64])> = present.iter().skip(1).step_by(2).collect();
    if known.len() < MANY_CODES || asked.len() < JUDGES.max(REPEATED * known.len() / 2) {
        return None;
    }
    let mean: Vec<f64> = all.0.iter().map(|sum| sum / all.1).collect();
    let mut answers: HashMap<i64, (Vec<f64>, Vec<f64>)> = HashMap::new();
    let mut errors = [0.0; 3];
    for (value, y) in asked {
        let (own, near) = answers.entry(*value).or_insert_with(|| {
            let mut near = Sum::default();
            let below = known.range(..value).rev().take(NEIGHBORS);
            let above = known.range((Bound::Excluded(*value), Bound::Unbounded)).take(NEIGHBORS);
            below.chain(above).for_each(|(_, sum)| near.add(&sum.0, sum.1));
            (known.get(value).cloned().unwrap_or_default().mean(&mean), near.mean(&mean))
        });
        for (error, answer) in errors.iter_mut().zip([&mean, own, near]) {
            *error += answer.iter().zip(*y).map(|(answer, y)| (answer - y).powi(2)).sum::<f64>();
        }
    }
    let explained = |place: usize| 1.0 - errors[place] / errors[0];
    let coded = explained(1) >= EXPLAINED && explained(2) <= BY_NEIGHBORS * explained(1);
    coded.then_some(known.len())
}
