//! Least squares for sparse rows with dependent columns, such as one-hot encodings with an intercept.
//!
//! The eigenvectors of the scaled Gram matrix identify the null space, and solve for the other directions up to the
//! accuracy of the normal equations. Iterative refinement w ← w + G⁺ (Xᵀ(y − Xw) − αw), with residuals from the rows,
//! restores full accuracy: a pass over sparse rows is cheap compared with the decomposition. The method is used if
//! every eigenvalue is clearly non-zero or clearly zero; other cases are handled like dense rows.

use tove_tensor::linalg::eigh;
use tove_tensor::{Tensor, TryIndex, TryOps};

use super::moments::{Data, Moments};
use super::operator::Operator;
use super::solve::{Problem, Solution};
use crate::{Result, Rows};

/// Relative eigenvalues above PRESENT are non-zero; those below ABSENT are treated as zero if the rows confirm it.
const PRESENT: f64 = 1e-9;
const ABSENT: f64 = 1e-11;
/// The largest relative norm of X n for a null direction n.
const SINGULAR: f64 = 1e-8;
/// Maximum dimension of the null space.
const MAX_ABSENT: usize = 64;
/// Maximum number of corrections, and the relative size at which they stop.
const MAX_STEPS: usize = 8;
const CONVERGED: f64 = 1e-13;
/// A correction that no longer shrinks is accepted below this size.
const ACCEPTABLE: f64 = 1e-10;

/// An approximate pseudoinverse of the Gram matrix.
struct Inverse {
    /// Columns that are not constant, and their norms.
    active: Vec<usize>,
    scales: Vec<f64>,
    /// Eigenvectors of non-zero eigenvalues (active, present), and the inverse eigenvalues.
    vectors: Tensor,
    inverse: Vec<f64>,
    /// Null directions of the scaled columns, with one entry per active column.
    absent: Vec<Vec<f64>>,
    condition: f64,
    largest: f64,
}

impl Inverse {
    /// Returns `None` if some eigenvalue is neither clearly non-zero nor clearly zero.
    fn of(scales: &[f64], scaled: &Tensor) -> Result<Option<Inverse>> {
        let active: Vec<usize> = (0..scales.len()).filter(|&column| scales[column] > 0.0).collect();
        if active.is_empty() {
            return Ok(None);
        }
        let indices = Tensor::from(active.iter().map(|&column| column as i64).collect::<Vec<i64>>());
        let part = scaled.try_index_select(0, &indices)?;
        let part = part.try_index_select(1, &indices)?;
        let eigen = eigh(&part)?;
        let (values, count) = (eigen.values.to_f64_vec(), active.len());
        let largest = values.last().copied().unwrap_or(0.0);
        let first = values.iter().take_while(|&&value| value <= ABSENT * largest).count();
        if largest <= 0.0 || first > MAX_ABSENT || first == count || values[first] < PRESENT * largest {
            return Ok(None);
        }
        let all = eigen.vectors.try_contiguous()?.to_f64_vec();
        let absent = (0..first).map(|index| (0..count).map(|row| all[row * count + index]).collect()).collect();
        Ok(Some(Inverse {
            scales: active.iter().map(|&column| scales[column]).collect(),
            vectors: eigen.vectors.try_narrow(1, first, count - first)?.try_contiguous()?,
            inverse: values[first..].iter().map(|value| value.recip()).collect(),
            absent,
            condition: (largest / values[first]).sqrt(),
            largest,
            active,
        }))
    }

    /// G⁺ g, with zeros for constant columns.
    fn times(&self, g: &[f64]) -> Result<Vec<f64>> {
        let scaled: Vec<f64> = self.active.iter().zip(&self.scales).map(|(&j, scale)| g[j] / scale).collect();
        let scaled = Tensor::try_from_vec(scaled, [self.active.len(), 1])?;
        let inverse = Tensor::try_from_vec(self.inverse.clone(), [self.inverse.len(), 1])?;
        let products = self.vectors.try_t()?.try_matmul(&scaled)?.try_mul(&inverse)?;
        Ok(self.spread(&self.vectors.try_matmul(&products)?.to_f64_vec(), g.len()))
    }

    /// Expands a direction of the scaled columns to all columns.
    fn spread(&self, direction: &[f64], d: usize) -> Vec<f64> {
        let mut full = vec![0.0; d];
        for ((&j, scale), value) in self.active.iter().zip(&self.scales).zip(direction) {
            full[j] = value / scale;
        }
        full
    }

    /// Removes the null directions, which gives the minimum-norm solution.
    fn remove_null_directions(&self, w: &mut [f64]) {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for direction in &self.absent {
            let mut direction = self.spread(direction, w.len());
            // Twice, because one pass loses accuracy for nearly parallel directions.
            for _ in 0..2 {
                basis.iter().for_each(|unit| project_out(&mut direction, unit));
            }
            let length = norm(&direction);
            if length > 0.0 {
                direction.iter_mut().for_each(|value| *value /= length);
                basis.push(direction);
            }
        }
        basis.iter().for_each(|unit| project_out(w, unit));
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// v ← v − (v·u) u.
fn project_out(v: &mut [f64], unit: &[f64]) {
    let projection: f64 = v.iter().zip(unit).map(|(v, u)| v * u).sum();
    v.iter_mut().zip(unit).for_each(|(v, u)| *v -= projection * u);
}

impl Problem {
    /// Solves for sparse rows by eigenvectors and refinement; `None` for dense rows, or if it would not be accurate.
    pub(super) fn refined(
        &self,
        data: &Data,
        moments: &Moments,
        scales: &[f64],
        scaled: &Tensor,
    ) -> Result<Option<Solution>> {
        if !matches!(data.x, Rows::Sparse(_)) || self.covariance {
            return Ok(None);
        }
        let Some(inverse) = Inverse::of(scales, scaled)? else { return Ok(None) };
        let (n, d, m) = (data.len(), moments.width, moments.outputs);
        let operator = Operator::weighted(data, self.centered)?;
        for direction in &inverse.absent {
            if norm(&operator.times(&inverse.spread(direction, d))?) > SINGULAR * inverse.largest.sqrt() {
                return Ok(None);
            }
        }
        let roots = data.weights.as_ref().map(|weights| weights.iter().map(|w| w.sqrt()).collect::<Vec<f64>>());
        let mut coefficients = vec![0.0; d * m];
        for output in 0..m {
            let right = |row: usize| {
                let y = data.y[row * m + output] - if self.centered { moments.mean_y[output] } else { 0.0 };
                y * roots.as_ref().map_or(1.0, |roots| roots[row])
            };
            let right: Vec<f64> = (0..n).map(right).collect();
            let cross: Vec<f64> = (0..d).map(|j| moments.cross[j * m + output]).collect();
            let Some(mut w) = self.corrected(&operator, &inverse, &right, &cross)? else { return Ok(None) };
            inverse.remove_null_directions(&mut w);
            (0..d).for_each(|j| coefficients[j * m + output] = w[j]);
        }
        let intercepts = moments.intercepts(&coefficients);
        let rank = inverse.active.len() - inverse.absent.len();
        let condition = if rank == d { inverse.condition } else { f64::INFINITY };
        Ok(Some(Solution { coefficients, intercepts, rank, condition, covariance: None }))
    }

    /// Solves for one output; `None` if the corrections do not shrink.
    fn corrected(
        &self,
        operator: &Operator,
        inverse: &Inverse,
        right: &[f64],
        cross: &[f64],
    ) -> Result<Option<Vec<f64>>> {
        let mut w = inverse.times(cross)?;
        let mut before = f64::INFINITY;
        for _ in 0..MAX_STEPS {
            let product = operator.times(&w)?;
            let residual: Vec<f64> = right.iter().zip(&product).map(|(y, product)| y - product).collect();
            let mut gradient = operator.transposed(&residual)?;
            gradient.iter_mut().zip(&w).for_each(|(g, w)| *g -= self.alpha * w);
            let step = inverse.times(&gradient)?;
            let size = norm(&step) / norm(&w).max(f64::MIN_POSITIVE);
            if !size.is_finite() {
                return Ok(None);
            }
            if size > 0.1 * before {
                return Ok((size < ACCEPTABLE).then_some(w));
            }
            w.iter_mut().zip(&step).for_each(|(w, step)| *w += step);
            if size <= CONVERGED {
                break;
            }
            before = size;
        }
        Ok(Some(w))
    }
}
