//! Cached predictions of a model on samples, shared by all scores, intervals and reports.
//!
//! ```
//! use tove_learn::selection::{Evaluation, Scorer};
//! use tove_learn::{DummyClassifier, Fit, Samples};
//! use tove_tensor::Tensor;
//! let samples = Samples::new(&Tensor::from([[0.0], [1.0], [2.0]]), &Tensor::from([1i64, 2, 2]))?;
//! let model = DummyClassifier::default().fit_samples(&samples)?;
//! let evaluation = Evaluation::new(&model, &samples)?;
//! assert!((Scorer::Accuracy.of(&evaluation)?.value - 2.0 / 3.0).abs() < 1e-15);
//! assert!(Scorer::named("log_loss")?.of(&evaluation)?.value < 0.0);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::cell::OnceCell;

use tove_tensor::{DType, Tensor, TryOps};

use crate::{Capabilities, LearnError, Model, Predict, Result, Rows, Samples};

/// A model's predictions on samples, with the true targets. Each kind of prediction is computed on first use and
/// cached.
pub struct Evaluation<'a> {
    name: &'static str,
    capabilities: Capabilities,
    classes: Vec<i64>,
    truth: Tensor,
    weights: Option<Tensor>,
    /// The source of predictions that are not cached yet; `None` for predictions that were collected elsewhere.
    source: Option<(&'a dyn Model, &'a Rows)>,
    predictions: OnceCell<Tensor>,
    probabilities: OnceCell<Tensor>,
    decision: OnceCell<Tensor>,
}

/// Predictions of a model that were collected elsewhere, for example in batches.
#[derive(Clone, Debug)]
pub struct Answers {
    /// The output of `predict`.
    pub predictions: Tensor,
    /// The output of `predict_proba`, if the model has it.
    pub probabilities: Option<Tensor>,
    /// The output of `decision_function`, if the model has it.
    pub decision: Option<Tensor>,
}

impl<'a> Evaluation<'a> {
    /// Evaluates a model on samples with targets; sample weights are used.
    pub fn new(model: &'a dyn Model, samples: &'a Samples) -> Result<Evaluation<'a>> {
        let source = Some((model, samples.x()));
        Evaluation::with(model, samples.targets_for("Evaluation")?, samples.weights(), source)
    }

    /// Creates an evaluation from collected predictions.
    pub fn of_answers(
        model: &dyn Model,
        truth: &Tensor,
        weights: Option<&Tensor>,
        answers: Answers,
    ) -> Result<Evaluation<'static>> {
        let evaluation = Evaluation::with(model, truth, weights, None)?;
        let keep = |cell: &OnceCell<Tensor>, answer: Option<Tensor>| {
            answer.and_then(|answer| cell.set(answer).err()); // the cell is new, so this cannot fail
        };
        keep(&evaluation.predictions, Some(answers.predictions));
        keep(&evaluation.probabilities, answers.probabilities);
        keep(&evaluation.decision, answers.decision);
        Ok(evaluation)
    }

    /// Probabilities (n, m) that something else than a [`Model`] gave for classes 0 to m − 1, such as a net for images. The prediction
    /// is the first of the most probable classes.
    ///
    /// # Errors
    /// If truth and probabilities are not of the same samples.
    pub fn of_probabilities(name: &'static str, truth: &Tensor, probabilities: &Tensor) -> Result<Evaluation<'static>> {
        let classes = match (truth.dims(), probabilities.dims()) {
            (&[n], &[rows, classes]) if n == rows => classes,
            _ => {
                let problem = format!("labels {} and probabilities {}", truth.shape(), probabilities.shape());
                return Err(LearnError::unsupported(name, problem, "give labels (n) and probabilities (n, classes)"));
            }
        };
        Ok(Evaluation {
            name,
            capabilities: Capabilities { probabilities: true, multiclass: true, ..Capabilities::CLASSIFIER },
            classes: (0..classes as i64).collect(),
            truth: truth.to_dtype(DType::I64),
            weights: None,
            source: None,
            predictions: probabilities.try_argmax(-1)?.into(),
            probabilities: probabilities.clone().into(),
            decision: OnceCell::new(),
        })
    }

    fn with<'s>(
        model: &dyn Model,
        truth: &Tensor,
        weights: Option<&Tensor>,
        source: Option<(&'s dyn Model, &'s Rows)>,
    ) -> Result<Evaluation<'s>> {
        let capabilities = model.capabilities();
        let n = truth.dims().first().copied().unwrap_or(0);
        let truth =
            if capabilities.classifies() { truth.to_dtype(DType::I64).try_reshape([n])? } else { truth.clone() };
        Ok(Evaluation {
            name: model.name(),
            capabilities,
            classes: model.classes().to_vec(),
            truth,
            weights: weights.cloned(),
            source,
            predictions: OnceCell::new(),
            probabilities: OnceCell::new(),
            decision: OnceCell::new(),
        })
    }

    /// The name of the model's estimator.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Capabilities of the model.
    pub fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    /// The classes of the model, in ascending order.
    pub fn classes(&self) -> &[i64] {
        &self.classes
    }

    /// The positive class: the second of two classes.
    pub fn positive(&self) -> Option<i64> {
        if let [_, positive] = self.classes[..] { Some(positive) } else { None }
    }

    /// The targets: labels (n), or numbers (n) or (n, m).
    pub fn truth(&self) -> &Tensor {
        &self.truth
    }

    /// The sample weights, if there are any.
    pub fn weights(&self) -> Option<&Tensor> {
        self.weights.as_ref()
    }

    /// Number of samples.
    pub fn len(&self) -> usize {
        self.truth.dims().first().copied().unwrap_or(0)
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all predictions, including those that no score has used.
    ///
    /// # Errors
    /// If the model cannot predict.
    pub fn into_answers(self) -> Result<Answers> {
        self.predictions()?;
        if self.capabilities.probabilities {
            self.probabilities()?;
        }
        if self.capabilities.decision_function {
            self.decision()?;
        }
        let none = || LearnError::unsupported(self.name, "has no predictions".to_owned(), "choose another model");
        Ok(Answers {
            predictions: self.predictions.into_inner().ok_or_else(none)?,
            probabilities: self.probabilities.into_inner(),
            decision: self.decision.into_inner(),
        })
    }

    fn ask<'c>(
        &self,
        cell: &'c OnceCell<Tensor>,
        has: bool,
        what: &str,
        ask: impl Fn(&dyn Model, &Rows) -> Result<Tensor>,
    ) -> Result<&'c Tensor> {
        if let Some(answer) = cell.get() {
            return Ok(answer);
        }
        let Some((model, rows)) = self.source.filter(|_| has) else {
            let fix = "choose another score, or another model";
            return Err(LearnError::unsupported(self.name, format!("has no {what}"), fix));
        };
        let answer = ask(model, rows)?;
        Ok(cell.get_or_init(|| answer))
    }

    /// Predictions: labels (n), or numbers (n) or (n, m).
    pub fn predictions(&self) -> Result<&Tensor> {
        self.ask(&self.predictions, self.capabilities.predicts(), "predictions", |model, rows| model.predict(rows))
    }

    /// Probabilities (n, m) of the classes.
    pub fn probabilities(&self) -> Result<&Tensor> {
        let has = self.capabilities.probabilities;
        self.ask(&self.probabilities, has, "probabilities", |model, rows| model.predict_proba(rows))
    }

    /// Decision scores.
    pub fn decision(&self) -> Result<&Tensor> {
        let has = self.capabilities.decision_function;
        self.ask(&self.decision, has, "decision function", |model, rows| model.decision_function(rows))
    }

    /// Values that rank the samples by the positive class: decision scores, or probabilities if there are none.
    pub fn ranking(&self) -> Result<Tensor> {
        match self.decision() {
            Ok(scores) => Ok(scores.clone()),
            Err(_) => Ok(self.probabilities()?.try_narrow(1, 1, 1)?.try_squeeze(1)?),
        }
    }

    /// Whether each sample is of the positive class.
    pub fn hits(&self) -> Result<Option<Vec<bool>>> {
        let Some(positive) = self.positive() else { return Ok(None) };
        Ok(Some(self.truth.try_to_vec::<i64>()?.into_iter().map(|label| label == positive).collect()))
    }

    /// The labels as indices into the classes of the model.
    pub fn codes(&self) -> Result<Tensor> {
        let index = |label: &i64| {
            self.classes.binary_search(label).map(|index| index as i64).map_err(|_| {
                let problem = format!("the label {label} is not among the classes of the model");
                LearnError::data(
                    "Evaluation",
                    problem,
                    "use stratified folds, so that every class is in the training part",
                )
            })
        };
        let codes: Vec<i64> = self.truth.try_to_vec::<i64>()?.iter().map(index).collect::<Result<_>>()?;
        Ok(Tensor::from_slice(&codes))
    }

    /// The targets, in the shape and type of the predicted numbers.
    pub fn true_numbers(&self) -> Result<Tensor> {
        let predicted = self.predictions()?;
        let truth = self.truth.to_dtype(predicted.dtype());
        Ok(if truth.rank() > predicted.rank() { truth.try_squeeze(1)? } else { truth })
    }
}
