//! Methods of linear algebra with a single result; those with several are functions of [`crate::linalg`].

use super::Sealed;
use crate::error::OrPanic;
use crate::linalg::{self, Norm, Triangle};
use crate::{Result, Tensor};

macro_rules! methods {
    ($(
        $(#[$doc:meta])*
        $name:ident $try_name:ident ($($argument:ident: $type:ty),*);
    )*) => {
        impl Tensor {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name(&self $(, $argument: $type)*) -> Tensor {
                linalg::$name(self $(, $argument)*).or_panic()
            }
        )*}

        /// Names of the methods declared here, for the registry of samples.
        pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// The `try_` twins of the methods of linear algebra.
        pub trait TryLinalg: Sealed {$(
            #[doc = concat!("As [`Tensor::", stringify!($name), "`], with the error returned.")]
            fn $try_name(&self $(, $argument: $type)*) -> Result<Tensor>;
        )*}

        impl TryLinalg for Tensor {$(
            fn $try_name(&self $(, $argument: $type)*) -> Result<Tensor> {
                linalg::$name(self $(, $argument)*)
            }
        )*}
    };
}

methods! {
    /// Lower triangular `L` with `A = L Lᵀ`, of the symmetric part of a positive definite matrix.
    ///
    /// ```
    /// use tove_tensor::{Tensor, TryLinalg};
    /// let l = Tensor::from([[4.0, 2.0], [2.0, 5.0]]).cholesky();
    /// assert_eq!(l.to_vec::<f64>(), [2.0, 0.0, 1.0, 2.0]);
    /// let error = Tensor::from([[1.0, 2.0], [2.0, 1.0]]).try_cholesky().err().unwrap();
    /// assert!(error.is_data() && error.to_string().contains("pivot 1"));
    /// ```
    cholesky try_cholesky();
    /// Solution of `A X = B`; a vector `b` is one column, leading axes broadcast.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let a = Tensor::from([[2.0, 0.0], [0.0, 4.0]]);
    /// assert_eq!(a.solve(&Tensor::from([2.0, 2.0])).to_vec::<f64>(), [1.0, 0.5]);
    /// ```
    solve try_solve(b: &Tensor);
    /// Solution of `T X = B` or `Tᵀ X = B`, reading one triangle of `T`.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg::Triangle};
    /// let t = Tensor::from([[1.0, 0.0], [3.0, 7.0]]);
    /// let x = t.triangular_solve(&Tensor::from([1.0, 5.0]), Triangle::LOWER.unit());
    /// assert_eq!(x.to_vec::<f64>(), [1.0, 2.0]);
    /// ```
    triangular_solve try_triangular_solve(b: &Tensor, triangle: Triangle);
    /// Inverse of a square matrix. To solve a system, [`Tensor::solve`] is faster and more accurate.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[0.0, 2.0], [4.0, 0.0]]);
    /// assert_eq!(a.inverse().to_vec::<f64>(), [0.0, 0.25, 0.5, 0.0]);
    /// ```
    inverse try_inverse();
    /// Moore-Penrose pseudoinverse; singular values up to `rcond` times the largest count as zero (by default the larger
    /// size times the type's epsilon).
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[3.0], [4.0]]);
    /// let p = a.pinv(None).to_vec::<f64>();
    /// assert!((p[0] - 0.12).abs() < 1e-15 && (p[1] - 0.16).abs() < 1e-15);
    /// ```
    pinv try_pinv(rcond: Option<f64>);
    /// Determinant.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([[1.0, 2.0], [2.0, 4.0]]).det().item::<f64>(), 0.0);
    /// ```
    det try_det();
    /// Logarithm of the determinant, which must not be negative; see also [`linalg::slogdet`].
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[2.0, 0.0], [0.0, 3.0]]);
    /// assert!((a.logdet().item::<f64>() - 6f64.ln()).abs() < 1e-15);
    /// ```
    logdet try_logdet();
    /// Singular values, descending.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[0.0, -2.0], [3.0, 0.0]]);
    /// assert_eq!(a.singular_values().to_vec::<f64>(), [3.0, 2.0]);
    /// ```
    singular_values try_singular_values();
    /// Eigenvalues of the symmetric part, ascending.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[3.0, 0.0], [0.0, -1.0]]);
    /// assert_eq!(a.eigvalsh().to_vec::<f64>(), [-1.0, 3.0]);
    /// ```
    eigvalsh try_eigvalsh();
    /// Number of singular values above `rcond` times the largest, i64; by default numpy's cutoff, the larger size times the
    /// type's epsilon.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([[1.0, 2.0], [2.0, 4.0]]).matrix_rank(None).item::<i64>(), 1);
    /// ```
    matrix_rank try_matrix_rank(rcond: Option<f64>);
    /// Condition number `‖A‖ ‖A⁻¹‖`; in the spectral norm `s_max / s_min`, for matrices of any shape. Infinite for singular
    /// ones.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg::Norm};
    /// let a = Tensor::from([[2.0, 0.0], [0.0, 0.5]]);
    /// assert_eq!(a.cond(Norm::Spectral).item::<f64>(), 4.0);
    /// ```
    cond try_cond(norm: Norm);
    /// Norm of each matrix.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg::Norm};
    /// let a = Tensor::from([[3.0, 0.0], [0.0, -4.0]]);
    /// assert_eq!(a.matrix_norm(Norm::Nuclear).item::<f64>(), 7.0);
    /// ```
    matrix_norm try_matrix_norm(norm: Norm);
    /// Matrix exponential `I + A + A²/2! + …`; [`Tensor::exp`] is the exponential of each element.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[0.0, 1.0], [0.0, 0.0]]);
    /// assert_eq!(a.expm().to_vec::<f64>(), [1.0, 1.0, 0.0, 1.0]);
    /// ```
    expm try_expm();
    /// Matrix power `A A … A`; [`Tensor::powf`] is the power of each element. Negative powers are those of the inverse.
    ///
    /// ```
    /// let a = tove_tensor::Tensor::from([[1.0, 1.0], [0.0, 1.0]]);
    /// assert_eq!(a.matrix_power(5).to_vec::<f64>(), [1.0, 5.0, 0.0, 1.0]);
    /// assert_eq!(a.matrix_power(-1).to_vec::<f64>(), [1.0, -1.0, 0.0, 1.0]);
    /// ```
    matrix_power try_matrix_power(power: i32);
}
