//! Lazy (just-in-time) updates of SAGA.
//!
//! A sparse row only has a few columns. The weights of the other columns still change, by the mean gradient ḡ and the
//! penalties: w ← prox(k w − γ ḡ) with k = 1 − γ λ₂ and prox the soft threshold at t = γ λ₁. But ḡ of a column stays
//! the same until a row has the column again, so τ such steps can be applied at once, just before the weight is needed:
//!
//! w_τ = k^τ w − b (1 + k + … + k^(τ−1)), with b = γ ḡ ± t while w keeps its sign.
//!
//! With |γ ḡ| ≤ t a weight that reaches 0 stays there. Otherwise it crosses 0: the number of steps before the crossing
//! is found by bisection, the crossing step is applied separately, and the remaining steps at once. Powers and sums of
//! powers are tabulated.

use super::saga::Pace;

/// Pending updates of each column.
pub(super) struct LazyUpdates {
    pace: Pace,
    /// k^τ for every number of steps in an epoch.
    powers: Vec<f64>,
    /// 1 + k + … + k^(τ−1).
    sums: Vec<f64>,
    /// The step of the epoch up to which each column was updated.
    done: Vec<usize>,
}

impl LazyUpdates {
    /// Creates the tables for epochs of n steps over d columns.
    pub(super) fn new(pace: Pace, n: usize, d: usize) -> LazyUpdates {
        let (mut powers, mut sums) = (vec![1.0; n + 1], vec![0.0; n + 1]);
        for steps in 1..=n {
            powers[steps] = powers[steps - 1] * pace.keep;
            sums[steps] = sums[steps - 1] + powers[steps - 1];
        }
        LazyUpdates { pace, powers, sums, done: vec![0; d] }
    }

    /// Applies the pending updates of these columns before step `time`. Parameters and means are (k, p).
    #[inline(always)]
    pub(super) fn catch_up(&mut self, columns: &[u32], time: usize, p: usize, w: &mut [f64], mean: &[f64]) {
        for &column in columns {
            self.bring(column as usize, time, p, w, mean);
            self.done[column as usize] = time + 1;
        }
    }

    /// Applies all pending updates at the end of an epoch.
    pub(super) fn catch_up_all(&mut self, time: usize, p: usize, w: &mut [f64], mean: &[f64]) {
        for column in 0..self.done.len() {
            self.bring(column, time, p, w, mean);
            self.done[column] = 0;
        }
    }

    #[inline(always)]
    fn bring(&self, column: usize, time: usize, p: usize, w: &mut [f64], mean: &[f64]) {
        let steps = time - self.done[column];
        if steps > 0 {
            for (w, mean) in w.chunks_exact_mut(p).zip(mean.chunks_exact(p)) {
                w[column] = self.after(w[column], self.pace.step * mean[column], steps);
            }
        }
    }

    /// k^τ w − b (1 + … + k^(τ−1)).
    #[inline(always)]
    fn line(&self, w: f64, b: f64, steps: usize) -> f64 {
        self.powers[steps] * w - b * self.sums[steps]
    }

    /// The weight after this many steps with the drift γ ḡ.
    #[inline(always)]
    fn after(&self, w: f64, drift: f64, steps: usize) -> f64 {
        let t = self.pace.threshold;
        if t == 0.0 {
            return self.line(w, drift, steps);
        }
        if drift.abs() <= t {
            // Moves to 0, and not further.
            let ahead = self.line(w.abs(), drift.copysign(drift * w) + t, steps);
            return ahead.max(0.0).copysign(w);
        }
        // By symmetry, assume a negative drift.
        let side = drift.signum();
        side * self.crossing(side * w, drift.abs(), steps)
    }

    /// The weight after this many steps with a drift above the threshold, which ends below 0.
    fn crossing(&self, w: f64, drift: f64, steps: usize) -> f64 {
        let t = self.pace.threshold;
        if w <= 0.0 {
            return self.line(w, drift - t, steps);
        }
        let above = self.steps_above(w, drift + t, steps);
        let last = self.line(w, drift + t, above);
        if above == steps {
            return last;
        }
        let across = soft(self.pace.keep * last - drift, t).min(0.0);
        self.line(across, drift - t, steps - above - 1)
    }

    /// Number of steps that leave the weight above 0.
    fn steps_above(&self, w: f64, b: f64, steps: usize) -> usize {
        let (mut low, mut high) = (0, steps);
        while low < high {
            let middle = low + (high - low).div_ceil(2);
            if self.line(w, b, middle) > 0.0 {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        low
    }
}

/// The soft threshold.
#[inline(always)]
pub(super) fn soft(w: f64, threshold: f64) -> f64 {
    if threshold == 0.0 { w } else { (w.abs() - threshold).max(0.0).copysign(w) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_steps_at_once_are_the_steps_one_by_one() {
        for (keep, threshold) in [(1.0, 0.0), (0.99, 0.0), (1.0, 0.02), (0.97, 0.02), (0.999, 0.3)] {
            let pace = Pace { step: 0.5, keep, threshold };
            let lazy = LazyUpdates::new(pace, 300, 1);
            for start in [-2.0, -0.4, -1e-3, 0.0, 1e-3, 0.3, 5.0] {
                for mean in [-1.7, -0.2, -0.04, -0.01, 0.0, 0.01, 0.04, 0.05, 0.3, 2.0] {
                    let mut w = start;
                    for steps in 0..=300 {
                        let at_once = lazy.after(start, pace.step * mean, steps);
                        let close = (at_once - w).abs() <= 1e-12 * (1.0 + w.abs() + steps as f64);
                        assert!(close, "{keep} {threshold} {start} {mean} {steps}: {at_once} for {w}");
                        w = soft(keep * w - pace.step * mean, threshold);
                    }
                    // A weight that the threshold keeps at 0 is exactly 0.
                    if pace.step * mean.abs() < threshold && w == 0.0 {
                        assert_eq!(lazy.after(start, pace.step * mean, 300), 0.0, "{keep} {threshold} {start} {mean}");
                    }
                }
            }
        }
    }
}
