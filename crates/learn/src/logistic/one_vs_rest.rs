//! One against the rest: m two-class models make a classifier of m classes.
//!
//! Model k tells class k from all others; the class whose model scores highest is predicted, the first of equal ones.
//! Probabilities are those of the models divided by their sum, where the models have them. Two classes need one model.
//!
//! ```
//! use tove_learn::{LogisticRegression, OneVsRest, Predict};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]]), Tensor::from([1i64, 1, 2, 2, 3, 3]));
//! let model = OneVsRest::new(LogisticRegression::default().c(100.0)).fit(&x, &y)?;
//! assert_eq!(model.models().len(), 3);
//! assert_eq!(model.predict(&Tensor::from([[-1.0], [12.0]]))?.to_vec::<i64>(), [1, 3]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameter, Value};
use tove_tensor::Tensor;

use super::LogisticRegression;
use super::linear::first_largest;
use crate::{
    Abilities, About, Estimator, Labels, LearnError, Model, Record, Restore, Result, Rows, Samples, Summary, Task,
    Tunable, restore,
};

/// Fits one two-class model per class.
#[derive(Clone)]
pub struct OneVsRest {
    estimator: Box<dyn Estimator>,
}

impl Default for OneVsRest {
    fn default() -> OneVsRest {
        OneVsRest::new(LogisticRegression::default())
    }
}

impl OneVsRest {
    /// The name in messages and files.
    pub const NAME: &'static str = "OneVsRest";

    /// One model of this estimator per class.
    pub fn new(estimator: impl Estimator + 'static) -> OneVsRest {
        OneVsRest { estimator: Box::new(estimator) }
    }

    /// Fits to features (n, d) and labels (n).
    pub fn fit(&self, x: impl Into<Rows>, y: &Tensor) -> Result<FittedOneVsRest> {
        self.fit_samples(&Samples::new(x, y)?)
    }

    /// Fits to samples.
    pub fn fit_samples(&self, samples: &Samples) -> Result<FittedOneVsRest> {
        if self.estimator.task() != Task::Classification {
            let what = format!("needs a classifier, and {} is none", self.estimator.name());
            return Err(LearnError::unsupported(Self::NAME, what, "choose a classifier"));
        }
        let labels = Labels::several(Self::NAME, samples.y())?;
        let positives = if labels.classes().len() == 2 { 1..2 } else { 0..labels.classes().len() };
        let models: Result<Vec<Box<dyn Model>>> = positives
            .map(|positive| {
                let y: Vec<i64> = labels.codes().iter().map(|&code| i64::from(code == positive)).collect();
                self.estimator.fit_any(&samples.with_y(&Tensor::from(y))?)
            })
            .collect();
        Ok(FittedOneVsRest::new(models?, labels.classes()))
    }
}

/// Converged if all are, with the worst residual.
fn summary(models: &[Box<dyn Model>]) -> Summary {
    let all = || models.iter().map(|model| model.summary());
    let mut summary = Summary::exact();
    summary.iterations = all().map(|summary| summary.iterations).max().unwrap_or(0);
    summary.converged = all().all(|summary| summary.converged);
    summary.residual = all().filter_map(|summary| summary.residual).reduce(f64::max);
    summary.objective = all().map(|summary| summary.objective).sum();
    summary.warnings = all().flat_map(|summary| summary.warnings.clone()).collect(); // told when they were made
    summary
}

impl Tunable for OneVsRest {
    fn set_any(&mut self, name: &str, text: &str) -> Result<()> {
        self.estimator.set_any(name, text)
    }

    fn values_any(&self) -> Vec<(String, Value)> {
        self.estimator.values_any()
    }

    fn describe_any(&self) -> Vec<(String, Hyperparameter)> {
        self.estimator.describe_any()
    }

    fn validate_any(&self) -> Result<()> {
        self.estimator.validate_any()
    }
}

impl Estimator for OneVsRest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn task(&self) -> Task {
        Task::Classification
    }

    fn abilities(&self) -> Abilities {
        Abilities { several: true, ..self.estimator.abilities() }
    }

    fn fit_any(&self, samples: &Samples) -> Result<Box<dyn Model>> {
        Ok(Box::new(self.fit_samples(samples)?))
    }

    fn duplicate(&self) -> Box<dyn Estimator> {
        Box::new(self.clone())
    }
}

/// A fitted [`OneVsRest`].
pub struct FittedOneVsRest {
    about: About,
    models: Vec<Box<dyn Model>>,
}

impl FittedOneVsRest {
    /// Models that are alike, at least one.
    fn new(models: Vec<Box<dyn Model>>, classes: &[i64]) -> FittedOneVsRest {
        let first = &models[0];
        let settings = serde_json::json!({"estimator": first.name(), "settings": first.settings()});
        let about = About::new(OneVsRest::NAME, Task::Classification, first.width(), first.dtype(), settings);
        FittedOneVsRest { about: about.classes(classes).summary(summary(&models)), models }
    }

    /// The models, one per class; a single one for two classes.
    pub fn models(&self) -> &[Box<dyn Model>] {
        &self.models
    }

    /// What each model says of its class: its score, or its probability where it has no score.
    fn scores(&self, x: &Rows) -> Result<Vec<Vec<f64>>> {
        let one = |model: &dyn Model| match model.decision_rows(x) {
            Ok(scores) => Ok(scores.to_f64_vec()),
            Err(_) => Ok(second(&model.proba_rows(x)?).into_iter().map(|p| p - 0.5).collect()),
        };
        self.models.iter().map(|model| one(&**model)).collect()
    }
}

/// The second column.
fn second(p: &Tensor) -> Vec<f64> {
    p.to_f64_vec().chunks(2).filter_map(|row| row.get(1).copied()).collect()
}

impl Model for FittedOneVsRest {
    fn about(&self) -> &About {
        &self.about
    }

    fn longest_sum(&self) -> usize {
        self.models.iter().map(|model| model.longest_sum()).max().unwrap_or(0)
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let scores = self.scores(x)?;
        let codes = (0..x.len()).map(|row| match &scores[..] {
            [only] => usize::from(only[row] > 0.0),
            several => first_largest(&several.iter().map(|scores| scores[row]).collect::<Vec<_>>()),
        });
        Ok(Labels::decode(self.classes(), codes))
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        let scores = self.scores(x)?;
        let rows: Vec<f64> = (0..x.len()).flat_map(|row| scores.iter().map(move |scores| scores[row])).collect();
        let flat = Tensor::from(rows).to_dtype(self.dtype());
        Ok(if scores.len() == 1 { flat } else { tove_tensor::TryOps::try_reshape(&flat, [x.len(), scores.len()])? })
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        if let [only] = &self.models[..] {
            return only.proba_rows(x);
        }
        let columns: Result<Vec<Vec<f64>>> =
            self.models.iter().map(|model| Ok(second(&model.proba_rows(x)?))).collect();
        let (columns, m) = (columns?, self.classes().len());
        let mut rows = Vec::with_capacity(x.len() * m);
        for row in 0..x.len() {
            let sum: f64 = columns.iter().map(|column| column[row]).sum();
            rows.extend(columns.iter().map(|column| if sum > 0.0 { column[row] / sum } else { 1.0 / m as f64 }));
        }
        Ok(Tensor::try_from_vec(rows, [x.len(), m])?.to_dtype(self.dtype()))
    }

    fn record(&self) -> Record {
        let mut record = Record::new(OneVsRest::NAME, 1);
        record.put_tensor("classes", &Tensor::from_slice(self.classes()));
        record.put("models", self.models.len());
        for (place, model) in self.models.iter().enumerate() {
            record.put_part(&format!("model{place}"), model.record());
        }
        record
    }
}

impl Restore for FittedOneVsRest {
    fn restore(record: &Record) -> Result<FittedOneVsRest> {
        record.expect(OneVsRest::NAME, 1)?;
        let (classes, count) = (record.integers("classes")?, record.count("models")?);
        if classes.len() < 2 || count != if classes.len() == 2 { 1 } else { classes.len() } {
            return Err(record.wrong("models", "a model per class"));
        }
        let models: Result<Vec<Box<dyn Model>>> =
            (0..count).map(|place| restore(&record.part(&format!("model{place}"))?)).collect();
        let models = models?;
        let alike = |model: &dyn Model| {
            model.width() == models[0].width() && model.dtype() == models[0].dtype() && model.classes().len() == 2
        };
        if !models.iter().all(|model| alike(&**model)) {
            return Err(record.wrong("models", "models of the same width for two classes each"));
        }
        Ok(FittedOneVsRest::new(models, &classes))
    }
}
