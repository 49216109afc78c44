//! Intervals of a proportion: exact (Clopper and Pearson 1934) for counts, Wilson's (1927) for weighted shares.

use tove_metrics::special::{incomplete_beta, normal_quantile};

/// The exact interval of `successes` among `n` rows: each end is missed with probability at most (1 − confidence)/2.
pub(crate) fn clopper_pearson(successes: f64, n: f64, confidence: f64) -> (f64, f64) {
    let tail = 0.5 * (1.0 - confidence);
    let low = if successes <= 0.0 { 0.0 } else { beta_quantile(tail, successes, n - successes + 1.0) };
    let high = if successes >= n { 1.0 } else { beta_quantile(1.0 - tail, successes + 1.0, n - successes) };
    (low, high)
}

/// Wilson's interval of a share among `n` rows, which need not be whole.
pub(crate) fn wilson(share: f64, n: f64, confidence: f64) -> (f64, f64) {
    if n <= 0.0 {
        return (0.0, 1.0);
    }
    let z = normal_critical(1.0 - confidence);
    let square = z * z / n;
    let center = (share + 0.5 * square) / (1.0 + square);
    let half = z / (1.0 + square) * (share * (1.0 - share) / n + 0.25 * square / n).max(0.0).sqrt();
    ((center - half).max(0.0), (center + half).min(1.0))
}

/// The z with P(|Z| ≥ z) = `tail` for a standard normal Z.
pub(crate) fn normal_critical(tail: f64) -> f64 {
    normal_quantile(1.0 - 0.5 * tail.max(2e-8))
}

/// The x with I_x(a, b) = p.
fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    bisect(0.0, 1.0, |x| incomplete_beta(a, b, x, 1.0 - x) < p)
}

/// The place in [low, high] where `below` turns false.
fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if below(middle) { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_equal_those_of_scipy() {
        // scipy.stats.binomtest(k, n).proportion_ci(0.95, method), SciPy 1.17.
        let close = |(low, high): (f64, f64), wanted: (f64, f64)| {
            assert!((low - wanted.0).abs() < 1e-10 && (high - wanted.1).abs() < 1e-10, "{low} {high} {wanted:?}");
        };
        close(clopper_pearson(3.0, 10.0, 0.95), (0.06673951117773447, 0.652452850060008));
        close(clopper_pearson(0.0, 5.0, 0.95), (0.0, 0.5218237501049814));
        close(clopper_pearson(5.0, 5.0, 0.9), (0.549280271653059, 1.0));
        close(clopper_pearson(7000.0, 32561.0, 0.95), (0.21052922900110874, 0.21948389444159633));
        close(wilson(0.3, 10.0, 0.95), (0.10779126740630102, 0.6032218525388546));
        assert!((normal_critical(0.05) - 1.959963984540054).abs() < 1e-12);
    }
}
