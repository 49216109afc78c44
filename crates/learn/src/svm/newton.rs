//! Newton's method for ½‖w‖² + Σ Cᵢ ℓᵢ(xᵢᵀw)² with piecewise linear ℓ: the squared hinge and squared ε-insensitive
//! losses.
//!
//! The objective is piecewise quadratic, so a few steps with an exact line search reach the minimum. The Hessian is I +
//! Xᵀ diag(c) X over the rows with ℓ > 0. It is formed and factorized if it is small and the rows are dense; otherwise
//! the step is computed by conjugate gradients.

use tove_tensor::linalg::Triangle;
use tove_tensor::{Tensor, TryLinalg, TryOps};

use super::design::{Design, SHARES, Task, share, times, transposed_times};
use crate::Result;

/// Largest number of columns for which the Hessian is formed.
const MAX_HESSIAN_COLUMNS: usize = 512;

/// The loss of a sample at xᵢᵀw = f.
pub(super) trait SquaredLoss: Sync {
    /// Value, first and second derivative of Cᵢ ℓᵢ(f)².
    fn at(&self, row: usize, f: f64) -> (f64, f64, f64);
}

/// A minimization of squared losses.
pub(super) struct Newton<'a, L> {
    pub(super) loss: &'a L,
    /// Stop at this gradient norm, relative to that at w = 0.
    pub(super) tolerance: f64,
    pub(super) limit: usize,
}

/// Result of Newton's method.
pub(super) struct Reached {
    pub(super) w: Vec<f64>,
    /// xᵢᵀw.
    pub(super) fitted: Vec<f64>,
    pub(super) objective: f64,
    pub(super) steps: usize,
    pub(super) converged: bool,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl<L: SquaredLoss> Task for Newton<'_, L> {
    type Output = Result<Reached>;

    fn run<D: Design>(self, design: &D) -> Result<Reached> {
        let (n, d) = (design.len(), design.width());
        let (mut w, mut fitted) = (vec![0.0; d], vec![0.0; n]);
        let (mut first, mut steps) = (None, 0);
        loop {
            let (mut value, mut slopes, mut curvatures) = (0.5 * dot(&w, &w), vec![0.0; n], vec![0.0; n]);
            for (row, &f) in fitted.iter().enumerate() {
                let v;
                (v, slopes[row], curvatures[row]) = self.loss.at(row, f);
                value += v;
            }
            let mut gradient = transposed_times(design, &slopes)?;
            gradient.iter_mut().zip(&w).for_each(|(g, w)| *g += w);
            let size = dot(&gradient, &gradient).sqrt();
            let start = *first.get_or_insert(size);
            let converged = size <= self.tolerance * start;
            if converged || steps == self.limit || tove_optim::interrupted() {
                return Ok(Reached { w, fitted, objective: value, steps, converged });
            }
            steps += 1;
            let step = direction(design, &curvatures, &gradient, size)?;
            let moves = times(design, &step)?;
            let t = self.line(&w, &step, &fitted, &moves);
            w.iter_mut().zip(&step).for_each(|(w, p)| *w += t * p);
            fitted.iter_mut().zip(&moves).for_each(|(f, q)| *f += t * q);
        }
    }
}

impl<L: SquaredLoss> Newton<'_, L> {
    /// The t ≥ 0 that minimizes the objective along the step: a root of its increasing, piecewise linear derivative.
    fn line(&self, w: &[f64], step: &[f64], fitted: &[f64], moves: &[f64]) -> f64 {
        let (wp, pp) = (dot(w, step), dot(step, step));
        let slope = |t: f64| {
            let (mut slope, mut curvature) = (wp + t * pp, pp);
            for (row, (&f, &q)) in fitted.iter().zip(moves).enumerate() {
                let (_, s, c) = self.loss.at(row, f + t * q);
                slope += s * q;
                curvature += c * q * q;
            }
            (slope, curvature)
        };
        let start = slope(0.0).0.abs();
        let (mut low, mut high, mut t) = (0.0, f64::INFINITY, 1.0);
        for _ in 0..50 {
            let (s, c) = slope(t);
            if s.abs() <= 1e-3 * start {
                break;
            }
            if s > 0.0 {
                high = t
            } else {
                low = t
            }
            let next = t - s / c;
            t = if next > low && next < high { next } else { 0.5 * (low + high.min(2.0 * low + 1.0)) };
        }
        t
    }
}

/// −H⁻¹g.
fn direction<D: Design>(design: &D, curvatures: &[f64], gradient: &[f64], size: f64) -> Result<Vec<f64>> {
    if design.width() <= MAX_HESSIAN_COLUMNS
        && let Some(hessian) = hessian(design, curvatures)?
    {
        let d = design.width();
        let right = Tensor::try_from_vec(gradient.iter().map(|g| -g).collect::<Vec<f64>>(), [d])?;
        let factor = hessian.try_cholesky()?;
        let half = factor.try_triangular_solve(&right, Triangle::LOWER)?;
        return Ok(factor.try_triangular_solve(&half, Triangle::LOWER.transposed())?.to_f64_vec());
    }
    conjugate_gradients(design, curvatures, gradient, size)
}

/// I + Xᵀ diag(c) X from products of blocks of rows; `None` for sparse rows.
fn hessian<D: Design>(design: &D, curvatures: &[f64]) -> Result<Option<Tensor>> {
    const BLOCK: usize = 512;
    let (n, d) = (design.len(), design.width());
    if !design.write(0, 0.0, &mut vec![0.0; d]) {
        return Ok(None);
    }
    let parts = super::parallel(SHARES, |task| {
        let rows: Vec<usize> = share(n, task).filter(|&row| curvatures[row] > 0.0).collect();
        let mut sum: Option<Tensor> = None;
        for rows in rows.chunks(BLOCK) {
            let mut block = vec![0.0; rows.len() * d];
            for (&row, out) in rows.iter().zip(block.chunks_exact_mut(d)) {
                design.write(row, curvatures[row].sqrt(), out);
            }
            let block = Tensor::try_from_vec(block, [rows.len(), d])?;
            let product = block.try_swap_axes(0, 1)?.try_matmul(&block)?;
            sum = Some(match sum {
                None => product,
                Some(sum) => sum.try_add(&product)?,
            });
        }
        Ok(sum)
    })?;
    let mut hessian = Tensor::eye(d, tove_tensor::DType::F64);
    for part in parts.iter().flatten() {
        hessian = hessian.try_add(part)?;
    }
    Ok(Some(hessian))
}

/// Solves H p = −g until the residual is a tenth of the gradient.
fn conjugate_gradients<D: Design>(design: &D, curvatures: &[f64], gradient: &[f64], size: f64) -> Result<Vec<f64>> {
    let d = gradient.len();
    let mut p = vec![0.0; d];
    let mut residual: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut way = residual.clone();
    let mut squared = dot(&residual, &residual);
    for _ in 0..(2 * d).clamp(10, 500) {
        if squared.sqrt() <= 0.05 * size {
            break;
        }
        let mut moves = times(design, &way)?;
        moves.iter_mut().zip(curvatures).for_each(|(q, c)| *q *= c);
        let mut image = transposed_times(design, &moves)?;
        image.iter_mut().zip(&way).for_each(|(image, way)| *image += way);
        let t = squared / dot(&way, &image);
        p.iter_mut().zip(&way).for_each(|(p, way)| *p += t * way);
        residual.iter_mut().zip(&image).for_each(|(r, image)| *r -= t * image);
        let new = dot(&residual, &residual);
        way.iter_mut().zip(&residual).for_each(|(way, r)| *way = r + new / squared * *way);
        squared = new;
    }
    Ok(p)
}
