//! All confusion tables of two groups, with exact arithmetic.

use super::{CriteriaPair, Degeneracy, PAIRS};
use crate::fairness::Criterion;
use crate::{Result, TrustError};

const NAME: &str = "tables_search";
/// Tables at most, some seconds of work.
const LIMIT: u128 = 2_000_000_000;

/// The confusion tables of two groups as counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfusionPair {
    /// True positives, false negatives, false positives, true negatives of each group.
    pub counts: [[u64; 4]; 2],
}

impl ConfusionPair {
    /// Whether a criterion holds exactly. Conditions on a decision that a group never takes are met by it.
    ///
    /// ```
    /// use tove_trust::fairness::{ConfusionPair, Criterion};
    /// let pair = ConfusionPair { counts: [[4, 0, 0, 6], [2, 0, 0, 8]] }; // all right
    /// assert!(pair.satisfies(Criterion::Separation) && pair.satisfies(Criterion::Sufficiency));
    /// assert!(!pair.satisfies(Criterion::Independence));
    /// ```
    pub fn satisfies(&self, criterion: Criterion) -> bool {
        let [[tp, fn_, fp, tn], [tp2, fn2, fp2, tn2]] = self.counts;
        // a/b = c/d without division; true if either denominator is 0.
        let equal = |a: u64, b: u64, c: u64, d: u64| u128::from(a) * u128::from(d) == u128::from(c) * u128::from(b);
        match criterion {
            Criterion::Independence => equal(tp + fp, tp + fn_ + fp + tn, tp2 + fp2, tp2 + fn2 + fp2 + tn2),
            Criterion::Separation => equal(tp, tp + fn_, tp2, tp2 + fn2) && equal(fp, fp + tn, fp2, fp2 + tn2),
            Criterion::Sufficiency => equal(tp, tp + fp, tp2, tp2 + fp2) && equal(fn_, fn_ + tn, fn2, fn2 + tn2),
        }
    }

    /// The degenerate case that it is, if any.
    pub fn degeneracy(&self) -> Option<Degeneracy> {
        let [[tp, fn_, fp, tn], [tp2, fn2, fp2, tn2]] = self.counts;
        if (tp + fn_) * (tp2 + fn2 + fp2 + tn2) == (tp2 + fn2) * (tp + fn_ + fp + tn) {
            return Some(Degeneracy::EqualBaseRates);
        }
        if fn_ + fp + fn2 + fp2 == 0 || tp + tn + tp2 + tn2 == 0 {
            return Some(Degeneracy::PerfectPrediction);
        }
        let uninformative = |[tp, fn_, fp, tn]: [u64; 4]| tp * (fp + tn) == fp * (tp + fn_);
        self.counts.into_iter().all(uninformative).then_some(Degeneracy::Uninformative)
    }
}

/// The result of [`tables_search`].
#[derive(Clone, Debug, PartialEq)]
pub struct TableSearch {
    /// Number of pairs of tables that were tried: all of them.
    pub tried: u64,
    /// For every two criteria the pairs of tables that satisfy both exactly.
    pub solutions: Vec<(CriteriaPair, Vec<ConfusionPair>)>,
}

impl TableSearch {
    /// The solutions that are not a degenerate case; there are none if base rates differ.
    pub fn joint(&self) -> Vec<(CriteriaPair, ConfusionPair)> {
        let of = |(pair, tables): &(CriteriaPair, Vec<ConfusionPair>)| {
            let pair = *pair;
            let joint = tables.iter().filter(|tables| tables.degeneracy().is_none());
            joint.map(move |tables| (pair, *tables)).collect::<Vec<_>>()
        };
        self.solutions.iter().flat_map(of).collect()
    }
}

/// Tries all confusion tables of two groups, each with this many (positives, negatives), and lists those that satisfy two criteria.
///
/// ```
/// use tove_trust::fairness::tables_search;
/// let search = tables_search((4, 6), (2, 8))?; // base rates 0.4 and 0.2
/// assert_eq!((search.tried, search.joint().len()), (5 * 7 * 3 * 9, 0));
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// A group without positives or negatives; more than two billion tables.
pub fn tables_search(first: (u64, u64), second: (u64, u64)) -> Result<TableSearch> {
    let sides = [first.0, first.1, second.0, second.1];
    if sides.contains(&0) {
        let problem = "a group without positives or without negatives; give at least one of each";
        return Err(TrustError::argument(NAME, problem));
    }
    let count = sides.iter().fold(1u128, |count, &side| count.saturating_mul(u128::from(side) + 1));
    if count > LIMIT {
        return Err(TrustError::argument(NAME, format!("{count} pairs of tables; give smaller groups")));
    }
    let mut solutions: Vec<(CriteriaPair, Vec<ConfusionPair>)> = PAIRS.iter().map(|&pair| (pair, Vec::new())).collect();
    for tp in 0..=first.0 {
        for fp in 0..=first.1 {
            for tp2 in 0..=second.0 {
                for fp2 in 0..=second.1 {
                    let table = |(p, n): (u64, u64), tp: u64, fp: u64| [tp, p - tp, fp, n - fp];
                    let tables = ConfusionPair { counts: [table(first, tp, fp), table(second, tp2, fp2)] };
                    let both = |(a, b): CriteriaPair| tables.satisfies(a) && tables.satisfies(b);
                    for (pair, found) in &mut solutions {
                        if both(*pair) {
                            found.push(tables);
                        }
                    }
                }
            }
        }
    }
    Ok(TableSearch { tried: count as u64, solutions })
}
