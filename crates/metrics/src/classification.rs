//! Metrics of classifiers: accuracy, precision, recall, F1.
//!
//! For a class: precision = TP/(TP + FP), recall = TP/(TP + FN), F1 = 2TP/(2TP + FP + FN), their harmonic mean. Where a
//! denominator is 0 the score is what `zero_division` says: 0 as scikit-learn has it, 1, or NaN, which averages leave out.

use std::collections::BTreeMap;

use tove_tensor::Tensor;

use crate::read::{View, Weights, check_pair, check_scores, dense};
use crate::score::Sum;
use crate::{MetricError, Result, Score};

/// The fraction of predictions that are right, with Hoeffding's interval.
///
/// # Errors
/// If there are no samples, lengths differ, or classes are not whole numbers.
pub fn accuracy(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    let n = check_pair("accuracy", truth, prediction)?;
    let weights = Weights::new("accuracy", weights, n)?;
    let (truth, prediction) = (dense(truth), dense(prediction));
    let (truth, prediction) = (View::of(&truth)?, View::of(&prediction)?);
    let value = weights.mean(n, |i| f64::from(u8::from(truth.whole(i) == prediction.whole(i))))?;
    Ok(Score::bounded(value, n, weights.effective, (0.0, 1.0)))
}

/// The fraction of samples whose class (0 … C − 1) is among the `k` largest of its scores (n, C). Of equal scores the
/// higher class counts as larger, as in scikit-learn.
///
/// ```
/// use tove_metrics::top_k_accuracy;
/// use tove_tensor::Tensor;
/// let scores = Tensor::from([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]]);
/// let truth = Tensor::from([1i64, 0]);
/// assert_eq!(top_k_accuracy(&truth, &scores, 2, None)?.value, 0.5);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If there are no samples, shapes do not fit, a class or `k` is out of range, or a score is NaN.
pub fn top_k_accuracy(truth: &Tensor, scores: &Tensor, k: usize, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "top_k_accuracy";
    let (n, classes) = check_scores(WHAT, truth, scores, false)?;
    if k == 0 || k > classes {
        return Err(MetricError::parameter(WHAT, format!("k is {k}; give a number from 1 to {classes}")));
    }
    let weights = Weights::new(WHAT, weights, n)?;
    let (truth, scores) = (dense(truth), dense(scores));
    let (truth, scores) = (View::of(&truth)?, View::of(&scores)?);
    check_range(WHAT, &truth, n, classes)?;
    let hit = |i: usize| {
        let class = truth.whole(i) as usize;
        let own = scores.real(i * classes + class);
        let before = |other: usize| {
            let score = scores.real(i * classes + other);
            score > own || (score == own && other > class)
        };
        f64::from(u8::from((0..classes).filter(|&other| before(other)).count() < k))
    };
    Ok(Score::bounded(weights.mean(n, hit)?, n, weights.effective, (0.0, 1.0)))
}

pub(crate) fn check_range(what: &'static str, truth: &View<'_>, n: usize, classes: usize) -> Result<()> {
    match (0..n).find(|&i| usize::try_from(truth.whole(i)).map_or(true, |class| class >= classes)) {
        Some(index) => {
            let expected = "classes are numbered from 0, below the number of scores per sample";
            Err(MetricError::Value { what, argument: "class", index, value: truth.whole(index) as f64, expected })
        }
        None => Ok(()),
    }
}

/// How scores of several classes become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// Only this class counts; scikit-learn's `binary` with `pos_label`.
    Class(i64),
    /// Counts of all classes are added first: every sample weighs the same.
    Micro,
    /// The plain mean over classes: every class weighs the same.
    Macro,
    /// The mean over classes, weighted by how often they are true.
    Weighted,
}

/// Precision, recall and F1 of a class, or of an average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClassScores {
    /// The fraction of those called so that are so.
    pub precision: f64,
    /// The fraction of those that are so that are called so.
    pub recall: f64,
    /// The harmonic mean of both.
    pub f1: f64,
    /// Samples (or weight) of the class; of all classes for an average.
    pub support: f64,
}

/// What was counted for a class.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub both: Sum,
    pub predicted: Sum,
    pub actual: Sum,
}

impl Counts {
    /// What was counted for all classes together.
    pub(crate) fn total<'a>(all: impl Iterator<Item = &'a Counts>) -> Counts {
        let mut total = Counts::default();
        for counts in all {
            total.both.add(counts.both.value());
            total.predicted.add(counts.predicted.value());
            total.actual.add(counts.actual.value());
        }
        total
    }

    fn scores(&self, zero_division: f64) -> ClassScores {
        let (both, predicted, actual) = (self.both.value(), self.predicted.value(), self.actual.value());
        let ratio = |part: f64, whole: f64| if whole == 0.0 { zero_division } else { part / whole };
        ClassScores {
            precision: ratio(both, predicted),
            recall: ratio(both, actual),
            f1: ratio(2.0 * both, predicted + actual),
            support: actual,
        }
    }
}

/// What was counted for every class that occurs in truth or prediction.
pub(crate) fn count(
    what: &'static str,
    truth: &Tensor,
    prediction: &Tensor,
    weights: Option<&Tensor>,
) -> Result<BTreeMap<i64, Counts>> {
    let n = check_pair(what, truth, prediction)?;
    let weights = Weights::new(what, weights, n)?;
    let weight = weights.get()?;
    let (truth, prediction) = (dense(truth), dense(prediction));
    let (truth, prediction) = (View::of(&truth)?, View::of(&prediction)?);
    let mut counts = BTreeMap::<i64, Counts>::new();
    for i in 0..n {
        let (actual, predicted, weight) = (truth.whole(i), prediction.whole(i), weight(i));
        counts.entry(actual).or_default().actual.add(weight);
        let entry = counts.entry(predicted).or_default();
        entry.predicted.add(weight);
        if actual == predicted {
            entry.both.add(weight);
        }
    }
    Ok(counts)
}

/// Precision, recall and F1 of every class that occurs in truth or prediction, in the order of the classes.
///
/// ```
/// use tove_metrics::class_scores;
/// use tove_tensor::Tensor;
/// let scores = class_scores(&Tensor::from([0i64, 0, 1]), &Tensor::from([0i64, 1, 1]), 0.0, None)?;
/// assert_eq!((scores[0].1.precision, scores[0].1.recall), (1.0, 0.5));
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`accuracy`].
pub fn class_scores(
    truth: &Tensor,
    prediction: &Tensor,
    zero_division: f64,
    weights: Option<&Tensor>,
) -> Result<Vec<(i64, ClassScores)>> {
    let counts = count("class_scores", truth, prediction, weights)?;
    Ok(counts.into_iter().map(|(class, counts)| (class, counts.scores(zero_division))).collect())
}

/// Precision, recall and F1, averaged over classes; `zero_division` as in the [module](self).
///
/// ```
/// use tove_metrics::{Average, precision_recall_f1};
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([0i64, 1, 2, 0, 1, 2]), Tensor::from([0i64, 2, 1, 0, 0, 1]));
/// let scores = precision_recall_f1(&truth, &guess, Average::Macro, 0.0, None)?;
/// assert!((scores.precision - 2.0 / 9.0).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`accuracy`]; or if the class asked for occurs neither in truth nor in prediction.
pub fn precision_recall_f1(
    truth: &Tensor,
    prediction: &Tensor,
    average: Average,
    zero_division: f64,
    weights: Option<&Tensor>,
) -> Result<ClassScores> {
    const WHAT: &str = "precision_recall_f1";
    let counts = count(WHAT, truth, prediction, weights)?;
    let all: Vec<ClassScores> = counts.values().map(|counts| counts.scores(zero_division)).collect();
    let support = all.iter().map(|scores| scores.support).collect::<Sum>().value();
    let by = |weight: fn(&ClassScores) -> f64| {
        let of = |part: fn(&ClassScores) -> f64| mean_of_numbers(&all, part, weight);
        ClassScores { precision: of(|s| s.precision), recall: of(|s| s.recall), f1: of(|s| s.f1), support }
    };
    match average {
        Average::Class(class) => match counts.get(&class) {
            Some(counts) => Ok(counts.scores(zero_division)),
            None => {
                Err(MetricError::parameter(WHAT, format!("class {class} occurs neither in truth nor in prediction")))
            }
        },
        Average::Macro => Ok(by(|_| 1.0)),
        Average::Weighted => Ok(by(|scores| scores.support)),
        Average::Micro => Ok(Counts::total(counts.values()).scores(zero_division)),
    }
}

/// The weighted mean without NaN; the plain one when no weight is left.
fn mean_of_numbers(all: &[ClassScores], part: fn(&ClassScores) -> f64, weight: fn(&ClassScores) -> f64) -> f64 {
    let numbers = || all.iter().filter(|scores| !part(scores).is_nan());
    let total = numbers().map(weight).collect::<Sum>().value();
    if total > 0.0 {
        return numbers().map(|scores| weight(scores) * part(scores)).collect::<Sum>().value() / total;
    }
    numbers().map(part).collect::<Sum>().value() / numbers().count() as f64
}

macro_rules! one_of_three {
    ($($name:ident, $text:literal;)*) => {$(
        #[doc = concat!($text, ", averaged; 0 where it is 0/0. See [`precision_recall_f1`].")]
        ///
        /// # Errors
        /// As [`precision_recall_f1`].
        pub fn $name(truth: &Tensor, prediction: &Tensor, average: Average, weights: Option<&Tensor>) -> Result<f64> {
            precision_recall_f1(truth, prediction, average, 0.0, weights).map(|scores| scores.$name)
        }
    )*};
}
one_of_three! {
    precision, "TP/(TP + FP)";
    recall, "TP/(TP + FN)";
    f1, "2TP/(2TP + FP + FN)";
}
