//! Fitted models: what they answer, and what is known of how they were fitted.

use std::path::Path;

use tove_metrics::{Score, accuracy, r2_score};
use tove_optim::settings::Choice;
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Tensor};

use crate::neighbors::{Neighbors, RadiusNeighbors};
use crate::rows::first_not_finite;
use crate::{About, Capabilities, LearnError, Record, Result, Rows, memory, registry, with_real};

/// Why iterations ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Choice)]
pub enum Stop {
    /// A step changed less than the tolerance.
    Tolerance,
    /// A step changed nothing: further ones would not either.
    Unchanged,
    /// As many iterations were made as were allowed.
    MaxIter,
    /// The process, or a time limit, asked for it.
    Interrupted,
}

/// How a fit went.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Iterations made; 0 for a closed form.
    pub iterations: usize,
    /// Whether the tolerance was met; closed forms always do.
    pub converged: bool,
    /// Size of the gradient (or duality gap, where the method has one) at the end.
    pub residual: Option<f64>,
    /// Value of the objective at the end, as the estimator's documentation defines it.
    pub objective: Option<f64>,
    /// Why the iterations ended, where the method tells.
    pub stop: Option<Stop>,
    /// What the user was warned of.
    pub warnings: Vec<String>,
    /// The objective after each iteration, where the method follows it. Not kept in model files.
    pub curve: Vec<f64>,
}

impl Summary {
    /// A closed form: converged, without iterations.
    pub fn exact() -> Summary {
        Summary { converged: true, ..Summary::default() }
    }

    /// An iteration that ended after so many steps with this residual; warns if it did not converge.
    pub fn iterative(who: &str, iterations: usize, converged: bool, residual: f64, objective: f64) -> Summary {
        let (residual, objective) = (Some(residual), Some(objective));
        let mut summary = Summary { iterations, converged, residual, objective, ..Summary::default() };
        if !converged && tove_optim::interrupted() {
            summary.warn(format!("{who}: interrupted before it converged"));
        } else if !converged {
            let size = summary.residual.unwrap_or(f64::NAN);
            summary.warn(format!(
                "{who}: not converged after {iterations} iterations (gradient norm or gap {size:.3e}); allow more \
                 iterations with `max_iter`, scale the features, or raise `tol`"
            ));
        }
        summary
    }

    /// With the reason for the end and the objective after each iteration.
    #[must_use]
    pub fn ended(self, stop: Stop, curve: Vec<f64>) -> Summary {
        Summary { stop: Some(stop), curve, ..self }
    }

    /// Tells a warning and keeps it.
    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        crate::warn(&text);
        self.warnings.push(text);
    }

    /// Writes the summary into a record.
    pub fn write(&self, record: &mut Record) {
        record.put("iterations", self.iterations);
        record.put("converged", self.converged);
        record.put("warnings", self.warnings.clone());
        if let Some(stop) = self.stop {
            record.put("stop", stop.name());
        }
        for (name, value) in [("residual", self.residual), ("objective", self.objective)] {
            if let Some(value) = value {
                record.put_real(name, value);
            }
        }
    }

    /// Reads the summary of a record.
    pub fn read(record: &Record) -> Result<Summary> {
        let texts = record.get("warnings")?.as_array().cloned().unwrap_or_default();
        Ok(Summary {
            iterations: record.count("iterations")?,
            converged: record.switch("converged")?,
            residual: record.real("residual").ok(),
            objective: record.real("objective").ok(),
            stop: record.text("stop").ok().and_then(Stop::from_name),
            warnings: texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
            curve: Vec::new(),
        })
    }
}

/// A fitted model of any kind. The methods here take rows that were checked; users call those of [`Predict`] and [`Transform`],
/// which check. A model implements what its capabilities declare; the rest answers with an error that says so.
pub trait Model: Send + Sync + 'static {
    /// What is known of it whatever its kind; the methods up to [`Model::classes`] answer from it.
    fn about(&self) -> &About;
    /// The name of its estimator.
    fn name(&self) -> &'static str {
        self.about().name
    }
    /// What it takes and gives.
    fn capabilities(&self) -> Capabilities {
        self.about().capabilities
    }
    /// Number of features.
    fn width(&self) -> usize {
        self.about().width
    }
    /// Precision it computes in; rows are converted to it.
    fn dtype(&self) -> DType {
        self.about().dtype
    }
    /// How the fit went.
    fn summary(&self) -> &Summary {
        &self.about().summary
    }
    /// The hyperparameters it was fitted with, as a JSON object.
    fn settings(&self) -> serde_json::Value {
        self.about().settings.clone()
    }
    /// The classes in ascending order; empty unless it classifies.
    fn classes(&self) -> &[i64] {
        &self.about().classes
    }
    /// The most terms that a matrix product of a prediction adds up. Very long sums are cut by the size of the result, so
    /// that their last bit depends on the number of rows.
    fn longest_sum(&self) -> usize {
        self.width()
    }
    /// Numbers (n) or (n, m) of a regression, labels (n) of a classifier or of clusters.
    fn predict_rows(&self, _x: &Rows) -> Result<Tensor> {
        Err(lacks(self.name(), "does not predict", "use `transform`"))
    }
    /// Scores whose largest (or whose sign, for two classes) decides: (n, m), or (n) for two classes.
    fn decision_rows(&self, _x: &Rows) -> Result<Tensor> {
        Err(lacks(self.name(), "has no decision function", "use `predict`"))
    }
    /// Probabilities (n, m) of the classes or clusters.
    fn proba_rows(&self, _x: &Rows) -> Result<Tensor> {
        let fix = "use `predict`, or a classifier that gives probabilities";
        Err(lacks(self.name(), "gives no probabilities", fix))
    }
    /// The log-likelihood (n) of each row.
    fn score_rows(&self, _x: &Rows) -> Result<Tensor> {
        Err(lacks(self.name(), "has no likelihood of single samples", "use a density, such as a mixture"))
    }
    /// The k nearest of the stored samples for each row.
    fn neighbor_rows(&self, _x: &Rows, _k: usize) -> Result<Neighbors> {
        Err(lacks(self.name(), "answers no neighbor queries", "use `NearestNeighbors`"))
    }
    /// The stored samples within a radius of each row.
    fn radius_rows(&self, _x: &Rows, _radius: f64) -> Result<RadiusNeighbors> {
        Err(lacks(self.name(), "answers no neighbor queries", "use `NearestNeighbors`"))
    }
    /// The changed rows.
    fn transform_rows(&self, _x: &Rows) -> Result<Rows> {
        Err(lacks(self.name(), "does not transform", "use `predict`, or a transformer in its place"))
    }
    /// The rows before the change.
    fn inverse_rows(&self, _x: &Rows) -> Result<Rows> {
        Err(lacks(self.name(), "cannot be undone", "keep the rows from before the change"))
    }
    /// Number of features that a transformation gives.
    fn outputs(&self) -> usize {
        self.about().outputs
    }
    /// Names of the features that a transformation gives, from names of those it takes: `pca0`, `pca1`, … unless it keeps
    /// columns.
    fn output_names(&self, _inputs: &[String]) -> Vec<String> {
        let stem = self.name().to_ascii_lowercase();
        (0..self.outputs()).map(|column| format!("{stem}{column}")).collect()
    }
    /// What was learned, by scikit-learn's names without the trailing underscore: `coef`, `intercept`, `classes`, `n_iter`.
    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        self.about().attributes()
    }
    /// Coefficients (d) or (m, d) of a linear model, for reports.
    fn coefficients(&self) -> Option<&Tensor> {
        None
    }
    /// Everything needed to answer with the same bits again.
    fn record(&self) -> Record;
}

#[cold]
fn lacks(who: &'static str, what: &str, fix: &str) -> LearnError {
    LearnError::unsupported(who, what, fix)
}

/// A model that can be read back from its record.
pub trait Restore: Model + Sized {
    /// Reads what [`Model::record`] wrote.
    fn restore(record: &Record) -> Result<Self>;

    /// Reads a file that [`Predict::save`] wrote.
    fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::restore(&Record::load(path)?)
    }
}

/// What users ask of a model that predicts; for every [`Model`], also behind a `Box`.
pub trait Predict {
    /// Predictions: numbers of a regression, labels of a classifier, numbers of clusters.
    ///
    /// A classifier answers with the class of the largest score and the largest probability; of equal ones with the first, that
    /// is the smallest label. For two classes, that is the second class exactly if [`Predict::decision_function`] is positive and
    /// exactly if its probability is the larger one. (Exceptions by their definition: SVC and NuSVC decide by votes of the pairs
    /// unless `break_ties` is set, and probabilities that were fitted on top of them can disagree with the votes.)
    ///
    /// # Errors
    /// Rows of another width, NaN, and rows so large that the answer is not finite; a model that does not predict.
    fn predict(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// Probabilities (n, m) of the classes in the order of [`Model::classes`], or of the clusters.
    fn predict_proba(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// Scores behind the decision: (n) for two classes, else (n, m).
    fn decision_function(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// The log-likelihood (n) of each row under the model.
    fn score_samples(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// The k nearest of the samples that the model has stored, for each row: distances and numbers, nearest first, of equally near
    /// ones the one that was given first.
    ///
    /// # Errors
    /// As [`Predict::predict`]; k of 0 or above the number of samples; a model that stores no samples.
    fn kneighbors(&self, x: impl Into<Rows>, k: usize) -> Result<Neighbors>;
    /// All stored samples whose distance to a row is at most `radius`, nearest first.
    ///
    /// # Errors
    /// As [`Predict::kneighbors`]; a radius that is negative or not finite.
    fn radius_neighbors(&self, x: impl Into<Rows>, radius: f64) -> Result<RadiusNeighbors>;
    /// R² of a regression, accuracy of a classifier with its interval.
    fn score(&self, x: impl Into<Rows>, y: &Tensor) -> Result<Score>;
    /// Writes the model to a file; complete or not at all, and never over an existing one unless asked.
    fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()>;
}

impl<M: Model + ?Sized> Predict for M {
    fn predict(&self, x: impl Into<Rows>) -> Result<Tensor> {
        finite(self, "prediction", self.predict_rows(&admit(self, x.into())?)?)
    }

    fn predict_proba(&self, x: impl Into<Rows>) -> Result<Tensor> {
        finite(self, "probability", self.proba_rows(&admit(self, x.into())?)?)
    }

    fn decision_function(&self, x: impl Into<Rows>) -> Result<Tensor> {
        finite(self, "score", self.decision_rows(&admit(self, x.into())?)?)
    }

    fn score_samples(&self, x: impl Into<Rows>) -> Result<Tensor> {
        finite(self, "log-likelihood", self.score_rows(&admit(self, x.into())?)?)
    }

    fn kneighbors(&self, x: impl Into<Rows>, k: usize) -> Result<Neighbors> {
        self.neighbor_rows(&admit(self, x.into())?, k)
    }

    fn radius_neighbors(&self, x: impl Into<Rows>, radius: f64) -> Result<RadiusNeighbors> {
        self.radius_rows(&admit(self, x.into())?, radius)
    }

    fn score(&self, x: impl Into<Rows>, y: &Tensor) -> Result<Score> {
        let capabilities = self.capabilities();
        let predicted = self.predict(x)?;
        if capabilities.classifies() {
            return Ok(accuracy(&y.to_dtype(DType::I64), &predicted, None)?);
        }
        if !capabilities.regresses() {
            let fix = "use a score that needs no targets";
            return Err(LearnError::unsupported(
                self.name(),
                "predicts nothing that targets could be compared with",
                fix,
            ));
        }
        Ok(r2_score(&y.to_dtype(predicted.dtype()), &predicted, None)?)
    }

    fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        self.record().save(path, options)
    }
}

/// What users ask of a model that transforms; for every [`Model`], also behind a `Box`.
pub trait Transform {
    /// The changed rows as a dense matrix.
    ///
    /// # Errors
    /// Rows of another width, NaN where it is not a missing value; a model that does not transform.
    fn transform(&self, x: impl Into<Rows>) -> Result<Tensor> {
        self.apply(x)?.to_dense()
    }

    /// The changed rows; sparse ones stay sparse where the transformation allows it.
    fn apply(&self, x: impl Into<Rows>) -> Result<Rows>;

    /// The rows before the change, as a dense matrix.
    fn inverse_transform(&self, x: impl Into<Rows>) -> Result<Tensor>;
}

impl<M: Model + ?Sized> Transform for M {
    fn apply(&self, x: impl Into<Rows>) -> Result<Rows> {
        let x = x.into();
        let x = if self.capabilities().missing { x.tabular()? } else { x.checked()? };
        x.check_width(self.name(), self.width())?;
        self.transform_rows(&x)
    }

    fn inverse_transform(&self, x: impl Into<Rows>) -> Result<Tensor> {
        let x = x.into().tabular()?;
        if self.capabilities().inverse_transform {
            x.check_width(self.name(), self.outputs())?;
        }
        self.inverse_rows(&x)?.to_dense()
    }
}

/// An answer, after checking that its numbers are finite: rows far larger than those of the fit can overflow.
fn finite<M: Model + ?Sized>(model: &M, what: &str, answer: Tensor) -> Result<Tensor> {
    if !answer.dtype().is_float() {
        return Ok(answer);
    }
    let values = answer.try_contiguous()?;
    match with_real!(values.dtype(), T => first_not_finite(values.as_slice::<T>()?)) {
        None => Ok(answer),
        Some((place, value)) => {
            let row = place / answer.dims().get(1).copied().unwrap_or(1).max(1);
            Err(overflow(model.name(), &format!("the {what} of row {row} is {value}")))
        }
    }
}

/// Rows that overflow in a model.
#[cold]
pub(crate) fn overflow(who: &'static str, problem: &str) -> LearnError {
    let fix = "the features of that row are too large for this model; scale them as those it was fitted on";
    LearnError::data(who, problem, fix)
}

/// Rows of the model's width and precision, all finite.
fn admit<M: Model + ?Sized>(model: &M, x: Rows) -> Result<Rows> {
    let x = if model.capabilities().missing { x.tabular()? } else { x.checked()? };
    x.check_width(model.name(), model.width())?;
    // Scores of all classes, and what is made of them.
    let (rows, classes) = (x.len(), model.classes().len());
    let bytes = memory::matrix(rows, classes.saturating_mul(2), model.dtype().size());
    let what = || format!("a score for each of {rows} rows and {classes} classes");
    memory::require_with(model.name(), what, bytes, "predict fewer rows at a time")?;
    Ok(x.to_dtype(model.dtype()))
}

/// Reads a model of any registered kind.
///
/// ```
/// use tove_learn::{Fit, Predict, DummyRegressor};
/// use tove_tensor::{Tensor, io::WriteOptions};
/// let path = std::env::temp_dir().join(format!("tove-model-{}.tove", std::process::id()));
/// let (x, y) = (Tensor::from([[1.0], [2.0]]), Tensor::from([1.0, 4.0]));
/// DummyRegressor::default().fit(&x, &y)?.save(&path, WriteOptions::overwriting())?;
/// let model = tove_learn::load(&path)?;
/// assert_eq!((model.name(), model.predict(&x)?.to_vec::<f64>()), ("DummyRegressor", vec![2.5, 2.5]));
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load(path: impl AsRef<Path>) -> Result<Box<dyn Model>> {
    restore(&Record::load(path)?)
}

/// The model of a record of any registered kind.
pub fn restore(record: &Record) -> Result<Box<dyn Model>> {
    registry::restore(record)
}
