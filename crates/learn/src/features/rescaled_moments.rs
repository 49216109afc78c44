//! Means and standard deviations of columns whose squares overflow or underflow.
//!
//! A column of magnitude 1e200 has a standard deviation, but its variance overflows; for 1e-200 the variance underflows
//! to 0. Such columns are first divided by their largest absolute value.

use super::columns::each;
use crate::{Result, Rows};

/// Outside this range squares are not reliable.
const ORDINARY: std::ops::RangeInclusive<f64> = 1e-140..=1e140;

/// Recomputes mean and standard deviation of the columns where the usual formulas overflow or underflow.
pub(super) fn repair(
    x: &Rows,
    weights: Option<&[f64]>,
    mean: &mut [f64],
    variance: &[f64],
    deviation: &mut [f64],
) -> Result<()> {
    let suspect: Vec<bool> =
        mean.iter().zip(variance).map(|(mean, var)| !(mean.is_finite() && var.is_finite() && *var > 1e-280)).collect();
    if !suspect.contains(&true) {
        return Ok(());
    }
    let weight = |row: usize| weights.map_or(1.0, |weights| weights[row]);
    // Minimum, maximum and number of stored values of the affected columns.
    let mut columns = vec![Column::default(); mean.len()];
    each(x, |row, column, value| {
        if suspect[column] {
            columns[column].see(value, weight(row));
        }
    })?;
    let total: f64 = weights.map_or(x.len() as f64, |weights| weights.iter().sum());
    for column in &mut columns {
        if matches!(x, Rows::Sparse(_)) && column.stored < x.len() {
            (column.low, column.high) = (column.low.min(0.0), column.high.max(0.0));
            column.absent = total - column.seen - column.missing;
        }
    }
    let repaired = |column: &Column| column.high > column.low && !ORDINARY.contains(&column.unit());
    if !columns.iter().any(repaired) {
        return Ok(());
    }
    let mut sums = vec![(0.0, 0.0); mean.len()];
    each(x, |row, column, value| {
        let own = &columns[column];
        if suspect[column] && repaired(own) && !value.is_nan() {
            sums[column].0 += weight(row) * (value / own.unit());
        }
    })?;
    for (sum, column) in sums.iter_mut().zip(&columns) {
        sum.0 /= column.seen + column.absent;
    }
    each(x, |row, column, value| {
        let own = &columns[column];
        if suspect[column] && repaired(own) && !value.is_nan() {
            sums[column].1 += weight(row) * (value / own.unit() - sums[column].0).powi(2);
        }
    })?;
    for (index, column) in columns.iter().enumerate().filter(|(_, column)| repaired(column)) {
        let (center, square) = sums[index];
        let square = (square + column.absent * center * center) / (column.seen + column.absent);
        (mean[index], deviation[index]) = (center * column.unit(), square.sqrt() * column.unit());
    }
    Ok(())
}

#[derive(Clone)]
struct Column {
    low: f64,
    high: f64,
    /// Weight of the values, of the missing values, and of the zeros that are not stored.
    seen: f64,
    missing: f64,
    absent: f64,
    stored: usize,
}

impl Default for Column {
    fn default() -> Column {
        Column { low: f64::INFINITY, high: f64::NEG_INFINITY, seen: 0.0, missing: 0.0, absent: 0.0, stored: 0 }
    }
}

impl Column {
    fn see(&mut self, value: f64, weight: f64) {
        self.stored += 1;
        if value.is_nan() {
            self.missing += weight;
        } else {
            self.seen += weight;
            (self.low, self.high) = (self.low.min(value), self.high.max(value));
        }
    }

    fn unit(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }
}
