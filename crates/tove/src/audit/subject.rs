//! What is audited: the answers of a model, or of any other system, to rows whose truth is known.

use tove_data::table::{Column, Table, TargetLabels, Task};
use tove_learn::Rows;
use tove_tensor::{DType, Tensor};
use tove_trust::Probabilities;

use super::SensitiveColumn;
use crate::tabular::{Result, TabularError, TabularModel};
#[cfg(feature = "images")]
use crate::vision::{ImageModel, Images, ModelError};

/// Where the answers of another system stand in a table.
#[derive(Clone, Debug, Default)]
pub struct PredictionColumns {
    /// The column of predictions; `predicted TARGET` by default.
    pub prediction: Option<String>,
    /// The column with the probability of the second of two classes; by default there is one column `P(class)` per class.
    pub probability: Option<String>,
}

/// Predictions, probabilities and truth of some rows.
pub struct AuditSubject<'m> {
    pub(super) name: String,
    pub(super) target: String,
    /// Empty for a regression.
    pub(super) classes: Vec<String>,
    /// Class codes (i64) or numbers.
    pub(super) truth: Tensor,
    /// As the truth.
    pub(super) predictions: Tensor,
    /// A column for every class.
    pub(super) probabilities: Option<Probabilities>,
    pub(super) sensitive: Vec<SensitiveColumn>,
    /// Rows that were left out because they have no target.
    pub(super) dropped: usize,
    /// The model with its rows, if it is one of ours.
    pub(super) source: Option<(&'m TabularModel, Rows)>,
    /// The model of images with the images, in [0, 1].
    #[cfg(feature = "images")]
    pub(super) images: Option<(&'m ImageModel, Tensor)>,
    /// The columns as they were given.
    pub(super) table: Table,
    /// Those of them that hold the answers of another system.
    pub(super) answers: Vec<String>,
    /// Whether the model was fitted on these rows; none if nothing is known of it.
    pub(super) fitted_on: Option<bool>,
}

impl<'m> AuditSubject<'m> {
    /// The answers of a model to the rows of a table with the target; rows without a target are left out.
    ///
    /// # Errors
    /// A clustering; a table without the columns of the model or without targets; a sensitive column that makes no groups.
    pub fn of_model(model: &'m TabularModel, table: &Table, sensitive: &[String]) -> Result<AuditSubject<'m>> {
        if let Task::Clustering(_) = model.task() {
            return Err(TabularError::plan("a clustering has no target, so there is nothing to audit"));
        }
        let target = model.target();
        let (kept, dropped) = table.drop_missing(&[target])?;
        if kept.n_rows() == 0 {
            return Err(TabularError::plan(format!("no row has a value of {target}")));
        }
        let truth = model.labels().encode(kept.column(target)?)?;
        let (rows, context) = model.rows(&kept)?;
        let answers = model.ask(&rows)?;
        let predictions = model.safeguards().decide(&answers, &context)?;
        let probabilities = match &answers.probabilities {
            Some(given) => Some(complete(given, model.model().classes(), model.classes().len())?),
            None => None,
        };
        let mut evaluator = model.evaluator();
        evaluator.see(&kept)?;
        Ok(AuditSubject {
            name: model.model().name().to_owned(),
            target: target.to_owned(),
            classes: model.classes().to_vec(),
            truth,
            predictions,
            probabilities,
            sensitive: groups(&kept, target, sensitive)?,
            dropped,
            fitted_on: Some(evaluator.finish()?.fitted_on),
            source: Some((model, rows)),
            #[cfg(feature = "images")]
            images: None,
            table: kept,
            answers: Vec::new(),
        })
    }

    /// The answers of a model of images to labeled images, those that their folder sets aside if there are any.
    ///
    /// # Errors
    /// A class that the model does not have; images of another size.
    #[cfg(feature = "images")]
    pub fn of_images(model: &'m ImageModel, images: &Images) -> Result<AuditSubject<'m>, ModelError> {
        let evaluated = model.evaluate(images, None)?;
        let x = images.test.as_ref().unwrap_or(&images.all).x().clone();
        let probabilities = Probabilities::new("audit", &evaluated.probabilities)
            .map_err(|error| ModelError::Source(error.to_string().into()))?;
        let rows = evaluated.truth.numel();
        Ok(AuditSubject {
            name: model.config().name().to_owned(),
            target: "class".to_owned(),
            classes: model.classes().to_vec(),
            truth: evaluated.truth,
            predictions: evaluated.probabilities.argmax(-1),
            probabilities: Some(probabilities),
            sensitive: Vec::new(),
            dropped: 0,
            source: None,
            images: Some((model, x)),
            table: Table::new([("class", Column::integers(vec![0; rows]))])
                .map_err(|error| ModelError::Source(error.to_string().into()))?,
            answers: Vec::new(),
            fitted_on: None,
        })
    }

    /// The answers of any other system, which stand beside the truth in a table.
    ///
    /// # Errors
    /// Columns that lack; predictions of unknown classes; probabilities that are not.
    pub fn of_predictions(
        table: &Table,
        target: &str,
        columns: &PredictionColumns,
        sensitive: &[String],
    ) -> Result<AuditSubject<'static>> {
        let (kept, dropped) = table.drop_missing(&[target])?;
        if kept.n_rows() == 0 {
            return Err(TabularError::plan(format!("no row has a value of {target}")));
        }
        if columns.prediction.as_deref() == Some(target) {
            let problem = format!("{target} is the target; name the column of predictions, such as predicted {target}");
            return Err(TabularError::plan(problem));
        }
        let labels = match &columns.probability {
            Some(_) => TargetLabels::fit(kept.column(target)?, None)?,
            None => labels(&kept, target)?,
        };
        let truth = labels.encode(kept.column(target)?)?;
        let probabilities = given_probabilities(&kept, &labels, columns)?;
        let name = columns.prediction.clone().unwrap_or_else(|| format!("predicted {target}"));
        let predictions = match (&probabilities, kept.has(&name)) {
            (_, true) => given_predictions(&kept, target, &name, &labels)?,
            (Some(probabilities), false) if columns.prediction.is_none() => {
                let top: Vec<i64> = (0..probabilities.len()).map(|row| probabilities.top(row).0 as i64).collect();
                Tensor::from(top)
            }
            _ => {
                let problem = format!(
                    "there is no column {name}; name the column of predictions, or give one column P(class) per class"
                );
                return Err(TabularError::plan(problem));
            }
        };
        Ok(AuditSubject {
            name: "the given predictions".to_owned(),
            target: target.to_owned(),
            classes: labels.classes.clone(),
            truth,
            predictions,
            probabilities,
            sensitive: groups(&kept, target, sensitive)?,
            dropped,
            source: None,
            #[cfg(feature = "images")]
            images: None,
            answers: answers_of(&kept, &name, columns),
            table: kept,
            fitted_on: None,
        })
    }

    /// Number of audited rows.
    pub fn rows(&self) -> usize {
        self.truth.numel()
    }

    /// Rows that were left out because they have no target.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The name of the model.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names of the classes; empty for a regression.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Whether the model was fitted on these rows, so that everything said about them is too optimistic. This is known of models of
    /// tables only.
    pub fn fitted_on(&self) -> bool {
        self.fitted_on == Some(true)
    }

    /// Whether commands such as `tove calibrate` can improve the model.
    pub(super) fn can_be_improved(&self) -> bool {
        self.source.is_some()
    }

    /// Class codes of truth and predictions.
    pub(super) fn codes(&self) -> (Vec<i64>, Vec<i64>) {
        (self.truth.to_dtype(DType::I64).to_vec(), self.predictions.to_dtype(DType::I64).to_vec())
    }
}

/// Probabilities with a column for every class of the table: a model may have seen fewer.
fn complete(given: &Tensor, seen: &[i64], classes: usize) -> Result<Probabilities> {
    let (n, m) = (given.dims()[0], seen.len());
    let values = given.to_f64_vec();
    let mut all = vec![0.0; n * classes];
    for (row, values) in values.chunks(m.max(1)).enumerate() {
        for (&class, &value) in seen.iter().zip(values) {
            all[row * classes + class as usize] = value;
        }
    }
    Ok(Probabilities::new("audit", &Tensor::try_from_vec(all, [n, classes])?)?)
}

/// The sensitive columns, each once.
fn groups(table: &Table, target: &str, names: &[String]) -> Result<Vec<SensitiveColumn>> {
    let mut found: Vec<SensitiveColumn> = Vec::new();
    for name in names {
        if name == target {
            let problem = format!("{name} is the target; a sensitive column is another one, such as sex or age");
            return Err(TabularError::plan(problem));
        }
        if found.iter().all(|column| column.name() != name) {
            found.push(SensitiveColumn::new(name, table.column(name)?)?);
        }
    }
    Ok(found)
}

/// The classes of the target: those in the table, and those that have a column of probabilities.
fn labels(table: &Table, target: &str) -> Result<TargetLabels> {
    let column = table.column(target)?;
    let mut named: Vec<String> = table.names().iter().filter_map(|name| class_of(name)).map(str::to_owned).collect();
    if named.is_empty() {
        return Ok(TargetLabels::fit(column, None)?);
    }
    let mut lacking: Vec<String> = (0..column.len()).filter_map(|row| Some(column.text(row)?.into_owned())).collect();
    lacking.sort_unstable();
    lacking.dedup();
    lacking.retain(|class| !named.contains(class));
    if let Some(class) = lacking.first() {
        let problem = format!("{target} has the class {class}, for which there is no column P({class})");
        return Err(TabularError::plan(problem));
    }
    if named.len() < 2 {
        let problem = format!("only the class {} has a column P(class); give one per class", named[0]);
        return Err(TabularError::plan(problem));
    }
    let numeric = |name: &String| name.parse::<f64>().unwrap_or(f64::NAN);
    named.sort_by(|a, b| numeric(a).partial_cmp(&numeric(b)).unwrap_or_else(|| a.cmp(b)));
    let task = if named.len() == 2 { Task::Binary } else { Task::Multiclass(named.len()) };
    Ok(TargetLabels { task, classes: named })
}

/// The columns of predictions and probabilities, and of prediction sets as `tove predict` writes them.
fn answers_of(table: &Table, prediction: &str, columns: &PredictionColumns) -> Vec<String> {
    let answer = |name: &&String| {
        *name == prediction
            || columns.probability.as_ref() == Some(*name)
            || class_of(name).is_some()
            || name.starts_with("set(")
    };
    table.names().iter().filter(answer).cloned().collect()
}

/// The class of a column such as `P(good)`.
fn class_of(column: &str) -> Option<&str> {
    column.strip_prefix("P(")?.strip_suffix(')')
}

/// The predictions: one of the classes, or a finite number, in every row.
fn given_predictions(table: &Table, target: &str, name: &str, labels: &TargetLabels) -> Result<Tensor> {
    let column = like(table.column(target)?, table.column(name)?);
    let wrong = |row: usize| match labels.classes.is_empty() {
        true => !column.number(row).is_some_and(f64::is_finite),
        false => column.is_missing(row),
    };
    if let Some(row) = (0..column.len()).find(|&row| wrong(row)) {
        let what = if labels.classes.is_empty() { "finite number" } else { "class" };
        let found = column.text(row).map_or_else(|| "no value".to_owned(), |text| text.into_owned());
        let problem = format!("column {name} has {found} in row {}; give a {what} for every row", row + 1);
        return Err(TabularError::plan(problem));
    }
    labels.encode(&column).map_err(|error| TabularError::plan(format!("column {name}: {error}")))
}

fn given_probabilities(
    table: &Table,
    labels: &TargetLabels,
    columns: &PredictionColumns,
) -> Result<Option<Probabilities>> {
    let rows = table.n_rows();
    let numbers = |name: &str| -> Result<Vec<f64>> {
        let column = table.column(name)?;
        (0..rows)
            .map(|row| {
                column.number(row).ok_or_else(|| {
                    TabularError::plan(format!("column {name} has no number in row {}; give a probability", row + 1))
                })
            })
            .collect()
    };
    if let Some(name) = &columns.probability {
        if labels.classes.len() != 2 {
            let problem = format!(
                "one column of probabilities ({name}) needs two classes, but the target has {}; give one column P(class) \
                 per class",
                labels.classes.len()
            );
            return Err(TabularError::plan(problem));
        }
        return Ok(Some(Probabilities::new("audit", &Tensor::from(numbers(name)?))?));
    }
    if labels.classes.is_empty() || !labels.classes.iter().all(|class| table.has(&format!("P({class})"))) {
        return Ok(None);
    }
    let m = labels.classes.len();
    let mut all = vec![0.0; rows * m];
    for (place, class) in labels.classes.iter().enumerate() {
        for (row, value) in numbers(&format!("P({class})"))?.into_iter().enumerate() {
            all[row * m + place] = value;
        }
    }
    Ok(Some(Probabilities::new("audit", &Tensor::try_from_vec(all, [rows, m])?)?))
}

/// A column of predictions written as the target is: whole numbers stay whole, though others of the column may be missing.
fn like(target: &Column, predictions: &Column) -> Column {
    let whole = |row: usize| predictions.number(row).filter(|value| value.fract() == 0.0);
    let numbers: Option<Vec<i64>> = (0..predictions.len()).map(|row| whole(row).map(|value| value as i64)).collect();
    match (target, numbers) {
        (Column::Integer(_), Some(numbers)) => Column::integers(numbers),
        _ => predictions.clone(),
    }
}
