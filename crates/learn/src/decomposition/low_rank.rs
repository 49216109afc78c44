//! The best approximation of a matrix by one of lower rank (Eckart, Young 1936).

use tove_tensor::{DType, Tensor, TryOps, linalg};

use crate::{LearnError, Result, Rows};

/// A matrix of rank k at most, and how far it is from the one it stands for.
#[derive(Clone, Debug)]
pub struct LowRank {
    /// U S, (n, k).
    pub left: Tensor,
    /// Vᵀ, (k, d).
    pub right: Tensor,
    /// All singular values of the matrix, descending.
    pub singular_values: Vec<f64>,
    /// ‖X − left · right‖² = Σ sᵢ² over the singular values that are left out.
    pub error: f64,
}

impl LowRank {
    /// left · right, (n, d).
    pub fn matrix(&self) -> Result<Tensor> {
        Ok(self.left.try_matmul(&self.right)?)
    }
}

/// The matrix of rank k that is nearest to x, by the sum of squares: U S Vᵀ with the k largest singular values.
///
/// ```
/// use tove_learn::decomposition::low_rank;
/// use tove_tensor::Tensor;
/// let x = Tensor::from([[3.0, 0.0], [0.0, 2.0]]);
/// let best = low_rank(&x, 1)?;
/// assert!((best.error - 4.0).abs() < 1e-12);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
///
/// # Errors
/// NaN; k of 0, or above the smaller side of the matrix.
pub fn low_rank(x: &Tensor, k: usize) -> Result<LowRank> {
    let rows = Rows::from(x).checked()?;
    let x = rows.dense("low_rank")?;
    let (n, d) = (x.dims()[0], x.dims()[1]);
    if k == 0 || k > n.min(d) {
        let problem = format!("rank {k} of a matrix of {n} x {d} numbers; give a number from 1 to {}", n.min(d));
        return Err(LearnError::parameter("low_rank", problem));
    }
    let linalg::Svd { u, s, vt } = linalg::svd(&x.to_dtype(DType::F64))?;
    let singular_values = s.to_f64_vec();
    let left = u.try_narrow(1, 0, k)?.try_mul(&s.try_narrow(0, 0, k)?)?;
    let error = singular_values[k..].iter().map(|s| s * s).sum();
    let right = vt.try_narrow(0, 0, k)?.try_contiguous()?;
    Ok(LowRank { left: left.to_dtype(x.dtype()), right: right.to_dtype(x.dtype()), singular_values, error })
}
