//! Isotonic regression (Zadrozny and Elkan 2002): the non-decreasing step function of least squares, by pooling adjacent violators,
//! linear between its thresholds and constant outside of them.

use tove_tensor::Tensor;

use super::part::{BinaryScores, Curve, Stored};
use crate::{Record, Result};

/// A fitted non-decreasing function.
#[derive(Clone, Debug, PartialEq)]
pub struct IsotonicCurve {
    /// Scores, ascending.
    pub x: Vec<f64>,
    /// Probabilities at the scores, not descending.
    pub y: Vec<f64>,
}

impl Stored for IsotonicCurve {
    fn stored(record: &Record, name: &str) -> bool {
        record.tensor(&format!("{name}.x")).is_ok()
    }

    fn write(&self, record: &mut Record, name: &str) {
        record.put_tensor(&format!("{name}.x"), &Tensor::from_slice(&self.x));
        record.put_tensor(&format!("{name}.y"), &Tensor::from_slice(&self.y));
    }

    fn read(record: &Record, name: &str) -> Result<IsotonicCurve> {
        let (x, y) = (record.vector(&format!("{name}.x"))?, record.vector(&format!("{name}.y"))?);
        let ascending = x.is_sorted_by(|a, b| a < b) && y.is_sorted();
        let finite = x.iter().all(|x| x.is_finite()) && y.iter().all(|y| (0.0..=1.0).contains(y));
        match x.len() == y.len() && !x.is_empty() && ascending && finite {
            true => Ok(IsotonicCurve { x, y }),
            false => Err(record.wrong(name, "thresholds in ascending order")),
        }
    }
}

impl Curve for IsotonicCurve {
    fn fit(samples: &BinaryScores<'_>) -> Result<IsotonicCurve> {
        let thresholds = Threshold::of(samples)?;
        let y = pooled(&thresholds);
        // Drop points whose neighbors have the same value.
        let last = y.len() - 1;
        let keep = |&i: &usize| i == 0 || i == last || y[i] != y[i - 1] || y[i] != y[i + 1];
        let kept: Vec<usize> = (0..y.len()).filter(keep).collect();
        let x = kept.iter().map(|&i| thresholds[i].at).collect();
        Ok(IsotonicCurve { x, y: kept.iter().map(|&i| y[i].clamp(0.0, 1.0)).collect() })
    }

    /// Linear between thresholds, constant outside.
    fn at(&self, score: f64) -> f64 {
        let (x, y) = (&self.x, &self.y);
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
}

/// The samples of one score.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    pub at: f64,
    pub weight: f64,
    pub positive: f64,
}

impl Threshold {
    /// All scores in ascending order; those that are equal within rounding are one.
    pub fn of(samples: &BinaryScores<'_>) -> Result<Vec<Threshold>> {
        let mut samples = samples.counted()?;
        samples.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)));
        let mut thresholds: Vec<Threshold> = Vec::new();
        let mut rest = &samples[..];
        while let Some(first) = rest.first() {
            let run;
            (run, rest) = rest.split_at(rest.partition_point(|sample| sample.0 - first.0 < 1e-15).max(1));
            let weight: f64 = run.iter().map(|sample| sample.2).sum();
            let positive: f64 = run.iter().filter(|sample| sample.1).map(|sample| sample.2).sum();
            thresholds.push(Threshold { at: run[0].0 + 0.0, weight, positive });
        }
        Ok(thresholds)
    }
}

/// Adjacent thresholds with one value.
#[derive(Clone, Copy)]
struct Block {
    mean: f64,
    weight: f64,
    count: usize,
}

/// The non-decreasing least-squares values (pool adjacent violators).
fn pooled(thresholds: &[Threshold]) -> Vec<f64> {
    let mut blocks: Vec<Block> = Vec::with_capacity(thresholds.len());
    for threshold in thresholds {
        let weight = threshold.weight;
        blocks.push(Block { mean: threshold.positive / weight, weight, count: 1 });
        while let [.., before, last] = blocks[..]
            && before.mean >= last.mean
        {
            let weight = before.weight + last.weight;
            let mean = (before.mean * before.weight + last.mean * last.weight) / weight;
            blocks.truncate(blocks.len() - 2);
            blocks.push(Block { mean, weight, count: before.count + last.count });
        }
    }
    blocks.iter().flat_map(|block| std::iter::repeat_n(block.mean, block.count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn isotonic_regression_pools_violators_and_ties() {
        let (scores, positive) = ([1.0, 2.0, 2.0, 3.0, 4.0, 5.0], [false, true, false, false, true, true]);
        let scores = BinaryScores { who: "test", scores: &scores, positive: &positive, weights: &[1.0; 6] };
        let fitted = IsotonicCurve::fit(&scores).unwrap();
        let third = 1.0 / 3.0;
        let expected = IsotonicCurve { x: vec![1.0, 2.0, 3.0, 4.0, 5.0], y: vec![0.0, third, third, 1.0, 1.0] };
        assert_eq!(fitted, expected);
        assert_eq!((fitted.at(-9.0), fitted.at(9.0), fitted.at(1.5)), (0.0, 1.0, 0.5 * third));
    }
}
