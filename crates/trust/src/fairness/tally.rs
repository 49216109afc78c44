//! Sums of weights by group, label, decision and score bin: everything that rates and gaps are made of.

use super::outcomes::Outcomes;
use crate::Result;

/// What belongs to each row.
pub(super) struct Rows {
    pub group: Vec<usize>,
    pub label: Vec<usize>,
    pub decision: Vec<usize>,
    pub score: Option<Vec<f64>>,
    /// Weights divided by the largest one, so that their squares neither overflow nor all vanish.
    pub weight: Vec<f64>,
    /// The largest weight.
    pub unit: f64,
    pub weighted: bool,
    pub groups: usize,
    pub bins: usize,
}

impl Rows {
    pub(super) fn new(outcomes: &Outcomes, bins: usize) -> Result<Rows> {
        let groups = outcomes.groups()?;
        let (weighted, mut weight) = outcomes.weighted();
        let unit = weight.iter().copied().fold(0.0, f64::max);
        weight.iter_mut().for_each(|weight| *weight /= unit);
        Ok(Rows {
            group: groups.codes().to_vec(),
            label: outcomes.labels().to_vec(),
            decision: outcomes.decided()?,
            score: outcomes.scored().map(<[f64]>::to_vec),
            weight,
            unit,
            weighted,
            groups: groups.len(),
            bins,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.group.len()
    }

    /// The sums of all rows.
    pub(super) fn tally(&self) -> Tally {
        let mut tally = Tally::new(self.groups, self.bins);
        (0..self.len()).for_each(|row| tally.add(self, row, self.group[row], self.label[row]));
        tally
    }
}

/// The equal-width bin of a score: [k/B, (k + 1)/B), the last one closed.
pub(super) fn bin(score: f64, bins: usize) -> usize {
    ((score * bins as f64) as usize).min(bins - 1)
}

/// Sums of one score bin of one group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BinSums {
    pub rows: f64,
    pub weight: f64,
    pub positive: f64,
    pub score: f64,
}

/// Sums of weights.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub rows: Vec<f64>,
    squares: Vec<f64>,
    /// By group, then 2 · label + decision.
    cells: Vec<[f64; 4]>,
    score: Vec<f64>,
    binned: Vec<BinSums>,
    bins: usize,
}

/// A rate of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RateKind {
    Base,
    Selection,
    TruePositive,
    FalsePositive,
    FalseNegative,
    TrueNegative,
    PositivePredictive,
    NegativePredictive,
    Accuracy,
    MeanScore,
    InBin(usize),
    CalibrationError,
}

impl Tally {
    pub(super) fn new(groups: usize, bins: usize) -> Tally {
        Tally {
            rows: vec![0.0; groups],
            squares: vec![0.0; groups],
            cells: vec![[0.0; 4]; groups],
            score: vec![0.0; groups],
            binned: vec![BinSums::default(); groups * bins],
            bins,
        }
    }

    /// Adds a row to a group with a label; decision, score and weight are the row's own.
    #[inline]
    pub(super) fn add(&mut self, rows: &Rows, row: usize, group: usize, label: usize) {
        let weight = rows.weight[row];
        self.rows[group] += 1.0;
        self.squares[group] += weight * weight;
        self.cells[group][2 * label + rows.decision[row]] += weight;
        if let Some(score) = &rows.score {
            self.score[group] += weight * score[row];
            let sums = &mut self.binned[group * self.bins + bin(score[row], self.bins)];
            sums.rows += 1.0;
            sums.weight += weight;
            sums.positive += weight * label as f64;
            sums.score += weight * score[row];
        }
    }

    /// Adds all sums of a group to those of group `into` of another tally.
    pub(super) fn merge_into(&self, group: usize, total: &mut Tally, into: usize) {
        total.rows[into] += self.rows[group];
        total.squares[into] += self.squares[group];
        (0..4).for_each(|cell| total.cells[into][cell] += self.cells[group][cell]);
        total.score[into] += self.score[group];
        for (total, sums) in total.binned[into * self.bins..].iter_mut().zip(self.bins_of(group)) {
            total.rows += sums.rows;
            total.weight += sums.weight;
            total.positive += sums.positive;
            total.score += sums.score;
        }
    }

    pub(super) fn groups(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn bins_of(&self, group: usize) -> &[BinSums] {
        &self.binned[group * self.bins..(group + 1) * self.bins]
    }

    pub(super) fn weight(&self, group: usize) -> f64 {
        self.cells[group].iter().sum()
    }

    /// Number of equally weighted rows that are worth as much as the rows of the group: (Σw)²/Σw².
    pub(super) fn effective_share(&self, group: usize) -> f64 {
        let total = self.weight(group);
        if self.squares[group] > 0.0 { total / self.squares[group] } else { 0.0 }
    }

    /// Numerator and denominator of a rate that is a share of rows.
    pub(super) fn parts(&self, kind: RateKind, group: usize) -> (f64, f64) {
        let [tn, fp, fn_, tp] = self.cells[group];
        match kind {
            RateKind::Base => (fn_ + tp, tn + fp + fn_ + tp),
            RateKind::Selection => (fp + tp, tn + fp + fn_ + tp),
            RateKind::TruePositive => (tp, fn_ + tp),
            RateKind::FalseNegative => (fn_, fn_ + tp),
            RateKind::FalsePositive => (fp, tn + fp),
            RateKind::TrueNegative => (tn, tn + fp),
            RateKind::PositivePredictive => (tp, fp + tp),
            RateKind::NegativePredictive => (tn, tn + fn_),
            RateKind::Accuracy => (tn + tp, tn + fp + fn_ + tp),
            RateKind::MeanScore => (self.score[group], tn + fp + fn_ + tp),
            RateKind::InBin(bin) => {
                let sums = self.bins_of(group)[bin];
                (sums.positive, sums.weight)
            }
            RateKind::CalibrationError => {
                let error = |sums: &BinSums| (sums.positive - sums.score).abs();
                (self.bins_of(group).iter().map(error).sum(), tn + fp + fn_ + tp)
            }
        }
    }

    /// A rate, or `None` if nothing is in its denominator.
    pub(super) fn rate(&self, kind: RateKind, group: usize) -> Option<f64> {
        let (part, whole) = self.parts(kind, group);
        (whole > 0.0).then(|| (part / whole).clamp(0.0, 1.0))
    }
}
