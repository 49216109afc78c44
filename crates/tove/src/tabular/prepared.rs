//! The first stage: a table with its schema, its encoded target and its weights, established once.

use tove_data::table::{Role, Schema, Table, TableEncoder, Target};
use tove_data::{Problem, Remedy};
use tove_learn::{Estimator, Predictions, Rows, Samples};
use tove_tensor::{DType, Tensor};

use super::fingerprint::{feature_sum, fingerprint, row_sum};
use super::model::encoded;
use super::split::{check_finite, taken};
use super::{Candidate, ClassWeights, ColumnCounts, Plan, Result, TabularError};

/// A table that is ready to be fitted to. All later stages read it; none derives the schema or the target again.
pub(super) struct Prepared<'p> {
    pub plan: &'p Plan,
    /// The rows that have a target; those of a separate test table come last.
    pub table: Table,
    pub schema: Schema,
    pub target: Target,
    /// Sample weights, if a column has them.
    pub weights: Option<Tensor>,
    /// Rows of the table itself, without those of a separate test table.
    pub own_rows: usize,
    /// Rows left out because they have no target.
    pub dropped: usize,
    /// Recognizes the table when the model is evaluated on it.
    pub fingerprint: String,
    /// Recognizes the values of the target, whatever the features.
    pub target_fingerprint: String,
}

/// Rows to fit and rows to evaluate on, encoded by an encoder that was fitted to the former.
pub(super) struct Parts {
    pub encoder: TableEncoder,
    pub train: Samples,
    pub test: Samples,
    pub imputed: ColumnCounts,
    pub unseen: ColumnCounts,
}

impl Plan {
    /// Establishes roles, target and weights of the table, and of a separate test table behind it.
    pub(super) fn prepare(&self, table: &Table, test: Option<&Table>) -> Result<Prepared<'_>> {
        let schema = self.schema(table)?;
        self.check(&schema)?;
        let (mut table, mut dropped) = table.drop_missing(&[&self.target])?;
        let own_rows = table.n_rows();
        let target_fingerprint = fingerprint(row_sum(&[table.column(&self.target)?], own_rows));
        let fingerprint = fingerprint(feature_sum(&table, &schema));
        if let Some(test) = test {
            let (more, without) = self.conformed(&schema, test)?;
            (table, dropped) = (table.append(&more)?, dropped + without);
        }
        let target = Target::encode(table.column(&self.target)?, self.kind)?;
        let weights = row_weights(&table, &schema)?;
        check_finite(&table, &schema)?;
        Ok(Prepared { plan: self, table, schema, target, weights, own_rows, dropped, fingerprint, target_fingerprint })
    }

    /// A test table with the columns of the schema and a target in every row.
    pub(super) fn conformed(&self, schema: &Schema, test: &Table) -> Result<(Table, usize)> {
        let (test, _) = schema.conform(test)?;
        let (test, dropped) = test.drop_missing(&[&self.target])?;
        if test.n_rows() == 0 {
            return Err(TabularError::plan("the test table has no row with a target"));
        }
        Ok((test, dropped))
    }
}

/// The sample weights of a table's rows, if a column of the schema has that role and the table has it.
///
/// # Errors
/// If a weight is missing, negative or not finite.
pub(super) fn row_weights(table: &Table, schema: &Schema) -> Result<Option<Tensor>> {
    let Some(name) = schema.with(Role::Weight).next().filter(|name| table.has(name)) else { return Ok(None) };
    let column = table.column(name)?;
    let kind = column.kind();
    if !kind.is_numeric() {
        let problem = format!("the sample-weight column {name} holds {kind} values, not numbers");
        return Err(TabularError::plan(format!("{problem}; fix its cells, or choose another column")));
    }
    let wrong = |row: usize| {
        let value = column.text(row).map_or_else(|| "missing".to_owned(), |text| text.into_owned());
        let problem = format!("the sample weight in column {name} is {value} in row {}", row + 1);
        TabularError::plan(format!("{problem}; weights must be finite and non-negative"))
    };
    let weight = |row: usize| column.number(row).filter(|weight| *weight >= 0.0 && weight.is_finite());
    let numbers: Result<Vec<f64>> = (0..column.len()).map(|row| weight(row).ok_or_else(|| wrong(row))).collect();
    Ok(Some(Tensor::try_from_vec(numbers?, [column.len()])?))
}

/// Weights of rows, times those of their classes.
pub(super) fn weigh(
    weights: Option<Tensor>,
    classes: Option<&ClassWeights>,
    (names, y): (&[String], &Tensor),
    counts: Option<&[usize]>,
) -> Result<Option<Tensor>> {
    let Some(classes) = classes else { return Ok(weights) };
    if names.is_empty() {
        return Err(no_classes());
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

#[cold]
pub(super) fn no_classes() -> TabularError {
    let problem = Problem::new("class weights are for classification; this is a regression");
    TabularError::plan(problem.remedy(Remedy::ClassWeight))
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

/// That every candidate predicts what the target requires.
pub(super) fn check_candidates(candidates: &[Candidate], classifies: bool, target: &str) -> Result<()> {
    let predictions = if classifies { Predictions::Classes } else { Predictions::Numbers };
    let suits = |candidate: &&Candidate| candidate.predicts(predictions);
    match candidates.iter().find(|candidate| !suits(candidate)) {
        None => Ok(()),
        Some(candidate) => {
            let (name, kind) = (&candidate.name, candidate.estimator.capabilities().kind());
            let wanted = if classifies { "classifier" } else { "regressor" };
            let problem = Problem::new(format!("{name} is a {kind}, and {target} requires a {wanted}"));
            Err(TabularError::plan(problem.remedy(Remedy::Model)))
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
        let problem = Problem::new(format!("{name} takes no sample weights, so classes cannot be weighted"));
        return Err(TabularError::plan(problem.remedy(Remedy::ClassWeight).remedy(Remedy::Model)));
    }
    if let Some(column) = schema.with(Role::Weight).next() {
        let problem = Problem::new(format!("{name} takes no sample weights, and column {column} holds them"));
        return Err(TabularError::plan(problem.remedy(Remedy::Model)));
    }
    Ok(())
}

impl Prepared<'_> {
    /// Whether the target has classes.
    pub(super) fn classifies(&self) -> bool {
        self.target.task().is_classification()
    }

    /// How many rows of equal weight are as informative as these: (Σw)²/Σw².
    pub(super) fn effective(&self, rows: &[usize]) -> usize {
        let Some(weights) = self.weights.as_ref().map(Tensor::to_f64_vec) else { return rows.len() };
        let (sum, squares) = rows.iter().fold((0.0, 0.0), |(sum, squares), &row| {
            let weight = weights[row];
            (sum + weight, squares + weight * weight)
        });
        if squares > 0.0 { (sum * sum / squares) as usize } else { 0 }
    }

    /// Rows to evaluate on, with the columns in which values were missing, or categories never seen.
    pub(super) fn held_out(
        &self,
        encoder: &TableEncoder,
        rows: &[usize],
        estimator: &dyn Estimator,
    ) -> Result<(Samples, ColumnCounts, ColumnCounts)> {
        let capabilities = estimator.capabilities();
        let encoded = encoded(encoder, &self.table, Some(rows), capabilities.sparse)?;
        Ok((self.samples(rows, encoded.x, capabilities.weights, None)?, encoded.imputed, encoded.unseen))
    }

    /// Samples of encoded rows, weighted if the estimator takes weights.
    pub(super) fn samples(
        &self,
        rows: &[usize],
        x: Rows,
        weighted: bool,
        classes: Option<&ClassWeights>,
    ) -> Result<Samples> {
        let y = taken(self.target.y(), rows)?;
        let known = self.weights.as_ref().filter(|_| weighted).map(|all| taken(all, rows)).transpose()?;
        let weights = weigh(known, classes, (self.target.classes(), &y), None)?;
        let samples = Samples::new(x, &y)?;
        Ok(match weights {
            Some(weights) => samples.weighted(&weights)?,
            None => samples,
        })
    }
}
