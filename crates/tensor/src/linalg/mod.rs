//! Linear algebra: factorisations, solvers and functions of whole matrices, over leading axes.
//!
//! | call | gives |
//! |---|---|
//! | [`Tensor::cholesky`] | `A = L Lᵀ` |
//! | [`qr`] | `A = Q R`, reduced |
//! | [`svd`], [`Tensor::singular_values`] | `A = U S Vᵀ`, reduced, values descending |
//! | [`eigh`], [`Tensor::eigvalsh`] | `A = V Λ Vᵀ` of a symmetric matrix, values ascending |
//! | [`eig`] | `A v = λ v` of any square matrix, complex results by their parts |
//! | [`Tensor::solve`], [`Tensor::triangular_solve`], [`Tensor::inverse`] | `A⁻¹ B`, `T⁻¹ B`, `A⁻¹` |
//! | [`lstsq`], [`Tensor::pinv`] | the least-squares solution of least norm, `A⁺` |
//! | [`Tensor::det`], [`Tensor::logdet`], [`slogdet`] | determinants |
//! | [`Tensor::matrix_rank`], [`null_space`], [`null_vector`] | rank, and a witness when it is not full |
//! | [`Tensor::cond`], [`Conditioning`] | how much an error in the data grows in the solution |
//! | [`Tensor::expm`], [`Tensor::matrix_power`], [`Tensor::matrix_norm`] | functions of the whole matrix |
//!
//! The last two axes are the matrix, all axes before them a batch. f32 and f64; everything on real numbers.
//!
//! Values come from faer's sequential routines, one matrix after the other; a batch is shared out among threads matrix by
//! matrix. Results therefore never depend on the number of threads. Derivative rules are written in tensor operations,
//! so that all of these but [`eig`] have derivatives of any order in both modes, where the mathematics has them.
//!
//! The data's state is an error, not a NaN: singular, not positive definite (with the pivot), not converged, NaN or
//! infinite entries in a matrix that is factorised. A right-hand side may hold NaN; it comes out where it went in.
//!
//! ```
//! use tove_tensor::{Tensor, linalg};
//! let a = Tensor::from([[4.0, 2.0], [2.0, 3.0]]);
//! let l = a.cholesky();
//! assert!((l.matmul(&l.t()) - &a).abs().max().item::<f64>() < 1e-15);
//! let svd = linalg::svd(&a).unwrap();
//! let product = (&svd.u * &svd.s).matmul(&svd.vt);
//! assert!((product - &a).abs().max().item::<f64>() < 1e-14);
//! ```

mod cholesky;
mod cofactor;
mod condition;
mod determinant;
mod eig;
mod eigh;
mod expm;
mod inverse;
mod kernel;
mod lstsq;
mod lu;
mod norm;
mod pinv;
mod power;
mod qr;
mod rank;
mod solve;
mod svd;
mod ties;
mod tools;
mod triangular;

#[cfg(doc)]
use crate::Tensor;

pub(crate) use cholesky::cholesky;
pub(crate) use condition::cond;
pub use condition::{Conditioning, ILL_CONDITIONED, ILL_CONDITIONED_F32};
pub use determinant::{SlogDet, slogdet};
pub(crate) use determinant::{det, logdet};
pub use eig::{Complex, Eig, eig};
pub(crate) use eigh::eigvalsh;
pub use eigh::{Eigh, eigh};
pub(crate) use expm::expm;
pub(crate) use inverse::inverse;
pub use lstsq::{Lstsq, lstsq};
pub use norm::Norm;
pub(crate) use norm::matrix_norm;
pub(crate) use pinv::pinv;
pub(crate) use power::matrix_power;
pub use qr::{Qr, qr};
pub(crate) use rank::matrix_rank;
pub use rank::{null_space, null_vector};
pub(crate) use solve::solve;
pub(crate) use svd::singular_values;
pub use svd::{Svd, svd};
pub use triangular::Triangle;
pub(crate) use triangular::triangular_solve;
