//! Inductive Venn-Abers prediction (Vovk and Petej 2014).
//!
//! For a new score s two isotonic regressions are made of the calibration samples and s itself: with label 0 for s, whose value at s
//! is p₀, and with label 1, whose value is p₁ ≥ p₀. If calibration samples and the new one are exchangeable, the one of the two
//! that belongs to the true label is a calibrated probability, for any number of samples and any model. The merged probability
//! p₁ / (1 − p₀ + p₁) minimizes the largest regret of the log loss.
//!
//! Calibration scores that differ by less than 10⁻¹⁵ count as equal, as in scikit-learn's isotonic regression; the package venn-abers
//! keeps them apart.
//!
//! The blocks of all beginnings and of all ends of the sorted samples are computed once, in linear time; a new score starts as a
//! block of its own and pools its neighbors until none violates the order, which is exact and takes O(log k + blocks pooled).

use tove_tensor::Tensor;

use super::isotonic::Threshold;
use super::part::{BinaryScores, Curve, Stored};
use crate::{Record, Result};

/// The calibration samples of a Venn-Abers predictor, in order, with the blocks of their isotonic regressions.
#[derive(Clone, Debug, PartialEq)]
pub struct VennAbers {
    scores: Vec<f64>,
    weights: Vec<f64>,
    positive: Vec<f64>,
    /// The last block of the isotonic regression of the first i + 1 scores; `next` is the block before it.
    before: Vec<Pool>,
    /// The first block of that of the scores from i on; `next` is the block after it.
    after: Vec<Pool>,
}

/// A block, and the place of the one that follows it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pool {
    positive: f64,
    weight: f64,
    next: Option<usize>,
}

impl Pool {
    fn mean(&self) -> f64 {
        self.positive / self.weight
    }

    fn take(&mut self, other: Pool) {
        *self = Pool { positive: self.positive + other.positive, weight: self.weight + other.weight, next: other.next };
    }
}

impl VennAbers {
    fn new(scores: Vec<f64>, weights: Vec<f64>, positive: Vec<f64>) -> VennAbers {
        let k = scores.len();
        let own = |i: usize, next: Option<usize>| Pool { positive: positive[i], weight: weights[i], next };
        let mut before: Vec<Pool> = Vec::with_capacity(k);
        for i in 0..k {
            let mut block = own(i, i.checked_sub(1));
            while let Some(other) = block.next.map(|place| before[place]).filter(|other| other.mean() >= block.mean()) {
                block.take(other);
            }
            before.push(block);
        }
        let mut after = vec![Pool { positive: 0.0, weight: 1.0, next: None }; k];
        for i in (0..k).rev() {
            let mut block = own(i, (i + 1 < k).then_some(i + 1));
            while let Some(other) = block.next.map(|place| after[place]).filter(|other| block.mean() >= other.mean()) {
                block.take(other);
            }
            after[i] = block;
        }
        VennAbers { scores, weights, positive, before, after }
    }

    /// The value at a score of the isotonic regression with this score and label.
    fn with_label(&self, score: f64, label: f64) -> f64 {
        let place = self.scores.partition_point(|other| *other < score);
        let tied = self.scores.get(place) == Some(&score);
        let mut block = Pool { positive: label, weight: 1.0, next: None };
        if tied {
            block.take(Pool { positive: self.positive[place], weight: self.weights[place], next: None });
        }
        let mut left = place.checked_sub(1).map(|place| self.before[place]);
        let mut right = self.after.get(place + usize::from(tied)).copied();
        loop {
            if let Some(other) = right.filter(|other| block.mean() >= other.mean()) {
                right = other.next.map(|place| self.after[place]);
                block.take(other);
            } else if let Some(other) = left.filter(|other| other.mean() >= block.mean()) {
                left = other.next.map(|place| self.before[place]);
                block.take(other);
            } else {
                return block.mean().clamp(0.0, 1.0);
            }
        }
    }

    /// p₀ and p₁ of a score.
    ///
    /// ```
    /// use tove_learn::calibration::{CalibrationMap, CalibrationMethod, CalibrationPart, ScoreKind};
    /// use tove_tensor::Tensor;
    /// let (p, y) = (Tensor::from([0.2, 0.4, 0.6, 0.8]), Tensor::from([0i64, 0, 1, 1]));
    /// let map = CalibrationMap::fit(CalibrationMethod::VennAbers, ScoreKind::Probabilities, &p, &y, None)?;
    /// let CalibrationPart::VennAbers(own) = &map.parts()[0] else { unreachable!() };
    /// let (p0, p1) = own.bounds(0.7);
    /// assert!((p0 - 0.5).abs() < 1e-15 && p1 == 1.0); // 0 at 0.7 pools with the 1 at 0.6
    /// # Ok::<(), tove_learn::LearnError>(())
    /// ```
    pub fn bounds(&self, score: f64) -> (f64, f64) {
        (self.with_label(score, 0.0), self.with_label(score, 1.0))
    }
}

impl Stored for VennAbers {
    fn stored(record: &Record, name: &str) -> bool {
        record.tensor(&format!("{name}.scores")).is_ok()
    }

    fn write(&self, record: &mut Record, name: &str) {
        for (what, values) in [("scores", &self.scores), ("weights", &self.weights), ("positive", &self.positive)] {
            record.put_tensor(&format!("{name}.{what}"), &Tensor::from_slice(values));
        }
    }

    fn read(record: &Record, name: &str) -> Result<VennAbers> {
        let list = |what: &str| record.vector(&format!("{name}.{what}"));
        let (scores, weights, positive) = (list("scores")?, list("weights")?, list("positive")?);
        let alike = scores.len() == weights.len() && scores.len() == positive.len() && !scores.is_empty();
        let ascending = scores.is_sorted_by(|a, b| a < b) && scores.iter().all(|score| score.is_finite());
        let counts = |(weight, positive): (&f64, &f64)| {
            weight.is_finite() && *weight > 0.0 && *positive >= 0.0 && *positive <= weight * (1.0 + 1e-12)
        };
        if alike && ascending && weights.iter().zip(&positive).all(counts) {
            return Ok(VennAbers::new(scores, weights, positive));
        }
        Err(record.wrong(name, "scores in ascending order with their labels"))
    }
}

impl Curve for VennAbers {
    fn fit(samples: &BinaryScores<'_>) -> Result<VennAbers> {
        let all = Threshold::of(samples)?;
        let list = |of: fn(&Threshold) -> f64| all.iter().map(of).collect::<Vec<f64>>();
        Ok(VennAbers::new(list(|one| one.at), list(|one| one.weight), list(|one| one.positive)))
    }

    fn at(&self, score: f64) -> f64 {
        let (low, high) = self.bounds(score);
        high / (1.0 - low + high)
    }

    fn interval(&self, score: f64) -> Option<(f64, f64)> {
        Some(self.bounds(score))
    }
}
