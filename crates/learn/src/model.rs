//! Fitted models: what they answer, and what is known of how they were fitted.

use std::path::Path;

use tove_metrics::{Score, accuracy, r2_score};
use tove_tensor::io::WriteOptions;
use tove_tensor::{DType, Tensor};

use crate::{About, LearnError, Record, Result, Rows, registry};

/// What a model predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Real numbers.
    Regression,
    /// One of several classes.
    Classification,
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
            warnings: texts.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect(),
            curve: Vec::new(),
        })
    }
}

/// A fitted model of any kind. The methods here take rows that were checked; users call those of [`Predict`], which check.
pub trait Model: Send + Sync + 'static {
    /// What is known of it whatever its kind; the methods up to [`Model::classes`] answer from it.
    fn about(&self) -> &About;
    /// The name of its estimator.
    fn name(&self) -> &'static str {
        self.about().name
    }
    /// What it predicts.
    fn task(&self) -> Task {
        self.about().task
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
    /// The classes in ascending order; empty for a regression.
    fn classes(&self) -> &[i64] {
        &self.about().classes
    }
    /// Whether NaN is understood as a missing value.
    fn takes_missing(&self) -> bool {
        false
    }
    /// The most terms that a matrix product of a prediction adds up. Very long sums are cut by the size of the result, so
    /// that their last bit depends on the number of rows.
    fn longest_sum(&self) -> usize {
        self.width()
    }
    /// Numbers (n) or (n, m) of a regression, labels (n) of a classifier.
    fn predict_rows(&self, x: &Rows) -> Result<Tensor>;
    /// Scores whose largest (or whose sign, for two classes) decides: (n, m), or (n) for two classes.
    fn decision_rows(&self, _x: &Rows) -> Result<Tensor> {
        let fix = "use `predict`";
        Err(LearnError::unsupported(self.name(), "has no decision function", fix))
    }
    /// Probabilities (n, m) of the classes.
    fn proba_rows(&self, _x: &Rows) -> Result<Tensor> {
        let fix = "use `predict`, or a classifier that gives probabilities";
        Err(LearnError::unsupported(self.name(), "gives no probabilities", fix))
    }
    /// Coefficients (d) or (m, d) of a linear model, for reports.
    fn coefficients(&self) -> Option<&Tensor> {
        None
    }
    /// Everything needed to predict the same bits again.
    fn record(&self) -> Record;
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

/// What users ask of a model; for every [`Model`], also behind a `Box`.
pub trait Predict {
    /// Predictions: numbers of a regression, labels of a classifier.
    fn predict(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// Probabilities (n, m) of the classes in the order of [`Model::classes`].
    fn predict_proba(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// Scores behind the decision: (n) for two classes, else (n, m).
    fn decision_function(&self, x: impl Into<Rows>) -> Result<Tensor>;
    /// R² of a regression, accuracy of a classifier with its interval.
    fn score(&self, x: impl Into<Rows>, y: &Tensor) -> Result<Score>;
    /// Writes the model to a file; complete or not at all, and never over an existing one unless asked.
    fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()>;
}

impl<M: Model + ?Sized> Predict for M {
    fn predict(&self, x: impl Into<Rows>) -> Result<Tensor> {
        self.predict_rows(&admit(self, x.into())?)
    }

    fn predict_proba(&self, x: impl Into<Rows>) -> Result<Tensor> {
        self.proba_rows(&admit(self, x.into())?)
    }

    fn decision_function(&self, x: impl Into<Rows>) -> Result<Tensor> {
        self.decision_rows(&admit(self, x.into())?)
    }

    fn score(&self, x: impl Into<Rows>, y: &Tensor) -> Result<Score> {
        let predicted = self.predict(x)?;
        Ok(match self.task() {
            Task::Regression => r2_score(&y.to_dtype(predicted.dtype()), &predicted, None)?,
            Task::Classification => accuracy(&y.to_dtype(DType::I64), &predicted, None)?,
        })
    }

    fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        self.record().save(path, options)
    }
}

/// Rows of the model's width and precision, all finite.
fn admit<M: Model + ?Sized>(model: &M, x: Rows) -> Result<Rows> {
    let x = if model.takes_missing() { x.tabular()? } else { x.checked()? };
    x.check_width(model.name(), model.width())?;
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
    registry::restorer(record.kind())?(record)
}
