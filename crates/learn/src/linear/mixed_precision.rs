//! Ridge regression with many columns in mixed precision.
//!
//! The Gram matrix dominates the cost. It takes half the time in single precision. Its Cholesky factor is then accurate
//! to about seven digits, which is enough for iterative refinement: with the gradient g = Xᵀ(y − Xw) − αw computed in
//! double precision from the rows, w ← w + (LLᵀ)⁻¹ g gains five or six digits per step if the columns are far from
//! dependent. After a few steps the solution is as accurate as double precision allows, and more accurate than the
//! normal equations. (Iterative refinement goes back to Wilkinson; LAPACK's `dsposv` applies it to given matrices.) If
//! the steps do not shrink fast enough the method gives up, and the normal equations are solved in double precision.

// Loops over columns index several arrays with one counter; iterators would be harder to read.
#![allow(clippy::needless_range_loop)]

use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Tensor, TryLinalg};

use super::gram_panels::{MIN_PANEL_COLUMNS, add_products, chunk_rows};
use super::moments::Data;
use super::solve::Solution;
use crate::features::{by_rows, spreads};
use crate::{Real, Result, Rows, memory, with_real};

/// Largest number of outputs for which refinement is cheaper than double precision.
const MAX_OUTPUTS: usize = 4;
/// Maximum number of corrections.
const MAX_STEPS: usize = 8;
/// Relative size below which a correction is skipped.
const NEGLIGIBLE: f64 = 1e-13;
/// Each correction must be smaller than the previous one by this factor.
const MAX_RATIO: f64 = 0.1;
/// Rows processed at once.
const ROWS_AT_ONCE: usize = 8;
/// Maximum number of partial sums over the rows.
const MAX_PARTS: usize = 32;

/// Solves (XᵀX + αI) w = Xᵀy. Returns `None` if the method is not suitable or does not converge.
pub(super) fn solve(data: &Data, alpha: f64, centered: bool) -> Result<Option<Solution>> {
    let (n, d) = (data.len(), data.width());
    let Rows::Dense(x) = data.x else { return Ok(None) };
    if d < MIN_PANEL_COLUMNS || n < 2 * d || alpha <= 0.0 || data.outputs > MAX_OUTPUTS {
        return Ok(None);
    }
    with_real!(x.dtype(), T => Mixed::<T>::of(data, x.as_slice::<T>()?, alpha, centered).map_or(Ok(None), |mixed| mixed.solve()))
}

struct Mixed<'a, T> {
    data: &'a Data<'a>,
    x: &'a [T],
    alpha: f64,
    mean_x: Vec<f64>,
    mean_y: Vec<f64>,
    /// Column norms including the penalty. The solution is computed for columns divided by them.
    scales: Vec<f64>,
    roots: Option<Vec<f64>>,
}

impl<'a, T: Real> Mixed<'a, T> {
    /// Returns `None` if a value, or a sum of squares, is not finite.
    fn of(data: &'a Data<'a>, x: &'a [T], alpha: f64, centered: bool) -> Option<Mixed<'a, T>> {
        let (d, m, total) = (data.width(), data.outputs, data.total_weight());
        let weights = data.weights.as_deref();
        let found = spreads(x, d, weights)?;
        let square = |j: usize| total * (found.var[j] + if centered { 0.0 } else { found.mean[j].powi(2) });
        let scales: Vec<f64> = (0..d).map(|j| (square(j) + alpha).sqrt()).collect();
        let mut mean_y = vec![0.0; m];
        if centered {
            for (i, y) in data.y.chunks_exact(m).enumerate() {
                let normalized_weight = weights.map_or(1.0, |weights| weights[i]) / total;
                mean_y.iter_mut().zip(y).for_each(|(mean, y)| *mean += normalized_weight * y);
            }
        }
        let roots = weights.map(|weights| weights.iter().map(|w| w.sqrt()).collect());
        let mean_x = if centered { found.mean } else { vec![0.0; d] };
        Some(Mixed { data, x, alpha, mean_x, mean_y, scales, roots })
    }

    fn solve(&self) -> Result<Option<Solution>> {
        let (d, m) = (self.data.width(), self.data.outputs);
        let Some(factor) = self.factor()? else { return Ok(None) };
        let mut coefficients = vec![0.0; d * m];
        let mut intercepts = self.mean_y.clone();
        for output in 0..m {
            let Some(w) = self.refine(output, factor.as_slice::<f32>()?) else { return Ok(None) };
            for (j, w) in w.iter().enumerate() {
                coefficients[j * m + output] = *w;
                intercepts[output] -= self.mean_x[j] * w;
            }
        }
        Ok(Some(Solution { coefficients, intercepts, rank: d, condition: f64::NAN, covariance: None }))
    }

    /// The Cholesky factor of the scaled Gram matrix in single precision; `None` if it is not positive definite.
    fn factor(&self) -> Result<Option<Tensor>> {
        let (n, d) = (self.data.len(), self.data.width());
        let rows = chunk_rows(d, n);
        // The matrix, its factor, and a chunk of the rows.
        let bytes = memory::matrix(d, d.saturating_mul(2).saturating_add(rows), 4);
        memory::require("linear model", format!("a Gram matrix of {d} columns"), bytes, "choose features first")?;
        let mut gram = vec![0.0f32; d * d];
        for start in (0..n).step_by(rows) {
            let count = rows.min(n - start);
            let mut block = Tensor::try_zeros([count, d], DType::F32)?;
            by_rows(block.as_mut_slice::<f32>()?, d, |first, out| {
                let first = start + first;
                let x = &self.x[first * d..][..out.len()];
                let roots = self.roots.as_ref().map(|roots| &roots[first..]);
                dispatch(Scale { x, mean: &self.mean_x, scales: &self.scales, roots, out });
            });
            add_products(&block, &mut gram)?;
        }
        mirror(&mut gram, d);
        (0..d).for_each(|i| gram[i * d + i] = 1.0); // the scaled diagonal, including the penalty
        Ok(Tensor::try_from_vec(gram, [d, d])?.try_cholesky().ok())
    }

    /// Computes the coefficients of one output; `None` if the corrections do not converge.
    fn refine(&self, output: usize, factor: &[f32]) -> Option<Vec<f64>> {
        let d = self.data.width();
        let mut v = vec![0.0; d]; // w times the scales
        let mut before = f64::INFINITY;
        for step in 0..MAX_STEPS {
            let gradient = self.gradient(output, &v);
            let change = substitute(factor, &gradient);
            let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
            let now = length(&change);
            v.iter_mut().zip(&change).for_each(|(v, change)| *v += change);
            let norm = length(&v);
            // Corrections shrink by a constant factor, so the size of the next one is known.
            let next = if step > 0 { now * (now / before) } else { now };
            if next <= NEGLIGIBLE * norm {
                return Some(v.iter().zip(&self.scales).map(|(v, scale)| v / scale).collect());
            }
            if step > 0 && (now.is_nan() || now > MAX_RATIO * before) {
                return None;
            }
            before = now;
        }
        None
    }

    /// The gradient (XᵀW(y − Xw) − αw), divided by the scales, at w = v/scales.
    fn gradient(&self, output: usize, v: &[f64]) -> Vec<f64> {
        let (n, d) = (self.data.len(), self.data.width());
        let w: Vec<f64> = v.iter().zip(&self.scales).map(|(v, scale)| v / scale).collect();
        let rows = n.div_ceil(MAX_PARTS).next_multiple_of(ROWS_AT_ONCE);
        let parts: Vec<Mutex<Vec<f64>>> = (0..n.div_ceil(rows)).map(|_| Mutex::default()).collect();
        parallel_for(parts.len(), &|part| {
            let range = part * rows..((part + 1) * rows).min(n);
            let mut sums = vec![0.0; d];
            dispatch(Residuals { mixed: self, output, w: &w, range, sums: &mut sums });
            *parts[part].lock().unwrap_or_else(PoisonError::into_inner) = sums;
        });
        let mut gradient: Vec<f64> = w.iter().map(|w| -self.alpha * w).collect();
        for part in parts {
            let sums = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            gradient.iter_mut().zip(sums).for_each(|(gradient, sum)| *gradient += sum);
        }
        gradient.iter_mut().zip(&self.scales).for_each(|(gradient, scale)| *gradient /= scale);
        gradient
    }
}

/// Mirrors the upper triangle to the lower one, in tiles that stay in the cache.
fn mirror(gram: &mut [f32], d: usize) {
    const TILE: usize = 32;
    for top in (0..d).step_by(TILE) {
        for left in (0..=top).step_by(TILE) {
            for i in top..(top + TILE).min(d) {
                for j in left..(left + TILE).min(i) {
                    gram[i * d + j] = gram[j * d + i];
                }
            }
        }
    }
}

/// Rows √w (x − x̄)/scale in single precision.
struct Scale<'a, T> {
    x: &'a [T],
    mean: &'a [f64],
    scales: &'a [f64],
    roots: Option<&'a [f64]>,
    out: &'a mut [f32],
}

impl<T: Real> Kernel for Scale<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let d = self.mean.len();
        for (row, (out, x)) in self.out.chunks_exact_mut(d).zip(self.x.chunks_exact(d)).enumerate() {
            let root = self.roots.map_or(1.0, |roots| roots[row]);
            let (mean, scales) = (&self.mean[..d], &self.scales[..d]);
            for c in 0..d {
                out[c] = ((x[c].f64() - mean[c]) * root / scales[c]) as f32;
            }
        }
    }
}

/// sums += Xᵀ W (y − Xw) over a range of rows, each read once.
struct Residuals<'a, 'b, T> {
    mixed: &'a Mixed<'b, T>,
    output: usize,
    w: &'a [f64],
    range: std::ops::Range<usize>,
    sums: &'a mut [f64],
}

impl<T: Real> Kernel for Residuals<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Residuals { mixed, output, w, range, sums } = self;
        let mut row = range.start;
        while row + ROWS_AT_ONCE <= range.end {
            add_rows::<T, ROWS_AT_ONCE>(mixed, output, w, row, sums);
            row += ROWS_AT_ONCE;
        }
        while row < range.end {
            add_rows::<T, 1>(mixed, output, w, row, sums);
            row += 1;
        }
    }
}

#[inline(always)]
fn add_rows<T: Real, const R: usize>(mixed: &Mixed<T>, output: usize, w: &[f64], row: usize, sums: &mut [f64]) {
    const LANES: usize = 4;
    let (d, m) = (sums.len(), mixed.data.outputs);
    let rows: [&[T]; R] = std::array::from_fn(|r| &mixed.x[(row + r) * d..][..d]);
    let (mean, w) = (&mixed.mean_x[..d], &w[..d]);
    let mut lanes = [[0.0; LANES]; R];
    let vectorized = d / LANES * LANES;
    for c in (0..vectorized).step_by(LANES) {
        let (Some(mean), Some(w)) = (mean[c..].first_chunk::<LANES>(), w[c..].first_chunk::<LANES>()) else { break };
        for r in 0..R {
            let Some(x) = rows[r][c..].first_chunk::<LANES>() else { break };
            for lane in 0..LANES {
                lanes[r][lane] = (x[lane].f64() - mean[lane]).mul_add(w[lane], lanes[r][lane]);
            }
        }
    }
    let mut factors = [0.0; R];
    for r in 0..R {
        let mut sum: f64 = lanes[r].iter().sum();
        for c in vectorized..d {
            sum = (rows[r][c].f64() - mean[c]).mul_add(w[c], sum);
        }
        let weight = mixed.data.weights.as_ref().map_or(1.0, |weights| weights[row + r]);
        factors[r] = weight * (mixed.data.y[(row + r) * m + output] - mixed.mean_y[output] - sum);
    }
    for c in 0..d {
        let mut sum = sums[c];
        for r in 0..R {
            sum = (rows[r][c].f64() - mean[c]).mul_add(factors[r], sum);
        }
        sums[c] = sum;
    }
}

/// (LLᵀ)⁻¹ b for the lower triangle of a row-major matrix.
fn substitute(factor: &[f32], b: &[f64]) -> Vec<f64> {
    // In units of the largest entry, to stay in the range of single precision.
    let largest = b.iter().fold(0.0f64, |largest, b| largest.max(b.abs()));
    if !(largest > 0.0 && largest.is_finite()) {
        return vec![largest; b.len()];
    }
    let mut out: Vec<f32> = b.iter().map(|b| (b / largest) as f32).collect();
    dispatch(Substitute { factor, out: &mut out });
    out.into_iter().map(|value| f64::from(value) * largest).collect()
}

struct Substitute<'a> {
    factor: &'a [f32],
    out: &'a mut [f32],
}

impl Kernel for Substitute<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        const LANES: usize = 32;
        let Substitute { factor, out } = self;
        let d = out.len();
        for i in 0..d {
            let (row, done) = (&factor[i * d..i * d + i], &out[..i]);
            let (row_body, row_tail) = row.as_chunks::<LANES>();
            let (done_body, done_tail) = done.as_chunks::<LANES>();
            let mut sums = [0.0f32; LANES];
            for (a, b) in row_body.iter().zip(done_body) {
                for lane in 0..LANES {
                    sums[lane] = a[lane].mul_add(b[lane], sums[lane]);
                }
            }
            let sum = sums.iter().sum::<f32>() + row_tail.iter().zip(done_tail).map(|(a, b)| a * b).sum::<f32>();
            out[i] = (out[i] - sum) / factor[i * d + i];
        }
        for i in (0..d).rev() {
            let value = out[i] / factor[i * d + i];
            out[i] = value;
            for (out, a) in out[..i].iter_mut().zip(&factor[i * d..i * d + i]) {
                *out = (-value).mul_add(*a, *out);
            }
        }
    }
}
