//! One-dimensional calibrators: maps from a classifier's score to a probability.
//!
//! Sigmoid (Platt 1999): p = 1 / (1 + exp(a f + b)), where a and b minimize the log loss of the targets (n₊ + 1)/(n₊ + 2) and
//! 1/(n₋ + 2). Isotonic (Zadrozny and Elkan 2002): the non-decreasing step function of least squares, by pooling adjacent
//! violators, linear between its thresholds and constant outside of them. Temperature (Guo et al. 2017): softmax of the logits times one
//! number β, which minimizes the log loss.

use tove_tensor::Tensor;

use crate::{Attribute, Field, LearnError, Reading, Record, Result};

/// A fitted map from scores to probabilities.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Calibrator {
    Sigmoid {
        a: f64,
        b: f64,
    },
    Isotonic {
        x: Vec<f64>,
        y: Vec<f64>,
    },
    /// Of all classes at once: softmax of the scores times this number.
    Temperature {
        beta: f64,
    },
}

impl Calibrator {
    /// The probability of a score.
    pub(super) fn at(&self, score: f64) -> f64 {
        match self {
            Calibrator::Sigmoid { a, b } => logistic(-(a * score + b)),
            Calibrator::Isotonic { x, y } => interpolate(x, y, score),
            Calibrator::Temperature { beta } => logistic(2.0 * beta * score),
        }
    }

    fn write(&self, record: &mut Record, name: &str) {
        match self {
            Calibrator::Sigmoid { a, b } => record.put_tensor(name, &Tensor::from([*a, *b])),
            Calibrator::Temperature { beta } => record.put_tensor(name, &Tensor::from([*beta])),
            Calibrator::Isotonic { x, y } => {
                record.put_tensor(&format!("{name}.x"), &Tensor::from_slice(x));
                record.put_tensor(&format!("{name}.y"), &Tensor::from_slice(y));
            }
        }
    }

    fn read(record: &Record, name: &str) -> Result<Calibrator> {
        if record.tensor(name).is_ok() {
            return match record.vector(name)?[..] {
                [a, b] if a.is_finite() && b.is_finite() => Ok(Calibrator::Sigmoid { a, b }),
                [beta] if beta > 0.0 && beta.is_finite() => Ok(Calibrator::Temperature { beta }),
                _ => Err(record.wrong(name, "a slope and an intercept, or the inverse of a temperature")),
            };
        }
        let (x, y) = (record.vector(&format!("{name}.x"))?, record.vector(&format!("{name}.y"))?);
        let ascending = x.is_sorted_by(|a, b| a < b) && y.is_sorted();
        let finite = x.iter().all(|x| x.is_finite()) && y.iter().all(|y| (0.0..=1.0).contains(y));
        match x.len() == y.len() && !x.is_empty() && ascending && finite {
            true => Ok(Calibrator::Isotonic { x, y }),
            false => Err(record.wrong(name, "thresholds in ascending order")),
        }
    }
}

/// The calibrators of each classifier: `calibrator.0.1` is that of the first classifier and the second score.
impl Attribute for Vec<Vec<Calibrator>> {
    fn write(&self, name: &str, record: &mut Record) {
        for (number, own) in self.iter().enumerate() {
            own.iter().enumerate().for_each(|(score, curve)| curve.write(record, &format!("{name}.{number}.{score}")));
        }
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<Vec<Calibrator>>> {
        let (record, name) = (reading.record(), field.name);
        let there = |at: &String| record.tensor(at).is_ok() || record.tensor(&format!("{at}.x")).is_ok();
        let own = |number: usize| {
            let places = (0..).map(|score| format!("{name}.{number}.{score}")).take_while(there);
            places.map(|at| Calibrator::read(record, &at)).collect::<Result<Vec<_>>>()
        };
        (0..reading.count(field)?).map(own).collect()
    }
}

/// 1 / (1 + exp(−s)).
fn logistic(s: f64) -> f64 {
    if s >= 0.0 { 1.0 / (1.0 + (-s).exp()) } else { s.exp() / (1.0 + s.exp()) }
}

/// Samples of a one-vs-rest problem.
pub(super) struct Scores<'a> {
    pub who: &'static str,
    pub scores: &'a [f64],
    pub positive: &'a [bool],
    pub weights: &'a [f64],
}

impl Scores<'_> {
    /// Scores, class membership and weights of the samples with non-zero weight.
    fn counted(&self) -> Vec<(f64, bool, f64)> {
        let all = self.scores.iter().zip(self.positive).zip(self.weights);
        all.map(|((&score, &positive), &weight)| (score, positive, weight)).filter(|sample| sample.2 > 0.0).collect()
    }

    /// Checks that there are samples to calibrate with.
    fn require(&self, samples: &[(f64, bool, f64)]) -> Result<()> {
        if !samples.is_empty() {
            return Ok(());
        }
        let fix = "give the samples positive weights, or choose fewer folds";
        Err(LearnError::data(self.who, "all samples of a fold have weight 0", fix))
    }

    /// Fits Platt's sigmoid by Newton's method.
    pub(super) fn sigmoid(&self) -> Result<Calibrator> {
        let mut samples = self.counted();
        self.require(&samples)?;
        // The solution scales with the scores; Newton steps are most stable at scale 1.
        let largest = samples.iter().fold(0.0f64, |max, sample| max.max(sample.0.abs()));
        let unit = if largest > 0.0 { largest } else { 1.0 };
        samples.iter_mut().for_each(|sample| sample.0 /= unit);
        let weight_of = |wanted: bool| -> f64 { samples.iter().filter(|s| s.1 == wanted).map(|s| s.2).sum() };
        let (negative, positive) = (weight_of(false), weight_of(true));
        let (high, low) = ((positive + 1.0) / (positive + 2.0), 1.0 / (negative + 2.0));
        let samples: Vec<[f64; 3]> =
            samples.iter().map(|&(f, positive, weight)| [f, if positive { high } else { low }, weight]).collect();
        let (a, b) = newton(&samples, ((negative + 1.0) / (positive + 1.0)).ln());
        let a = a / unit;
        match a.is_finite() && b.is_finite() {
            true => Ok(Calibrator::Sigmoid { a, b }),
            false => {
                let problem = "the sigmoid of the scores is not finite";
                Err(LearnError::data(self.who, problem, "scale the features, or set `method` to isotonic"))
            }
        }
    }

    /// Fits an isotonic regression of the classes on the scores.
    pub(super) fn isotonic(&self) -> Result<Calibrator> {
        let mut samples = self.counted();
        self.require(&samples)?;
        samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)));
        // Scores that are equal within rounding share a threshold.
        let mut thresholds: Vec<Block> = Vec::new();
        let mut rest = &samples[..];
        while let Some(first) = rest.first() {
            let run;
            (run, rest) = rest.split_at(rest.partition_point(|sample| sample.0 - first.0 < 1e-15).max(1));
            let weight: f64 = run.iter().map(|sample| sample.2).sum();
            let positive: f64 = run.iter().filter(|sample| sample.1).map(|sample| sample.2).sum();
            thresholds.push(Block { mean: positive / weight, weight, count: 1, at: run[0].0 + 0.0 });
        }
        let y = pooled(&thresholds);
        // Drop points whose neighbors have the same value.
        let last = y.len() - 1;
        let keep = |&i: &usize| i == 0 || i == last || y[i] != y[i - 1] || y[i] != y[i + 1];
        let kept: Vec<usize> = (0..y.len()).filter(keep).collect();
        let x = kept.iter().map(|&i| thresholds[i].at).collect();
        Ok(Calibrator::Isotonic { x, y: kept.iter().map(|&i| y[i].clamp(0.0, 1.0)).collect() })
    }
}

/// Adjacent thresholds with one value.
#[derive(Clone, Copy)]
struct Block {
    mean: f64,
    weight: f64,
    count: usize,
    at: f64,
}

/// The non-decreasing least-squares values (pool adjacent violators).
fn pooled(thresholds: &[Block]) -> Vec<f64> {
    let mut blocks: Vec<Block> = Vec::with_capacity(thresholds.len());
    for &threshold in thresholds {
        blocks.push(threshold);
        while let [.., before, last] = blocks[..]
            && before.mean >= last.mean
        {
            let weight = before.weight + last.weight;
            let mean = (before.mean * before.weight + last.mean * last.weight) / weight;
            blocks.truncate(blocks.len() - 2);
            blocks.push(Block { mean, weight, count: before.count + last.count, at: before.at });
        }
    }
    blocks.iter().flat_map(|block| std::iter::repeat_n(block.mean, block.count)).collect()
}

/// Linear between thresholds, constant outside.
fn interpolate(x: &[f64], y: &[f64], score: f64) -> f64 {
    let above = x.partition_point(|threshold| *threshold < score);
    match above {
        0 => y[0],
        _ if above == x.len() => y[x.len() - 1],
        _ => {
            let slope = (y[above] - y[above - 1]) / (x[above] - x[above - 1]);
            (slope * (score - x[above - 1]) + y[above - 1]).clamp(0.0, 1.0)
        }
    }
}

/// a and b that minimize Σ w (t s + ln(1 + exp(−s))) with s = a f + b over samples [f, t, w], from a = 0.
fn newton(samples: &[[f64; 3]], start: f64) -> (f64, f64) {
    let loss = |a: f64, b: f64| -> f64 {
        let one = |[f, t, w]: &[f64; 3]| {
            let s = f * a + b;
            w * if s >= 0.0 { t * s + (-s).exp().ln_1p() } else { (t - 1.0) * s + s.exp().ln_1p() }
        };
        samples.iter().map(one).sum()
    };
    let total: f64 = samples.iter().map(|sample| sample[2]).sum();
    let (mut a, mut b) = (0.0, start);
    let mut value = loss(a, b);
    for _ in 0..200 {
        let (mut haa, mut hbb, mut hab, mut ga, mut gb) = (1e-12 * total, 1e-12 * total, 0.0, 0.0, 0.0);
        for &[f, t, w] in samples {
            let p = logistic(-(f * a + b));
            let (first, second) = (w * (t - p), w * p * (1.0 - p));
            (ga, gb) = (ga + f * first, gb + first);
            (haa, hab, hbb) = (haa + f * f * second, hab + f * second, hbb + second);
        }
        if ga.abs().max(gb.abs()) <= 1e-13 * total {
            break;
        }
        let determinant = haa * hbb - hab * hab;
        let (da, db) = ((hab * gb - hbb * ga) / determinant, (hab * ga - haa * gb) / determinant);
        let slope = ga * da + gb * db;
        let steps = std::iter::successors(Some(1.0), |step| Some(step / 2.0)).take(40);
        let taken = steps.map(|step| (step, loss(a + step * da, b + step * db)));
        let Some((step, lower)) = taken.into_iter().find(|(step, new)| *new < value + 1e-4 * step * slope) else {
            break;
        };
        (a, b, value) = (a + step * da, b + step * db, lower);
    }
    (a, b)
}

/// ln β between which the temperature is looked for, as in scikit-learn.
const COLDEST: f64 = 10.0;

/// The inverse temperature β of the least log loss of logits (rows of `m`), for codes of classes and weights: the loss is convex in β, so
/// that its slope has one zero.
pub(super) fn temperature(logits: &[f64], m: usize, codes: &[usize], weights: &[f64]) -> Calibrator {
    let slope = |beta: f64| -> f64 {
        let rows = logits.chunks(m).zip(codes).zip(weights);
        rows.map(|((z, &code), weight)| {
            let most = z.iter().fold(f64::NEG_INFINITY, |most, &z| most.max(z));
            let parts = z.iter().map(|z| ((beta * (z - most)).exp(), z));
            let (sum, mean) = parts.fold((0.0, 0.0), |(sum, mean), (p, z)| (sum + p, mean + p * z));
            weight * (mean / sum - z[code])
        })
        .sum()
    };
    let (mut low, mut high) = (-COLDEST, COLDEST);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if slope(middle.exp()) > 0.0 { high = middle } else { low = middle }
    }
    Calibrator::Temperature { beta: (0.5 * (low + high)).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isotonic_regression_pools_violators_and_ties() {
        let (scores, positive) = ([1.0, 2.0, 2.0, 3.0, 4.0, 5.0], [false, true, false, false, true, true]);
        let scores = Scores { who: "test", scores: &scores, positive: &positive, weights: &[1.0; 6] };
        let fitted = scores.isotonic().unwrap_or(Calibrator::Sigmoid { a: 0.0, b: 0.0 });
        let third = 1.0 / 3.0;
        assert_eq!(
            fitted,
            Calibrator::Isotonic { x: vec![1.0, 2.0, 3.0, 4.0, 5.0], y: vec![0.0, third, third, 1.0, 1.0] }
        );
        assert_eq!((fitted.at(-9.0), fitted.at(9.0), fitted.at(1.5)), (0.0, 1.0, 0.5 * third));
    }
}
