//! What every fitted model knows of itself, written down once.
//!
//! A fitted model holds an [`About`] beside its numbers; [`Model`](crate::Model) answers name, capabilities, width, precision, settings,
//! classes and summary from it, and it writes and reads the part of a [`Record`] that all models have in common.
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

/// What is known of a fitted model whatever its kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct About {
    /// The name of its estimator.
    pub name: &'static str,
    /// What it takes and gives.
    pub capabilities: Capabilities,
    /// Number of features.
    pub width: usize,
    /// Number of features that it gives when it transforms.
    pub outputs: usize,
    /// Precision it computes in.
    pub dtype: DType,
    /// The hyperparameters it was fitted with, as a JSON object.
    pub settings: serde_json::Value,
    /// The classes in ascending order; empty for a regression.
    pub classes: Vec<i64>,
    /// How the fit went.
    pub summary: Summary,
}

impl About {
    /// A model of this estimator for these samples, found in closed form; a classifier adds its classes.
    pub fn of<A: Algorithm>(estimator: &A, samples: &Samples) -> About {
        About::new(estimator, samples.width(), samples.x().dtype())
    }

    /// A model of this estimator, found in closed form.
    pub fn new(estimator: &dyn Estimator, width: usize, dtype: DType) -> About {
        About::with(estimator.name(), estimator.capabilities(), width, dtype, estimator.to_json())
    }

    /// A model whose estimator is not at hand, found in closed form.
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

    /// Giving so many features when it transforms.
    #[must_use]
    pub fn outputs(mut self, outputs: usize) -> About {
        self.outputs = outputs;
        self
    }

    /// What every model has learned: its classes, and how many iterations that took.
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

    /// With these classes, in ascending order.
    #[must_use]
    pub fn classes(mut self, classes: &[i64]) -> About {
        self.classes = classes.to_vec();
        self
    }

    /// With a word on how the fit went.
    #[must_use]
    pub fn summary(mut self, summary: Summary) -> About {
        self.summary = summary;
        self
    }

    /// A record that begins with what is said here.
    pub fn record(&self) -> Record {
        let mut record = Record::new(self.name, 1);
        self.write(&mut record);
        record
    }

    /// Writes settings, classes and summary into a record. Width and precision follow from the model's tensors; models without
    /// tensors add [`About::write_shape`].
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

    /// Reads what [`About::write`] wrote, for the settings that [`Record::settings`] gave and the width and precision of the
    /// model's tensors.
    pub fn read<A: Algorithm>(settings: &A, record: &Record, width: usize, dtype: DType) -> Result<About> {
        About::new(settings, width, dtype).read_rest(record)
    }

    /// Adds classes and summary from a record.
    pub fn read_rest(mut self, record: &Record) -> Result<About> {
        if self.capabilities.classifies() {
            self.classes = record.integers("classes")?;
            if self.classes.is_empty() || !self.classes.is_sorted_by(|a, b| a < b) {
                return Err(record.wrong("classes", "a list of classes in ascending order"));
            }
        }
        // Closed forms did not write a summary in former versions.
        if record.get("iterations").is_ok() {
            self.summary = Summary::read(record)?;
        }
        Ok(self)
    }
}
