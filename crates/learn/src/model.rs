//! Fitted models: predictions, and convergence information.

use std::any::Any;
use std::path::Path;

use tove_metrics::{Score, accuracy, r2_score};
use tove_optim::settings::Choice;
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Tensor};

use crate::calibration::CalibrationCheck;
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

impl Stop {
    /// The reason of a fit that ended by its tolerance, or else early or after all its iterations.
    pub(crate) fn of(converged: bool, early: bool) -> Stop {
        match (converged, early) {
            (true, _) => Stop::Tolerance,
            (false, true) => Stop::Interrupted,
            (false, false) => Stop::MaxIter,
        }
    }
}

/// Convergence information of a fit.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Number of iterations; 0 for closed-form fits.
    pub iterations: usize,
    /// Whether the tolerance was met; always true for closed-form fits.
    pub converged: bool,
    /// Final gradient norm (or duality gap, if the method has one).
    pub residual: Option<f64>,
    /// Final value of the objective, as defined in the estimator's documentation.
    pub objective: Option<f64>,
    /// Why the iterations ended, where the method tells.
    pub stop: Option<Stop>,
    /// Warnings that were issued.
    pub warnings: Vec<String>,
    /// The objective after each iteration, if the method tracks it. Not saved in model files.
    pub curve: Vec<f64>,
}

impl Summary {
    /// Summary of a closed-form fit: converged, without iterations.
    pub fn exact() -> Summary {
        Summary { converged: true, ..Summary::default() }
    }

    /// Summary of an iterative fit. Warns if it did not converge.
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

    /// Issues a warning and stores it.
    pub fn warn(&mut self, text: impl Into<String>) {
        let text = text.into();
        crate::warn(&text);
        self.warnings.push(text);
    }

    /// Writes the summary to a record.
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

    /// Reads the summary from a record.
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

/// A fitted model of any kind. The methods here take checked rows; users call those of [`Predict`] and [`Transform`],
/// which check them first. A model implements what its capabilities declare; the other methods return an error.
pub trait Model: Any + Send + Sync {
    /// Metadata of the model; the default methods up to [`Model::classes`] read it.
    fn about(&self) -> &About;
    /// The name of its estimator.
    fn name(&self) -> &'static str {
        self.about().name
    }
    /// Capabilities of the model.
    fn capabilities(&self) -> Capabilities {
        self.about().capabilities
    }
    /// Number of features.
    fn width(&self) -> usize {
        self.about().width
    }
    /// Precision of the model; rows are converted to it.
    fn dtype(&self) -> DType {
        self.about().dtype
    }
    /// Convergence information of the fit.
    fn summary(&self) -> &Summary {
        &self.about().summary
    }
    /// The hyperparameters it was fitted with, as a JSON object.
    fn settings(&self) -> serde_json::Value {
        self.about().settings.clone()
    }
    /// The classes in ascending order; empty for models other than classifiers.
    fn classes(&self) -> &[i64] {
        &self.about().classes
    }
    /// Upper bound on the number of terms that a matrix product in `predict` sums. Very long sums are split depending
    /// on the size of the result, so their last bit depends on the number of rows.
    fn longest_sum(&self) -> usize {
        self.width()
    }
    /// Predictions: numbers (n) or (n, m) of a regressor, labels (n) of a classifier or clusterer.
    fn predict_rows(&self, _x: &Rows) -> Result<Tensor> {
        Err(lacks(self.name(), "does not predict", "use `transform`"))
    }
    /// Decision scores: (n, m), or (n) for two classes. The largest score decides, or the sign for two classes. They are scores, not
    /// probabilities.
    fn decision_rows(&self, _x: &Rows) -> Result<Tensor> {
        Err(lacks(self.name(), "has no decision function", "use `predict`"))
    }
    /// Class or cluster probabilities (n, m): confidences that sum to 1, which match frequencies only as far as
    /// [`Model::calibration`] says.
    fn proba_rows(&self, _x: &Rows) -> Result<Tensor> {
        let fix = "use `predict`, or a classifier with probabilities";
        Err(lacks(self.name(), "does not provide probabilities", fix))
    }
    /// The log-likelihood (n) of each row.
    fn score_rows(&self, _x: &Rows) -> Result<Tensor> {
        Err(lacks(self.name(), "has no log-likelihood of samples", "use a density model, such as a mixture"))
    }
    /// The k nearest of the stored samples for each row.
    fn neighbor_rows(&self, _x: &Rows, _k: usize) -> Result<Neighbors> {
        Err(lacks(self.name(), "answers no neighbor queries", "use `NearestNeighbors`"))
    }
    /// The stored samples within a radius of each row.
    fn radius_rows(&self, _x: &Rows, _radius: f64) -> Result<RadiusNeighbors> {
        Err(lacks(self.name(), "answers no neighbor queries", "use `NearestNeighbors`"))
    }
    /// Transformed rows.
    fn transform_rows(&self, _x: &Rows) -> Result<Rows> {
        Err(lacks(self.name(), "does not transform", "use `predict`, or replace it by a transformer"))
    }
    /// Inverse-transformed rows.
    fn inverse_rows(&self, _x: &Rows) -> Result<Rows> {
        Err(lacks(self.name(), "cannot be inverted", "keep the original rows"))
    }
    /// Number of output features of `transform`.
    fn outputs(&self) -> usize {
        self.about().outputs
    }
    /// Names of the output features of `transform`, given the input names: `pca0`, `pca1`, … unless it keeps columns.
    fn output_names(&self, _inputs: &[String]) -> Vec<String> {
        let stem = self.name().to_ascii_lowercase();
        (0..self.outputs()).map(|column| format!("{stem}{column}")).collect()
    }
    /// Fitted attributes by scikit-learn's names without the trailing underscore: `coef`, `intercept`, `classes`,
    /// `n_iter`.
    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        self.about().attributes()
    }
    /// The recorded check of the model's probabilities on held-out samples. A model counts as calibrated only if there is one that
    /// passed ([`CalibrationCheck::passed`](crate::calibration::CalibrationCheck::passed)); otherwise its probabilities and decision
    /// scores are scores: larger means more likely, and nothing more is claimed.
    fn calibration(&self) -> Option<&CalibrationCheck> {
        None
    }
    /// Coefficients (d) or (m, d) of a linear model, for reports.
    fn coefficients(&self) -> Option<&Tensor> {
        None
    }
    /// How good the predictions of a regression are: R², or D² of a generalized linear model.
    fn score_predictions(&self, y: &Tensor, predicted: &Tensor) -> Result<Score> {
        Ok(r2_score(y, predicted, None)?)
    }
    /// Everything needed to answer with the same bits again.
    fn record(&self) -> Record;
}

#[cold]
fn lacks(who: &'static str, what: &str, fix: &str) -> LearnError {
    LearnError::unsupported(who, what, fix)
}

/// A model that can be restored from its record.
pub trait Restore: Model + Sized {
    /// Restores what [`Model::record`] wrote.
    fn restore(record: &Record) -> Result<Self>;

    /// Reads a file written by [`Predict::save`].
    fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::restore(&Record::load(path)?)
    }
}

/// Prediction methods for users, implemented for every [`Model`], including boxed ones.
///
/// `predict_proba` and `decision_function` return scores. That samples with p = 0.8 are of the class in 80 % of all cases is a
/// property of a model and a distribution, called calibration, which has to be checked on held-out samples:
/// [`Model::calibration`] returns the recorded check, if there is one; [`calibration`](crate::calibration) has the methods.
pub trait Predict {
    /// Returns predictions: numbers for a regressor, labels for a classifier, cluster indices for a clusterer.
    ///
    /// A classifier predicts the class with the largest score and the largest probability; ties go to the first class,
    /// which has the smallest label. For two classes this is the second class if and only if
    /// [`Predict::decision_function`] is positive, and if and only if its probability is the larger one. (Exceptions by
    /// definition: SVC and NuSVC decide by pairwise votes unless `break_ties` is set, and their calibrated
    /// probabilities can disagree with the votes.)
    ///
    /// # Errors
    /// Wrong number of features, NaN, rows so large that the result is not finite; a model that does not predict.
    fn predict(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// Class probabilities (n, m) in the order of [`Model::classes`], or cluster probabilities. They are scores between 0 and 1 unless
    /// [`Model::calibration`] returns a check that passed.
    fn predict_proba(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// Decision scores: (n) for two classes, else (n, m). Never probabilities.
    fn decision_function(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// Log-likelihood (n) of each row under the model.
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
    /// Writes the model to a file atomically. Never overwrites an existing file unless asked.
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
            return Err(LearnError::unsupported(self.name(), "does not predict targets", fix));
        }
        self.score_predictions(&y.to_dtype(predicted.dtype()), &predicted)
    }

    fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        self.record().save(path, options)
    }
}

/// Transformation methods for users, implemented for every [`Model`], including boxed ones.
pub trait Transform {
    /// Returns the transformed rows as a dense matrix.
    ///
    /// # Errors
    /// Wrong number of features, NaN if missing values are not supported; a model that does not transform.
    fn transform(&self, x: impl Into<Rows>) -> Result<Tensor> {
        self.apply(x)?.to_dense()
    }

    /// Returns the transformed rows; sparse rows stay sparse if the transformation allows it.
    fn apply(&self, x: impl Into<Rows>) -> Result<Rows>;

    /// Returns the inverse-transformed rows as a dense matrix.
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

/// Returns the output after checking that it is finite: rows far larger than those of the fit can overflow.
fn finite<M: Model + ?Sized>(model: &M, what: &str, answer: Tensor) -> Result<Tensor> {
    if !answer.dtype().is_float() {
        return Ok(answer);
    }
    let values = answer.try_contiguous()?;
    match with_real!(values.dtype(), T => first_not_finite(values.as_slice::<T>()?)) {
        None => Ok(answer),
        Some((index, value)) => {
            let row = index / answer.dims().get(1).copied().unwrap_or(1).max(1);
            Err(overflow(model.name(), &format!("the {what} of row {row} is {value}")))
        }
    }
}

/// Creates an error for rows that overflow in a model.
#[cold]
pub(crate) fn overflow(who: &'static str, problem: &str) -> LearnError {
    let fix = "the features of that row are too large for this model; scale them like the training data";
    LearnError::data(who, problem, fix)
}

/// Converts rows to the model's precision and checks width and finiteness.
fn admit<M: Model + ?Sized>(model: &M, x: Rows) -> Result<Rows> {
    let x = if model.capabilities().missing { x.tabular()? } else { x.checked()? };
    x.check_width(model.name(), model.width())?;
    // Decision scores and the arrays derived from them.
    let (rows, classes) = (x.len(), model.classes().len());
    let bytes = memory::matrix(rows, classes.saturating_mul(2), model.dtype().size());
    let what = || format!("a score for each of {rows} rows and {classes} classes");
    memory::require_with(model.name(), what, bytes, "predict fewer rows at a time")?;
    Ok(x.to_dtype(model.dtype()))
}

/// Reads a model of any registered kind from a file.
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

/// Restores a model of any registered kind from a record.
pub fn restore(record: &Record) -> Result<Box<dyn Model>> {
    registry::restore(record)
}
