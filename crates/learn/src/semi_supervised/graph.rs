//! Graphs of similar samples.

use tove_optim::settings::Choice;
use tove_tensor::{DType, Tensor};

use crate::kernel::{KernelFunction, kernel_matrix};
use crate::{Fit, NearestNeighbors, Predict, Result, Rows};

/// Which samples are similar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum GraphKernel {
    /// All, by exp(−γ ‖x − z‖²).
    #[default]
    Rbf,
    /// The nearest samples, all to the same degree.
    Knn,
}

/// Similarities of the rows of `x` to the samples, (rows, samples), in double precision.
pub(super) fn similarities(
    kernel: GraphKernel,
    gamma: f64,
    neighbors: usize,
    samples: &Tensor,
    x: &Tensor,
) -> Result<Vec<f64>> {
    let (samples, x) = (samples.to_dtype(DType::F64), x.to_dtype(DType::F64));
    let (n, m) = (x.dims()[0], samples.dims()[0]);
    match kernel {
        GraphKernel::Rbf => Ok(kernel_matrix(&KernelFunction::Rbf { gamma }, &x, &samples)?.to_f64_vec()),
        GraphKernel::Knn => {
            let index = NearestNeighbors::default().fit(&samples, None)?;
            let found = index.kneighbors(Rows::from(&x), neighbors.min(m))?.indices.try_to_vec::<i64>()?;
            let mut all = vec![0.0; n * m];
            for (row, near) in found.chunks(neighbors.min(m).max(1)).enumerate() {
                near.iter().for_each(|&sample| all[row * m + sample as usize] = 1.0);
            }
            Ok(all)
        }
    }
}
