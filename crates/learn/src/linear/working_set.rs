//! Coordinate descent on a working set, for dense rows with many columns.
//!
//! Most coefficients of a lasso are 0. Coordinate descent runs on a small working set of columns, which are copied (and
//! centered) to contiguous memory. The full matrix is read once per growth of the set, to compute the duality gap of
//! the whole problem and the columns to add: those closest to violating |x_jᵀθ| ≤ a for the dual point θ, as in Celer
//! (Massias, Gramfort and Salmon 2018). Columns that are provably zero are never copied. The set only grows and the
//! inner tolerance follows the gap, so the result is that of coordinate descent on all columns.

// Loops over columns index several arrays with one counter; iterators would be harder to read.
#![allow(clippy::needless_range_loop)]

use std::sync::{Mutex, PoisonError};

use tove_tensor::Tensor;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;

use super::descent::{Gap, Net, Outcome, Products};
use super::moments::Data;
use crate::features::spreads;
use crate::{LearnError, Real, Result, with_real};

/// Initial size of the working set; it then doubles.
const INITIAL_COLUMNS: usize = 100;
/// Columns and rows per task of the products with all columns.
const COLUMNS: usize = 1024;
const ROWS: usize = 8192;
/// Rows added at once.
const ROWS_AT_ONCE: usize = 8;
const LANES: usize = 32;

/// Columns √w (x − x̄) of a dense matrix, some of them copied, and a residual.
pub(super) struct Working<'a> {
    x: &'a Tensor,
    width: usize,
    /// √w, if there are sample weights.
    roots: Option<Vec<f64>>,
    squares: Vec<f64>,
    /// √w (y − ȳ).
    target: Vec<f64>,
    residual: Vec<f64>,
    pub(super) mean_x: Vec<f64>,
    pub(super) mean_y: f64,
    /// Start of the copy of a column, if it was copied.
    indices: Vec<Option<usize>>,
    copies: Vec<f64>,
}

impl<'a> Working<'a> {
    pub(super) fn of(who: &'static str, data: &Data, x: &'a Tensor, centered: bool) -> Result<Working<'a>> {
        let d = data.width();
        let weights = data.weights.as_deref();
        let total = data.total_weight();
        let found = with_real!(x.dtype(), T => spreads(x.as_slice::<T>()?, d, weights));
        let Some(found) = found else {
            let fix = "divide the features by a constant first, so that their magnitude is near 1";
            return Err(LearnError::data(who, "the features are so large that sums of their squares overflow", fix));
        };
        let square = |j: usize| total * (found.var[j] + if centered { 0.0 } else { found.mean[j].powi(2) });
        let squares = (0..d).map(square).collect();
        let mean_x = if centered { found.mean } else { vec![0.0; d] };
        let weighted = |(i, y): (usize, &f64)| y * weights.map_or(1.0, |weights| weights[i]);
        let mean_y = if centered { data.y.iter().enumerate().map(weighted).sum::<f64>() / total } else { 0.0 };
        let roots: Option<Vec<f64>> = weights.map(|weights| weights.iter().map(|w| w.sqrt()).collect());
        let mut target: Vec<f64> = data.y.iter().map(|y| y - mean_y).collect();
        if let Some(roots) = &roots {
            target.iter_mut().zip(roots).for_each(|(y, root)| *y *= root);
        }
        let (residual, indices) = (target.clone(), vec![None; d]);
        Ok(Working { x, width: d, roots, squares, residual, target, mean_x, mean_y, indices, copies: Vec::new() })
    }

    /// max |x_jᵀ y| (or max x_jᵀ y), the start of the path.
    pub(super) fn steepest(&self, positive: bool) -> Result<f64> {
        let sizes = self.products()?.into_iter().map(|p| if positive { p } else { p.abs() });
        Ok(sizes.fold(0.0, f64::max))
    }

    /// Runs from the current `w`; the residual must match it.
    pub(super) fn descend(&mut self, net: &Net, w: &mut [f64]) -> Result<Outcome> {
        let target_square = dot(&self.target, &self.target);
        let limit = net.tol * target_square;
        let (mut set, mut rounds): (Vec<usize>, usize) = (Vec::new(), 0);
        loop {
            let products = self.products()?;
            let (residual, aimed) = (dot(&self.residual, &self.residual), dot(&self.residual, &self.target));
            let found = net.gap_of((residual, aimed), w, |j| products[j]);
            let end = |converged| Outcome { iterations: rounds, converged, gap: found.gap, objective: found.objective };
            if found.gap <= limit {
                return Ok(end(true));
            }
            if rounds >= net.max_iter || tove_optim::interrupted() {
                return Ok(end(false));
            }
            let grown = self.grow(net, w, &products, &found, &mut set);
            self.copy(&set)?;
            let aim = if grown { (0.5 * limit).max(0.1 * found.gap) } else { 0.5 * limit };
            let inner = Net { tol: aim / target_square, max_iter: net.max_iter - rounds, ..*net };
            let mut part: Vec<f64> = set.iter().map(|&j| w[j]).collect();
            let outcome = inner.descend(&mut Part { working: &mut *self, set: &set }, &mut part);
            set.iter().zip(part).for_each(|(&j, value)| w[j] = value);
            rounds += outcome.iterations;
            if !grown && outcome.converged {
                // All columns outside the set are provably zero, so its minimum is the global one.
                return Ok(Outcome { iterations: rounds, ..outcome });
            }
        }
    }

    /// Adds columns to the set (ascending): those with a coefficient, and those closest to violating their constraint.
    /// Returns whether any were added.
    fn grow(&self, net: &Net, w: &[f64], products: &[f64], found: &Gap, set: &mut Vec<usize>) -> bool {
        let before = set.len();
        let mut inside = vec![false; self.width];
        set.iter().for_each(|&j| inside[j] = true);
        let radius = (2.0 * found.gap).sqrt();
        let mut near: Vec<(f64, usize)> = Vec::new();
        for j in (0..self.width).filter(|&j| !inside[j] && self.squares[j] > 0.0) {
            let slope = found.shrink * (products[j] - net.l2 * w[j]);
            let reach = if net.positive { slope } else { slope.abs() };
            let distance = (net.l1 - reach) / (self.squares[j] + net.l2).sqrt();
            if w[j] != 0.0 || net.l1 == 0.0 {
                set.push(j);
            } else if distance <= radius {
                near.push((distance, j));
            }
        }
        let count = set.len().max(INITIAL_COLUMNS).min(near.len());
        if count > 0 && count < near.len() {
            near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        set.extend(near[..count].iter().map(|(_, j)| j));
        set.sort_unstable();
        set.len() > before
    }

    /// Copies the columns that were not copied yet, row by row.
    fn copy(&mut self, set: &[usize]) -> Result<()> {
        let n = self.target.len();
        let missing: Vec<usize> = set.iter().copied().filter(|&j| self.indices[j].is_none()).collect();
        let start = self.copies.len();
        self.copies.resize(start + missing.len() * n, 0.0);
        for (slot, &j) in missing.iter().enumerate() {
            self.indices[j] = Some(start + slot * n);
        }
        let (d, copies) = (self.width, &mut self.copies[start..]);
        with_real!(self.x.dtype(), T => {
            for (i, row) in self.x.as_slice::<T>()?.chunks_exact(d).enumerate() {
                let root = self.roots.as_ref().map_or(1.0, |roots| roots[i]);
                for (slot, &j) in missing.iter().enumerate() {
                    copies[slot * n + i] = (row[j].f64() - self.mean_x[j]) * root;
                }
            }
        });
        Ok(())
    }

    /// x_jᵀ r of all columns.
    fn products(&self) -> Result<Vec<f64>> {
        let mut factors = self.residual.clone();
        if let Some(roots) = &self.roots {
            factors.iter_mut().zip(roots).for_each(|(r, root)| *r *= root);
        }
        Ok(with_real!(self.x.dtype(), T => products(self.x.as_slice::<T>()?, &self.mean_x, &factors)))
    }
}

/// Σᵢ (x_ij − c_j) fᵢ for all j. Tasks depend only on the shape, and partial sums are added in order.
fn products<T: Real>(x: &[T], center: &[f64], factors: &[f64]) -> Vec<f64> {
    let (d, n) = (center.len(), factors.len());
    let across = d.div_ceil(COLUMNS);
    let parts: Vec<Mutex<Vec<f64>>> = (0..across * n.div_ceil(ROWS)).map(|_| Mutex::default()).collect();
    parallel_for(parts.len(), &|task| {
        let columns = task % across * COLUMNS..(task % across * COLUMNS + COLUMNS).min(d);
        let rows = task / across * ROWS..(task / across * ROWS + ROWS).min(n);
        let mut sums = vec![0.0; columns.len()];
        let factors = &factors[rows.clone()];
        let x = &x[rows.start * d..rows.end * d];
        dispatch(Sums { x, d, first: columns.start, center: &center[columns], factors, sums: &mut sums });
        *parts[task].lock().unwrap_or_else(PoisonError::into_inner) = sums;
    });
    let mut out = vec![0.0; d];
    for (task, part) in parts.into_iter().enumerate() {
        let part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
        let columns = &mut out[task % across * COLUMNS..];
        columns.iter_mut().zip(part).for_each(|(out, sum)| *out += sum);
    }
    out
}

struct Sums<'a, T> {
    x: &'a [T],
    d: usize,
    first: usize,
    center: &'a [f64],
    factors: &'a [f64],
    sums: &'a mut [f64],
}

impl<T: Real> Kernel for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (chunks, rest) = self.factors.as_chunks::<ROWS_AT_ONCE>();
        for (block, factors) in chunks.iter().enumerate() {
            add_rows(&self.x[block * ROWS_AT_ONCE * self.d..], self.d, self.first, self.center, factors, self.sums);
        }
        for (i, &factor) in rest.iter().enumerate() {
            let x = &self.x[(chunks.len() * ROWS_AT_ONCE + i) * self.d..];
            add_rows(x, self.d, self.first, self.center, &[factor], self.sums);
        }
    }
}

#[inline(always)]
fn add_rows<T: Real, const R: usize>(
    x: &[T],
    d: usize,
    first: usize,
    center: &[f64],
    factors: &[f64; R],
    sums: &mut [f64],
) {
    let width = sums.len();
    let center = &center[..width];
    let rows: [&[T]; R] = std::array::from_fn(|r| &x[r * d + first..][..width]);
    for c in 0..width {
        let mut sum = sums[c];
        for r in 0..R {
            sum = (rows[r][c].f64() - center[c]).mul_add(factors[r], sum);
        }
        sums[c] = sum;
    }
}

/// The working set as seen by coordinate descent.
struct Part<'a, 'b> {
    working: &'a mut Working<'b>,
    set: &'a [usize],
}

impl Part<'_, '_> {
    fn column(&self, index: usize) -> &[f64] {
        let start = self.working.indices[self.set[index]].unwrap_or(0); // all columns of the set were copied
        &self.working.copies[start..start + self.working.target.len()]
    }
}

impl Products for Part<'_, '_> {
    fn width(&self) -> usize {
        self.set.len()
    }

    fn square(&self, j: usize) -> f64 {
        self.working.squares[self.set[j]]
    }

    fn product(&self, j: usize) -> f64 {
        dot(self.column(j), &self.working.residual)
    }

    fn moved(&mut self, j: usize, change: f64) {
        let n = self.working.target.len();
        let start = self.working.indices[self.set[j]].unwrap_or(0);
        let (a, out) = (&self.working.copies[start..start + n], &mut self.working.residual);
        dispatch(Subtract { a, change, out });
    }

    fn residual_square(&self, _w: &[f64]) -> f64 {
        dot(&self.working.residual, &self.working.residual)
    }

    fn residual_target(&self, _w: &[f64]) -> f64 {
        dot(&self.working.residual, &self.working.target)
    }

    fn target_square(&self) -> f64 {
        dot(&self.working.target, &self.working.target)
    }
}

/// aᵀ b.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    dispatch(Dot { a, b })
}

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl Kernel for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let (a_body, a_tail) = self.a.as_chunks::<LANES>();
        let (b_body, b_tail) = self.b.as_chunks::<LANES>();
        let mut sums = [0.0; LANES];
        for (a, b) in a_body.iter().zip(b_body) {
            for lane in 0..LANES {
                sums[lane] = a[lane].mul_add(b[lane], sums[lane]);
            }
        }
        let rest: f64 = a_tail.iter().zip(b_tail).map(|(a, b)| a * b).sum();
        sums.iter().sum::<f64>() + rest
    }
}

struct Subtract<'a> {
    a: &'a [f64],
    change: f64,
    out: &'a mut [f64],
}

impl Kernel for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, a) in self.out.iter_mut().zip(self.a) {
            *out = (-self.change).mul_add(*a, *out);
        }
    }
}
