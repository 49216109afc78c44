//! Target encoding: the mean target of a category.
//!
//! A category with n rows of target y gets (Σ y + a·p) / (n + a), p the mean over all rows: rare categories lean on the
//! whole. A training row must not see its own target, so its value comes from the rows of the other folds.

use tove_tensor::random::permutation;
use tove_tensor::{DType, Key};

use super::column_encoding::used;
use crate::table::{Categorical, Target, Task};
use crate::{DataError, Result};

/// Targets as numbers to be averaged: one per row for a regression and two classes, one per class for more.
pub(super) struct Outputs {
    pub count: usize,
    values: Vec<f64>,
}

impl Outputs {
    pub fn of(target: &Target) -> Self {
        match target.task() {
            Task::Multiclass(classes) => {
                let codes = target.y().to_dtype(DType::I64).to_vec::<i64>();
                let mut values = vec![0.0; codes.len() * classes];
                for (row, &code) in codes.iter().enumerate() {
                    values[row * classes + code as usize] = 1.0;
                }
                Self { count: classes, values }
            }
            Task::Regression | Task::Binary | Task::Clustering(_) => Self { count: 1, values: target.y().to_f64_vec() },
        }
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.count..(row + 1) * self.count]
    }
}

/// Sums and counts per category.
#[derive(Clone)]
struct Sums {
    sums: Vec<f64>,
    rows: Vec<f64>,
    total: Vec<f64>,
    all: f64,
    outputs: usize,
}

impl Sums {
    fn new(categories: usize, outputs: usize) -> Self {
        let sums = vec![0.0; categories * outputs];
        Self { sums, rows: vec![0.0; categories], total: vec![0.0; outputs], all: 0.0, outputs }
    }

    fn add(&mut self, category: Option<usize>, values: &[f64]) {
        self.all += 1.0;
        self.total.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        if let Some(category) = category {
            self.rows[category] += 1.0;
            let start = category * self.outputs;
            self.sums[start..start + self.outputs].iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
    }

    fn prior(&self, output: usize) -> f64 {
        self.total[output] / self.all.max(1.0)
    }

    fn mean(&self, category: Option<usize>, output: usize, smoothing: f64) -> f64 {
        let Some(category) = category else { return self.prior(output) };
        let weight = self.rows[category] + smoothing;
        if weight == 0.0 {
            return self.prior(output);
        }
        (self.sums[category * self.outputs + output] + smoothing * self.prior(output)) / weight
    }
}

/// The numbers of a `TargetMean` part, and the out-of-fold values of the training rows (rows × outputs).
pub(super) fn fit(
    values: &Categorical,
    outputs: &Outputs,
    (smoothing, folds, seed): (f64, usize, u64),
) -> Result<(Vec<f64>, Vec<f64>)> {
    let rows = values.len();
    if !(smoothing >= 0.0 && smoothing.is_finite()) || folds < 2 {
        let problem = format!("smoothing {smoothing} and {folds} folds; give at least 0 and at least 2");
        return Err(DataError::parameter("target encoding", problem));
    }
    // The part knows the categories that occur, in their order.
    let names = used(values);
    let mut next = 0;
    let place: Vec<Option<usize>> = values
        .counts()
        .iter()
        .map(|&count| {
            next += usize::from(count > 0);
            (count > 0).then(|| next - 1)
        })
        .collect();
    let category = |row: usize| values.code(row).and_then(|code| place[code as usize]);
    let mut fold = vec![0; rows];
    permutation(Key::new(seed), rows).iter().enumerate().for_each(|(at, &row)| fold[row as usize] = at % folds);
    let mut whole = Sums::new(names.len(), outputs.count);
    let mut others = vec![Sums::new(names.len(), outputs.count); folds];
    for (row, &own) in fold.iter().enumerate() {
        whole.add(category(row), outputs.row(row));
        let apart = others.iter_mut().enumerate().filter(|(number, _)| *number != own);
        apart.for_each(|(_, sums)| sums.add(category(row), outputs.row(row)));
    }
    let all = (0..names.len()).map(Some);
    let numbers = std::iter::once(None).chain(all).flat_map(|category| {
        let whole = &whole;
        (0..outputs.count).map(move |output| whole.mean(category, output, smoothing))
    });
    let training = (0..rows).flat_map(|row| {
        let sums = &others[fold[row]];
        (0..outputs.count).map(move |output| sums.mean(category(row), output, smoothing))
    });
    Ok((numbers.collect(), training.collect()))
}
