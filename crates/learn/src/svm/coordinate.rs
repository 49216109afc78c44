//! Coordinate descent in the dual of linear machines (Hsieh et al. 2008; Ho and Lin 2012).
//!
//! For classification: min ½ αᵀ(Q + D)α − Σα with 0 ≤ αᵢ ≤ Uᵢ, where w = Σ αᵢyᵢxᵢ is kept up to date so that a step on one αᵢ costs
//! one row. Hinge loss: U = C, D = 0; squared hinge: U = ∞, D = 1/(2C). Rows are visited in a new random order in every
//! round; those whose αᵢ sits firmly at a bound are left out until all seem settled. Regression is the same with
//! −Uᵢ ≤ βᵢ ≤ Uᵢ and ε|βᵢ| added.

use tove_optim::interrupted;
use tove_tensor::kernels::simd::{Kernel, dispatch};

use super::design::{Design, Task};

/// Where the coordinates ended.
pub(super) struct Settled {
    /// Weights, the constant's last.
    pub(super) w: Vec<f64>,
    /// αᵢ, or βᵢ of a regression.
    pub(super) alpha: Vec<f64>,
    pub(super) rounds: usize,
    pub(super) converged: bool,
}

/// Random orders, the same for the same seed (splitmix64).
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

/// A classification; samples with cost 0 are left out.
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
    type Output = Settled;

    fn run<D: Design>(self, design: &D) -> Settled {
        dispatch(Over { task: self, design })
    }
}

struct Over<'a, W, D> {
    task: W,
    design: &'a D,
}

impl<D: Design> Kernel for Over<'_, Classes<'_>, D> {
    type Output = Settled;

    #[inline(always)]
    fn run(self) -> Settled {
        let Over { task, design } = self;
        let (n, y) = (design.len(), task.y);
        let mut places: Vec<usize> = (0..n).filter(|&i| task.costs[i] > 0.0).collect();
        let extra = |i: usize| if task.squared { 0.5 / task.costs[i] } else { 0.0 };
        let bound = |i: usize| if task.squared { f64::INFINITY } else { task.costs[i] };
        let curvature: Vec<f64> =
            (0..n).map(|i| if task.costs[i] > 0.0 { design.square(i) + extra(i) } else { 0.0 }).collect();
        let (mut w, mut alpha) = (vec![0.0; design.width()], vec![0.0; n]);
        let (all, mut active) = (places.len(), places.len());
        let (mut top_before, mut bottom_before) = (f64::INFINITY, f64::NEG_INFINITY);
        let mut orders = Orders(task.seed);
        for round in 0..task.limit {
            if interrupted() {
                break;
            }
            let (mut top, mut bottom) = (f64::NEG_INFINITY, f64::INFINITY);
            orders.shuffle(&mut places[..active]);
            let mut s = 0;
            while s < active {
                let i = places[s];
                let g = y[i] * design.dot(i, &w) - 1.0 + extra(i) * alpha[i];
                let high = bound(i);
                // The gradient as far as the bounds let α follow it.
                let (projected, aside) = if alpha[i] == 0.0 {
                    (if g < 0.0 { g } else { 0.0 }, g > top_before)
                } else if alpha[i] >= high {
                    (if g > 0.0 { g } else { 0.0 }, g < bottom_before)
                } else {
                    (g, false)
                };
                if aside {
                    active -= 1;
                    places.swap(s, active);
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
                    return Settled { w, alpha, rounds: round + 1, converged: true };
                }
                active = all;
                (top_before, bottom_before) = (f64::INFINITY, f64::NEG_INFINITY);
                continue;
            }
            top_before = if top > 0.0 { top } else { f64::INFINITY };
            bottom_before = if bottom < 0.0 { bottom } else { f64::NEG_INFINITY };
        }
        Settled { w, alpha, rounds: task.limit, converged: false }
    }
}

/// A regression with a tube of half-width ε.
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
    type Output = Settled;

    fn run<D: Design>(self, design: &D) -> Settled {
        dispatch(Over { task: self, design })
    }
}

impl<D: Design> Kernel for Over<'_, Numbers<'_>, D> {
    type Output = Settled;

    #[inline(always)]
    fn run(self) -> Settled {
        let Over { task, design } = self;
        let (n, epsilon) = (design.len(), task.epsilon);
        let mut places: Vec<usize> = (0..n).filter(|&i| task.costs[i] > 0.0).collect();
        let extra = |i: usize| if task.squared { 0.5 / task.costs[i] } else { 0.0 };
        let bound = |i: usize| if task.squared { f64::INFINITY } else { task.costs[i] };
        let curvature: Vec<f64> =
            (0..n).map(|i| if task.costs[i] > 0.0 { design.square(i) + extra(i) } else { 0.0 }).collect();
        let (mut w, mut beta) = (vec![0.0; design.width()], vec![0.0; n]);
        let (all, mut active) = (places.len(), places.len());
        let (mut most_before, mut first) = (f64::INFINITY, None);
        let mut orders = Orders(task.seed);
        for round in 0..task.limit {
            if interrupted() {
                break;
            }
            let (mut most, mut total) = (0.0f64, 0.0);
            orders.shuffle(&mut places[..active]);
            let mut s = 0;
            while s < active {
                let i = places[s];
                let g = design.dot(i, &w) - task.y[i] + extra(i) * beta[i];
                let (rising, falling, high) = (g + epsilon, g - epsilon, bound(i));
                // How far the optimum is violated, and whether β sits firmly at a bound or at 0.
                let (violation, aside) = if beta[i] == 0.0 {
                    let out = (-rising).max(falling).max(0.0);
                    (out, rising > most_before && falling < -most_before)
                } else if beta[i] >= high {
                    (rising.max(0.0), rising < -most_before)
                } else if beta[i] <= -high {
                    ((-falling).max(0.0), falling > most_before)
                } else {
                    (if beta[i] > 0.0 { rising.abs() } else { falling.abs() }, false)
                };
                if aside {
                    active -= 1;
                    places.swap(s, active);
                    continue;
                }
                most = most.max(violation);
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
                    return Settled { w, alpha: beta, rounds: round + 1, converged: true };
                }
                active = all;
                most_before = f64::INFINITY;
                continue;
            }
            most_before = most;
        }
        Settled { w, alpha: beta, rounds: task.limit, converged: false }
    }
}
