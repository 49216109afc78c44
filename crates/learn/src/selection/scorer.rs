//! Scores by name; the greater the better, so errors are negated as in scikit-learn.
//!
//! ```
//! use tove_learn::selection::Scorer;
//! assert_eq!(Scorer::named("neg_log_loss")?, Scorer::NegLogLoss);
//! assert_eq!(Scorer::named("mse")?, Scorer::NegMeanSquaredError);
//! assert!(Scorer::named("acuracy").unwrap_err().to_string().contains("did you mean accuracy?"));
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::fmt;

use tove_metrics as metrics;
use tove_metrics::{Average, Score};
use tove_optim::settings::{Choice, edits};
use tove_tensor::{DType, Tensor, TryOps};

use crate::{LearnError, Model, Predict, Result, Samples, Task};

/// What is maximised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Choice)]
pub enum Scorer {
    /// Share of right answers, with an interval.
    Accuracy,
    /// Mean of the classes' recalls.
    BalancedAccuracy,
    /// F1 of the larger of two classes.
    F1,
    /// Plain mean of the classes' F1.
    F1Macro,
    /// F1 of all decisions together.
    F1Micro,
    /// Mean of the classes' F1 by their frequency.
    F1Weighted,
    /// Precision of the larger of two classes.
    Precision,
    /// Plain mean of the classes' precisions.
    PrecisionMacro,
    /// Recall of the larger of two classes.
    Recall,
    /// Plain mean of the classes' recalls.
    RecallMacro,
    /// Area under the ROC curve of two classes.
    RocAuc,
    /// Area under the ROC curve, mean over each class against the rest.
    RocAucOvr,
    /// Average precision of two classes.
    AveragePrecision,
    /// Minus the mean log loss.
    NegLogLoss,
    /// Minus the Brier score, with an interval.
    NegBrierScore,
    /// The part of the variance that is explained.
    R2,
    /// Minus the mean squared error.
    NegMeanSquaredError,
    /// Minus the root of the mean squared error.
    NegRootMeanSquaredError,
    /// Minus the mean absolute error.
    NegMeanAbsoluteError,
}

impl fmt::Display for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Scorer {
    /// The scorer of this name; `mse`, `rmse`, `mae`, `log_loss`, `auc` and `brier` are understood too.
    pub fn named(name: &str) -> Result<Scorer> {
        let full = match name.trim().to_ascii_lowercase().as_str() {
            "mse" | "mean_squared_error" => "neg_mean_squared_error".to_owned(),
            "rmse" | "root_mean_squared_error" => "neg_root_mean_squared_error".to_owned(),
            "mae" | "mean_absolute_error" => "neg_mean_absolute_error".to_owned(),
            "log_loss" => "neg_log_loss".to_owned(),
            "auc" => "roc_auc".to_owned(),
            "brier" | "brier_score" => "neg_brier_score".to_owned(),
            other => other.to_owned(),
        };
        Scorer::from_name(&full).ok_or_else(|| {
            let nearest = Scorer::NAMES.iter().map(|known| (edits(known, &full), known)).min();
            let fix = match nearest {
                Some((distance, known)) if distance <= 3 => format!("did you mean {known}?"),
                _ => format!("there are {}", Scorer::NAMES.join(", ")),
            };
            LearnError::parameter("Scorer", format!("there is no score `{name}`; {fix}"))
        })
    }

    /// The usual score of a task: accuracy, or R².
    pub fn usual(task: Task) -> Scorer {
        match task {
            Task::Classification => Scorer::Accuracy,
            Task::Regression => Scorer::R2,
        }
    }

    /// The score of a model on samples; weights of the samples are used.
    pub fn score(self, model: &dyn Model, samples: &Samples) -> Result<Score> {
        match model.task() {
            Task::Regression => self.of_numbers(model, samples),
            Task::Classification => self.of_classes(model, samples),
        }
    }

    fn of_numbers(self, model: &dyn Model, samples: &Samples) -> Result<Score> {
        let predicted = model.predict(samples.x())?;
        let (truth, weights) = (samples.y().to_dtype(predicted.dtype()), samples.weights());
        let truth = if truth.rank() > predicted.rank() { truth.try_squeeze(1)? } else { truth };
        Ok(match self {
            Scorer::R2 => metrics::r2_score(&truth, &predicted, weights)?,
            Scorer::NegMeanSquaredError => metrics::mean_squared_error(&truth, &predicted, weights)?.negated(),
            Scorer::NegRootMeanSquaredError => metrics::root_mean_squared_error(&truth, &predicted, weights)?.negated(),
            Scorer::NegMeanAbsoluteError => metrics::mean_absolute_error(&truth, &predicted, weights)?.negated(),
            _ => {
                return Err(self.wrong_task(
                    model,
                    "a regression",
                    "r2, neg_mean_squared_error or neg_mean_absolute_error",
                ));
            }
        })
    }

    fn of_classes(self, model: &dyn Model, samples: &Samples) -> Result<Score> {
        let truth = samples.y().to_dtype(DType::I64).try_reshape([samples.len()])?;
        let weights = samples.weights();
        if let Scorer::RocAuc | Scorer::RocAucOvr | Scorer::AveragePrecision = self {
            return self.of_ranking(model, samples, &truth);
        }
        if let Scorer::NegLogLoss | Scorer::NegBrierScore = self {
            let (codes, probabilities) = (codes(model, &truth)?, model.predict_proba(samples.x())?);
            return Ok((match self {
                Scorer::NegLogLoss => metrics::log_loss(&codes, &probabilities, weights)?,
                _ => metrics::brier_score(&codes, &probabilities, weights)?,
            })
            .negated());
        }
        let predicted = model.predict(samples.x())?;
        let n = samples.len();
        let plain = |value: f64| Score::plain(value, n);
        let positive = || match *model.classes() {
            [_, positive] => Ok(Average::Class(positive)),
            _ => Err(self.wrong_task(
                model,
                "more than two classes",
                "the average f1_macro, precision_macro or recall_macro",
            )),
        };
        Ok(match self {
            Scorer::Accuracy => metrics::accuracy(&truth, &predicted, weights)?,
            Scorer::BalancedAccuracy => {
                let classes = metrics::class_scores(&truth, &predicted, 0.0, weights)?;
                let there: Vec<f64> = classes.iter().filter(|(_, s)| s.support > 0.0).map(|(_, s)| s.recall).collect();
                plain(there.iter().sum::<f64>() / there.len() as f64)
            }
            Scorer::F1 => plain(metrics::f1(&truth, &predicted, positive()?, weights)?),
            Scorer::F1Macro => plain(metrics::f1(&truth, &predicted, Average::Macro, weights)?),
            Scorer::F1Micro => plain(metrics::f1(&truth, &predicted, Average::Micro, weights)?),
            Scorer::F1Weighted => plain(metrics::f1(&truth, &predicted, Average::Weighted, weights)?),
            Scorer::Precision => plain(metrics::precision(&truth, &predicted, positive()?, weights)?),
            Scorer::PrecisionMacro => plain(metrics::precision(&truth, &predicted, Average::Macro, weights)?),
            Scorer::Recall => plain(metrics::recall(&truth, &predicted, positive()?, weights)?),
            Scorer::RecallMacro => plain(metrics::recall(&truth, &predicted, Average::Macro, weights)?),
            _ => return Err(self.wrong_task(model, "a classifier", "accuracy, f1, roc_auc or neg_log_loss")),
        })
    }

    fn of_ranking(self, model: &dyn Model, samples: &Samples, truth: &Tensor) -> Result<Score> {
        let (classes, weights) = (model.classes(), samples.weights());
        if self == Scorer::RocAucOvr {
            let (codes, scores) = (codes(model, truth)?, model.predict_proba(samples.x())?);
            return Ok(metrics::roc_auc_one_vs_rest(&codes, &scores, Average::Macro, weights)?);
        }
        let &[_, positive] = classes else {
            return Err(self.wrong_task(model, "more than two classes", "roc_auc_ovr"));
        };
        let scores = match model.decision_function(samples.x()) {
            Ok(scores) => scores,
            Err(_) => model.predict_proba(samples.x())?.try_narrow(1, 1, 1)?.try_squeeze(1)?,
        };
        let hits: Vec<bool> = truth.try_to_vec::<i64>()?.into_iter().map(|label| label == positive).collect();
        let hits = Tensor::from_slice(&hits);
        Ok(match self {
            Scorer::RocAuc => metrics::roc_auc(&hits, &scores, weights)?,
            _ => metrics::average_precision(&hits, &scores, weights)?,
        })
    }

    #[cold]
    fn wrong_task(self, model: &dyn Model, what: &str, fix: &str) -> LearnError {
        LearnError::parameter("Scorer", format!("{self} does not judge {what} ({}); choose {fix}", model.name()))
    }
}

/// The labels as places among the classes that the model knows.
fn codes(model: &dyn Model, truth: &Tensor) -> Result<Tensor> {
    let place = |label: &i64| {
        model.classes().binary_search(label).map(|place| place as i64).map_err(|_| {
            let problem = format!("the label {label} is none of the classes the model learnt");
            LearnError::data("Scorer", problem, "use stratified folds, so that every class is learnt")
        })
    };
    let codes: Vec<i64> = truth.try_to_vec::<i64>()?.iter().map(place).collect::<Result<_>>()?;
    Ok(Tensor::from_slice(&codes))
}
