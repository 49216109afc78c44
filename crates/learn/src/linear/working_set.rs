//! Coordinate descent on a working set, for dense rows with many columns.
//!
//! Most coefficients of a lasso are 0. Rounds over the coordinates see a small set of columns only, copied (centred) so that each
//! lies in one piece; the rows themselves are read where they lie, once for each time the set grows, to find the duality gap of
//! the whole problem and the columns that join: those nearest to breaking |x_jᵀθ| ≤ a for the dual point θ, as in Celer (Massias,
//! Gramfort and Salmon 2018). Columns that the gap proves to be zero are never copied. The set only grows and the tolerance of the
//! rounds follows the gap, so the end is that of rounds over all coordinates.

// Loops over columns index several arrays with one counter; iterators would hide which.
#![allow(clippy::needless_range_loop)]

use std::sync::{Mutex, PoisonError};

use tove_tensor::Tensor;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;

use super::descent::{Gap, Net, Outcome, Products};
use super::moments::Data;
use crate::features::spreads;
use crate::{LearnError, Real, Result, with_real};

/// Columns that join at first; later as many as there are.
const FIRST: usize = 100;
/// Columns and rows of one task of the products with all columns.
const COLUMNS: usize = 1024;
const ROWS: usize = 8192;
/// Rows that are added together.
const TOGETHER: usize = 8;
const LANES: usize = 32;

/// Columns √w (x − x̄) of a dense matrix, of which some are copied, and a residual.
pub(super) struct Working<'a> {
    x: &'a Tensor,
    width: usize,
    /// √w, if samples have weights.
    roots: Option<Vec<f64>>,
    squares: Vec<f64>,
    /// √w (y − ȳ).
    target: Vec<f64>,
    residual: Vec<f64>,
    pub(super) mean_x: Vec<f64>,
    pub(super) mean_y: f64,
    /// Where the copy of a column begins, once there is one.
    places: Vec<Option<usize>>,
    copies: Vec<f64>,
}

impl<'a> Working<'a> {
    pub(super) fn of(who: &'static str, data: &Data, x: &'a Tensor, centred: bool) -> Result<Working<'a>> {
        let d = data.width();
        let weights = data.weights.as_deref();
        let total = data.total_weight();
        let found = with_real!(x.dtype(), T => spreads(x.as_slice::<T>()?, d, weights));
        let Some(found) = found else {
            let fix = "divide the features by a constant first, so that their magnitude is near 1";
            return Err(LearnError::data(who, "the features are so large that sums of their squares overflow", fix));
        };
        let square = |j: usize| total * (found.var[j] + if centred { 0.0 } else { found.mean[j].powi(2) });
        let squares = (0..d).map(square).collect();
        let mean_x = if centred { found.mean } else { vec![0.0; d] };
        let weighted = |(i, y): (usize, &f64)| y * weights.map_or(1.0, |weights| weights[i]);
        let mean_y = if centred { data.y.iter().enumerate().map(weighted).sum::<f64>() / total } else { 0.0 };
        let roots: Option<Vec<f64>> = weights.map(|weights| weights.iter().map(|w| w.sqrt()).collect());
        let mut target: Vec<f64> = data.y.iter().map(|y| y - mean_y).collect();
        if let Some(roots) = &roots {
            target.iter_mut().zip(roots).for_each(|(y, root)| *y *= root);
        }
        let (residual, places) = (target.clone(), vec![None; d]);
        Ok(Working { x, width: d, roots, squares, residual, target, mean_x, mean_y, places, copies: Vec::new() })
    }

    /// max |x_jᵀ y| (or max x_jᵀ y), where the path begins.
    pub(super) fn steepest(&self, positive: bool) -> Result<f64> {
        let sizes = self.products()?.into_iter().map(|p| if positive { p } else { p.abs() });
        Ok(sizes.fold(0.0, f64::max))
    }

    /// Runs from the present `w`, with the residual in step with it.
    pub(super) fn descend(&mut self, net: &Net, w: &mut [f64]) -> Result<Outcome> {
        let whole = dot(&self.target, &self.target);
        let limit = net.tol * whole;
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
            let inner = Net { tol: aim / whole, max_iter: net.max_iter - rounds, ..*net };
            let mut part: Vec<f64> = set.iter().map(|&j| w[j]).collect();
            let outcome = inner.descend(&mut Part { working: &mut *self, set: &set }, &mut part);
            set.iter().zip(part).for_each(|(&j, value)| w[j] = value);
            rounds += outcome.iterations;
            if !grown && outcome.converged {
                // All columns outside the set are proved to be zero, so its minimum is that of the whole.
                return Ok(Outcome { iterations: rounds, ..outcome });
            }
        }
    }

    /// Adds columns to the set (ascending): those with a coefficient, and those nearest to breaking their constraint. Whether
    /// there were any.
    fn grow(&self, net: &Net, w: &[f64], products: &[f64], found: &Gap, set: &mut Vec<usize>) -> bool {
        let before = set.len();
        let mut inside = vec![false; self.width];
        set.iter().for_each(|&j| inside[j] = true);
        let radius = (2.0 * found.gap).sqrt();
        let mut near: Vec<(f64, usize)> = Vec::new();
        for j in (0..self.width).filter(|&j| !inside[j] && self.squares[j] > 0.0) {
            let slope = found.shrink * (products[j] - net.l2 * w[j]);
            let reach = if net.positive { slope } else { slope.abs() };
            let room = (net.l1 - reach) / (self.squares[j] + net.l2).sqrt();
            if w[j] != 0.0 || net.l1 == 0.0 {
                set.push(j);
            } else if room <= radius {
                near.push((room, j));
            }
        }
        let count = set.len().max(FIRST).min(near.len());
        if count > 0 && count < near.len() {
            near.select_nth_unstable_by(count - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        }
        set.extend(near[..count].iter().map(|(_, j)| j));
        set.sort_unstable();
        set.len() > before
    }

    /// Copies the columns that are not yet there, row after row.
    fn copy(&mut self, set: &[usize]) -> Result<()> {
        let n = self.target.len();
        let missing: Vec<usize> = set.iter().copied().filter(|&j| self.places[j].is_none()).collect();
        let start = self.copies.len();
        self.copies.resize(start + missing.len() * n, 0.0);
        for (slot, &j) in missing.iter().enumerate() {
            self.places[j] = Some(start + slot * n);
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

/// Σᵢ (x_ij − c_j) fᵢ for all j. Tasks are cut by the shape, and parts of the rows are added in order.
fn products<T: Real>(x: &[T], centre: &[f64], factors: &[f64]) -> Vec<f64> {
    let (d, n) = (centre.len(), factors.len());
    let across = d.div_ceil(COLUMNS);
    let parts: Vec<Mutex<Vec<f64>>> = (0..across * n.div_ceil(ROWS)).map(|_| Mutex::default()).collect();
    parallel_for(parts.len(), &|task| {
        let columns = task % across * COLUMNS..(task % across * COLUMNS + COLUMNS).min(d);
        let rows = task / across * ROWS..(task / across * ROWS + ROWS).min(n);
        let mut sums = vec![0.0; columns.len()];
        let factors = &factors[rows.clone()];
        let x = &x[rows.start * d..rows.end * d];
        dispatch(Sums { x, d, first: columns.start, centre: &centre[columns], factors, sums: &mut sums });
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
    centre: &'a [f64],
    factors: &'a [f64],
    sums: &'a mut [f64],
}

impl<T: Real> Kernel for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (whole, rest) = self.factors.as_chunks::<TOGETHER>();
        for (block, factors) in whole.iter().enumerate() {
            add_rows(&self.x[block * TOGETHER * self.d..], self.d, self.first, self.centre, factors, self.sums);
        }
        for (i, &factor) in rest.iter().enumerate() {
            let x = &self.x[(whole.len() * TOGETHER + i) * self.d..];
            add_rows(x, self.d, self.first, self.centre, &[factor], self.sums);
        }
    }
}

#[inline(always)]
fn add_rows<T: Real, const R: usize>(
    x: &[T],
    d: usize,
    first: usize,
    centre: &[f64],
    factors: &[f64; R],
    sums: &mut [f64],
) {
    let width = sums.len();
    let centre = &centre[..width];
    let rows: [&[T]; R] = std::array::from_fn(|r| &x[r * d + first..][..width]);
    for c in 0..width {
        let mut sum = sums[c];
        for r in 0..R {
            sum = (rows[r][c].f64() - centre[c]).mul_add(factors[r], sum);
        }
        sums[c] = sum;
    }
}

/// The columns of a set, as coordinate descent sees them.
struct Part<'a, 'b> {
    working: &'a mut Working<'b>,
    set: &'a [usize],
}

impl Part<'_, '_> {
    fn column(&self, place: usize) -> &[f64] {
        let start = self.working.places[self.set[place]].unwrap_or(0); // all columns of the set were copied
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
        let start = self.working.places[self.set[j]].unwrap_or(0);
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
