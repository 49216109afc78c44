//! Moves from the interior of the optimal face to a vertex.
//!
//! The interior-point method stops near the center of all solutions, where coefficients that should be 0 are 10⁻¹⁵. At
//! a vertex as many rows as there are parameters are fitted exactly: samples on the hyperplane, or coefficients that
//! are 0. Those are the rows with the smallest residuals relative to their dual variables; solving for them gives the
//! vertex. It is accepted if its objective is not larger.

use tove_tensor::Tensor;
use tove_tensor::linalg::lstsq;

use super::interior_point::{LinearProgram, State};
use super::moments::read_row;
use crate::Result;

/// Maximum number of parameters: the system takes p² numbers and p³ operations. Larger problems keep the interior
/// point.
const MAX_PARAMETERS: usize = 1000;
/// A row is dependent if its component outside the span of the others is smaller than this, relative to the row.
const DEPENDENT: f64 = 1e-9;

impl LinearProgram<'_> {
    /// Returns λ at a vertex, if one is found whose objective is not larger.
    pub(super) fn vertex(&self, state: &State) -> Result<Option<Vec<f64>>> {
        let (n, d, p) = (self.weights.len(), self.scales.len(), self.parameters());
        if p > MAX_PARAMETERS || state.lambda.iter().any(|lambda| !lambda.is_finite()) {
            return Ok(None);
        }
        let fitted = self.rows(&state.lambda)?;
        let key = |i: usize| (self.target[i] + fitted[i]).abs() / (state.x[i].min(state.s[i]) + f64::MIN_POSITIVE);
        let mut order: Vec<(f64, usize)> =
            (0..self.target.len()).filter(|&i| i >= n || self.weights[i] > 0.0).map(|i| (key(i), i)).collect();
        order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let (mut basis, mut chosen): (Vec<Vec<f64>>, Vec<usize>) = (Vec::new(), Vec::new());
        for &(_, i) in order.iter().take(20 * p + 100) {
            if let Some(direction) = outside(&basis, self.direction(i)?) {
                basis.push(direction);
                chosen.push(i);
                if chosen.len() == p {
                    break;
                }
            }
        }
        if chosen.len() < p {
            return Ok(None);
        }
        // Coefficients at 0 are removed from the system, so they are exactly 0.
        let mut zero = vec![false; d];
        chosen.iter().filter(|&&i| i >= n).for_each(|&i| zero[i - n] = true);
        let kept: Vec<usize> = (0..p).filter(|&j| j >= d || !zero[j]).collect();
        let rows: Vec<usize> = chosen.into_iter().filter(|&i| i < n).collect();
        let mut lambda = vec![0.0; p];
        if !kept.is_empty() {
            let (mut matrix, mut right) = (Vec::with_capacity(kept.len() * kept.len()), Vec::with_capacity(kept.len()));
            for &i in &rows {
                let direction = self.direction(i)?;
                matrix.extend(kept.iter().map(|&j| direction[j]));
                right.push(-self.target[i] / self.weights[i]);
            }
            let matrix = Tensor::try_from_vec(matrix, [rows.len(), kept.len()])?;
            let right = Tensor::try_from_vec(right, [rows.len(), 1])?;
            let solution = lstsq(&matrix, &right, Some(0.0))?.solution.to_f64_vec();
            kept.iter().zip(solution).for_each(|(&j, value)| lambda[j] = value);
        }
        let mut corner = state.clone();
        corner.lambda = lambda;
        let ((before, _), (after, _)) = (self.objective(state)?, self.objective(&corner)?);
        let slack = 1e-13 * (before.abs() + 1e-3 * self.target.len() as f64);
        Ok((after <= before + slack).then_some(corner.lambda))
    }

    /// A row without its weight: centered and scaled features and a one, or a unit vector.
    fn direction(&self, row: usize) -> Result<Vec<f64>> {
        let (n, d) = (self.weights.len(), self.scales.len());
        let mut direction = vec![0.0; self.parameters()];
        if row >= n {
            direction[row - n] = 1.0;
            return Ok(direction);
        }
        read_row(self.data.x, row, &mut direction[..d])?;
        for ((x, mean), scale) in direction[..d].iter_mut().zip(&self.moments.mean_x).zip(&self.scales) {
            *x = (*x - mean) / scale;
        }
        if self.intercept {
            direction[d] = 1.0;
        }
        Ok(direction)
    }
}

/// The component of a vector orthogonal to an orthonormal basis, normalized; `None` if it is negligible.
fn outside(basis: &[Vec<f64>], mut vector: Vec<f64>) -> Option<Vec<f64>> {
    let length = |vector: &[f64]| vector.iter().map(|x| x * x).sum::<f64>().sqrt();
    let norm = length(&vector);
    for _ in 0..2 {
        for direction in basis {
            let along: f64 = direction.iter().zip(&vector).map(|(a, b)| a * b).sum();
            vector.iter_mut().zip(direction).for_each(|(x, direction)| *x -= along * direction);
        }
    }
    let rest = length(&vector);
    (rest > DEPENDENT * norm).then(|| vector.iter().map(|x| x / rest).collect())
}
