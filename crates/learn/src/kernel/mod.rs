//! Kernels k(x, z), implicit inner products in a feature space, and kernel ridge regression.
//!
//! | kernel | k(x, z) |
//! |---|---|
//! | linear | xᵀz |
//! | poly | (γ xᵀz + c₀)^degree |
//! | rbf | exp(−γ ‖x − z‖²) |
//! | sigmoid | tanh(γ xᵀz + c₀), which is not always positive semidefinite |
//! | precomputed | rows are kernel values with all training samples |
//! | custom | any function of two rows |
//!
//! Kernel matrices are computed by blocked matrix products. For the RBF kernel ‖x − z‖² = ‖x‖² + ‖z‖² − 2xᵀz loses
//! accuracy when points are far from the origin or close together. Therefore the data is centered first, and distances
//! that are small compared with the norms are recomputed from coordinate differences. Sparse rows stay sparse: products
//! only use stored values, and the data is not centered.
//!
//! ```
//! use tove_learn::kernel::{KernelFunction, is_psd, kernel_matrix};
//! use tove_tensor::Tensor;
//! let x = Tensor::from([[0.0, 0.0], [3.0, 4.0]]);
//! let k = kernel_matrix(&KernelFunction::Rbf { gamma: 0.1 }, &x, &x)?;
//! assert!((k.at::<f64>(&[0, 1]) - (-2.5f64).exp()).abs() < 1e-15);
//! assert!(is_psd(&k, 1e-10)?);
//! let k = kernel_matrix(&KernelFunction::custom(|x, z| x[0] * z[0]), &x, &x)?;
//! assert_eq!(k.to_vec::<f64>(), [0.0, 0.0, 0.0, 9.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

mod block;
mod expansion;
mod function;
mod gamma;
mod matrix;
mod ridge;
mod sparse;
mod transform;

pub(crate) use block::{Features, Part};
pub(crate) use expansion::Expansion;
pub use function::{KernelFunction, KernelKind};
pub use gamma::Gamma;
pub(crate) use matrix::{between_f32, over_tasks, require_single, symmetric_f32};
pub use matrix::{is_psd, kernel_matrix, smallest_eigenvalue};
pub use ridge::{FittedKernelRidge, KernelRidge};

/// Checks that a model fitted with a user-defined kernel has finite predictions for the first samples, like `Fit` does.
pub(crate) fn require_answers<M: crate::Model>(model: M, samples: &crate::Samples) -> crate::Result<M> {
    let first: Vec<usize> = (0..samples.len().min(2)).collect();
    crate::Predict::predict(&model, samples.x().take(&first)?)?;
    Ok(model)
}
