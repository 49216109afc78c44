//! Perturbations of one row within a ball and the rules of the columns: steps, projections, and points that satisfy both
//! exactly, after rounding.

use super::AttackNorm;
use super::norm::sign;
use super::rows::toward;
use super::rules::Space;

/// Halvings of the interval in which the shift of a projection lies.
const HALVINGS: usize = 80;
/// The part of the coordinates that a step in the l1 norm moves.
const SPARSITY: usize = 20;

impl Space {
    /// The rest of a budget after categories were changed from `x` to `base`; `None` if they cost more than there is.
    pub(super) fn remaining(&self, norm: AttackNorm, eps: f64, x: &[f64], base: &[f64]) -> Option<f64> {
        let changed = self.blocks.iter().filter(|block| x[block.columns.clone()] != base[block.columns.clone()]);
        let costs: Vec<f64> = changed.map(|block| block.cost).collect();
        let spent = norm.of(&costs);
        if spent > eps {
            return None;
        }
        Some(match norm {
            _ if costs.is_empty() => eps,
            AttackNorm::LInf => eps,
            AttackNorm::L1 => eps - spent,
            AttackNorm::L2 => ((eps - spent) * (eps + spent)).sqrt(),
        })
    }

    /// A gradient in the units of the columns; 0 where a column cannot move.
    pub(super) fn scaled_gradient(&self, gradient: &[f64]) -> Vec<f64> {
        let own = |i: usize| if self.free[i] { gradient[i] * self.scale[i] } else { 0.0 };
        (0..gradient.len()).map(own).collect()
    }

    /// How far column `i` of `x` can move against and along its axis, in its units.
    fn room(&self, x: &[f64], i: usize) -> (f64, f64) {
        ((self.low[i] - x[i]) / self.scale[i], (self.high[i] - x[i]) / self.scale[i])
    }

    /// The perturbation of one step of size `eps` from `x` that raises a linear function most. Ranges cut it off; for l1,
    /// what is cut off goes to the next coordinate.
    pub(super) fn one_step(&self, norm: AttackNorm, eps: f64, x: &[f64], gradient: &[f64]) -> Vec<f64> {
        let gradient = self.scaled_gradient(gradient);
        let mut delta = vec![0.0; x.len()];
        if norm == AttackNorm::L1 {
            let mut order: Vec<usize> = (0..x.len()).filter(|&i| gradient[i] != 0.0).collect();
            order.sort_by(|&a, &b| gradient[b].abs().total_cmp(&gradient[a].abs()));
            let mut left = eps;
            for i in order {
                let (down, up) = self.room(x, i);
                let step = if gradient[i] > 0.0 { up.min(left) } else { down.max(-left) };
                delta[i] = step * self.scale[i];
                left -= step.abs();
                if left <= 0.0 {
                    break;
                }
            }
            return delta;
        }
        norm.steepest_row(&gradient, eps, &mut delta);
        delta.iter_mut().zip(&self.scale).for_each(|(delta, scale)| *delta *= scale);
        delta
    }

    /// Moves a perturbation of `x` by a step of size `alpha` up the gradient, and projects it onto the ball and the ranges.
    pub(super) fn step(
        &self,
        (norm, radius): (AttackNorm, f64),
        alpha: f64,
        x: &[f64],
        gradient: &[f64],
        delta: &mut [f64],
    ) {
        let gradient = self.scaled_gradient(gradient);
        let mut move_by = vec![0.0; x.len()];
        if norm == AttackNorm::L1 {
            self.sparse_step(alpha, x, &gradient, delta, &mut move_by);
        } else {
            norm.steepest_row(&gradient, alpha, &mut move_by);
        }
        for (i, delta) in delta.iter_mut().enumerate() {
            *delta += move_by[i] * self.scale[i];
        }
        self.project(norm, radius, x, delta);
    }

    /// A step in the l1 norm along the signs of the largest slopes of columns that can move further. A step along a single
    /// coordinate, the closed form, would need as many steps as there are coordinates (Tramèr and Boneh 2019).
    fn sparse_step(&self, alpha: f64, x: &[f64], gradient: &[f64], delta: &[f64], out: &mut [f64]) {
        let movable = |&i: &usize| {
            let at = x[i] + delta[i];
            (gradient[i] > 0.0 && at < self.high[i]) || (gradient[i] < 0.0 && at > self.low[i])
        };
        let mut order: Vec<usize> = (0..x.len()).filter(movable).collect();
        order.sort_by(|&a, &b| gradient[b].abs().total_cmp(&gradient[a].abs()));
        order.truncate((x.len() / SPARSITY).max(1));
        let share = alpha / order.len().max(1) as f64;
        order.into_iter().for_each(|i| out[i] = share * sign(gradient[i]));
    }

    /// Projects a perturbation of `x` onto the ball, then onto the ranges: the result is inside of both. For l1 it is the
    /// nearest point of the intersection.
    pub(super) fn project(&self, norm: AttackNorm, radius: f64, x: &[f64], delta: &mut [f64]) {
        for (i, delta) in delta.iter_mut().enumerate() {
            *delta = if self.free[i] { *delta / self.scale[i] } else { 0.0 };
        }
        if norm == AttackNorm::L1 {
            self.project_l1(radius, x, delta);
        } else {
            norm.project_row(delta, radius);
        }
        for (i, delta) in delta.iter_mut().enumerate() {
            let (down, up) = self.room(x, i);
            *delta = delta.clamp(down.min(0.0), up.max(0.0)) * self.scale[i];
        }
    }

    /// The nearest point of the l1 ball within the ranges: zᵢ = clip(sign(uᵢ) max(|uᵢ| − λ, 0)) with the smallest λ ≥ 0 for
    /// which Σ |zᵢ| ≤ radius.
    fn project_l1(&self, radius: f64, x: &[f64], u: &mut [f64]) {
        let rooms: Vec<(f64, f64)> = (0..u.len()).map(|i| self.room(x, i)).collect();
        let shrunk = |value: f64, shift: f64, (down, up): (f64, f64)| {
            (sign(value) * (value.abs() - shift).max(0.0)).clamp(down.min(0.0), up.max(0.0))
        };
        let sum =
            |u: &[f64], shift: f64| u.iter().zip(&rooms).map(|(&v, &room)| shrunk(v, shift, room).abs()).sum::<f64>();
        let mut shift = 0.0;
        if sum(u, 0.0) > radius {
            let (mut low, mut high) = (0.0, AttackNorm::LInf.of(u));
            for _ in 0..HALVINGS {
                let middle = 0.5 * (low + high);
                if sum(u, middle) > radius { low = middle } else { high = middle }
            }
            shift = high;
        }
        u.iter_mut().zip(&rooms).for_each(|(v, &room)| *v = shrunk(*v, shift, room));
    }

    /// The point `base + delta` that can be stored: inside the ball around `x` and the ranges to the last bit, whole numbers
    /// whole. `base` is `x` with other categories, `radius` what they leave of the budget.
    pub(super) fn place(
        &self,
        (norm, radius): (AttackNorm, f64),
        x: &[f64],
        base: &[f64],
        delta: &[f64],
        out: &mut [f64],
    ) {
        let mut delta = delta.to_vec();
        // Any order of summation finds the norm within the budget.
        let guard = (x.len() + 8) as f64 * f64::EPSILON;
        let bound = if norm == AttackNorm::LInf { radius } else { radius * (1.0 - guard) };
        for _ in 0..4 {
            for i in 0..x.len() {
                out[i] = if self.free[i] { self.stored(x[i], delta[i], i, radius) } else { base[i] };
            }
            let mut size = self.size(norm, x, out);
            if size > bound {
                self.round_back((norm, bound), x, &delta, out);
                size = self.size(norm, x, out);
            }
            if size <= bound {
                return;
            }
            let shrink = bound / size * (1.0 - 2.0 * guard);
            delta.iter_mut().for_each(|delta| *delta *= shrink);
        }
        out.copy_from_slice(base);
    }

    /// The norm of the change of the free columns.
    fn size(&self, norm: AttackNorm, x: &[f64], point: &[f64]) -> f64 {
        let change = |i: usize| if self.free[i] { (point[i] - x[i]) / self.scale[i] } else { 0.0 };
        norm.of(&(0..x.len()).map(change).collect::<Vec<f64>>())
    }

    /// `x + change` as stored in column `i`, not farther from `x` than asked (whole numbers: than the radius).
    fn stored(&self, x: f64, change: f64, i: usize, radius: f64) -> f64 {
        let within = |value: f64| ((value - x) / self.scale[i]).abs() <= radius;
        if self.integer[i] {
            let change = change.clamp(self.low[i] - x, self.high[i] - x);
            let nearest = (x + change).round();
            let allowed = nearest >= self.low[i] && nearest <= self.high[i] && within(nearest);
            return if allowed { nearest } else { x + change.trunc() };
        }
        let mut value = (x + change).clamp(self.low[i], self.high[i]);
        if self.single {
            value = f64::from(value as f32);
        }
        while (value - x).abs() > change.abs() || value < self.low[i] || value > self.high[i] || !within(value) {
            value = toward(value, x, self.single);
        }
        value
    }

    /// Takes back whole numbers that were rounded away from `x`, the most doubtful first, while the ball is left.
    fn round_back(&self, (norm, bound): (AttackNorm, f64), x: &[f64], delta: &[f64], out: &mut [f64]) {
        let away = |&i: &usize| self.integer[i] && (out[i] - x[i]).abs() > delta[i].abs();
        let mut rounded: Vec<usize> = (0..x.len()).filter(away).collect();
        rounded.sort_by(|&a, &b| delta[a].abs().fract().total_cmp(&delta[b].abs().fract()));
        for i in rounded {
            if self.size(norm, x, out) <= bound {
                return;
            }
            out[i] = x[i] + delta[i].trunc();
        }
    }
}
