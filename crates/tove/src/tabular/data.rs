//! A table with what is known of it, and its rows as samples.

use tove_data::table::{Role, Schema, Table, TableEncoder, Target, TaskKind};
use tove_learn::{Estimator, Rows, Samples};
use tove_tensor::{DType, Tensor};

use super::division::taken;
use super::model::encoded;
use super::{ClassWeights, ColumnCounts, Plan, Result, TabularError};

/// Weights of rows, times those of their classes.
pub(super) fn weigh(
    weights: Option<Tensor>,
    classes: Option<&ClassWeights>,
    (names, y): (&[String], &Tensor),
    counts: Option<&[usize]>,
) -> Result<Option<Tensor>> {
    let Some(classes) = classes else { return Ok(weights) };
    if names.is_empty() {
        return Err(TabularError::Plan("class weights are for classifications; this is a regression".into()));
    }
    let codes = y.to_dtype(DType::I64).to_vec::<i64>();
    let mut here = vec![0; names.len()];
    codes.iter().for_each(|&code| here[code as usize] += 1);
    let of = classes.per_class(names, counts.unwrap_or(&here))?;
    let known = weights.map(|weights| weights.to_f64_vec());
    let row = |(place, &code): (usize, &i64)| of[code as usize] * known.as_ref().map_or(1.0, |known| known[place]);
    let product: Vec<f64> = codes.iter().enumerate().map(row).collect();
    Ok(Some(Tensor::try_from_vec(product, [codes.len()])?))
}

/// A table with what is known of it.
pub(super) struct Data<'t> {
    pub table: &'t Table,
    pub schema: &'t Schema,
    pub target: &'t Target,
    pub weights: Option<&'t Tensor>,
    pub plan: &'t Plan,
}

/// Rows to fit and rows to judge, encoded by what the first ones showed.
pub(super) struct Parts {
    pub encoder: TableEncoder,
    pub train: Samples,
    pub test: Samples,
    pub imputed: ColumnCounts,
    pub unseen: ColumnCounts,
}

/// Adds counts by column.
pub(super) fn add_counts(all: &mut ColumnCounts, more: &[(String, usize)]) {
    for (name, count) in more {
        match all.iter_mut().find(|(known, _)| known == name) {
            Some((_, sum)) => *sum += count,
            None => all.push((name.clone(), *count)),
        }
    }
}

/// That the estimator takes the weights of rows and classes that the plan gives them.
pub(super) fn check_weights(plan: &Plan, schema: &Schema, estimator: &dyn Estimator) -> Result<()> {
    if estimator.capabilities().weights {
        return Ok(());
    }
    let name = estimator.name();
    if plan.class_weights.is_some() {
        return Err(TabularError::Plan(format!("{name} takes no sample weights, so classes cannot be weighted")));
    }
    if let Some(column) = schema.with(Role::Weight).next() {
        return Err(TabularError::Plan(format!("{name} takes no sample weights, and column {column} holds them")));
    }
    Ok(())
}

impl Data<'_> {
    pub(super) fn task(&self) -> TaskKind {
        self.target.task().kind()
    }

    /// How many rows of equal weight judge as surely as these: (Σw)²/Σw².
    pub(super) fn effective(&self, rows: &[usize]) -> usize {
        let Some(weights) = self.weights.map(Tensor::to_f64_vec) else { return rows.len() };
        let (sum, squares) = rows.iter().fold((0.0, 0.0), |(sum, squares), &row| {
            let weight = weights[row];
            (sum + weight, squares + weight * weight)
        });
        if squares > 0.0 { (sum * sum / squares) as usize } else { 0 }
    }

    /// Rows to judge by, with the columns in which values were missing, or categories never seen.
    pub(super) fn judged(
        &self,
        encoder: &TableEncoder,
        rows: &[usize],
        estimator: &dyn Estimator,
    ) -> Result<(Samples, ColumnCounts, ColumnCounts)> {
        let capabilities = estimator.capabilities();
        let judged = encoded(encoder, &self.table.take(rows)?, capabilities.sparse)?;
        Ok((self.part(rows, judged.x, capabilities.weights, None)?, judged.imputed, judged.unseen))
    }

    /// Samples of encoded rows, weighed if the estimator takes weights.
    pub(super) fn part(
        &self,
        rows: &[usize],
        x: Rows,
        weighed: bool,
        classes: Option<&ClassWeights>,
    ) -> Result<Samples> {
        let y = taken(self.target.y(), rows)?;
        let known = self.weights.filter(|_| weighed).map(|all| taken(all, rows)).transpose()?;
        let weights = weigh(known, classes, (self.target.classes(), &y), None)?;
        let samples = Samples::new(x, &y)?;
        Ok(match weights {
            Some(weights) => samples.weighted(&weights)?,
            None => samples,
        })
    }
}
