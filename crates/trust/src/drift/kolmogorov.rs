//! The two-sample Kolmogorov-Smirnov test with exact p-values.
//!
//! D = sup |F₁ − F₂| of the empirical distributions of m and n numbers. If both come from the same continuous
//! distribution, the sorted union is a random order of m firsts and n seconds, so P(D ≥ d) is the probability that a random
//! lattice path from (0, 0) to (m, n) leaves the band |i/m − j/n| < d. [`kolmogorov_exact`] adds up the probabilities of
//! the first step out of the band; all terms are positive, so that tiny p-values keep their digits. Ties make the test
//! conservative.
//!
//! For large samples [`kolmogorov_asymptotic`] takes the distribution of the one-sample statistic of mn/(m + n) numbers:
//! Smirnov's sum in the tail, the series of Pelz and Good ("Approximating the lower tail-areas of the Kolmogorov-Smirnov
//! one-sample statistic", 1976) in the body.
//!
//! ```
//! use tove_trust::drift::two_sample_kolmogorov;
//! let (d, p) = two_sample_kolmogorov(&[0.1, 0.4, 0.7], &[0.2, 0.5, 0.6]);
//! assert!((d - 1.0 / 3.0).abs() < 1e-15 && (p - 1.0).abs() < 1e-12);
//! let (d, p) = two_sample_kolmogorov(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]);
//! assert!(d == 1.0 && (p - 2.0 / 70.0).abs() < 1e-15); // two of the C(8, 4) orders
//! ```

use std::f64::consts::PI;

/// Lattice points of the band up to which p-values are exact.
const STEPS: f64 = 2e7;

/// D and its p-value, exact unless both samples are large (more than about 20 million pairs of ranks in the band). NaN is
/// left out; (0, 1) if a sample is empty.
pub fn two_sample_kolmogorov(first: &[f64], second: &[f64]) -> (f64, f64) {
    let sorted = |values: &[f64]| {
        let mut values: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (first, second) = (sorted(first), sorted(second));
    let (m, n) = (first.len(), second.len());
    if m == 0 || n == 0 {
        return (0.0, 1.0);
    }
    let gap = largest_gap(&first, &second);
    let d = gap as f64 / (m as f64 * n as f64);
    let band = (2.0 * gap as f64).min(m as f64 * n as f64);
    let p = if band <= STEPS { outside(gap, m, n) } else { kolmogorov_asymptotic(d, m, n) };
    (d, p)
}

/// max |i n − j m| over the points of the path of two sorted samples.
fn largest_gap(first: &[f64], second: &[f64]) -> u128 {
    let (m, n) = (first.len() as i128, second.len() as i128);
    let (mut i, mut j, mut largest) = (0, 0, 0);
    while i < first.len() && j < second.len() {
        let value = first[i].min(second[j]);
        while i < first.len() && first[i] <= value {
            i += 1;
        }
        while j < second.len() && second[j] <= value {
            j += 1;
        }
        largest = largest.max((i as i128 * n - j as i128 * m).unsigned_abs());
    }
    largest
}

/// P(D ≥ d) for samples of m and n numbers without ties, exact; the work grows with d·m·n.
pub fn kolmogorov_exact(d: f64, m: usize, n: usize) -> f64 {
    if m == 0 || n == 0 || d.is_nan() || d <= 0.0 {
        return 1.0;
    }
    // The smallest multiple of 1/lcm that is not below d, up to rounding.
    let (step, all) = (gcd(m, n) as f64, m as f64 * n as f64);
    let gap = (d * all / step - 1e-9).ceil() * step;
    if gap > all { 0.0 } else { outside(gap as u128, m, n) }
}

/// The probability that a random path reaches |i n − j m| ≥ gap.
fn outside(gap: u128, m: usize, n: usize) -> f64 {
    if gap == 0 {
        return 1.0;
    }
    let (gap, m, n) = (gap as i128, m.min(n), m.max(n));
    let (wide_m, wide_n) = (m as i128, n as i128);
    let inside = |i: usize, j: usize| (i as i128 * wide_n - j as i128 * wide_m).abs() < gap;
    // For i firsts, those j inside are an interval; `alive` holds the probabilities of being at (i, j) without having left.
    let first_inside = |i: usize| ((i as i128 * wide_n - gap).div_euclid(wide_m) + 1).max(0) as usize;
    let mut alive = vec![0.0; n + 1];
    let (mut left, mut low) = (0.0, 0);
    alive[0] = 1.0;
    for i in 0..=m {
        let start = first_inside(i);
        // Points that were inside for i − 1 firsts and are outside now lie below `start`: the step to them left the band.
        for probability in &mut alive[low..start.min(n + 1)] {
            left += std::mem::take(probability);
        }
        low = start;
        let mut j = low;
        while j <= n && inside(i, j) {
            let (rest_m, rest_n) = ((m - i) as f64, (n - j) as f64);
            let rest = rest_m + rest_n;
            let here = alive[j];
            if rest > 0.0 && here > 0.0 {
                let up = here * (rest_n / rest);
                if j < n {
                    if inside(i, j + 1) { alive[j + 1] += up } else { left += up }
                }
                alive[j] = here * (rest_m / rest);
            }
            j += 1;
        }
    }
    left.min(1.0)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// P(D ≥ d) for large samples of m and n numbers: the distribution of the one-sample statistic of mn/(m + n) numbers.
pub fn kolmogorov_asymptotic(d: f64, m: usize, n: usize) -> f64 {
    let size = (m as f64 * n as f64 / (m + n).max(1) as f64).round_ties_even().max(1.0);
    if d.is_nan() || d <= 0.5 / size {
        return 1.0;
    }
    if d >= 1.0 {
        return 0.0;
    }
    if size * d * d >= 2.2 {
        return (2.0 * one_sided(d, size)).min(1.0);
    }
    (1.0 - pelz_good(d, size)).clamp(0.0, 1.0)
}

/// P(D⁺ ≥ d) = d Σⱼ C(n, j) (d + j/n)ʲ⁻¹ (1 − d − j/n)ⁿ⁻ʲ over j ≤ n (1 − d) (Smirnov).
fn one_sided(d: f64, n: f64) -> f64 {
    let (mut sum, mut binomial, mut j) = (0.0, 0.0f64, 0.0);
    while j <= n * (1.0 - d) {
        let (below, above) = (d + j / n, 1.0 - d - j / n);
        if above > 0.0 {
            sum += (binomial + (j - 1.0) * below.ln() + (n - j) * above.ln()).exp();
        }
        binomial += ((n - j) / (j + 1.0)).ln();
        j += 1.0;
    }
    (d * sum).min(1.0)
}

/// P(D < d) by K₀ + K₁/√n + K₂/n + K₃/n^(3/2) at z = d √n.
fn pelz_good(d: f64, n: f64) -> f64 {
    let z = d * n.sqrt();
    let (z2, p2) = (z * z, PI * PI);
    let (z4, p4) = (z2 * z2, p2 * p2);
    let (z6, p6) = (z4 * z2, p4 * p2);
    let root = (2.0 * PI).sqrt();
    let (mut odd, mut all) = ([0.0; 4], [0.0; 2]);
    for k in (1..=(16.0 * z / PI).ceil() as u32 + 2).rev() {
        let h = f64::from(2 * k - 1).powi(2); // squares of odd numbers
        let e = (-p2 * h / (8.0 * z2)).exp();
        odd[0] += e;
        odd[1] += (p2 * h / 4.0 - z2) * e;
        odd[2] +=
            (6.0 * z6 + 2.0 * z4 + p2 * h / 4.0 * (2.0 * z4 - 5.0 * z2) + p4 * h * h / 16.0 * (1.0 - 2.0 * z2)) * e;
        odd[3] += (p6 * h * h * h / 64.0 * (5.0 - 30.0 * z2)
            + p4 * h * h / 16.0 * (212.0 * z4 - 60.0 * z2)
            + p2 * h / 4.0 * (135.0 * z4 - 96.0 * z6)
            - 30.0 * z6
            - 90.0 * z4 * z4)
            * e;
        let k2 = f64::from(k).powi(2);
        let e = (-p2 * k2 / (2.0 * z2)).exp();
        all[0] += p2 * k2 * e;
        all[1] += (3.0 * p2 * k2 * z2 - p4 * k2 * k2) * e;
    }
    let k0 = root / z * odd[0];
    let k1 = root / (6.0 * z4) * odd[1];
    let k2 = root / (72.0 * z6 * z) * odd[2] - root / (36.0 * z2 * z) * all[0];
    let k3 = root / (6480.0 * z6 * z4) * odd[3] + root / (216.0 * z6) * all[1];
    k0 + k1 / n.sqrt() + k2 / n + k3 / (n * n.sqrt())
}
