//! How far predicted classes agree with the true ones beyond what chance alone would give.
//!
//! With c the accuracy, tₖ the share of class k in the truth and pₖ its share in the prediction:
//!
//! | score | formula |
//! |---|---|
//! | Matthews correlation | (c − Σ tₖpₖ)/√((1 − Σ tₖ²)(1 − Σ pₖ²)) |
//! | Cohen's kappa | 1 − O/E, with O and E the observed mean disagreement and the one expected from tₖ and pₖ |
//! | balanced accuracy | the mean of the classes' recalls |

use std::collections::BTreeMap;

use tove_tensor::Tensor;

use crate::classification::{Counts, count};
use crate::read::{View, Weights, check_pair, dense};
use crate::score::Sum;
use crate::{MetricError, Result, Score};

/// Shares of a class in truth and prediction.
struct Share {
    actual: f64,
    predicted: f64,
}

fn shares(counts: &BTreeMap<i64, Counts>) -> Vec<Share> {
    let total = counts.values().map(|counts| counts.actual.value()).collect::<Sum>().value();
    let share =
        |counts: &Counts| Share { actual: counts.actual.value() / total, predicted: counts.predicted.value() / total };
    counts.values().map(share).collect()
}

fn sum(shares: &[Share], of: impl Fn(&Share) -> f64) -> f64 {
    shares.iter().map(of).collect::<Sum>().value()
}

/// The correlation of predicted and true classes, from −1 to 1, for any number of classes; 0 when truth or prediction
/// has a single class, as in scikit-learn.
///
/// ```
/// use tove_metrics::matthews_corrcoef;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([1i64, 1, 1, 0]), Tensor::from([1i64, 0, 1, 1]));
/// assert!((matthews_corrcoef(&truth, &guess, None)?.value + 1.0 / 3.0).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If there are no samples, lengths differ, or classes are not whole numbers.
pub fn matthews_corrcoef(truth: &Tensor, prediction: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    let counts = count("matthews_corrcoef", truth, prediction, weights)?;
    let shares = shares(&counts);
    let total = counts.values().map(|counts| counts.actual.value()).collect::<Sum>().value();
    let right = counts.values().map(|counts| counts.both.value() / total).collect::<Sum>().value();
    let covariance = right - sum(&shares, |share| share.actual * share.predicted);
    let (of_truth, of_prediction) =
        (1.0 - sum(&shares, |share| share.actual.powi(2)), 1.0 - sum(&shares, |share| share.predicted.powi(2)));
    let value =
        if of_truth > 0.0 && of_prediction > 0.0 { covariance / (of_truth * of_prediction).sqrt() } else { 0.0 };
    Ok(Score::plain(value.clamp(-1.0, 1.0), truth.numel()))
}

/// How much a disagreement counts in [`cohen_kappa`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KappaWeights {
    /// Every disagreement counts the same.
    #[default]
    None,
    /// By the distance of the classes in their order: for grades and other ordered classes.
    Linear,
    /// By the squared distance.
    Quadratic,
}

impl KappaWeights {
    /// The disagreement of the i-th and the j-th class.
    pub fn distance(self, i: usize, j: usize) -> f64 {
        let apart = i.abs_diff(j) as f64;
        match self {
            KappaWeights::None => f64::from(u8::from(i != j)),
            KappaWeights::Linear => apart,
            KappaWeights::Quadratic => apart * apart,
        }
    }

    /// The mean disagreement of independent draws from both sides, in time linear in the classes.
    fn expected(self, shares: &[Share]) -> f64 {
        let place = |mean: &dyn Fn(&Share) -> f64, value: &dyn Fn(f64) -> f64| {
            let terms = shares.iter().enumerate().map(|(place, share)| mean(share) * value(place as f64));
            terms.collect::<Sum>().value()
        };
        let (actual, predicted) = (|share: &Share| share.actual, |share: &Share| share.predicted);
        match self {
            KappaWeights::None => 1.0 - sum(shares, |share| share.actual * share.predicted),
            KappaWeights::Linear => {
                // E|i − j| = Σₜ P(i ≤ t < j) + P(j ≤ t < i).
                let (mut below_actual, mut below_predicted, mut total) =
                    (Sum::default(), Sum::default(), Sum::default());
                for share in &shares[..shares.len().saturating_sub(1)] {
                    below_actual.add(share.actual);
                    below_predicted.add(share.predicted);
                    let (a, p) = (below_actual.value(), below_predicted.value());
                    total.add(a * (1.0 - p) + p * (1.0 - a));
                }
                total.value()
            }
            KappaWeights::Quadratic => {
                let (a, p) = (place(&actual, &|x| x), place(&predicted, &|x| x));
                let variance = place(&actual, &|x| (x - a).powi(2)) + place(&predicted, &|x| (x - p).powi(2));
                variance + (a - p).powi(2)
            }
        }
    }
}

/// Agreement beyond chance: 1 for full agreement, 0 for as much as independent answers of the same frequencies would
/// have, negative for less.
///
/// ```
/// use tove_metrics::{KappaWeights, cohen_kappa};
/// use tove_tensor::Tensor;
/// let (a, b) = (Tensor::from([0i64, 1, 0, 1]), Tensor::from([0i64, 1, 1, 1]));
/// assert_eq!(cohen_kappa(&a, &b, KappaWeights::None, None)?.value, 0.5);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`matthews_corrcoef`]; or if all of truth and prediction is one class, which leaves nothing to disagree about.
pub fn cohen_kappa(
    truth: &Tensor,
    prediction: &Tensor,
    kappa: KappaWeights,
    weights: Option<&Tensor>,
) -> Result<Score> {
    const WHAT: &str = "cohen_kappa";
    let n = check_pair(WHAT, truth, prediction)?;
    let counts = count(WHAT, truth, prediction, weights)?;
    let ranks: BTreeMap<i64, usize> = counts.keys().enumerate().map(|(place, &class)| (class, place)).collect();
    let expected = kappa.expected(&shares(&counts));
    if expected <= 0.0 {
        let problem = "truth and prediction are all of one class".to_owned();
        return Err(MetricError::OneClass { what: WHAT, problem });
    }
    let weights = Weights::new(WHAT, weights, n)?;
    let (truth, prediction) = (dense(truth), dense(prediction));
    let (truth, prediction) = (View::of(&truth)?, View::of(&prediction)?);
    let observed = weights.mean(n, |i| kappa.distance(ranks[&truth.whole(i)], ranks[&prediction.whole(i)]))?;
    Ok(Score::plain(1.0 - observed / expected, n))
}

/// The mean of the recalls of the classes in the truth: accuracy as if all classes were equally frequent. When `adjusted`,
/// scaled so that guessing gives 0 and a perfect answer 1.
///
/// ```
/// use tove_metrics::balanced_accuracy;
/// use tove_tensor::Tensor;
/// let (truth, guess) = (Tensor::from([0i64, 0, 0, 1]), Tensor::from([0i64, 0, 0, 0]));
/// assert_eq!(balanced_accuracy(&truth, &guess, false, None)?.value, 0.5);
/// assert_eq!(balanced_accuracy(&truth, &guess, true, None)?.value, 0.0);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`matthews_corrcoef`]; or if the adjusted score of a truth of one class is asked for.
pub fn balanced_accuracy(
    truth: &Tensor,
    prediction: &Tensor,
    adjusted: bool,
    weights: Option<&Tensor>,
) -> Result<Score> {
    const WHAT: &str = "balanced_accuracy";
    let counts = count(WHAT, truth, prediction, weights)?;
    let occurring = || counts.values().filter(|counts| counts.actual.value() > 0.0);
    let recalls = occurring().map(|counts| counts.both.value() / counts.actual.value());
    let classes = occurring().count() as f64;
    let mean = recalls.collect::<Sum>().value() / classes;
    if !adjusted {
        return Ok(Score::plain(mean, truth.numel()));
    }
    if classes < 2.0 {
        return Err(MetricError::OneClass { what: WHAT, problem: "the truth is all of one class".to_owned() });
    }
    let chance = 1.0 / classes;
    Ok(Score::plain((mean - chance) / (1.0 - chance), truth.numel()))
}
