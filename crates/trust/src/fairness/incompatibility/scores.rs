//! Search over distributions of a score with several levels.

use tove_optim::LbfgsSettings;
use tove_tensor::{DType, Key, Tensor};

use super::CriteriaPair;
use crate::fairness::Criterion;
use crate::{Result, TrustError};

const NAME: &str = "scores_search";
/// Weight of the bounds on the overlap against the violations.
const BOUND: f64 = 100.0;

/// Distributions of a score with K levels in two groups, given the label.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreDistributions {
    /// P(Y = 1) of each group.
    pub base_rates: [f64; 2],
    /// P(R = r | Y = y, A = a) as `given[a][y][r]`.
    pub given: [[Vec<f64>; 2]; 2],
}

impl ScoreDistributions {
    /// Checks base rates and distributions.
    ///
    /// # Errors
    /// Base rates outside of (0, 1); distributions of different lengths, with negative entries, or that do not sum to 1.
    pub fn new(base_rates: [f64; 2], given: [[Vec<f64>; 2]; 2]) -> Result<ScoreDistributions> {
        check_rates(base_rates)?;
        let levels = given[0][0].len();
        let proper = |row: &Vec<f64>| {
            row.len() == levels && row.iter().all(|&p| p >= 0.0) && (row.iter().sum::<f64>() - 1.0).abs() < 1e-9
        };
        if levels == 0 || !given.iter().flatten().all(proper) {
            let fix = "give four distributions over the same levels, each with sum 1";
            return Err(TrustError::data(NAME, "the score distributions are not valid", fix));
        }
        Ok(ScoreDistributions { base_rates, given })
    }

    /// Number of levels.
    pub fn levels(&self) -> usize {
        self.given[0][0].len()
    }

    /// P(R = r, Y = 1 | A = a) and P(R = r | A = a).
    fn masses(&self, group: usize, level: usize) -> (f64, f64) {
        let p = self.base_rates[group];
        let positive = p * self.given[group][1][level];
        (positive, positive + (1.0 - p) * self.given[group][0][level])
    }

    /// How far a criterion is from being met: 0 if it holds. For independence and separation the largest difference of probability of
    /// any set of levels between the groups; for sufficiency the mean difference of P(Y = 1 | R = r), weighted by the smaller of the
    /// groups' probabilities of r.
    pub fn violation(&self, criterion: Criterion) -> f64 {
        let levels = 0..self.levels();
        let total_variation = |p: &dyn Fn(usize) -> f64, q: &dyn Fn(usize) -> f64| {
            levels.clone().map(|r| (p(r) - q(r)).abs()).sum::<f64>() / 2.0
        };
        match criterion {
            Criterion::Independence => total_variation(&|r| self.masses(0, r).1, &|r| self.masses(1, r).1),
            Criterion::Separation => {
                let of = |label: usize| total_variation(&|r| self.given[0][label][r], &|r| self.given[1][label][r]);
                of(0).max(of(1))
            }
            Criterion::Sufficiency => {
                let difference = |r: usize| {
                    let ((a, p), (b, q)) = (self.masses(0, r), self.masses(1, r));
                    if p > 0.0 && q > 0.0 { p.min(q) * (a / p - b / q).abs() } else { 0.0 }
                };
                levels.map(difference).sum()
            }
        }
    }

    /// Overlap Σ √(P(r | Y = 1) P(r | Y = 0)) of the score of one group between labels: 1 if it is independent of the label, 0 if it
    /// determines the label.
    pub fn overlap(&self, group: usize) -> f64 {
        let [negative, positive] = &self.given[group];
        negative.iter().zip(positive).map(|(a, b)| (a * b).sqrt()).sum()
    }
}

fn check_rates(base_rates: [f64; 2]) -> Result<()> {
    match base_rates.iter().find(|rate| !(**rate > 0.0 && **rate < 1.0)) {
        Some(rate) => Err(TrustError::argument(NAME, format!("base rate {rate}; give numbers between 0 and 1"))),
        None => Ok(()),
    }
}

/// The result of [`scores_search`].
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreSearch {
    /// The larger violation of the two criteria at the best distributions found: 0 if they hold together.
    pub violation: f64,
    /// The best distributions found.
    pub scores: ScoreDistributions,
}

/// Searches distributions of a score with `levels` levels for which two criteria hold together, given the base rates of two groups and
/// bounds 0 ≤ low < high ≤ 1 on the overlap of each group between labels. Overlap near 0 means nearly perfect prediction, near 1 a score
/// that says almost nothing, so bounds such as (0.2, 0.9) exclude degenerate scores.
///
/// The violations are minimized by L-BFGS from `starts` random points. A large violation is evidence that no solution exists, not a
/// proof; [`tables_search`](super::tables_search) is exact for decisions.
///
/// ```
/// use tove_trust::fairness::{Criterion, scores_search};
/// let pair = (Criterion::Separation, Criterion::Sufficiency);
/// assert!(scores_search(pair, [0.5, 0.3], (0.2, 0.9), 3, 4, 1)?.violation > 0.005);
/// assert!(scores_search(pair, [0.4, 0.4], (0.2, 0.9), 3, 4, 1)?.violation < 1e-3);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// Base rates outside of (0, 1); bounds out of order; fewer than two or more than 64 levels; no starts.
pub fn scores_search(
    pair: CriteriaPair,
    base_rates: [f64; 2],
    overlap: (f64, f64),
    levels: usize,
    starts: usize,
    seed: u64,
) -> Result<ScoreSearch> {
    check_rates(base_rates)?;
    if !(0.0 <= overlap.0 && overlap.0 < overlap.1 && overlap.1 <= 1.0) {
        let problem = format!("overlap between {} and {}; give 0 ≤ low < high ≤ 1", overlap.0, overlap.1);
        return Err(TrustError::argument(NAME, problem));
    }
    if !(2..=64).contains(&levels) || starts == 0 {
        let problem = format!("{levels} levels and {starts} starts; give 2 to 64 levels and at least one start");
        return Err(TrustError::argument(NAME, problem));
    }
    let loss = |logits: &Tensor| objective(logits, pair, base_rates, overlap);
    let settings = LbfgsSettings {
        gradient_tolerance: 1e-12,
        value_tolerance: 0.0,
        max_iterations: 500,
        max_evaluations: 2000,
        ..LbfgsSettings::default()
    };
    let mut best: Option<ScoreSearch> = None;
    for key in Key::new(seed).split(starts) {
        let start = key.normal([4, levels], DType::F64);
        let (logits, _) = settings.minimize_tensor(loss, &start)?;
        let rows = logits.softmax(1).contiguous().to_f64_vec();
        let row = |index: usize| rows[index * levels..(index + 1) * levels].to_vec();
        let scores = ScoreDistributions { base_rates, given: [[row(0), row(1)], [row(2), row(3)]] };
        let violation = scores.violation(pair.0).max(scores.violation(pair.1));
        let allowed = |group| scores.overlap(group) > overlap.0 - 0.01 && scores.overlap(group) < overlap.1 + 0.01;
        if allowed(0) && allowed(1) && best.as_ref().is_none_or(|best| violation < best.violation) {
            best = Some(ScoreSearch { violation, scores });
        }
    }
    best.ok_or_else(|| {
        TrustError::data(NAME, "no start ended within the bounds", "widen the bounds or give more starts")
    })
}

/// Squared violations of both criteria, and of the bounds. Logits (4, K) of P(r | y, a) in the order (a, y) = (0, 0), (0, 1), (1, 0), (1, 1).
fn objective(logits: &Tensor, pair: CriteriaPair, base_rates: [f64; 2], overlap: (f64, f64)) -> Tensor {
    let given = logits.softmax(1);
    let row = |group: usize, label: usize| given.narrow(0, 2 * group + label, 1); // (1, K)
    let positive = |group: usize| row(group, 1) * base_rates[group];
    let all = |group: usize| positive(group) + row(group, 0) * (1.0 - base_rates[group]);
    let violation = |criterion: Criterion| match criterion {
        Criterion::Independence => (all(0) - all(1)).square().sum(),
        Criterion::Separation => (row(0, 0) - row(1, 0)).square().sum() + (row(0, 1) - row(1, 1)).square().sum(),
        // Y is independent of A given R: P(r, 1 | a) P(r | b) = P(r, 1 | b) P(r | a). Zero where a group never has r.
        Criterion::Sufficiency => (positive(0) * all(1) - positive(1) * all(0)).square().sum() * 4.0,
    };
    let outside = |group: usize| {
        let found = (row(group, 0) * row(group, 1) + 1e-300).sqrt().sum();
        ((found.clone() * -1.0 + overlap.0).relu().square() + (found - overlap.1).relu().square()) * BOUND
    };
    violation(pair.0) + violation(pair.1) + outside(0) + outside(1)
}
