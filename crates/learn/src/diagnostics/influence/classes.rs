//! Influences of samples on classification scores.

use std::collections::{BTreeMap, BTreeSet};

use tove_metrics::KappaWeights;

use super::Weights;
use crate::selection::Evaluation;

/// True and predicted labels.
fn labels(e: &Evaluation<'_>) -> Option<(Vec<i64>, Vec<i64>)> {
    Some((e.truth().try_to_vec::<i64>().ok()?, e.predictions().ok()?.try_to_vec::<i64>().ok()?))
}

pub(crate) fn accuracy(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    let (truth, predicted) = labels(e)?;
    Some(w.about_mean(truth.iter().zip(&predicted).map(|(a, b)| f64::from(a == b))))
}

pub(crate) fn recalls(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    let (truth, predicted) = labels(e)?;
    Some(w.of_recalls(&truth, &predicted))
}

/// The contribution of a sample to numerator and denominator of a ratio, given whether it is of the class and whether
/// it is predicted so.
pub(crate) type Ratio = fn(is: f64, said: f64, beta: f64) -> (f64, f64);

pub(crate) const PRECISION: Ratio = |is, said, _| (is * said, said);
pub(crate) const RECALL: Ratio = |is, said, _| (is * said, is);
pub(crate) const F1: Ratio = |is, said, _| (2.0 * is * said, is + said);
pub(crate) const F_BETA: Ratio = |is, said, beta| {
    let recall = 1.0 / (1.0 + beta.powi(-2));
    (is * said, recall * is + (1.0 - recall) * said)
};
pub(crate) const JACCARD: Ratio = |is, said, _| (is * said, is.max(said));

/// A ratio of the positive class.
pub(crate) fn of_positive(w: &Weights, e: &Evaluation<'_>, ratio: Ratio, beta: f64) -> Option<Vec<f64>> {
    let (truth, predicted) = labels(e)?;
    Some(w.of_class(&truth, &predicted, e.positive()?, ratio, beta))
}

/// The unweighted mean of a ratio over all classes that occur.
pub(crate) fn of_mean(w: &Weights, e: &Evaluation<'_>, ratio: Ratio, beta: f64) -> Option<Vec<f64>> {
    let (truth, predicted) = labels(e)?;
    let classes: BTreeSet<i64> = truth.iter().chain(&predicted).copied().collect();
    let mut sum = vec![0.0; truth.len()];
    for &class in &classes {
        let psi = w.of_class(&truth, &predicted, class, ratio, beta);
        sum.iter_mut().zip(psi).for_each(|(sum, psi)| *sum += psi / classes.len() as f64);
    }
    Some(sum)
}

/// Labels as indices among those that occur, and the proportions of each class in truth and prediction.
struct Table {
    truth: Vec<usize>,
    predicted: Vec<usize>,
    actual_shares: Vec<f64>,
    predicted_shares: Vec<f64>,
}

impl Table {
    fn new(w: &Weights, e: &Evaluation<'_>) -> Option<Table> {
        let (truth, predicted) = labels(e)?;
        let classes: BTreeSet<i64> = truth.iter().chain(&predicted).copied().collect();
        let indices: BTreeMap<i64, usize> = classes.iter().enumerate().map(|(index, &class)| (class, index)).collect();
        let code = |labels: &[i64]| labels.iter().map(|label| indices[label]).collect::<Vec<usize>>();
        let shares = |codes: &[usize]| {
            let (mut shares, total) = (vec![0.0; classes.len()], w.total(codes.len()));
            codes.iter().enumerate().for_each(|(i, &code)| shares[code] += w.weight(i) / total);
            shares
        };
        let (truth, predicted) = (code(&truth), code(&predicted));
        let (actual_shares, predicted_shares) = (shares(&truth), shares(&predicted));
        Some(Table { truth, predicted, actual_shares, predicted_shares })
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.truth.iter().copied().zip(self.predicted.iter().copied())
    }
}

fn product(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub(crate) fn matthews(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    let table = Table::new(w, e)?;
    let (t, p) = (&table.actual_shares, &table.predicted_shares);
    let right = w.mean(&table.pairs().map(|(a, b)| f64::from(a == b)).collect::<Vec<f64>>());
    let (tp, tt, pp) = (product(t, p), product(t, t), product(p, p));
    let (of_truth, of_prediction) = (1.0 - tt, 1.0 - pp);
    let root = (of_truth * of_prediction).sqrt();
    let value = (right - tp) / root;
    let psi = |(a, b): (usize, usize)| {
        let covariance = f64::from(a == b) - right - p[a] - t[b] + 2.0 * tp;
        let spread = -2.0 * (t[a] - tt) / of_truth - 2.0 * (p[b] - pp) / of_prediction;
        covariance / root - value / 2.0 * spread
    };
    (root > 0.0).then(|| table.pairs().map(psi).collect())
}

pub(crate) fn kappa(w: &Weights, e: &Evaluation<'_>, kind: KappaWeights) -> Option<Vec<f64>> {
    let table = Table::new(w, e)?;
    let (t, p) = (&table.actual_shares, &table.predicted_shares);
    let from = |index: usize, shares: &[f64]| -> f64 {
        shares.iter().enumerate().map(|(other, share)| kind.distance(index, other) * share).sum()
    };
    let by_truth: Vec<f64> = (0..t.len()).map(|index| from(index, p)).collect();
    let by_prediction: Vec<f64> = (0..t.len()).map(|index| from(index, t)).collect();
    let expected = product(t, &by_truth);
    let observed = w.mean(&table.pairs().map(|(a, b)| kind.distance(a, b)).collect::<Vec<f64>>());
    let psi = |(a, b): (usize, usize)| {
        let of_expected = by_truth[a] + by_prediction[b] - 2.0 * expected;
        (observed * of_expected / expected - (kind.distance(a, b) - observed)) / expected
    };
    (expected > 0.0).then(|| table.pairs().map(psi).collect())
}

/// From −log of the probability of the true class.
pub(crate) fn log_loss(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    let (probabilities, codes) = (e.probabilities().ok()?, e.codes().ok()?.try_to_vec::<i64>().ok()?);
    let (epsilon, m) = (probabilities.dtype().epsilon(), e.classes().len());
    let all = probabilities.to_f64_vec();
    let surprise = |(row, code): (&[f64], &i64)| -row[*code as usize].clamp(epsilon, 1.0 - epsilon).ln();
    Some(w.about_mean(all.chunks(m).zip(&codes).map(surprise)))
}

pub(crate) fn area(w: &Weights, e: &Evaluation<'_>, _: f64) -> Option<Vec<f64>> {
    w.of_area(&e.hits().ok()??, &e.ranking().ok()?.to_f64_vec())
}

impl Weights {
    fn of_recalls(&self, truth: &[i64], predicted: &[i64]) -> Vec<f64> {
        let mut classes: BTreeMap<i64, (f64, f64)> = BTreeMap::new(); // total weight of the class, and its correctly predicted part
        for (i, (class, found)) in truth.iter().zip(predicted).enumerate() {
            let entry = classes.entry(*class).or_default();
            entry.0 += self.weight(i);
            entry.1 += if class == found { self.weight(i) } else { 0.0 };
        }
        let (m, total) = (classes.len() as f64, self.total(truth.len()));
        let psi = |(class, found): (&i64, &i64)| {
            let (all, right) = classes[class];
            (f64::from(class == found) - right / all) * total / (m * all)
        };
        truth.iter().zip(predicted).map(psi).collect()
    }

    fn of_class(&self, truth: &[i64], predicted: &[i64], class: i64, ratio: Ratio, beta: f64) -> Vec<f64> {
        let part = |(is, said): (&i64, &i64)| ratio(f64::from(*is == class), f64::from(*said == class), beta);
        self.of_ratio(&truth.iter().zip(predicted).map(part).collect::<Vec<_>>())
    }

    /// The samples sorted by score; ties count as half ranked correctly.
    fn of_area(&self, hits: &[bool], scores: &[f64]) -> Option<Vec<f64>> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let weight_of =
            |class: bool| (0..hits.len()).filter(|&i| hits[i] == class).map(|i| self.weight(i)).sum::<f64>();
        let (positive, negative) = (weight_of(true), weight_of(false));
        if !(positive > 0.0 && negative > 0.0) {
            return None;
        }
        let mut right = vec![0.0; hits.len()];
        let (mut below_positive, mut below_negative) = (0.0, 0.0);
        for tie in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
            let own = |class: bool| tie.iter().filter(|&&i| hits[i] == class).map(|&i| self.weight(i)).sum::<f64>();
            let (tied_positive, tied_negative) = (own(true), own(false));
            for &i in tie {
                right[i] = match hits[i] {
                    true => (below_negative + tied_negative / 2.0) / negative,
                    false => (positive - below_positive - tied_positive / 2.0) / positive,
                };
            }
            below_positive += tied_positive;
            below_negative += tied_negative;
        }
        let area = (0..hits.len()).filter(|&i| hits[i]).map(|i| self.weight(i) * right[i]).sum::<f64>() / positive;
        let total = positive + negative;
        let psi = |(hit, right): (&bool, &f64)| (right - area) * total / if *hit { positive } else { negative };
        Some(hits.iter().zip(&right).map(psi).collect())
    }
}
