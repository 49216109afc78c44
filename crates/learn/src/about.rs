//! Metadata that every fitted model has.
//!
//! A fitted model stores an [`About`] next to its parameters. [`Model`](crate::Model) reads name, capabilities, width,
//! precision, settings, classes and summary from it. It also reads and writes the part of a [`Record`] that all models
//! share.
//!
//! ```
//! use tove_learn::{Fit, LinearRegression, Model};
//! use tove_tensor::Tensor;
//! let model = LinearRegression::default().fit(&Tensor::from([[0.0], [1.0]]), &Tensor::from([1.0, 3.0]))?;
//! assert_eq!((model.about().name, model.name(), model.width()), ("LinearRegression", "LinearRegression", 1));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::{DType, Tensor};

use crate::{Algorithm, Capabilities, Estimator, Record, Result, Samples, Summary};

/// Metadata of a fitted model of any kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct About {
    /// The name of its estimator.
    pub name: &'static str,
    /// The inputs it accepts and the outputs it produces.
    pub capabilities: Capabilities,
    /// Number of features.
    pub width: usize,
    /// Number of output features of `transform`.
    pub outputs: usize,
    /// Floating-point type of the model's parameters and outputs.
    pub dtype: DType,
    /// The hyperparameters it was fitted with, as a JSON object.
    pub settings: serde_json::Value,
    /// The classes in ascending order; empty for regression.
    pub classes: Vec<i64>,
    /// Convergence information.
    pub summary: Summary,
}

impl About {
    /// Metadata of a model with a closed-form fit on these samples. A classifier adds its classes.
    pub fn of<A: Algorithm>(estimator: &A, samples: &Samples) -> About {
        About::new(estimator, samples.width(), samples.x().dtype())
    }

    /// Metadata of a model with a closed-form fit.
    pub fn new(estimator: &dyn Estimator, width: usize, dtype: DType) -> About {
        About::with(estimator.name(), estimator.capabilities(), width, dtype, estimator.to_json())
    }

    /// Metadata of a model with a closed-form fit, without access to its estimator.
    pub fn with(
        name: &'static str,
        capabilities: Capabilities,
        width: usize,
        dtype: DType,
        settings: serde_json::Value,
    ) -> About {
        let (classes, summary) = (Vec::new(), Summary::exact());
        About { name, capabilities, width, outputs: width, dtype, settings, classes, summary }
    }

    /// Sets the number of output features of `transform`.
    #[must_use]
    pub fn outputs(mut self, outputs: usize) -> About {
        self.outputs = outputs;
        self
    }

    /// Attributes that every model has: its classes and the number of iterations.
    pub fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = Vec::new();
        if self.capabilities.classifies() {
            all.push(("classes", Tensor::from_slice(&self.classes)));
        }
        if self.summary.iterations > 0 {
            all.push(("n_iter", Tensor::scalar(self.summary.iterations as i64)));
        }
        all
    }

    /// Sets the classes, in ascending order.
    #[must_use]
    pub fn classes(mut self, classes: &[i64]) -> About {
        self.classes = classes.to_vec();
        self
    }

    /// Sets the convergence information.
    #[must_use]
    pub fn summary(mut self, summary: Summary) -> About {
        self.summary = summary;
        self
    }

    /// Creates a record that starts with this metadata.
    pub fn record(&self) -> Record {
        let mut record = Record::new(self.name, 1);
        self.write(&mut record);
        record
    }

    /// Writes settings, classes and summary to a record. Width and precision follow from the model's tensors; models
    /// without tensors also call [`About::write_shape`].
    pub fn write(&self, record: &mut Record) {
        record.put("settings", self.settings.clone());
        if self.capabilities.classifies() {
            record.put_tensor("classes", &Tensor::from_slice(&self.classes));
        }
        self.summary.write(record);
    }

    /// Writes width and precision, for models whose tensors do not show them.
    pub fn write_shape(&self, record: &mut Record) {
        record.put("width", self.width);
        record.put("single", self.dtype == DType::F32);
    }

    /// Reads what [`About::write`] wrote. Takes the settings from [`Record::settings`] and the width and precision of
    /// the model's tensors.
    pub fn read<A: Algorithm>(settings: &A, record: &Record, width: usize, dtype: DType) -> Result<About> {
        About::new(settings, width, dtype).read_rest(record)
    }

    /// Reads classes and summary from a record.
    pub fn read_rest(mut self, record: &Record) -> Result<About> {
        if self.capabilities.classifies() {
            self.classes = record.integers("classes")?;
            if self.classes.is_empty() || !self.classes.is_sorted_by(|a, b| a < b) {
                return Err(record.wrong("classes", "a list of classes in ascending order"));
            }
        }
        // Earlier versions did not write a summary for closed-form fits.
        if record.get("iterations").is_ok() {
            self.summary = Summary::read(record)?;
        }
        Ok(self)
    }
}
