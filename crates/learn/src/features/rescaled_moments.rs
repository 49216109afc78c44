//! Means and standard deviations of columns whose squares overflow or underflow.
//!
//! A column of magnitude 1e200 has a standard deviation, but its variance overflows; for 1e-200 the variance underflows
//! to 0. Such columns are counted value by value in units of their own ([`ColumnMoments`]).

use tove_data::ColumnMoments;

use super::columns::each;
use crate::{Result, Rows};

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
    let mut found = vec![ColumnMoments::default(); mean.len()];
    let mut missing = vec![0.0; mean.len()];
    each(x, |row, column, value| {
        if suspect[column] && value.is_nan() {
            missing[column] += weight(row);
        } else if suspect[column] {
            found[column].merge(&ColumnMoments::at(value, weight(row)));
        }
    })?;
    let total: f64 = weights.map_or(x.len() as f64, |weights| weights.iter().sum());
    for (column, found) in found.iter_mut().enumerate().filter(|(column, _)| suspect[*column]) {
        if matches!(x, Rows::Sparse(_)) {
            let absent = total - found.weight() - missing[column];
            found.merge(&ColumnMoments::at(0.0, absent.max(0.0)));
        }
        if found.is_rescaled() && !found.is_constant() {
            (mean[column], deviation[column]) = (found.mean(), found.deviation());
        }
    }
    Ok(())
}
