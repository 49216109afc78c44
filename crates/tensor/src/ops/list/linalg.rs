//! Methods of linear algebra with a single result; those with several are functions of [`crate::linalg`].

use super::{Sealed, methods};
use crate::Tensor;
use crate::linalg::{self, Norm, Triangle};

methods! {
    /// The `try_` twins of the methods of linear algebra.
    trait TryLinalg: Sealed;

    /// Lower triangular `L` with `A = L Lᵀ`, of the symmetric part of a positive definite matrix.
    ///
    /// ```
    /// use tove_tensor::{Tensor, TryLinalg};
    /// let l = Tensor::from([[4.0, 2.0], [2.0, 5.0]]).cholesky();
    /// assert_eq!(l.to_vec::<f64>(), [2.0, 0.0, 1.0, 2.0]);
    /// let error = Tensor::from([[1.0, 2.0], [2.0, 1.0]]).try_cholesky().err().unwrap();
    /// assert!(error.is_data() && error.to_string().contains("pivot 1"));
    /// ```
    cholesky try_cholesky() -> Tensor = |x| linalg::cholesky(x);
    /// Solution of `A X = B`; a vector `b` is one column, leading axes broadcast.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let a = Tensor::from([[2.0, 0.0], [0.0, 4.0]]);
    /// assert_eq!(a.solve(&Tensor::from([2.0, 2.0])).to_vec::<f64>(), [1.0, 0.5]);
    /// ```
    solve try_solve(b: &Tensor) -> Tensor = |x| linalg::solve(x, b);
    /// Solution of `T X = B` or `Tᵀ X = B`, reading one triangle of `T`.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg::Triangle};
    /// let t = Tensor::from([[1.0, 0.0], [3.0, 7.0]]);
    /// let x = t.triangular_solve(&Tensor::from([1.0, 5.0]), Triangle::LOWER.unit());
    /// assert_eq!(x.to_vec::<f64>(), [1.0, 2.0]);
    /// ```
    triangular_solve try_triangular_solve(b: &Tensor, triangle: Triangle) -> Tensor =
        |x| linalg::triangular_solve(x, b, triangle);
    /// Inverse of a square matrix. To solve a system, [`Tensor::solve`] is faster and more accurate.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[0.0, 2.0], [4.0, 0.0]]);
    /// assert_eq!(a.inverse().to_vec::<f64>(), [0.0, 0.25, 0.5, 0.0]);
    /// ```
    inverse try_inverse() -> Tensor = |x| linalg::inverse(x);
    /// Moore-Penrose pseudoinverse; singular values up to `rcond` times the largest count as zero (by default the larger
    /// size times the type's epsilon).
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[3.0], [4.0]]);
    /// let p = a.pinv(None).to_vec::<f64>();
    /// assert!((p[0] - 0.12).abs() < 1e-15 && (p[1] - 0.16).abs() < 1e-15);
    /// ```
    pinv try_pinv(rcond: Option<f64>) -> Tensor = |x| linalg::pinv(x, rcond);
    /// Determinant. It has a derivative at singular matrices too, the cofactors; beyond second order it needs invertible ones.
    ///
    /// ```
    /// use tove_tensor::{Tensor, grad};
    /// let a = Tensor::from([[1.0, 2.0], [2.0, 4.0]]);
    /// assert_eq!(a.det().item::<f64>(), 0.0);
    /// let cofactors = Tensor::from([[4.0, -2.0], [-2.0, 1.0]]);
    /// assert!((grad(|a: &Tensor| a.det())(&a) - cofactors).abs().max().item::<f64>() < 1e-12);
    /// ```
    det try_det() -> Tensor = |x| linalg::det(x);
    /// Logarithm of the determinant, which must not be negative; see also [`linalg::slogdet`].
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[2.0, 0.0], [0.0, 3.0]]);
    /// assert!((a.logdet().item::<f64>() - 6f64.ln()).abs() < 1e-15);
    /// ```
    logdet try_logdet() -> Tensor = |x| linalg::logdet(x);
    /// Singular values, descending.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[0.0, -2.0], [3.0, 0.0]]);
    /// assert_eq!(a.singular_values().to_vec::<f64>(), [3.0, 2.0]);
    /// ```
    singular_values try_singular_values() -> Tensor = |x| linalg::singular_values(x);
    /// Eigenvalues of the symmetric part, ascending.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[3.0, 0.0], [0.0, -1.0]]);
    /// assert_eq!(a.eigvalsh().to_vec::<f64>(), [-1.0, 3.0]);
    /// ```
    eigvalsh try_eigvalsh() -> Tensor = |x| linalg::eigvalsh(x);
    /// Number of singular values above `rcond` times the largest, i64; by default numpy's cutoff, the larger size times the
    /// type's epsilon.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([[1.0, 2.0], [2.0, 4.0]]).matrix_rank(None).item::<i64>(), 1);
    /// ```
    matrix_rank try_matrix_rank(rcond: Option<f64>) -> Tensor = |x| linalg::matrix_rank(x, rcond);
    /// Condition number `‖A‖ ‖A⁻¹‖`; in the spectral norm `s_max / s_min`, for matrices of any shape. Infinite for singular
    /// ones.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg::Norm};
    /// let a = Tensor::from([[2.0, 0.0], [0.0, 0.5]]);
    /// assert_eq!(a.cond(Norm::Spectral).item::<f64>(), 4.0);
    /// ```
    cond try_cond(norm: Norm) -> Tensor = |x| linalg::cond(x, norm);
    /// Norm of each matrix.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg::Norm};
    /// let a = Tensor::from([[3.0, 0.0], [0.0, -4.0]]);
    /// assert_eq!(a.matrix_norm(Norm::Nuclear).item::<f64>(), 7.0);
    /// ```
    matrix_norm try_matrix_norm(norm: Norm) -> Tensor = |x| linalg::matrix_norm(x, norm);
    /// Matrix exponential `I + A + A²/2! + …`; [`Tensor::exp`] is the exponential of each element.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[0.0, 1.0], [0.0, 0.0]]);
    /// assert_eq!(a.expm().to_vec::<f64>(), [1.0, 1.0, 0.0, 1.0]);
    /// ```
    expm try_expm() -> Tensor = |x| linalg::expm(x);
    /// Matrix power `A A … A`; [`Tensor::powf`] is the power of each element. Negative powers are those of the inverse.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[1.0, 1.0], [0.0, 1.0]]);
    /// assert_eq!(a.matrix_power(5).to_vec::<f64>(), [1.0, 5.0, 0.0, 1.0]);
    /// assert_eq!(a.matrix_power(-1).to_vec::<f64>(), [1.0, -1.0, 0.0, 1.0]);
    /// ```
    matrix_power try_matrix_power(power: i32) -> Tensor = |x| linalg::matrix_power(x, power);
}
