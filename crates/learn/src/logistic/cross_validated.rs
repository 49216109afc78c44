//! Logistic regression with the regularization strength chosen by cross-validation.
//!
//! For each `l1_ratio` and each of `Cs` a [`LogisticRegression`] is fitted to the training part of each stratified fold
//! and scored on the test part. With `refit` the pair with the best mean score is fitted to all samples; otherwise
//! coefficients and C are averaged over the best of each fold.
//!
//! ```
//! use tove_learn::{Fit, LogisticRegressionCv, Predict};
//! use tove_tensor::{DType, Key, Tensor};
//! let x = Key::new(1).normal([60, 2], DType::F64);
//! let y = Tensor::from_slice(&x.to_f64_vec().chunks(2).map(|row| i64::from(row[0] > row[1])).collect::<Vec<_>>());
//! let model = LogisticRegressionCv::default().fit(&x, &y)?;
//! assert_eq!((model.scores().dims(), model.cs().dims()), (&[5, 1, 10][..], &[10][..])); // folds, l1_ratios, Cs
//! assert!(model.score(&x, &y)?.value > 0.9);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::sync::{Mutex, PoisonError};

use tove_optim::settings::{Hyperparameters, Named, Setting, Value, ValueKind};
use tove_tensor::Tensor;

use super::linear::{Linear, Soft, outputs};
use super::{LogisticRegression, Penalty, Solver};
use crate::kernel::over_tasks;
use crate::selection::{Fold, Scorer, Scoring, Splitter, StratifiedKFold};
use crate::{
    About, Algorithm, Capabilities, ClassWeight, Estimator, Fitted, Labels, LearnError, Model, Result, Rows, Samples,
    Summary,
};

/// Candidate values of the inverse regularization strength.
///
/// ```
/// use tove_learn::logistic::Cs;
/// use tove_optim::settings::Setting;
/// assert_eq!(Cs::parse("3"), Some(Cs::Count(3)));
/// assert_eq!(Cs::parse("0.1,1"), Some(Cs::Values(vec![0.1, 1.0])));
/// assert_eq!(Cs::Count(3).values(), [1e-4, 1.0, 1e4]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Cs {
    /// This number of values on a logarithmic scale from 1e-4 to 1e4.
    Count(usize),
    /// These values.
    Values(Vec<f64>),
}

impl Cs {
    /// The values.
    pub fn values(&self) -> Vec<f64> {
        match self {
            Cs::Values(values) => values.clone(),
            Cs::Count(1) => vec![1e-4],
            Cs::Count(count) => (0..*count).map(|at| 10f64.powf(8.0 * at as f64 / (*count - 1) as f64 - 4.0)).collect(),
        }
    }
}

impl Setting for Cs {
    fn kind() -> ValueKind {
        ValueKind::Text
    }

    fn value(&self) -> Value {
        match self {
            Cs::Count(count) => count.value(),
            Cs::Values(values) => values.value(),
        }
    }

    fn from_value(value: &Value) -> Option<Cs> {
        usize::from_value(value).map(Cs::Count).or_else(|| Vec::from_value(value).map(Cs::Values))
    }

    fn parse(text: &str) -> Option<Cs> {
        let listed = || <Vec<f64> as Setting>::parse(text).map(Cs::Values);
        if text.contains([',', '[']) { listed() } else { usize::parse(text).map(Cs::Count).or_else(listed) }
    }

    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        match self {
            Cs::Count(count) => test(*count as f64),
            Cs::Values(values) => values.all_numbers(test),
        }
    }

    fn expected() -> Option<&'static str> {
        Some("an integer, or a list of numbers such as 0.1,1,10")
    }
}

/// Logistic regression with C, and optionally l1_ratio, chosen by cross-validation.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "LogisticRegressionCV")]
pub struct LogisticRegressionCv {
    /// Candidate values of C: a list, or the number of values on a logarithmic scale from 1e-4 to 1e4.
    #[hyper(default = Cs::Count(10), range = "(0, inf)", alias = "Cs")]
    pub cs: Cs,
    /// Candidate values of l1_ratio, for an elasticnet penalty.
    #[hyper(default = Vec::new(), range = "[0, 1]")]
    pub l1_ratios: Vec<f64>,
    /// Whether an intercept is fitted.
    #[hyper(default = true)]
    pub fit_intercept: bool,
    /// Number of stratified folds.
    #[hyper(default = 5, range = "[2, inf)")]
    pub cv: usize,
    /// The penalty: none, l2, l1 or elasticnet.
    #[hyper(default = Penalty::L2)]
    pub penalty: Penalty,
    /// The score to maximize, such as accuracy, neg_log_loss or roc_auc; accuracy by default.
    #[hyper(default = None)]
    pub scoring: Option<Scorer>,
    /// How the optimum is found.
    #[hyper(default = Solver::Auto)]
    pub solver: Solver,
    /// Stop when the largest absolute entry of the gradient of the regularized mean loss is at most this.
    #[hyper(default = 1e-4, range = "[0, inf)")]
    pub tol: f64,
    /// Maximum number of iterations.
    #[hyper(default = 100, range = "[0, inf)")]
    pub max_iter: usize,
    /// Class weights: none, balanced, or a list such as 0:1,1:5.
    #[hyper(default = ClassWeight::None)]
    pub class_weight: ClassWeight,
    /// Whether to refit the best C on all samples; otherwise coefficients and C are averaged over the best of each
    /// fold.
    #[hyper(default = true)]
    pub refit: bool,
    /// Seed of the order in which saga draws samples.
    #[hyper(default = 0)]
    pub random_state: u64,
}

/// A fitted [`LogisticRegressionCv`].
#[derive(Clone, Debug, Fitted)]
#[fitted(estimator = LogisticRegressionCv)]
pub struct FittedLogisticRegressionCv {
    about: About,
    /// The weights: (1, d) for two classes, (m, d) for more.
    #[fitted(shape = "scores, features")]
    coef: Tensor,
    /// The intercepts: one, or one per class.
    #[fitted(shape = "scores")]
    intercept: Tensor,
    /// The value of C that was chosen.
    #[fitted(name = "C")]
    c: f64,
    /// The selected l1_ratio; 0 for an l2 penalty.
    l1_ratio: f64,
    /// The values of C that were tried.
    #[fitted(shape = "cs", name = "Cs")]
    cs: Tensor,
    /// The score of each fold, l1_ratio and C.
    #[fitted(shape = "folds, ratios, cs")]
    scores: Tensor,
}

impl FittedLogisticRegressionCv {
    fn linear(&self) -> Result<Linear> {
        if self.coef.dims()[0] != outputs(self.classes().len()) {
            return Err(LearnError::model("the model does not have a score for each class", "fit it again"));
        }
        Ok(Linear { coef: self.coef.clone(), intercept: self.intercept.clone() })
    }
}

impl Model for FittedLogisticRegressionCv {
    crate::fitted_methods!();

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear()?.predict(x, self.classes())
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear()?.decision(x)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.linear()?.probabilities(x, Soft::Softmax)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        Some(&self.coef)
    }
}

/// A fit to the training part of a fold: weights, intercepts, and convergence information.
struct Part {
    coef: Vec<f64>,
    intercept: Vec<f64>,
    score: f64,
}

impl LogisticRegressionCv {
    fn candidate(&self, c: f64, l1_ratio: f64) -> LogisticRegression {
        LogisticRegression {
            penalty: self.penalty,
            c,
            l1_ratio,
            fit_intercept: self.fit_intercept,
            tol: self.tol,
            max_iter: self.max_iter,
            class_weight: self.class_weight.clone(),
            solver: self.solver,
            random_state: self.random_state,
        }
    }

    /// The pairs (l1_ratio, C) to try, and the number of l1_ratios.
    fn candidates(&self) -> Result<(Vec<(f64, f64)>, usize)> {
        let cs = self.cs.values();
        if cs.is_empty() {
            return Err(LearnError::parameter(Self::NAME, "no Cs; give at least one"));
        }
        let ratios = match self.penalty {
            Penalty::Elasticnet if self.l1_ratios.is_empty() => {
                let problem = "the elasticnet penalty needs l1_ratios; give at least one, such as 0.5";
                return Err(LearnError::parameter(Self::NAME, problem));
            }
            Penalty::Elasticnet => self.l1_ratios.clone(),
            Penalty::L1 => vec![1.0],
            _ => vec![0.0],
        };
        let pairs = ratios.iter().flat_map(|&ratio| cs.iter().map(move |&c| (ratio, c))).collect();
        Ok((pairs, ratios.len()))
    }

    /// Fits all candidates to all folds, fold by fold.
    fn parts(&self, pairs: &[(f64, f64)], folds: &[Fold], classes: &[i64], samples: &Samples) -> Result<Vec<Part>> {
        let scoring = Scoring::from(self.scoring.unwrap_or(Scorer::Accuracy));
        scoring.check(Self::NAME, self.capabilities())?;
        let slots: Vec<Mutex<Option<Part>>> = (0..folds.len() * pairs.len()).map(|_| Mutex::new(None)).collect();
        over_tasks(slots.len(), |task| {
            let (fold, (ratio, c)) = (&folds[task / pairs.len()], pairs[task % pairs.len()]);
            let (train, test) = (samples.take(&fold.train)?, samples.take(&fold.test)?);
            let model = crate::quietly(|| crate::Fit::fit_samples(&self.candidate(c, ratio), &train))?;
            if model.classes() != classes {
                return Err(lacking(task / pairs.len(), classes, model.classes()));
            }
            let score = scoring.score(&model, &test)?.value;
            let (coef, intercept) = (model.coef().to_f64_vec(), model.intercept().to_f64_vec());
            *slots[task].lock().unwrap_or_else(PoisonError::into_inner) = Some(Part { coef, intercept, score });
            Ok(())
        })?;
        if tove_optim::interrupted() {
            return Err(LearnError::Interrupted { who: Self::NAME });
        }
        Ok(slots.into_iter().filter_map(|slot| slot.into_inner().unwrap_or_else(PoisonError::into_inner)).collect())
    }
}

#[cold]
fn lacking(fold: usize, classes: &[i64], found: &[i64]) -> LearnError {
    let class = classes.iter().find(|class| !found.contains(class)).copied().unwrap_or_default();
    let problem = format!("all samples of class {class} are in the test part of fold {fold}, so it cannot be fitted");
    LearnError::data(LogisticRegressionCv::NAME, problem, "give more samples of the class, or leave it out")
}

/// The first index of the largest value.
fn best(values: impl Iterator<Item = f64>) -> usize {
    let first = (0, f64::NEG_INFINITY);
    values.enumerate().fold(first, |best, next| if next.1 > best.1 { next } else { best }).0
}

/// The elementwise mean of lists of equal length.
fn mean<'a>(lists: impl ExactSizeIterator<Item = &'a [f64]>) -> Vec<f64> {
    let share = 1.0 / lists.len() as f64;
    let mut sums = Vec::new();
    for list in lists {
        sums.resize(list.len(), 0.0);
        sums.iter_mut().zip(list).for_each(|(sum, value)| *sum += share * value);
    }
    sums
}

impl Algorithm for LogisticRegressionCv {
    type Fitted = FittedLogisticRegressionCv;
    // Folds depend on the order of the samples, and a sample of weight 2 is in one fold, while two copies may be in
    // two.
    const CAPABILITIES: Capabilities =
        Capabilities { order_free: false, warm_start: false, accuracy: 5e-2, ..LogisticRegression::CAPABILITIES };

    fn train(&self, samples: &Samples) -> Result<FittedLogisticRegressionCv> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        let (pairs, ratios) = self.candidates()?;
        let folds = StratifiedKFold::new(self.cv).split(samples.y()?)?;
        let parts = self.parts(&pairs, &folds, labels.classes(), samples)?;
        let rows: Vec<&[Part]> = parts.chunks(pairs.len()).collect();
        let shape = [outputs(labels.classes().len()), samples.width()];
        let (coef, intercept, (l1_ratio, c), summary) = if self.refit {
            let mean = |index: usize| rows.iter().map(|row| row[index].score).sum::<f64>();
            let (ratio, c) = pairs[best((0..pairs.len()).map(mean))];
            let model = self.candidate(c, ratio).train(samples)?;
            (model.coef().to_f64_vec(), model.intercept().to_f64_vec(), (ratio, c), model.summary().clone())
        } else {
            let chosen: Vec<usize> = rows.iter().map(|row| best(row.iter().map(|part| part.score))).collect();
            let of = || rows.iter().zip(&chosen).map(|(row, &index)| &row[index]);
            let share = 1.0 / chosen.len() as f64;
            let means = |value: fn(&(f64, f64)) -> f64| chosen.iter().map(|&at| share * value(&pairs[at])).sum();
            let pair = (means(|pair| pair.0), means(|pair| pair.1));
            let coefs = mean(of().map(|part| &part.coef[..]));
            (coefs, mean(of().map(|part| &part.intercept[..])), pair, Summary::exact())
        };
        let dtype = samples.x().dtype();
        let scores: Vec<f64> = parts.iter().map(|part| part.score).collect();
        let cs = self.cs.values();
        Ok(FittedLogisticRegressionCv {
            about: About::of(self, samples).classes(labels.classes()).summary(summary),
            coef: Tensor::try_from_vec(coef, shape)?.to_dtype(dtype),
            intercept: Tensor::from_slice(&intercept).to_dtype(dtype),
            c,
            l1_ratio,
            scores: Tensor::try_from_vec(scores, [folds.len(), ratios, cs.len()])?.to_dtype(dtype),
            cs: Tensor::from_slice(&cs).to_dtype(dtype),
        })
    }
}
