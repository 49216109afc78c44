//! A fitted model with everything needed to use it on another table.

use std::path::Path;

use serde_json::{Value, json};
use tove_data::table::{Column, Conformed, Encoded, Schema, Table, TableEncoder, TargetLabels, Task};
use tove_learn::neighbors::Neighbors;
use tove_learn::{Csr, Model, Predict, Record, Rows, restore};
use tove_tensor::Tensor;
use tove_tensor::io::WriteOptions;
use tove_trust::drift::TrainingProfile;

use super::batch::{Answers, joined};
use super::batch_invariant::BatchInvariant;
use super::{Result, RowContext, Safeguards, TabularError};
use crate::estimators;

const KIND: &str = "TabularModel";

/// Columns with a number of rows each.
pub type ColumnCounts = Vec<(String, usize)>;

/// A model of a table's rows: schema, encoder, fitted estimator.
pub struct TabularModel {
    pub(super) schema: Schema,
    pub(super) encoder: TableEncoder,
    pub(super) labels: TargetLabels,
    pub(super) target: String,
    pub(super) model: Box<dyn Model>,
    pub(super) safeguards: Safeguards,
    pub(super) profile: Option<TrainingProfile>,
    pub(super) facts: Value,
}

/// Predictions for the rows of a table.
#[derive(Clone, Debug)]
pub struct Predictions {
    /// A class name or a number per row.
    pub column: Column,
    /// Probabilities (rows, classes), where the model gives them.
    pub probabilities: Option<Tensor>,
    /// For each row and class whether the class is in the prediction set (u8, rows by classes), where the model guarantees coverage.
    pub sets: Option<Tensor>,
    /// Lower and upper end of the prediction interval (rows, 2), where the model guarantees coverage.
    pub intervals: Option<Tensor>,
    /// What had to be done to make the table fit: columns left out, kinds converted, categories never seen.
    pub conformed: Conformed,
    /// Columns in which missing values were filled, and how many.
    pub imputed: ColumnCounts,
}

/// A table, or some of its rows, encoded: sparse where that is the better way and the model takes it.
pub(super) fn encoded(
    encoder: &TableEncoder,
    table: &Table,
    rows: Option<&[usize]>,
    sparse: bool,
) -> Result<Encoded<Rows>> {
    if sparse && encoder.prefers_sparse() {
        let encoded = match rows {
            Some(rows) => encoder.encode_sparse_rows(table, rows)?,
            None => encoder.encode_sparse(table)?,
        };
        let Encoded { x, unseen, imputed } = encoded;
        let columns = x.n_cols;
        let (indptr, indices, values) = x.into_parts()?;
        let x = Csr::new(indptr, indices, values, columns)?.into();
        return Ok(Encoded { x, unseen, imputed });
    }
    let encoded = match rows {
        Some(rows) => encoder.encode_rows(table, rows)?,
        None => encoder.encode(table)?,
    };
    let Encoded { x, unseen, imputed } = encoded;
    Ok(Encoded { x: x.into(), unseen, imputed })
}

impl TabularModel {
    /// The estimator, wrapped so that its answer for a row does not depend on the other rows.
    pub(super) fn batch_invariant(model: Box<dyn Model>) -> Box<dyn Model> {
        Box::new(BatchInvariant::new(model))
    }

    /// The columns it was fitted on, with their roles.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// How rows become numbers.
    pub fn encoder(&self) -> &TableEncoder {
        &self.encoder
    }

    /// The name of the target column; `cluster` for a clustering, which has none.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The name of the column of predictions: `predicted TARGET`, or `cluster`.
    pub fn predicted(&self) -> String {
        match self.labels.task {
            Task::Clustering(_) => self.target.clone(),
            _ => format!("predicted {}", self.target),
        }
    }

    /// What the probabilities of [`Predictions`] are those of: names of classes, or `cluster 0`, `cluster 1`, …; empty if the model
    /// gives none.
    pub fn probability_names(&self) -> Vec<String> {
        if !self.model.capabilities().probabilities {
            return Vec::new();
        }
        if let Task::Clustering(clusters) = self.labels.task {
            return (0..clusters).map(|cluster| format!("cluster {cluster}")).collect();
        }
        let name = |&class: &i64| self.labels.classes.get(class as usize).cloned();
        self.model.classes().iter().map(|class| name(class).unwrap_or_else(|| class.to_string())).collect()
    }

    /// What is predicted.
    pub fn task(&self) -> Task {
        self.labels.task
    }

    /// Names of the classes; empty for a regression.
    pub fn classes(&self) -> &[String] {
        &self.labels.classes
    }

    /// How the target's values become numbers and back.
    pub fn labels(&self) -> &TargetLabels {
        &self.labels
    }

    /// The fitted estimator. Its answer for a row does not depend on the other rows, to the last bit.
    pub fn model(&self) -> &dyn Model {
        &*self.model
    }

    /// What was written down at fitting: seed, rows, scores, version.
    pub fn facts(&self) -> &Value {
        &self.facts
    }

    /// What is done to the answers: decisions by groups, prediction sets or intervals.
    pub fn safeguards(&self) -> &Safeguards {
        &self.safeguards
    }

    /// The features of a table as the model's rows, with what had to be done and what else is known of them.
    pub fn rows(&self, table: &Table) -> Result<(Rows, RowContext)> {
        let (table, conformed) = self.schema.conform(table)?;
        let sparse = self.model.capabilities().sparse;
        let rows = encoded(&self.encoder, &table, None, sparse)?;
        let context = self.safeguards.context(&table, &rows.x)?;
        Ok((rows.x, RowContext { conformed, imputed: rows.imputed, ..context }))
    }

    /// Predictions for a table that has the columns of the schema; the target is not needed.
    pub fn predict(&self, table: &Table) -> Result<Predictions> {
        let (rows, context) = self.rows(table)?;
        self.predictions(self.ask(&rows)?, context)
    }

    /// What the model says of rows that [`TabularModel::rows`] made.
    pub fn ask(&self, rows: &Rows) -> Result<Answers> {
        let gives = self.model.capabilities().probabilities;
        let probabilities = gives.then(|| self.model.predict_proba(rows)).transpose()?;
        Ok(Answers { values: self.model.predict(rows)?, probabilities })
    }

    /// The `k` rows of the fit nearest to each row of a table, the nearest first, for models that keep them (the capability
    /// `neighbors`): their numbers, from 0 in the order of the training rows, and their distances.
    ///
    /// # Errors
    /// If the model keeps no rows, or fewer than `k`.
    pub fn kneighbors(&self, rows: &Rows, k: usize) -> Result<Neighbors> {
        Ok(self.model.kneighbors(rows, k)?)
    }

    /// What the model says of the rows of several tables, asked at once. Each gets the bits that it would get alone.
    ///
    /// ```
    /// # use tove::tabular::{Candidate, Plan};
    /// let text = "size,kind\n1,a\n2,a\n3,b\n4,b\n1.5,a\n2.5,a\n3.5,b\n4.5,b\n1,a\n4,b\n";
    /// let (table, _) = tove::data::table::CsvOptions::new().read_bytes(text.as_bytes())?;
    /// let candidate = Candidate::named("LogisticRegression")?;
    /// let model = Plan::new("kind").folds(0).fit(&table, &[candidate], &mut |_| {})?.model;
    /// let (one, all) = (model.rows(&table.take(&[3])?)?.0, model.rows(&table)?.0);
    /// let answers = model.ask_together(&[&one, &all])?;
    /// assert_eq!(answers[0].values.to_vec::<i64>(), model.ask(&one)?.values.to_vec::<i64>());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask_together(&self, parts: &[&Rows]) -> Result<Vec<Answers>> {
        self.ask(&joined(parts)?)?.parted(parts.iter().map(|rows| rows.len()))
    }

    /// Answers in the words of the table, with the safeguards of the model.
    pub fn predictions(&self, answers: Answers, context: RowContext) -> Result<Predictions> {
        let (sets, intervals) = self.safeguards.regions(&answers, &context)?;
        let column = self.labels.decode(&self.safeguards.decide(&answers, &context)?)?;
        let RowContext { conformed, imputed, .. } = context;
        Ok(Predictions { column, probabilities: answers.probabilities, sets, intervals, conformed, imputed })
    }

    /// The predictions with the second of two classes wherever its probability is at least `threshold`, and the first elsewhere.
    ///
    /// ```
    /// # use tove::tabular::{Candidate, Plan};
    /// let text = "size,kind\n1,a\n2,a\n3,b\n4,b\n1.5,a\n2.5,a\n3.5,b\n4.5,b\n1,a\n4,b\n";
    /// let (table, _) = tove::data::table::CsvOptions::new().read_bytes(text.as_bytes())?;
    /// let candidate = Candidate::named("LogisticRegression")?;
    /// let model = Plan::new("kind").folds(0).fit(&table, &[candidate], &mut |_| {})?.model;
    /// let all = model.at_threshold(model.predict(&table)?, 0.0)?;
    /// assert_eq!(all.column.text(0).as_deref(), Some("b"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the threshold is not a probability, or the model is not a classifier of two classes with probabilities.
    pub fn at_threshold(&self, predictions: Predictions, threshold: f64) -> Result<Predictions> {
        let (Some(probabilities), &[first, second]) = (&predictions.probabilities, self.model.classes()) else {
            let name = self.model.name();
            let problem =
                format!("a threshold needs the probabilities of two classes, which {name} does not give here");
            return Err(TabularError::Plan(problem.into()));
        };
        if !(0.0..=1.0).contains(&threshold) {
            return Err(TabularError::Plan(format!("the threshold is {threshold}; it must be between 0 and 1").into()));
        }
        let probabilities = probabilities.to_f64_vec();
        let codes: Vec<i64> =
            probabilities.chunks(2).map(|row| if row[1] >= threshold { second } else { first }).collect();
        let column = self.labels.decode(&Tensor::from(codes))?;
        Ok(Predictions { column, ..predictions })
    }

    /// The model as a record.
    pub fn record(&self) -> Result<Record> {
        let (encoder, numbers) = self.encoder.to_state()?;
        let mut record = Record::new(KIND, 1);
        let document = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
        record.put("tove", env!("CARGO_PKG_VERSION"));
        record.put("target", self.target.as_str());
        record.put("labels", json!(self.labels));
        record.put("schema", document(&self.schema.to_json()?));
        record.put("encoder", document(&encoder));
        record.put("features", self.encoder.feature_names().to_vec());
        record.put("facts", self.facts.clone());
        if !self.safeguards.is_empty() {
            record.put("safeguards", self.safeguards.to_json());
        }
        if let Some(profile) = &self.profile {
            record.put("profile", profile.to_json());
        }
        record.put_tensor("encoder", &numbers);
        record.put_part("model", self.model.record());
        Ok(record)
    }

    /// Reads what [`TabularModel::record`] wrote.
    pub fn restore(record: &Record) -> Result<TabularModel> {
        estimators::register();
        record.expect(KIND, 1)?;
        let damaged = |what: &str| record.wrong(what, "what it should be");
        let labels: TargetLabels =
            serde_json::from_value(record.get("labels")?.clone()).map_err(|_| damaged("labels"))?;
        let schema = Schema::from_json(&record.get("schema")?.to_string())?;
        let encoder = TableEncoder::from_state(&record.get("encoder")?.to_string(), record.tensor("encoder")?)?;
        let model = TabularModel::batch_invariant(restore(&record.part("model")?)?);
        let classes: Vec<i64> = (0..labels.classes.len() as i64).collect();
        // A model may have seen fewer classes than the table has, never others.
        if model.width() != encoder.feature_names().len()
            || !model.classes().iter().all(|class| classes.contains(class))
        {
            return Err(TabularError::from(damaged("model")));
        }
        let safeguards = match record.get("safeguards") {
            Ok(written) => Safeguards::from_json(written, &schema, &labels).ok_or_else(|| damaged("safeguards"))?,
            Err(_) => Safeguards::default(),
        };
        let profile = match record.get("profile") {
            Ok(written) => Some(TrainingProfile::from_json(written).map_err(|_| damaged("profile"))?),
            Err(_) => None,
        };
        Ok(TabularModel {
            schema,
            encoder,
            labels,
            target: record.text("target")?.to_owned(),
            model,
            safeguards,
            profile,
            facts: record.get("facts")?.clone(),
        })
    }

    /// Writes the model file; complete or not at all, and never over an existing one unless asked.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        Ok(self.record()?.save(path, options)?)
    }

    /// Reads a model file.
    pub fn load(path: impl AsRef<Path>) -> Result<TabularModel> {
        TabularModel::restore(&Record::load(path)?)
    }
}
