//! Dual coordinate descent for linear SVMs (Hsieh et al. 2008; Ho and Lin 2012).
//!
//! For classification: min ½ αᵀ(Q + D)α − Σα with 0 ≤ αᵢ ≤ Uᵢ, where w = Σ αᵢyᵢxᵢ is kept up to date, so that a step on
//! one αᵢ costs one row. Hinge loss: U = C, D = 0; squared hinge: U = ∞, D = 1/(2C). Rows are visited in a new random
//! order in every pass. The shrinking heuristic skips rows whose αᵢ is likely to stay at a bound until the others have
//! converged. Regression is the same with −Uᵢ ≤ βᵢ ≤ Uᵢ and ε|βᵢ| added.

use tove_optim::interrupted;
use tove_tensor::kernels::simd::{Kernel, dispatch};

use super::design::{Design, Task};

/// Result of coordinate descent.
pub(super) struct Solution {
    /// Weights; the last one belongs to the constant feature.
    pub(super) w: Vec<f64>,
    /// αᵢ, or βᵢ for regression.
    pub(super) alpha: Vec<f64>,
    pub(super) rounds: usize,
    pub(super) converged: bool,
}

/// Reproducible random permutations (splitmix64).
struct Orders(u64);

impl Orders {
    #[inline(always)]
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(z ^ (z >> 31)) * n as u128) >> 64) as usize
    }

    #[inline(always)]
    fn shuffle(&mut self, values: &mut [usize]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i + 1));
        }
    }
}

/// A classification problem; samples with cost 0 are skipped.
pub(super) struct Classes<'a> {
    /// ±1.
    pub(super) y: &'a [f64],
    /// Cᵢ.
    pub(super) costs: &'a [f64],
    pub(super) squared: bool,
    pub(super) tolerance: f64,
    pub(super) limit: usize,
    pub(super) seed: u64,
}

impl Task for Classes<'_> {
    type Output = Solution;

    fn run<D: Design>(self, design: &D) -> Solution {
        dispatch(Over { task: self, design })
    }
}

struct Over<'a, W, D> {
    task: W,
    design: &'a D,
}

impl<D: Design> Kernel for Over<'_, Classes<'_>, D> {
    type Output = Solution;

    #[inline(always)]
    fn run(self) -> Solution {
        let Over { task, design } = self;
        let (n, y) = (design.len(), task.y);
        let mut indices: Vec<usize> = (0..n).filter(|&i| task.costs[i] > 0.0).collect();
        let extra = |i: usize| if task.squared { 0.5 / task.costs[i] } else { 0.0 };
        let bound = |i: usize| if task.squared { f64::INFINITY } else { task.costs[i] };
        let curvature: Vec<f64> =
            (0..n).map(|i| if task.costs[i] > 0.0 { design.square(i) + extra(i) } else { 0.0 }).collect();
        let (mut w, mut alpha) = (vec![0.0; design.width()], vec![0.0; n]);
        let (all, mut active) = (indices.len(), indices.len());
        let (mut top_before, mut bottom_before) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut orders = Orders(task.seed);
        for round in 0..task.limit {
            if interrupted() {
                break;
            }
            let (mut top, mut bottom) = (f64::NEG_INFINITY, f64::INFINITY);
            orders.shuffle(&mut indices[..active]);
            let mut s = 0;
            while s < active {
                let i = indices[s];
                let g = y[i] * design.dot(i, &w) - 1.0 + extra(i) * alpha[i];
                let high = bound(i);
                // The projected gradient.
                let (projected, shrink) = if alpha[i] == 0.0 {
                    (if g < 0.0 { g } else { 0.0 }, g > top_before)
                } else if alpha[i] >= high {
                    (if g > 0.0 { g } else { 0.0 }, g < bottom_before)
                } else {
                    (g, false)
                };
                if shrink {
                    active -= 1;
                    indices.swap(s, active);
                    continue;
                }
                top = if projected > top { projected } else { top };
                bottom = if projected < bottom { projected } else { bottom };
                if projected.abs() > 1e-12 && curvature[i] > 0.0 {
                    let old = alpha[i];
                    let new = old - g / curvature[i];
                    alpha[i] = if new < 0.0 {
                        0.0
                    } else if new > high {
                        high
                    } else {
                        new
                    };
                    design.add(i, (alpha[i] - old) * y[i], &mut w);
                }
                s += 1;
            }
            if active == 0 || top - bottom <= task.tolerance {
                if active == all {
                    return Solution { w, alpha, rounds: round + 1, converged: true };
                }
                active = all;
                (top_before, bottom_before) = (f64::INFINITY, f64::NEG_INFINITY);
                continue;
            }
            top_before = if top > 0.0 { top } else { f64::INFINITY };
            bottom_before = if bottom < 0.0 { bottom } else { f64::NEG_INFINITY };
        }
        Solution { w, alpha, rounds: task.limit, converged: false }
    }
}

/// A regression problem with an ε-insensitive tube.
pub(super) struct Numbers<'a> {
    pub(super) y: &'a [f64],
    /// Cᵢ.
    pub(super) costs: &'a [f64],
    pub(super) epsilon: f64,
    pub(super) squared: bool,
    pub(super) tolerance: f64,
    pub(super) limit: usize,
    pub(super) seed: u64,
}

impl Task for Numbers<'_> {
    type Output = Solution;

    fn run<D: Design>(self, design: &D) -> Solution {
        dispatch(Over { task: self, design })
    }
}

impl<D: Design> Kernel for Over<'_, Numbers<'_>, D> {
    type Output = Solution;

    #[inline(always)]
    fn run(self) -> Solution {
        let Over { task, design } = self;
        let (n, epsilon) = (design.len(), task.epsilon);
        let mut indices: Vec<usize> = (0..n).filter(|&i| task.costs[i] > 0.0).collect();
        let extra = |i: usize| if task.squared { 0.5 / task.costs[i] } else { 0.0 };
        let bound = |i: usize| if task.squared { f64::INFINITY } else { task.costs[i] };
        let curvature: Vec<f64> =
            (0..n).map(|i| if task.costs[i] > 0.0 { design.square(i) + extra(i) } else { 0.0 }).collect();
        let (mut w, mut beta) = (vec![0.0; design.width()], vec![0.0; n]);
        let (all, mut active) = (indices.len(), indices.len());
        let (mut previous_max, mut first) = (f64::INFINITY, None);
        let mut orders = Orders(task.seed);
        for round in 0..task.limit {
            if interrupted() {
                break;
            }
            let (mut max_violation, mut total) = (0.0f64, 0.0);
            orders.shuffle(&mut indices[..active]);
            let mut s = 0;
            while s < active {
                let i = indices[s];
                let g = design.dot(i, &w) - task.y[i] + extra(i) * beta[i];
                let (rising, falling, high) = (g + epsilon, g - epsilon, bound(i));
                // The violation of optimality, and whether to shrink β at a bound or at 0.
                let (violation, shrink) = if beta[i] == 0.0 {
                    let out = (-rising).max(falling).max(0.0);
                    (out, rising > previous_max && falling < -previous_max)
                } else if beta[i] >= high {
                    (rising.max(0.0), rising < -previous_max)
                } else if beta[i] <= -high {
                    ((-falling).max(0.0), falling > previous_max)
                } else {
                    (if beta[i] > 0.0 { rising.abs() } else { falling.abs() }, false)
                };
                if shrink {
                    active -= 1;
                    indices.swap(s, active);
                    continue;
                }
                max_violation = max_violation.max(violation);
                total += violation;
                let (h, old) = (curvature[i], beta[i]);
                if h > 0.0 && violation > 0.0 {
                    let change = if rising < h * old {
                        -rising / h
                    } else if falling > h * old {
                        -falling / h
                    } else {
                        -old
                    };
                    beta[i] = (old + change).max(-high).min(high);
                    design.add(i, beta[i] - old, &mut w);
                }
                s += 1;
            }
            let start = *first.get_or_insert(total);
            if total <= task.tolerance * start {
                if active == all {
                    return Solution { w, alpha: beta, rounds: round + 1, converged: true };
                }
                active = all;
                previous_max = f64::INFINITY;
                continue;
            }
            previous_max = max_violation;
        }
        Solution { w, alpha: beta, rounds: task.limit, converged: false }
    }
}
