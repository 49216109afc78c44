//! One-vs-rest: m binary classifiers form a classifier of m classes.
//!
//! Model k separates class k from all others. The class with the highest score is predicted; ties go to the first.
//! Probabilities are those of the models divided by their sum, if available. Two classes need one model.
//!
//! ```
//! use tove_learn::{Fit, LogisticRegression, OneVsRest, Predict};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]]), Tensor::from([1i64, 1, 2, 2, 3, 3]));
//! let model = OneVsRest::new(LogisticRegression::default().c(100.0)).fit(&x, &y)?;
//! assert_eq!(model.models().len(), 3);
//! assert_eq!(model.predict(&Tensor::from([[-1.0], [12.0]]))?.to_vec::<i64>(), [1, 3]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::Tensor;

use super::LogisticRegression;
use super::linear::{decide, first_largest, settle_ties, undecided};
use crate::{
    About, Algorithm, Capabilities, Estimator, Fit, Labels, Model, Real, Record, Restore, Result, Rows, Samples,
    Summary, restore, with_real,
};

/// Fits one binary classifier per class, like scikit-learn's `OneVsRestClassifier`.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(check = check)]
pub struct OneVsRest {
    /// The binary classifier.
    #[hyper(default = Box::new(LogisticRegression::default()))]
    pub estimator: Box<dyn Estimator>,
}

fn check(settings: &OneVsRest) -> Result<(), SettingError> {
    let own = settings.estimator.capabilities();
    if own.classifies() && (own.decision_function || own.probabilities) {
        return Ok(());
    }
    let problem = format!("{} is not a classifier with scores or probabilities", settings.estimator.name());
    Err(SettingError::conflict(OneVsRest::NAME, "estimator", problem, "choose a classifier"))
}

impl OneVsRest {
    /// Creates a one-vs-rest classifier of this estimator.
    pub fn new(estimator: impl Estimator + 'static) -> OneVsRest {
        OneVsRest { estimator: estimator.duplicate() }
    }
}

/// Capabilities of a one-vs-rest classifier, given those of the binary classifier.
fn rest(inner: Capabilities) -> Capabilities {
    Capabilities {
        delegates: true,
        multiclass: true,
        decision_function: true,
        transform: false,
        inverse_transform: false,
        score_samples: false,
        neighbors: false,
        partial_fit: false,
        passes: false,
        warm_start: false,
        moments: false,
        ..inner
    }
}

impl Algorithm for OneVsRest {
    type Fitted = FittedOneVsRest;
    const CAPABILITIES: Capabilities = LogisticRegression::CAPABILITIES;

    fn capabilities_of(settings: &OneVsRest) -> Capabilities {
        rest(settings.estimator.capabilities())
    }

    fn train(&self, samples: &Samples) -> Result<FittedOneVsRest> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let positives = if labels.classes().len() == 2 { 1..2 } else { 0..labels.classes().len() };
        let models: Result<Vec<Box<dyn Model>>> = positives
            .map(|positive| {
                let y: Vec<i64> = labels.codes().iter().map(|&code| i64::from(code == positive)).collect();
                self.estimator.fit_samples(&samples.with_y(&Tensor::from(y))?)
            })
            .collect();
        Ok(FittedOneVsRest::new(models?, labels.classes()))
    }
}

/// Converged if all are, with the largest residual.
fn summary(models: &[Box<dyn Model>]) -> Summary {
    let all = || models.iter().map(|model| model.summary());
    let mut summary = Summary::exact();
    summary.iterations = all().map(|summary| summary.iterations).max().unwrap_or(0);
    summary.converged = all().all(|summary| summary.converged);
    summary.residual = all().filter_map(|summary| summary.residual).reduce(f64::max);
    summary.objective = all().map(|summary| summary.objective).sum();
    summary.warnings = all().flat_map(|summary| summary.warnings.clone()).collect(); // already reported
    summary
}

// Not derived: its files have no settings, which are those of the models.
/// A fitted [`OneVsRest`].
pub struct FittedOneVsRest {
    about: About,
    models: Vec<Box<dyn Model>>,
}

impl FittedOneVsRest {
    /// Creates the model from at least one binary classifier.
    fn new(models: Vec<Box<dyn Model>>, classes: &[i64]) -> FittedOneVsRest {
        let first = &models[0];
        let estimator = serde_json::json!({"type": first.name(), "params": first.settings()});
        let capabilities = rest(first.capabilities());
        let settings = serde_json::json!({ "estimator": estimator });
        let about = About::with(OneVsRest::NAME, capabilities, first.width(), first.dtype(), settings);
        FittedOneVsRest { about: about.classes(classes).summary(summary(&models)), models }
    }

    /// The models, one per class; a single one for two classes.
    pub fn models(&self) -> &[Box<dyn Model>] {
        &self.models
    }

    /// The score of each class, or its probability if the model has no score.
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
        let codes: Result<Vec<usize>> = (0..x.len())
            .map(|row| {
                let scores: Vec<f64> = scores.iter().map(|scores| scores[row]).collect();
                decide(&scores).ok_or_else(|| undecided(OneVsRest::NAME, row))
            })
            .collect();
        Ok(Labels::decode(self.classes(), codes?))
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
        let (columns, scores, m) = (columns?, self.scores(x)?, self.classes().len());
        let mut rows = Vec::with_capacity(x.len() * m);
        for row in 0..x.len() {
            let sum: f64 = columns.iter().map(|column| column[row]).sum();
            rows.extend(columns.iter().map(|column| if sum > 0.0 { column[row] / sum } else { 1.0 / m as f64 }));
        }
        with_real!(self.dtype(), T => {
            let mut rows: Vec<T> = rows.into_iter().map(<T as Real>::of).collect();
            for (row, p) in rows.chunks_mut(m).enumerate() {
                let scores: Vec<f64> = scores.iter().map(|scores| scores[row]).collect();
                settle_ties(p, first_largest(&scores));
            }
            Ok(Tensor::try_from_vec(rows, [x.len(), m])?)
        })
    }

    fn record(&self) -> Record {
        let mut record = Record::new(OneVsRest::NAME, 1);
        record.put_tensor("classes", &Tensor::from_slice(self.classes()));
        record.put("models", self.models.len());
        for (index, model) in self.models.iter().enumerate() {
            record.put_part(&format!("model{index}"), model.record());
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
            (0..count).map(|index| restore(&record.part(&format!("model{index}"))?)).collect();
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
