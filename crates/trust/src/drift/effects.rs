//! Effect sizes: how large a difference is, whatever the number of rows.

use tove_learn::diagnostics::hypotheses::kolmogorov_tail;

/// Added to every share, so that an empty bin has a finite logarithm.
const FLOOR: f64 = 1e-4;

/// The population stability index Σ (b − a) ln(b/a) of two lists of counts, with shares below 0.0001 raised to it. Below 0.1
/// is usually called small, above 0.25 large; these limits are a convention.
///
/// ```
/// use tove_trust::drift::stability_index;
/// let expected = 0.25 * (0.75f64 / 0.5).ln() - 0.25 * (0.25f64 / 0.5).ln();
/// assert!((stability_index(&[50.0, 50.0], &[75.0, 25.0]) - expected).abs() < 1e-15);
/// ```
pub fn stability_index(first: &[f64], second: &[f64]) -> f64 {
    let (m, n): (f64, f64) = (first.iter().sum(), second.iter().sum());
    if m <= 0.0 || n <= 0.0 {
        return 0.0;
    }
    let term = |(&a, &b): (&f64, &f64)| {
        let (a, b) = ((a / m).max(FLOOR), (b / n).max(FLOOR));
        (b - a) * (b / a).ln()
    };
    first.iter().zip(second).filter(|(a, b)| **a + **b > 0.0).map(term).sum()
}

/// Counts of two samples in up to `bins` bins that hold equal shares of the first one, which is sorted. Equal values share
/// a bin.
pub(super) fn equal_mass_counts(first: &[f64], second: &[f64], bins: usize) -> (Vec<f64>, Vec<f64>) {
    let mut edges: Vec<f64> = (1..bins).map(|bin| first[bin * first.len() / bins]).collect();
    edges.dedup();
    let count = |values: &[f64]| {
        let mut counts = vec![0.0; edges.len() + 1];
        values.iter().for_each(|value| counts[edges.partition_point(|edge| edge <= value)] += 1.0);
        counts
    };
    (count(first), count(second))
}

/// The Wasserstein distance ∫ |F₁ − F₂| of two samples: how far numbers have to be moved on average to turn one into the
/// other. 0 if a sample is empty.
///
/// ```
/// use tove_trust::drift::wasserstein;
/// assert_eq!(wasserstein(&[0.0, 1.0, 3.0], &[5.0, 6.0, 8.0]), 5.0);
/// ```
pub fn wasserstein(first: &[f64], second: &[f64]) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (first, second) = (sorted(first), sorted(second));
    if first.is_empty() || second.is_empty() {
        return 0.0;
    }
    let (m, n) = (first.len() as f64, second.len() as f64);
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    let mut last = first[0].min(second[0]);
    while i < first.len() || j < second.len() {
        let value = match (first.get(i), second.get(j)) {
            (Some(a), Some(b)) => a.min(*b),
            (Some(value), None) | (None, Some(value)) => *value,
            (None, None) => break,
        };
        sum += (i as f64 / m - j as f64 / n).abs() * (value - last);
        last = value;
        while first.get(i).is_some_and(|x| *x <= value) {
            i += 1;
        }
        while second.get(j).is_some_and(|x| *x <= value) {
            j += 1;
        }
    }
    sum
}

/// The difference D of two distribution functions that a Kolmogorov-Smirnov test at this level is able to find with m and n
/// numbers: the smallest significant D by Kolmogorov's limit, at most 1.
pub(super) fn detectable(level: f64, m: usize, n: usize) -> f64 {
    if m == 0 || n == 0 {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 20.0);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if kolmogorov_tail(middle) > level { low = middle } else { high = middle }
    }
    (high / (m as f64 * n as f64 / (m + n) as f64).sqrt()).min(1.0)
}
