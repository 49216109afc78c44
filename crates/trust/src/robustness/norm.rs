//! Norms of perturbations: dual norms, the step that raises a linear function most, and projections onto balls.
//!
//! | norm of δ | dual norm of g | maximizer of gᵀδ on ‖δ‖ ≤ ε |
//! |---|---|---|
//! | l1 | max |gᵢ| | ε sign(gᵢ) on the coordinate with the largest |gᵢ| |
//! | l2 | ‖g‖₂ | ε g / ‖g‖₂ |
//! | l∞ | Σ |gᵢ| | ε sign(g) |
//!
//! The maximum is ε times the dual norm of g.

use tove_tensor::Tensor;

use super::rows::Batch;
use crate::{Result, TrustError};

/// The norm that measures a perturbation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttackNorm {
    /// The sum of absolute values: few features change.
    L1,
    /// The Euclidean norm.
    L2,
    /// The largest absolute value: every feature changes a little.
    LInf,
}

impl AttackNorm {
    /// The name as written in reports: `l1`, `l2` or `l-inf`.
    pub fn name(self) -> &'static str {
        match self {
            AttackNorm::L1 => "l1",
            AttackNorm::L2 => "l2",
            AttackNorm::LInf => "l-inf",
        }
    }

    /// The norm whose unit ball gives the largest inner products with the unit ball of this one.
    ///
    /// ```
    /// use tove_trust::robustness::AttackNorm;
    /// assert_eq!(AttackNorm::LInf.dual(), AttackNorm::L1);
    /// ```
    pub fn dual(self) -> AttackNorm {
        match self {
            AttackNorm::L1 => AttackNorm::LInf,
            AttackNorm::L2 => AttackNorm::L2,
            AttackNorm::LInf => AttackNorm::L1,
        }
    }

    /// The norm of a vector.
    ///
    /// ```
    /// use tove_trust::robustness::AttackNorm;
    /// let v = [3.0, -4.0];
    /// assert_eq!((AttackNorm::L1.of(&v), AttackNorm::L2.of(&v), AttackNorm::LInf.of(&v)), (7.0, 5.0, 4.0));
    /// ```
    pub fn of(self, vector: &[f64]) -> f64 {
        match self {
            AttackNorm::L1 => vector.iter().map(|v| v.abs()).sum(),
            AttackNorm::L2 => {
                let largest = AttackNorm::LInf.of(vector);
                if largest == 0.0 || !largest.is_finite() {
                    return largest;
                }
                // Scaled only where squares would leave the range of numbers.
                let scale = if (1e-140..1e140).contains(&largest) { 1.0 } else { largest };
                scale * vector.iter().map(|v| (v / scale) * (v / scale)).sum::<f64>().sqrt()
            }
            AttackNorm::LInf => vector.iter().fold(0.0, |largest, v| v.abs().max(largest)),
        }
    }

    /// The norm of each row of a batch; all axes but the first count as one.
    ///
    /// # Errors
    /// A batch without rows or with values that are not finite.
    pub fn of_rows(self, batch: &Tensor) -> Result<Vec<f64>> {
        Ok(Batch::read("AttackNorm", batch)?.rows().map(|row| self.of(row)).collect())
    }

    /// For each row g of a batch, the δ with ‖δ‖ ≤ `eps` that maximizes gᵀδ. It is 0 where g is 0. For l1, ties go to the
    /// first coordinate.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// use tove_trust::robustness::AttackNorm;
    /// let g = Tensor::from([[3.0, -4.0]]);
    /// assert_eq!(AttackNorm::L1.steepest(&g, 0.5)?.to_vec::<f64>(), [0.0, -0.5]);
    /// assert_eq!(AttackNorm::L2.steepest(&g, 0.5)?.to_vec::<f64>(), [0.3, -0.4]);
    /// assert_eq!(AttackNorm::LInf.steepest(&g, 0.5)?.to_vec::<f64>(), [0.5, -0.5]);
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// As [`AttackNorm::of_rows`]; `eps` negative or not finite.
    pub fn steepest(self, gradients: &Tensor, eps: f64) -> Result<Tensor> {
        let eps = radius(eps)?;
        let batch = Batch::read("AttackNorm::steepest", gradients)?;
        let mut out = vec![0.0; batch.values().len()];
        for (row, out) in batch.rows().zip(out.chunks_exact_mut(batch.width())) {
            self.steepest_row(row, eps, out);
        }
        batch.tensor_of(out)
    }

    /// Each row of a batch projected onto the ball ‖δ‖ ≤ `eps`: the nearest point of the ball. Rows inside are kept.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// use tove_trust::robustness::AttackNorm;
    /// let delta = Tensor::from([[3.0, -4.0]]);
    /// assert_eq!(AttackNorm::L1.project(&delta, 1.0)?.to_vec::<f64>(), [0.0, -1.0]);
    /// assert_eq!(AttackNorm::LInf.project(&delta, 3.5)?.to_vec::<f64>(), [3.0, -3.5]);
    /// # Ok::<(), tove_trust::TrustError>(())
    /// ```
    ///
    /// # Errors
    /// As [`AttackNorm::steepest`].
    pub fn project(self, perturbations: &Tensor, eps: f64) -> Result<Tensor> {
        let eps = radius(eps)?;
        let batch = Batch::read("AttackNorm::project", perturbations)?;
        let mut out = batch.values().to_vec();
        out.chunks_exact_mut(batch.width()).for_each(|row| self.project_row(row, eps));
        batch.tensor_of(out)
    }

    /// The closed form of [`AttackNorm::steepest`] for one row; `out` is overwritten.
    pub(super) fn steepest_row(self, gradient: &[f64], eps: f64, out: &mut [f64]) {
        match self {
            AttackNorm::L1 => {
                out.fill(0.0);
                let largest = |best: usize, i: usize| if gradient[i].abs() > gradient[best].abs() { i } else { best };
                let best = (0..gradient.len()).fold(0, largest);
                if let Some(&g) = gradient.get(best) {
                    out[best] = eps * sign(g);
                }
            }
            AttackNorm::L2 => {
                let norm = self.of(gradient);
                let step = |g: f64| if norm > 0.0 { eps * (g / norm) } else { 0.0 };
                out.iter_mut().zip(gradient).for_each(|(out, &g)| *out = step(g));
            }
            AttackNorm::LInf => out.iter_mut().zip(gradient).for_each(|(out, &g)| *out = eps * sign(g)),
        }
    }

    /// The projection of one row onto the ball of this radius.
    pub(super) fn project_row(self, row: &mut [f64], eps: f64) {
        match self {
            AttackNorm::L1 => {
                if self.of(row) > eps {
                    let threshold = l1_threshold(row, eps);
                    row.iter_mut().for_each(|v| *v = sign(*v) * (v.abs() - threshold).max(0.0));
                }
            }
            AttackNorm::L2 => {
                let norm = self.of(row);
                if norm > eps {
                    row.iter_mut().for_each(|v| *v *= eps / norm);
                }
            }
            AttackNorm::LInf => row.iter_mut().for_each(|v| *v = v.clamp(-eps, eps)),
        }
    }
}

/// −1, 0 or 1; 0 of 0.
pub(super) fn sign(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value.signum() }
}

/// The amount by which all absolute values shrink so that their positive parts sum to `eps` (Duchi et al. 2008). The sum is
/// above `eps`.
fn l1_threshold(row: &[f64], eps: f64) -> f64 {
    let mut sizes: Vec<f64> = row.iter().map(|v| v.abs()).collect();
    sizes.sort_unstable_by(|a, b| b.total_cmp(a));
    let (mut sum, mut threshold) = (0.0, 0.0);
    for (index, size) in sizes.iter().enumerate() {
        sum += size;
        let candidate = (sum - eps) / (index + 1) as f64;
        if *size <= candidate {
            break;
        }
        threshold = candidate;
    }
    threshold
}

fn radius(eps: f64) -> Result<f64> {
    if eps >= 0.0 && eps.is_finite() {
        return Ok(eps);
    }
    Err(TrustError::argument("AttackNorm", format!("the budget `eps` is {eps}; give a finite number of at least 0")))
}
