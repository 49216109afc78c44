//! How far two groupings of the same samples agree, whatever the groups are called.
//!
//! With nᵢⱼ the samples in group i of the first and group j of the second grouping, aᵢ and bⱼ the sizes of the groups and n all
//! samples:
//!
//! | score | formula |
//! |---|---|
//! | adjusted Rand index | (Σ C(nᵢⱼ, 2) − E) / (½ (Σ C(aᵢ, 2) + Σ C(bⱼ, 2)) − E), E = Σ C(aᵢ, 2) Σ C(bⱼ, 2) / C(n, 2) |
//! | mutual information I | Σ nᵢⱼ/n ln(n nᵢⱼ / (aᵢ bⱼ)) |
//! | normalized mutual information | I / ½ (H₁ + H₂), with the entropies of the groupings |
//! | homogeneity | I / H₁: every group of the second grouping lies within one of the first |
//! | completeness | I / H₂: every group of the first grouping lies within one of the second |
//! | V-measure | (1 + β) h c / (β h + c), the weighted harmonic mean of both |
//! | adjusted mutual information | (I − E\[I\]) / (½ (H₁ + H₂) − E\[I\]), for groups of the same sizes drawn at random |

use std::collections::BTreeMap;

use tove_tensor::Tensor;

use crate::read::{View, check_pair, dense};
use crate::score::Sum;
use crate::{MetricError, Result, Score};

/// Sizes of the groups and of their intersections.
struct Table {
    n: f64,
    cells: BTreeMap<(i64, i64), u64>,
    first: BTreeMap<i64, u64>,
    second: BTreeMap<i64, u64>,
}

impl Table {
    fn new(what: &'static str, first: &Tensor, second: &Tensor) -> Result<Table> {
        let n = check_pair(what, first, second)?;
        let (a, b) = (dense(first), dense(second));
        let (a, b) = (View::of(&a)?, View::of(&b)?);
        let mut table = Table { n: n as f64, cells: BTreeMap::new(), first: BTreeMap::new(), second: BTreeMap::new() };
        for i in 0..n {
            let (a, b) = (a.whole(i), b.whole(i));
            *table.cells.entry((a, b)).or_default() += 1;
            *table.first.entry(a).or_default() += 1;
            *table.second.entry(b).or_default() += 1;
        }
        Ok(table)
    }

    /// Whether both groupings are one group, or both have every sample on its own: nothing can differ.
    fn trivial(&self) -> bool {
        let (a, b) = (self.first.len(), self.second.len());
        a == b && (a == 1 || a as f64 == self.n)
    }

    fn mutual_information(&self) -> f64 {
        let term = |(&(a, b), &count): (&(i64, i64), &u64)| {
            let (count, a, b) = (count as f64, self.first[&a] as f64, self.second[&b] as f64);
            count / self.n * ((count / self.n).ln() - (a / self.n).ln() - (b / self.n).ln())
        };
        self.cells.iter().map(term).collect::<Sum>().value().max(0.0)
    }

    /// Entropies of both groupings.
    fn entropies(&self) -> (f64, f64) {
        let entropy = |sizes: &BTreeMap<i64, u64>| {
            -sizes.values().map(|&size| size as f64 / self.n * (size as f64 / self.n).ln()).collect::<Sum>().value()
        };
        (entropy(&self.first), entropy(&self.second))
    }

    fn mean_entropy(&self) -> f64 {
        let (first, second) = self.entropies();
        0.5 * (first + second)
    }

    /// The mean of the mutual information over all groupings with groups of these sizes (Vinh, Epps, Bailey 2010).
    fn expected_information(&self) -> f64 {
        let n = self.n as usize;
        let mut logs = vec![0.0; n + 1]; // ln i!
        for i in 1..=n {
            logs[i] = logs[i - 1] + (i as f64).ln();
        }
        let sizes = |groups: &BTreeMap<i64, u64>| -> BTreeMap<u64, u64> {
            let mut sizes = BTreeMap::new();
            groups.values().for_each(|&size| *sizes.entry(size).or_default() += 1);
            sizes
        };
        let mut total = Sum::default();
        // Groups of equal sizes have equal terms.
        for (&a, &times_a) in &sizes(&self.first) {
            for (&b, &times_b) in &sizes(&self.second) {
                let (a, b) = (a as usize, b as usize);
                let fixed = logs[a] + logs[b] + logs[n - a] + logs[n - b] - logs[n];
                for both in 1.max((a + b).saturating_sub(n))..=a.min(b) {
                    let log = fixed - logs[both] - logs[a - both] - logs[b - both] - logs[n + both - a - b];
                    let share = both as f64 / self.n;
                    let information = (both as f64).ln() + self.n.ln() - (a as f64).ln() - (b as f64).ln();
                    total.add((times_a * times_b) as f64 * share * information * log.exp());
                }
            }
        }
        total.value()
    }
}

/// Agreement of two groupings in pairs of samples, corrected for chance: 1 for the same groups, about 0 for unrelated ones.
///
/// ```
/// use tove_metrics::adjusted_rand_score;
/// use tove_tensor::Tensor;
/// let (truth, found) = (Tensor::from([0i64, 0, 1, 1]), Tensor::from([5i64, 5, 2, 2]));
/// assert_eq!(adjusted_rand_score(&truth, &found)?.value, 1.0);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If there are no samples, lengths differ, or groups are not whole numbers.
pub fn adjusted_rand_score(truth: &Tensor, prediction: &Tensor) -> Result<Score> {
    let table = Table::new("adjusted_rand_score", truth, prediction)?;
    let pairs = |count: &u64| *count as f64 * (*count as f64 - 1.0) / 2.0;
    let together: f64 = table.cells.values().map(pairs).collect::<Sum>().value();
    let (a, b) = (table.first.values().map(pairs).sum::<f64>(), table.second.values().map(pairs).sum::<f64>());
    let value = if together == a && together == b {
        1.0
    } else {
        let expected = a * b / (table.n * (table.n - 1.0) / 2.0);
        (together - expected) / (0.5 * (a + b) - expected)
    };
    Ok(Score::plain(value, truth.numel()))
}

/// Mutual information of two groupings over the mean of their entropies, from 0 to 1. Not corrected for chance: many small groups
/// score high.
///
/// ```
/// use tove_metrics::normalized_mutual_info_score;
/// use tove_tensor::Tensor;
/// let (truth, found) = (Tensor::from([0i64, 0, 1, 1]), Tensor::from([0i64, 1, 0, 1]));
/// assert_eq!(normalized_mutual_info_score(&truth, &found)?.value, 0.0);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`adjusted_rand_score`].
pub fn normalized_mutual_info_score(truth: &Tensor, prediction: &Tensor) -> Result<Score> {
    let table = Table::new("normalized_mutual_info_score", truth, prediction)?;
    let information = table.mutual_information();
    let value = match table.trivial() {
        true => 1.0,
        false if information <= f64::EPSILON => 0.0,
        false => (information / table.mean_entropy()).min(1.0),
    };
    Ok(Score::plain(value, truth.numel()))
}

/// Mutual information of two groupings, corrected for chance: 1 for the same groups, about 0 for unrelated ones.
///
/// ```
/// use tove_metrics::adjusted_mutual_info_score;
/// use tove_tensor::Tensor;
/// let (truth, found) = (Tensor::from([0i64, 0, 1, 1]), Tensor::from([1i64, 1, 0, 0]));
/// assert!((adjusted_mutual_info_score(&truth, &found)?.value - 1.0).abs() < 1e-12);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`adjusted_rand_score`].
pub fn adjusted_mutual_info_score(truth: &Tensor, prediction: &Tensor) -> Result<Score> {
    let table = Table::new("adjusted_mutual_info_score", truth, prediction)?;
    if table.trivial() {
        return Ok(Score::plain(1.0, truth.numel()));
    }
    let expected = table.expected_information();
    let room = table.mean_entropy() - expected;
    let room = if room < 0.0 { room.min(-f64::EPSILON) } else { room.max(f64::EPSILON) };
    Ok(Score::plain((table.mutual_information() - expected) / room, truth.numel()))
}

/// Homogeneity, completeness and V-measure of a clustering, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Homogeneity {
    /// 1 if every cluster has samples of one class only.
    pub homogeneity: f64,
    /// 1 if all samples of a class are in one cluster.
    pub completeness: f64,
    /// The weighted harmonic mean of both.
    pub v_measure: f64,
}

/// Homogeneity, completeness and V-measure of clusters beside true classes. `beta` above 1 weighs completeness more; scikit-learn's
/// default is 1. Not corrected for chance.
///
/// ```
/// use tove_metrics::homogeneity_completeness_v_measure;
/// use tove_tensor::Tensor;
/// // Each cluster has one class, but class 1 is spread over two clusters.
/// let (truth, found) = (Tensor::from([0i64, 0, 1, 1]), Tensor::from([0i64, 0, 1, 2]));
/// let scores = homogeneity_completeness_v_measure(&truth, &found, 1.0)?;
/// assert!((scores.homogeneity - 1.0).abs() < 1e-12 && (scores.completeness - 2.0 / 3.0).abs() < 1e-12);
/// assert!((scores.v_measure - 0.8).abs() < 1e-12);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// As [`adjusted_rand_score`], or if `beta` is negative or not finite.
pub fn homogeneity_completeness_v_measure(truth: &Tensor, prediction: &Tensor, beta: f64) -> Result<Homogeneity> {
    const WHAT: &str = "homogeneity_completeness_v_measure";
    if !(beta >= 0.0 && beta.is_finite()) {
        let problem = format!("beta is {beta}; give a finite number of at least 0");
        return Err(MetricError::Parameter { what: WHAT, problem });
    }
    let table = Table::new(WHAT, truth, prediction)?;
    let (information, (first, second)) = (table.mutual_information(), table.entropies());
    let share = |entropy: f64| if entropy > 0.0 { (information / entropy).min(1.0) } else { 1.0 };
    let (homogeneity, completeness) = (share(first), share(second));
    let both = beta * homogeneity + completeness;
    let v_measure = if both > 0.0 { (1.0 + beta) * homogeneity * completeness / both } else { 0.0 };
    Ok(Homogeneity { homogeneity, completeness, v_measure })
}
