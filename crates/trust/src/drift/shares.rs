//! Tests of counts: χ² of category proportions with small cells pooled, Fisher's exact test of two shares.

use std::cmp::Ordering;

use tove_learn::diagnostics::hypotheses::chi_square_shares;

/// The smallest expected count of a cell of the χ² test (Cochran 1954).
const EXPECTED: f64 = 5.0;

/// A χ² test that two samples have the same category proportions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledChiSquare {
    /// Σ (observed − expected)²/expected.
    pub statistic: f64,
    /// Degrees of freedom: cells of a sample − 1.
    pub freedom: usize,
    /// The p-value by the χ² distribution; 1 if one cell is left.
    pub p: f64,
    /// Number of categories that were pooled into one cell.
    pub pooled: usize,
}

/// Tests whether two samples have the same category proportions. Categories with an expected count below 5 in one of the
/// samples are pooled into one cell, the rarest first; if that cell is still too small, the next rarest category joins it.
/// The p-value is that of the χ² distribution without continuity correction.
///
/// ```
/// use tove_trust::drift::pooled_chi_square;
/// let test = pooled_chi_square(&[50.0, 48.0, 1.0, 1.0], &[30.0, 60.0, 4.0, 6.0]);
/// assert_eq!((test.pooled, test.freedom), (2, 2));
/// ```
pub fn pooled_chi_square(first: &[f64], second: &[f64]) -> PooledChiSquare {
    let (m, n): (f64, f64) = (first.iter().sum(), second.iter().sum());
    let mut cells: Vec<(f64, f64)> = first.iter().copied().zip(second.iter().copied()).collect();
    cells.retain(|(a, b)| a + b > 0.0);
    cells.sort_by(|x, y| (x.0 + x.1).total_cmp(&(y.0 + y.1)));
    let small = |(a, b): (f64, f64)| (a + b) * m.min(n) / (m + n) < EXPECTED;
    let mut pool = (0.0, 0.0);
    let mut pooled = 0;
    while pooled < cells.len() && (small(cells[pooled]) || (pooled > 0 && small(pool))) {
        pool = (pool.0 + cells[pooled].0, pool.1 + cells[pooled].1);
        pooled += 1;
    }
    let mut kept = cells.split_off(pooled);
    kept.extend((pooled > 0).then_some(pool));
    let (first, second): (Vec<f64>, Vec<f64>) = kept.into_iter().unzip();
    let (statistic, p) = chi_square_shares(&first, &second);
    PooledChiSquare { statistic, freedom: first.len().saturating_sub(1), p, pooled }
}

/// The two-sided p-value of Fisher's exact test that a share is the same in two samples: `first` of `m` against `second` of
/// `n`. All tables of the same margins that are not more probable count.
///
/// ```
/// use tove_trust::drift::fisher_exact;
/// assert!((fisher_exact((8, 10), (1, 6)) - 0.034965).abs() < 1e-6);
/// assert_eq!(fisher_exact((0, 10), (0, 6)), 1.0);
/// ```
pub fn fisher_exact((first, m): (usize, usize), (second, n): (usize, usize)) -> f64 {
    let (total, first) = (first.min(m) + second.min(n), first.min(m));
    let (low, high) = (total.saturating_sub(n), total.min(m));
    // Weights of the tables relative to that of the mode, by the ratios of neighbors.
    let ratio = |k: usize| {
        let (k, total, m, n) = (k as f64, total as f64, m as f64, n as f64); // weight(k + 1) / weight(k)
        (total - k) * (m - k) / ((k + 1.0) * (n - total + k + 1.0))
    };
    let mode = ((total + 1) as f64 * (m + 1) as f64 / (m + n + 2) as f64).floor() as usize;
    let mode = mode.clamp(low, high);
    let mut weights = vec![0.0f64; high - low + 1];
    weights[mode - low] = 1.0;
    (mode..high).for_each(|k| weights[k + 1 - low] = weights[k - low] * ratio(k));
    (low..mode).rev().for_each(|k| weights[k - low] = weights[k + 1 - low] / ratio(k));
    let own = weights[first - low];
    let sum: f64 = weights.iter().sum();
    let tail: f64 = weights.iter().filter(|weight| **weight <= own * (1.0 + 1e-13)).sum();
    (tail / sum).min(1.0)
}

/// Adjusts p-values so that the probability of any false alarm is at most the level (Holm 1979): p times the number of
/// hypotheses that are left, made monotone.
///
/// ```
/// use tove_trust::drift::holm;
/// assert_eq!(holm(&[0.01, 0.04, 0.03]), [0.03, 0.06, 0.06]);
/// ```
pub fn holm(p: &[f64]) -> Vec<f64> {
    let (order, n) = (ascending(p), p.len());
    let (mut adjusted, mut largest) = (vec![1.0; n], 0.0f64);
    for (rank, &index) in order.iter().enumerate() {
        largest = largest.max((p[index] * (n - rank) as f64).min(1.0));
        adjusted[index] = largest;
    }
    adjusted
}

/// Adjusts p-values so that the expected share of false alarms among all alarms is at most the level (Benjamini and
/// Hochberg 1995), for independent or positively dependent tests.
///
/// ```
/// use tove_trust::drift::benjamini_hochberg;
/// assert_eq!(benjamini_hochberg(&[0.01, 0.04, 0.03]), [0.03, 0.04, 0.04]);
/// ```
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let (order, n) = (ascending(p), p.len());
    let (mut adjusted, mut least) = (vec![1.0; n], 1.0f64);
    for (rank, &index) in order.iter().enumerate().rev() {
        least = least.min(p[index] * n as f64 / (rank + 1) as f64);
        adjusted[index] = least;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].partial_cmp(&p[b]).unwrap_or(Ordering::Equal));
    order
}
