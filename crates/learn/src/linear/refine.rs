//! Sparse rows whose columns are dependent, as those of one-hot blocks always are beside an intercept.
//!
//! The eigenvectors of the scaled Gram matrix say which directions are absent, and solve for the others up to the digits that the
//! normal equations lose. Those come back by corrections w ← w + G⁺ (Xᵀ(y − Xw) − αw), with residuals of the rows themselves: a
//! pass over sparse rows costs next to nothing beside the decomposition. The method is used where eigenvalues are clearly present
//! or clearly absent; anything between goes the way of dense rows.

use tove_tensor::linalg::eigh;
use tove_tensor::{Tensor, TryIndex, TryOps};

use super::moments::{Data, Moments};
use super::operator::Operator;
use super::solve::{Problem, Solution};
use crate::{Result, Rows};

/// Relative eigenvalues of directions that are present, and of those that are taken for absent if the rows confirm it.
const PRESENT: f64 = 1e-9;
const ABSENT: f64 = 1e-11;
/// The largest relative length of X n for a direction n that is absent.
const SINGULAR: f64 = 1e-8;
/// Absent directions at most.
const MOST_ABSENT: usize = 64;
/// Corrections at most, and the relative size at which they end.
const STEPS: usize = 8;
const DONE: f64 = 1e-13;
/// A correction that does not shrink any more is accepted below this.
const ENOUGH: f64 = 1e-10;

/// An approximate inverse of the Gram matrix on the directions that are present.
struct Inverse {
    /// Columns that are not constant, and the lengths they are scaled by.
    active: Vec<usize>,
    scales: Vec<f64>,
    /// Eigenvectors that are present (active, present), and the inverses of their eigenvalues.
    vectors: Tensor,
    inverse: Vec<f64>,
    /// Absent directions of the scaled columns, each of the length of the active ones.
    absent: Vec<Vec<f64>>,
    condition: f64,
    largest: f64,
}

impl Inverse {
    /// None where some eigenvalue is neither present nor absent.
    fn of(scales: &[f64], scaled: &Tensor) -> Result<Option<Inverse>> {
        let active: Vec<usize> = (0..scales.len()).filter(|&column| scales[column] > 0.0).collect();
        if active.is_empty() {
            return Ok(None);
        }
        let places = Tensor::from(active.iter().map(|&column| column as i64).collect::<Vec<i64>>());
        let part = scaled.try_index_select(0, &places)?;
        let part = part.try_index_select(1, &places)?;
        let eigen = eigh(&part)?;
        let (values, count) = (eigen.values.to_f64_vec(), active.len());
        let largest = values.last().copied().unwrap_or(0.0);
        let first = values.iter().take_while(|&&value| value <= ABSENT * largest).count();
        if largest <= 0.0 || first > MOST_ABSENT || first == count || values[first] < PRESENT * largest {
            return Ok(None);
        }
        let all = eigen.vectors.try_contiguous()?.to_f64_vec();
        let absent = (0..first).map(|place| (0..count).map(|row| all[row * count + place]).collect()).collect();
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
        let turned = self.vectors.try_t()?.try_matmul(&scaled)?.try_mul(&inverse)?;
        Ok(self.spread(&self.vectors.try_matmul(&turned)?.to_f64_vec(), g.len()))
    }

    /// A direction of the scaled columns as one of all columns.
    fn spread(&self, direction: &[f64], d: usize) -> Vec<f64> {
        let mut whole = vec![0.0; d];
        for ((&j, scale), value) in self.active.iter().zip(&self.scales).zip(direction) {
            whole[j] = value / scale;
        }
        whole
    }

    /// Takes the absent directions off, which leaves the solution of least norm.
    fn shorten(&self, w: &mut [f64]) {
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for direction in &self.absent {
            let mut direction = self.spread(direction, w.len());
            // Twice, because once loses digits where directions are nearly parallel.
            for _ in 0..2 {
                basis.iter().for_each(|unit| take_off(&mut direction, unit));
            }
            let length = norm(&direction);
            if length > 0.0 {
                direction.iter_mut().for_each(|value| *value /= length);
                basis.push(direction);
            }
        }
        basis.iter().for_each(|unit| take_off(w, unit));
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// v ← v − (v·u) u.
fn take_off(v: &mut [f64], unit: &[f64]) {
    let share: f64 = v.iter().zip(unit).map(|(v, u)| v * u).sum();
    v.iter_mut().zip(unit).for_each(|(v, u)| *v -= share * u);
}

impl Problem {
    /// The solution for sparse rows by eigenvectors and corrections; none for dense rows, or where it would not be exact.
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
        let operator = Operator::weighted(data, self.centred)?;
        for direction in &inverse.absent {
            if norm(&operator.times(&inverse.spread(direction, d))?) > SINGULAR * inverse.largest.sqrt() {
                return Ok(None);
            }
        }
        let roots = data.weights.as_ref().map(|weights| weights.iter().map(|w| w.sqrt()).collect::<Vec<f64>>());
        let mut coefficients = vec![0.0; d * m];
        for output in 0..m {
            let right = |row: usize| {
                let y = data.y[row * m + output] - if self.centred { moments.mean_y[output] } else { 0.0 };
                y * roots.as_ref().map_or(1.0, |roots| roots[row])
            };
            let right: Vec<f64> = (0..n).map(right).collect();
            let cross: Vec<f64> = (0..d).map(|j| moments.cross[j * m + output]).collect();
            let Some(mut w) = self.corrected(&operator, &inverse, &right, &cross)? else { return Ok(None) };
            inverse.shorten(&mut w);
            (0..d).for_each(|j| coefficients[j * m + output] = w[j]);
        }
        let intercepts = moments.intercepts(&coefficients);
        let rank = inverse.active.len() - inverse.absent.len();
        let condition = if rank == d { inverse.condition } else { f64::INFINITY };
        Ok(Some(Solution { coefficients, intercepts, rank, condition, covariance: None }))
    }

    /// The solution of one output; none if the corrections do not shrink.
    fn corrected(
        &self,
        operator: &Operator,
        inverse: &Inverse,
        right: &[f64],
        cross: &[f64],
    ) -> Result<Option<Vec<f64>>> {
        let mut w = inverse.times(cross)?;
        let mut before = f64::INFINITY;
        for _ in 0..STEPS {
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
                return Ok((size < ENOUGH).then_some(w));
            }
            w.iter_mut().zip(&step).for_each(|(w, step)| *w += step);
            if size <= DONE {
                break;
            }
            before = size;
        }
        Ok(Some(w))
    }
}
