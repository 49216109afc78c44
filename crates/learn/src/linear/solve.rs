//! Solves min ‖√W (Y − X B)‖² + α ‖B‖² from moments: in one pass if that is accurate, otherwise in two, and by singular
//! values if there are more features than samples.
//!
//! The normal equations (XᵀX + αI) B = XᵀY square the condition number κ of X. With columns scaled to unit length, the
//! Cholesky factor gives an upper bound for κ². Below [`SQUARED_CONDITION`] its solution is within 10⁻⁹ of the exact
//! one. Above, the eigenvectors V and eigenvalues λ of the first Gram matrix give a basis P = V diag(λ + floor)^(−1/2)
//! in which the columns of X P are nearly orthonormal. A second pass over X computes *their* Gram matrix, whose
//! rounding errors are relative to 1 and not to λ_max. The solution is then as accurate as that of a QR or singular
//! value decomposition of X, which costs several times more. (The idea is that of CholeskyQR2: Yamamoto et al. 2015.)
//!
//! Directions with a singular value below `tol` times the largest are treated as zero, which gives the minimum-norm
//! solution.

use tove_tensor::linalg::{Triangle, eigh, lstsq, svd};
use tove_tensor::{Tensor, TryLinalg, TryOps, TryUnary};

use super::moments::{Basis, Data, Moments, read_row};
use super::sparse_gram;
use crate::{Result, Rows, memory};

/// The squared condition number of the scaled columns above which a second pass is made.
pub(super) const SQUARED_CONDITION: f64 = 1e6;

/// The fraction of the largest singular value below which moments alone cannot distinguish a direction from rounding.
const ABSENT: f64 = 1e-6;

/// Fractions of the largest eigenvalue of a scaled Gram matrix: directions above the first have nine digits, those below the second,
/// times the number of columns, are rounding.
const CLEAR: f64 = 1e-7;
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// Square matrices in memory besides the moments: the scaled one, its factor, the identity, the inverse, squares.
const CHOLESKY_MATRICES: usize = 5;
/// The same for eigenvectors and two passes: vectors, their copies, the basis, the second matrix and its decomposition.
const EIGENVECTOR_MATRICES: usize = 8;

/// Returns an error unless there is memory for this many matrices (d, d).
fn require_memory(d: usize, matrices: usize) -> Result<()> {
    let what = format!("solving for {d} columns");
    memory::require("linear model", what, memory::matrix(d, d.saturating_mul(matrices), 8), "choose features first")
}

/// Coefficients with rank, condition number and covariance.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// (d, m).
    pub(super) coefficients: Vec<f64>,
    pub(super) intercepts: Vec<f64>,
    /// Numerical rank.
    pub(super) rank: usize,
    /// Ratio of the largest to the smallest non-zero singular value of the columns scaled to unit length.
    pub(super) condition: f64,
    /// (XᵀX + αI)⁻¹ (d, d), if requested and defined.
    pub(super) covariance: Option<Vec<f64>>,
}

impl Solution {
    fn zero(moments: &Moments) -> Solution {
        let coefficients = vec![0.0; moments.width * moments.outputs];
        Solution { coefficients, intercepts: moments.mean_y.clone(), rank: 0, condition: 1.0, covariance: None }
    }
}

/// The least-squares problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Problem {
    pub(super) alpha: f64,
    pub(super) centered: bool,
    /// Relative size below which a singular value is treated as zero; by default as in NumPy.
    pub(super) tol: Option<f64>,
    pub(super) covariance: bool,
}

impl Problem {
    /// Solves for the samples.
    pub(super) fn solve(&self, data: &Data) -> Result<Solution> {
        if data.len() < data.width() {
            return self.by_singular_values(data);
        }
        let moments = Moments::of(data, self.centered)?;
        self.tall(data, &moments)
    }

    /// Solves from moments, with a second pass over the samples if needed.
    pub(super) fn tall(&self, data: &Data, moments: &Moments) -> Result<Solution> {
        require_memory(moments.width, CHOLESKY_MATRICES)?;
        let scales = self.scales(moments);
        let scaled = scaled_gram(moments, self.alpha, &scales)?;
        if let Some(solution) = self.once(moments, &scales, &scaled)? {
            return Ok(solution);
        }
        require_memory(moments.width, EIGENVECTOR_MATRICES)?;
        if let Some(solution) = self.refined(data, moments, &scales, &scaled)? {
            return Ok(solution);
        }
        self.twice(data, moments, &scales, &scaled)
    }

    /// Solves from moments alone, for samples that are no longer available. If Cholesky factorization would lose
    /// accuracy, the eigenvectors of the scaled Gram matrix are used. Then directions with a singular value below 10⁻⁶
    /// of the largest cannot be distinguished from rounding and are treated as zero, unless a penalty regularizes them.
    pub(super) fn solve_moments(&self, moments: &Moments) -> Result<Solution> {
        require_memory(moments.width, CHOLESKY_MATRICES)?;
        let scales = self.scales(moments);
        let scaled = scaled_gram(moments, self.alpha, &scales)?;
        if let Some(solution) = self.once(moments, &scales, &scaled)? {
            return Ok(solution);
        }
        let solution = self.by_eigenvectors(moments, &scales, &scaled, |_, _| true)?;
        // Nothing is refused, so there is a solution.
        Ok(solution.unwrap_or_else(|| Solution::zero(moments)))
    }

    /// Solves from moments if that is as accurate as with the samples: if each direction is far from being lost in rounding,
    /// or is nothing but rounding.
    pub(super) fn solve_clear(&self, moments: &Moments) -> Result<Option<Solution>> {
        if moments.weight <= moments.width as f64 {
            return Ok(None);
        }
        require_memory(moments.width, CHOLESKY_MATRICES)?;
        let scales = self.scales(moments);
        let scaled = scaled_gram(moments, self.alpha, &scales)?;
        if let Some(solution) = self.once(moments, &scales, &scaled)? {
            return Ok(Some(solution));
        }
        let rounding = ROUNDING * moments.width as f64;
        let clear = |value: f64, largest: f64| value > CLEAR * largest || value < rounding * largest;
        if self.alpha > 0.0 || self.tol.is_some_and(|tol| tol > ABSENT) {
            return Ok(None);
        }
        self.by_eigenvectors(moments, &scales, &scaled, clear)
    }

    /// Solves by the eigenvectors of the scaled Gram matrix; `None` unless all of its eigenvalues are `accepted` beside the largest.
    fn by_eigenvectors(
        &self,
        moments: &Moments,
        scales: &[f64],
        scaled: &Tensor,
        accepted: impl Fn(f64, f64) -> bool,
    ) -> Result<Option<Solution>> {
        let (d, m) = (moments.width, moments.outputs);
        require_memory(d, EIGENVECTOR_MATRICES)?;
        let eigen = eigh(scaled)?;
        let values = eigen.values.to_f64_vec();
        let largest = values.last().copied().unwrap_or(0.0).max(0.0);
        if !values.iter().all(|&value| accepted(value, largest)) {
            return Ok(None);
        }
        let tol = self.tol.unwrap_or(0.0).max(if self.alpha > 0.0 { 0.0 } else { ABSENT });
        let cutoff = largest * (tol * tol).max(4.0 * f64::EPSILON);
        let first = values.iter().position(|&value| value > cutoff).unwrap_or(d);
        let rank = d - first;
        let mut coefficients = vec![0.0; d * m];
        if rank > 0 {
            let kept = eigen.vectors.try_narrow(1, first, rank)?.try_t()?;
            let safe: Vec<f64> = scales.iter().map(|&scale| if scale > 0.0 { scale } else { 1.0 }).collect();
            let right = Tensor::try_from_vec(divided(&moments.cross, &safe, m), [d, m])?;
            let inverse: Vec<f64> = values[first..].iter().map(|value| value.recip()).collect();
            let target = kept.try_matmul(&right)?.try_mul(&Tensor::try_from_vec(inverse, [rank, 1])?)?;
            coefficients = if rank == d {
                divided(&kept.try_t()?.try_matmul(&target)?.to_f64_vec(), &safe, m)
            } else {
                let rows = kept.try_mul(&Tensor::from_slice(scales))?;
                lstsq(&rows, &target, Some(0.0))?.solution.to_f64_vec()
            };
        }
        let intercepts = moments.intercepts(&coefficients);
        let condition = if rank == d { (largest / values[0]).sqrt() } else { f64::INFINITY };
        Ok(Some(Solution { coefficients, intercepts, rank, condition, covariance: None }))
    }

    /// Column norms including the penalty; 0 for a constant column.
    fn scales(&self, moments: &Moments) -> Vec<f64> {
        let d = moments.width;
        let scale = |j: usize| {
            let (square, mean) = (moments.gram[j * d + j], moments.mean_x[j]);
            let noise = 4.0 * f64::EPSILON * mean.abs();
            let square = if square <= moments.weight * noise * noise { 0.0 } else { square };
            (square + self.alpha).sqrt()
        };
        (0..d).map(scale).collect()
    }

    /// Solves by Cholesky factorization, if the condition number allows.
    fn once(&self, moments: &Moments, scales: &[f64], scaled: &Tensor) -> Result<Option<Solution>> {
        let (d, m) = (moments.width, moments.outputs);
        if scales.contains(&0.0) {
            return Ok(None);
        }
        let Ok(factor) = scaled.try_cholesky() else { return Ok(None) };
        let inverse = factor.try_triangular_solve(&Tensor::eye(d, scaled.dtype()), Triangle::LOWER)?;
        let squared = inverse.try_square()?.try_sum()?.try_item::<f64>()?
            * scaled.try_square()?.try_sum()?.try_item::<f64>()?.sqrt();
        if squared.is_nan() || squared > SQUARED_CONDITION {
            return Ok(None);
        }
        let right = Tensor::try_from_vec(divided(&moments.cross, scales, m), [d, m])?;
        let solution = inverse.try_t()?.try_matmul(&inverse.try_matmul(&right)?)?;
        let coefficients = divided(&solution.to_f64_vec(), scales, m);
        let covariance = self.covariance.then(|| inverse.try_t()?.try_matmul(&inverse)).transpose()?;
        let covariance = covariance.map(|inverse| divided_twice(&inverse.to_f64_vec(), scales));
        let intercepts = moments.intercepts(&coefficients);
        Ok(Some(Solution { coefficients, intercepts, rank: d, condition: squared.sqrt(), covariance }))
    }

    /// Solves by a second pass in a basis in which the columns are nearly orthonormal.
    fn twice(&self, data: &Data, moments: &Moments, scales: &[f64], scaled: &Tensor) -> Result<Solution> {
        let (d, m) = (moments.width, moments.outputs);
        let first = eigh(scaled)?;
        let vectors = first.vectors.try_contiguous()?;
        let values = first.values.to_f64_vec();
        let largest = values.last().copied().unwrap_or(0.0);
        if largest <= 0.0 {
            return Ok(Solution::zero(moments));
        }
        let floor = 4.0 * f64::EPSILON * d as f64 * largest;
        let roots: Vec<f64> = values.iter().map(|&value| value.max(floor).sqrt()).collect();
        let vector = vectors.to_f64_vec();
        let basis: Vec<f64> = (0..d * d)
            .map(|index| {
                let (i, j) = (index / d, index % d);
                if scales[i] > 0.0 { vector[index] / (roots[j] * scales[i]) } else { 0.0 }
            })
            .collect();
        let new_basis = Basis { matrix: &basis, mean_x: &moments.mean_x, mean_y: &moments.mean_y };
        let projected = Moments::in_basis(data, self.centered, &new_basis)?;
        let basis = Tensor::try_from_vec(basis, [d, d])?;
        let penalty = basis.try_t()?.try_matmul(&basis)?.try_mul(&Tensor::scalar(self.alpha))?;
        let gram = projected.gram_tensor()?.try_add(&penalty)?;
        let second = Second { gram: eigh(&gram)?, roots, vectors, basis, scales, cross: projected.cross, outputs: m };
        second.solution(self, data, moments)
    }

    fn tolerance(&self, data: &Data) -> f64 {
        let size = data.len().max(data.width()) as f64;
        let single = data.x.dtype() == tove_tensor::DType::F32;
        self.tol.unwrap_or(if single { 4.0 * f64::from(f32::EPSILON) } else { size * f64::EPSILON })
    }

    /// Solves by singular values of a centered copy: for fewer samples than features, or on request.
    pub(super) fn by_singular_values(&self, data: &Data) -> Result<Solution> {
        data.check_finite()?;
        let centered = Centered::of(data, self.centered)?;
        let parts = svd(&centered.x)?;
        let values = parts.s.to_f64_vec();
        let cutoff = values.first().copied().unwrap_or(0.0) * self.tolerance(data);
        let kept = values.iter().filter(|&&value| value > cutoff).count();
        let filter: Vec<f64> =
            values.iter().map(|&s| if s > cutoff { s / (s * s + self.alpha) } else { 0.0 }).collect();
        let k = filter.len();
        let inner = parts.u.try_t()?.try_matmul(&centered.y)?.try_mul(&Tensor::try_from_vec(filter, [k, 1])?)?;
        let coefficients = parts.vt.try_t()?.try_matmul(&inner)?.to_f64_vec();
        let intercepts = centered.intercepts(&coefficients, data.outputs);
        let condition = if kept > 0 { values[0] / values[kept - 1] } else { 1.0 };
        Ok(Solution { coefficients, intercepts, rank: kept, condition, covariance: None })
    }
}

/// The decomposed Gram matrix of the second pass, with the transformation back.
struct Second<'a> {
    gram: tove_tensor::linalg::Eigh,
    roots: Vec<f64>,
    vectors: Tensor,
    basis: Tensor,
    scales: &'a [f64],
    cross: Vec<f64>,
    outputs: usize,
}

impl Second<'_> {
    fn solution(&self, problem: &Problem, data: &Data, moments: &Moments) -> Result<Solution> {
        let (d, m) = (moments.width, self.outputs);
        let values: Vec<f64> = self.gram.values.to_f64_vec().iter().map(|value| value.max(0.0)).collect();
        // Below this an eigenvalue of the second Gram matrix is rounding: its direction was already lost in the first
        // pass.
        let noise = 1e-13 * values.last().copied().unwrap_or(0.0);
        let inverse_root: Vec<f64> =
            values.iter().map(|&value| if value > noise { value.sqrt().recip() } else { 0.0 }).collect();
        // X (scaled) = Q R with R = √Λ₂ V₂ᵀ diag(roots) V₁ᵀ, and Qᵀ Y = Λ₂^(−1/2) V₂ᵀ (XP)ᵀ Y.
        let column = |values: Vec<f64>| Tensor::try_from_vec(values, [d, 1]);
        let root = column(values.iter().map(|value| value.sqrt()).collect())?;
        let transposed = self.gram.vectors.try_t()?;
        let middle = transposed.try_mul(&root)?.try_mul(&Tensor::from_slice(&self.roots))?;
        let r = middle.try_matmul(&self.vectors.try_t()?)?;
        let right = Tensor::try_from_vec(self.cross.clone(), [d, m])?;
        let inverse_root = column(inverse_root)?;
        let q_y = transposed.try_matmul(&right)?.try_mul(&inverse_root)?;
        let parts = svd(&r)?;
        let singular = parts.s.to_f64_vec();
        let cutoff = singular[0] * problem.tolerance(data);
        let rank = singular.iter().filter(|&&value| value > cutoff).count();
        let condition = if rank == d { singular[0] / singular[d - 1] } else { f64::INFINITY };
        let full_rank = rank == d && values[0] > noise;
        let mut covariance = None;
        let coefficients = if full_rank {
            let back = self.basis.try_matmul(&transposed.try_mul(&inverse_root)?.try_t()?)?;
            if problem.covariance {
                covariance = Some(back.try_matmul(&back.try_t()?)?.to_f64_vec());
            }
            back.try_matmul(&q_y)?.to_f64_vec()
        } else {
            self.least_norm(&parts, &q_y, rank, &singular)?
        };
        let intercepts = moments.intercepts(&coefficients);
        Ok(Solution { coefficients, intercepts, rank, condition, covariance })
    }

    /// The minimum-norm B with Bᵣᵀ diag(scales) B = Σᵣ⁻¹ Aᵣᵀ Qᵀ Y.
    fn least_norm(
        &self,
        parts: &tove_tensor::linalg::Svd,
        q_y: &Tensor,
        rank: usize,
        singular: &[f64],
    ) -> Result<Vec<f64>> {
        let (d, m) = (self.scales.len(), self.outputs);
        if rank == 0 {
            return Ok(vec![0.0; d * m]);
        }
        let inverse: Vec<f64> = singular[..rank].iter().map(|value| value.recip()).collect();
        let target = parts.u.try_narrow(1, 0, rank)?.try_t()?.try_matmul(q_y)?;
        let target = target.try_mul(&Tensor::try_from_vec(inverse, [rank, 1])?)?;
        let rows = parts.vt.try_narrow(0, 0, rank)?.try_mul(&Tensor::from_slice(self.scales))?;
        Ok(lstsq(&rows, &target, Some(0.0))?.solution.to_f64_vec())
    }
}

/// Entries (i, j) of XᵀX + αI divided by both scales; constant columns have zeros.
fn scaled_gram(moments: &Moments, alpha: f64, scales: &[f64]) -> Result<Tensor> {
    let d = moments.width;
    let entry = |index: usize| {
        let (i, j) = (index / d, index % d);
        if scales[i] == 0.0 || scales[j] == 0.0 {
            return 0.0;
        }
        (moments.gram[index] + if i == j { alpha } else { 0.0 }) / (scales[i] * scales[j])
    };
    Ok(Tensor::try_from_vec((0..d * d).map(entry).collect(), [d, d])?)
}

/// Rows (d, m) divided by their scale.
fn divided(values: &[f64], scales: &[f64], m: usize) -> Vec<f64> {
    values.iter().enumerate().map(|(index, value)| value / scales[index / m]).collect()
}

fn divided_twice(values: &[f64], scales: &[f64]) -> Vec<f64> {
    let d = scales.len();
    values.iter().enumerate().map(|(index, value)| value / (scales[index / d] * scales[index % d])).collect()
}

/// A centered dense copy √w (x − x̄), for matrices with few rows.
pub(super) struct Centered {
    /// (n, d).
    pub(super) x: Tensor,
    /// (n, m).
    pub(super) y: Tensor,
    pub(super) mean_x: Vec<f64>,
    pub(super) mean_y: Vec<f64>,
}

impl Centered {
    pub(super) fn of(data: &Data, centered: bool) -> Result<Centered> {
        let (n, d, m) = (data.len(), data.width(), data.outputs);
        // The copy, and the same size again for each part of its decomposition.
        let what = format!("singular values of {n} x {d} numbers");
        memory::require("linear model", what, memory::matrix(n, d.saturating_mul(4), 8), "choose features first")?;
        let weights = data.weights_or_ones();
        let total: f64 = weights.iter().sum();
        let mut x = vec![0.0; n * d];
        for (row, out) in x.chunks_exact_mut(d).enumerate() {
            read_row(data.x, row, out)?;
        }
        let mut y = data.y.clone();
        let center = |table: &mut [f64], width: usize| {
            let mut mean = vec![0.0; width];
            if centered {
                for (row, &weight) in table.chunks_exact(width).zip(weights.iter()) {
                    mean.iter_mut().zip(row).for_each(|(mean, x)| *mean += weight * x / total);
                }
            }
            for (row, weight) in table.chunks_exact_mut(width).zip(weights.iter()) {
                let root = weight.sqrt();
                row.iter_mut().zip(&mean).for_each(|(x, mean)| *x = (*x - mean) * root);
            }
            mean
        };
        let (mean_x, mean_y) = (center(&mut x, d), center(&mut y, m));
        Ok(Centered { x: Tensor::try_from_vec(x, [n, d])?, y: Tensor::try_from_vec(y, [n, m])?, mean_x, mean_y })
    }

    /// ȳ − x̄ᵀ w of each output.
    pub(super) fn intercepts(&self, coefficients: &[f64], m: usize) -> Vec<f64> {
        let mut intercepts = self.mean_y.clone();
        for (j, mean) in self.mean_x.iter().enumerate() {
            intercepts.iter_mut().enumerate().for_each(|(k, b)| *b -= mean * coefficients[j * m + k]);
        }
        intercepts
    }
}

/// Whether the Gram matrix of sparse rows and its decomposition would cost far more than products with the rows.
pub(super) fn prefers_iterations(x: &Rows) -> bool {
    match x {
        Rows::Dense(_) => false,
        Rows::Sparse(x) => {
            let (d, n, entries) = (x.columns() as f64, x.rows() as f64, x.indices().len() as f64);
            let products =
                if sparse_gram::is_cheaper(x, 0, 1) { entries * entries / n } else { d * d.min(n) * n.max(d) };
            let passes = 1000.0;
            d > 512.0 && products + 10.0 * d.min(n).powi(3) > passes * 4.0 * entries
        }
    }
}
