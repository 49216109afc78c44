//! Metrics of rankings: ROC and precision-recall curves over all thresholds.
//!
//! Samples are sorted by score once, O(n log n); samples of equal score enter together, which makes ties count one half
//! in the area under the ROC curve. Truth is 0 or 1 (or bool).

use tove_tensor::Tensor;

use crate::classification::{Average, check_range};
use crate::read::{View, Weights, check_scores, dense};
use crate::score::Sum;
use crate::{MetricError, Result, Score};

/// Sums over the samples whose score is at least a threshold.
#[derive(Clone, Copy, Debug)]
struct Step {
    threshold: f64,
    positives: f64,
    negatives: f64,
}

/// Sample numbers by falling score. Scores become whole numbers of the same order, packed with the sample's number, so
/// that the sort moves plain integers and looks nothing up.
fn descending(view: &View<'_>, n: usize, offset: usize, stride: usize) -> Vec<u32> {
    let place = |i: usize| offset + i * stride;
    if let View::F32(values) = view {
        let key = |x: f32| {
            let bits = x.to_bits();
            if bits >> 31 == 0 { !(bits | 1 << 31) } else { bits }
        };
        let mut packed: Vec<u64> = (0..n).map(|i| u64::from(key(values[place(i)])) << 32 | i as u64).collect();
        packed.sort_unstable();
        return packed.into_iter().map(|packed| packed as u32).collect();
    }
    let key = |x: f64| {
        let bits = x.to_bits();
        if bits >> 63 == 0 { !(bits | 1 << 63) } else { bits }
    };
    let mut packed: Vec<u128> = (0..n).map(|i| u128::from(key(view.real(place(i)))) << 32 | i as u128).collect();
    packed.sort_unstable();
    packed.into_iter().map(|packed| packed as u32).collect()
}

/// Calls `visit` once per distinct score, from the largest down, with the sums so far. Samples without weight are left
/// out, thresholds and all.
fn walk(
    scores: (&View<'_>, usize, usize),
    n: usize,
    positive: impl Fn(usize) -> bool,
    weight: impl Fn(usize) -> f64,
    mut visit: impl FnMut(Step),
) {
    let (view, offset, stride) = scores;
    let score = |i: u32| view.real(offset + i as usize * stride);
    let order = descending(view, n, offset, stride);
    let (mut positives, mut negatives) = (Sum::default(), Sum::default());
    let mut pending: Option<f64> = None;
    for &sample in &order {
        let w = weight(sample as usize);
        if w == 0.0 {
            continue;
        }
        if let Some(threshold) = pending.filter(|&threshold| threshold != score(sample)) {
            visit(Step { threshold, positives: positives.value(), negatives: negatives.value() });
        }
        // The first of equal scores names the threshold (0 and −0 are equal).
        pending = Some(pending.filter(|&threshold| threshold == score(sample)).unwrap_or(score(sample)));
        if positive(sample as usize) { positives.add(w) } else { negatives.add(w) }
    }
    if let Some(threshold) = pending {
        visit(Step { threshold, positives: positives.value(), negatives: negatives.value() });
    }
}

/// Checks the arguments of a binary score and walks through them.
fn walk_binary(
    what: &'static str,
    truth: &Tensor,
    scores: &Tensor,
    weights: Option<&Tensor>,
    visit: impl FnMut(Step),
) -> Result<usize> {
    let (n, classes) = check_scores(what, truth, scores, true)?;
    if scores.rank() != 1 || n > u32::MAX as usize {
        let problem = format!("{classes} scores for each of {n} samples; give a vector with one score per sample");
        return Err(MetricError::parameter(what, problem));
    }
    let weights = Weights::new(what, weights, n)?;
    let (truth, scores) = (dense(truth), dense(scores));
    let (truth, scores) = (View::of(&truth)?, View::of(&scores)?);
    check_range(what, &truth, n, 2)?;
    walk((&scores, 0, 1), n, |i| truth.whole(i) == 1, weights.get()?, visit);
    Ok(n)
}

/// Trapezoids under the ROC curve, fed step by step.
#[derive(Default)]
struct Area {
    area: Sum,
    last: (f64, f64),
}

impl Area {
    fn add(&mut self, step: Step) {
        let (positives, negatives) = self.last;
        self.area.add((step.negatives - negatives) * (step.positives + positives) / 2.0);
        self.last = (step.positives, step.negatives);
    }

    fn finish(self, what: &'static str) -> Result<f64> {
        let (positives, negatives) = self.last;
        both_classes(what, positives, negatives)?;
        Ok(self.area.value() / (positives * negatives))
    }
}

fn both_classes(what: &'static str, positives: f64, negatives: f64) -> Result<()> {
    let missing = if positives == 0.0 { "positive" } else { "negative" };
    if positives > 0.0 && negatives > 0.0 {
        return Ok(());
    }
    Err(MetricError::OneClass { what, problem: format!("there is no {missing} sample") })
}

/// The area under the ROC curve: the probability that a positive sample has a larger score than a negative one, ties
/// counting one half.
///
/// ```
/// use tove_metrics::roc_auc;
/// use tove_tensor::Tensor;
/// let auc = roc_auc(&Tensor::from([0i64, 0, 1, 1]), &Tensor::from([0.1, 0.4, 0.35, 0.8]), None)?;
/// assert_eq!(auc.value, 0.75);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If there are no samples, one class is missing, classes are not 0 and 1, shapes differ, or a score is NaN.
pub fn roc_auc(truth: &Tensor, scores: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    let mut area = Area::default();
    let n = walk_binary("roc_auc", truth, scores, weights, |step| area.add(step))?;
    Ok(Score::plain(area.finish("roc_auc")?, n))
}

/// The area under the ROC curve of each class against the rest, averaged over classes: plainly ([`Average::Macro`]) or by
/// how often they are true ([`Average::Weighted`]). Scores are (n, C), classes 0 … C − 1.
///
/// # Errors
/// As [`roc_auc`], for every class; other averages are refused.
pub fn roc_auc_one_vs_rest(
    truth: &Tensor,
    scores: &Tensor,
    average: Average,
    weights: Option<&Tensor>,
) -> Result<Score> {
    const WHAT: &str = "roc_auc_one_vs_rest";
    let (n, classes) = check_scores(WHAT, truth, scores, false)?;
    if !matches!(average, Average::Macro | Average::Weighted) || n > u32::MAX as usize {
        return Err(MetricError::parameter(WHAT, format!("average {average:?}; give Macro or Weighted")));
    }
    let weights = Weights::new(WHAT, weights, n)?;
    let (truth, scores) = (dense(truth), dense(scores));
    let (truth, scores) = (View::of(&truth)?, View::of(&scores)?);
    check_range(WHAT, &truth, n, classes)?;
    let (mut sum, mut total) = (Sum::default(), Sum::default());
    for class in 0..classes {
        let mut area = Area::default();
        walk((&scores, class, classes), n, |i| truth.whole(i) == class as i64, weights.get()?, |step| area.add(step));
        let share = if average == Average::Macro { 1.0 } else { area.last.0 };
        let missing = |error| match error {
            MetricError::OneClass { problem, .. } => {
                MetricError::OneClass { what: WHAT, problem: format!("class {class} against the rest: {problem}") }
            }
            other => other,
        };
        sum.add(share * area.finish(WHAT).map_err(missing)?);
        total.add(share);
    }
    Ok(Score::plain(sum.value() / total.value(), n))
}

/// Average precision: Σ (Rᵢ − Rᵢ₋₁) Pᵢ over falling thresholds, R recall and P precision.
///
/// ```
/// use tove_metrics::average_precision;
/// use tove_tensor::Tensor;
/// let score = average_precision(&Tensor::from([0i64, 0, 1, 1]), &Tensor::from([0.1, 0.4, 0.35, 0.8]), None)?;
/// assert!((score.value - 5.0 / 6.0).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`roc_auc`], except that negatives may be missing.
pub fn average_precision(truth: &Tensor, scores: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "average_precision";
    let (mut sum, mut last) = (Sum::default(), 0.0);
    let n = walk_binary(WHAT, truth, scores, weights, |step| {
        sum.add((step.positives - last) * step.positives / (step.positives + step.negatives));
        last = step.positives;
    })?;
    both_classes(WHAT, last, 1.0)?;
    Ok(Score::plain(sum.value() / last, n))
}

/// The area under the precision-recall curve by trapezoids, as scikit-learn's `auc(recall, precision)`. [`average_precision`] sums
/// rectangles instead, which does not overstate what lies between the points; prefer it.
///
/// ```
/// use tove_metrics::precision_recall_auc;
/// use tove_tensor::Tensor;
/// let score = precision_recall_auc(&Tensor::from([0i64, 0, 1, 1]), &Tensor::from([0.1, 0.4, 0.35, 0.8]), None)?;
/// assert!((score.value - 19.0 / 24.0).abs() < 1e-15);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`average_precision`].
pub fn precision_recall_auc(truth: &Tensor, scores: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    let curve = precision_recall_curve(truth, scores, weights)?;
    let pairs = curve.recall.windows(2).zip(curve.precision.windows(2));
    let area: Sum =
        pairs.map(|(recall, precision)| 0.5 * (recall[0] - recall[1]) * (precision[0] + precision[1])).collect();
    Ok(Score::plain(area.value(), truth.numel()))
}

/// Points of the ROC curve, from (0, 0) to (1, 1).
#[derive(Clone, Debug, PartialEq)]
pub struct RocCurve {
    /// False positive rates.
    pub false_positive_rate: Vec<f64>,
    /// True positive rates.
    pub true_positive_rate: Vec<f64>,
    /// A sample is called positive when its score is at least this; the first is +∞.
    pub thresholds: Vec<f64>,
}

/// The ROC curve, without the points that lie on a straight line between their neighbors; as in scikit-learn.
///
/// # Errors
/// As [`roc_auc`].
pub fn roc_curve(truth: &Tensor, scores: &Tensor, weights: Option<&Tensor>) -> Result<RocCurve> {
    const WHAT: &str = "roc_curve";
    let mut steps: Vec<Step> = Vec::new();
    walk_binary(WHAT, truth, scores, weights, |step| steps.push(step))?;
    let (positives, negatives) = steps.last().map_or((0.0, 0.0), |last| (last.positives, last.negatives));
    both_classes(WHAT, positives, negatives)?;
    let corner = |i: usize| i == 0 || i + 1 == steps.len() || !straight(&steps[i - 1], &steps[i], &steps[i + 1]);
    let kept = || (0..steps.len()).filter(|&i| corner(i)).map(|i| &steps[i]);
    let with_start =
        |start: f64, value: &dyn Fn(&Step) -> f64| std::iter::once(start).chain(kept().map(value)).collect();
    Ok(RocCurve {
        false_positive_rate: with_start(0.0, &|step| step.negatives / negatives),
        true_positive_rate: with_start(0.0, &|step| step.positives / positives),
        thresholds: with_start(f64::INFINITY, &|step| step.threshold),
    })
}

/// Whether the second of three points adds nothing: both sums grow by the same amount on either side.
fn straight(before: &Step, at: &Step, after: &Step) -> bool {
    after.negatives - at.negatives == at.negatives - before.negatives
        && after.positives - at.positives == at.positives - before.positives
}

/// Points of the precision-recall curve in the order of rising thresholds, closed by precision 1 at recall 0.
#[derive(Clone, Debug, PartialEq)]
pub struct PrecisionRecallCurve {
    /// Precision; one more than thresholds.
    pub precision: Vec<f64>,
    /// Recall; one more than thresholds.
    pub recall: Vec<f64>,
    /// A sample is called positive when its score is at least this.
    pub thresholds: Vec<f64>,
}

/// The precision-recall curve with all its points; as in scikit-learn.
///
/// # Errors
/// As [`average_precision`].
pub fn precision_recall_curve(
    truth: &Tensor,
    scores: &Tensor,
    weights: Option<&Tensor>,
) -> Result<PrecisionRecallCurve> {
    const WHAT: &str = "precision_recall_curve";
    let mut steps = Vec::new();
    walk_binary(WHAT, truth, scores, weights, |step| steps.push(step))?;
    let positives = steps.last().map_or(0.0, |last: &Step| last.positives);
    both_classes(WHAT, positives, 1.0)?;
    let rising = || steps.iter().rev();
    let precision = rising().map(|step| step.positives / (step.positives + step.negatives)).chain([1.0]).collect();
    let recall = rising().map(|step| step.positives / positives).chain([0.0]).collect();
    Ok(PrecisionRecallCurve { precision, recall, thresholds: rising().map(|step| step.threshold).collect() })
}
