//! The fitted classifier.

use tove_optim::settings::Hyperparameters;
use tove_tensor::{DType, Tensor};

use super::LogisticRegression;
use super::linear::Linear;
use crate::{Fit, Model, Record, Restore, Result, Rows, Summary, Task};

/// A fitted [`LogisticRegression`].
#[derive(Clone, Debug)]
pub struct FittedLogisticRegression {
    settings: LogisticRegression,
    linear: Linear,
    summary: Summary,
}

impl FittedLogisticRegression {
    pub(super) fn new(settings: LogisticRegression, linear: Linear, summary: Summary) -> FittedLogisticRegression {
        FittedLogisticRegression { settings, linear, summary }
    }

    /// The weights: (1, d) for two classes, (m, d) for more.
    pub fn coef(&self) -> &Tensor {
        &self.linear.coef
    }

    /// The intercepts: one, or one per class.
    pub fn intercept(&self) -> &Tensor {
        &self.linear.intercept
    }
}

impl Model for FittedLogisticRegression {
    fn name(&self) -> &'static str {
        LogisticRegression::NAME
    }

    fn task(&self) -> Task {
        Task::Classification
    }

    fn width(&self) -> usize {
        self.linear.width()
    }

    fn dtype(&self) -> DType {
        self.linear.dtype()
    }

    fn summary(&self) -> &Summary {
        &self.summary
    }

    fn settings(&self) -> serde_json::Value {
        self.settings.to_json()
    }

    fn classes(&self) -> &[i64] {
        &self.linear.classes
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear.predict(x)
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear.decision(x)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear.softmax(x)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.linear.coef)
    }

    fn record(&self) -> Record {
        let mut record = Record::new(self.name(), 1);
        record.put("settings", self.settings());
        self.linear.write(&mut record);
        self.summary.write(&mut record);
        record
    }
}

impl Restore for FittedLogisticRegression {
    fn restore(record: &Record) -> Result<FittedLogisticRegression> {
        record.expect(LogisticRegression::NAME, 1)?;
        let mut settings = LogisticRegression::default();
        settings.load_json(record.get("settings")?)?;
        let linear = Linear::read(record)?;
        Ok(FittedLogisticRegression { settings, linear, summary: Summary::read(record)? })
    }
}
