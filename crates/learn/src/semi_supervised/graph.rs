//! Graphs of similar samples.

use tove_optim::settings::Choice;
use tove_tensor::{DType, Tensor, TryOps};

use crate::kernel::{KernelFunction, kernel_matrix};
use crate::neighbors::{Index, NeighborSettings};
use crate::{Csr, Result, Rows, Samples};

/// Which samples are similar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum GraphKernel {
    /// All, by exp(−γ ‖x − z‖²).
    #[default]
    Rbf,
    /// The nearest samples, all to the same degree.
    Knn,
}

/// What similarities to samples are computed from.
#[derive(Clone, Debug)]
pub(super) enum Similar {
    /// γ, with the samples in double precision.
    Rbf(f64, Tensor),
    /// An index of the samples, and how many of them are similar to a row.
    Near(Box<Index>, usize),
}

impl Similar {
    pub(super) fn new(who: &'static str, kernel: GraphKernel, gamma: f64, k: usize, x: &Tensor) -> Result<Similar> {
        match kernel {
            GraphKernel::Rbf => Ok(Similar::Rbf(gamma, x.to_dtype(DType::F64))),
            GraphKernel::Knn => {
                let index = Index::new(who, &NeighborSettings::default(), &Samples::unlabeled(x)?)?;
                Ok(Similar::Near(Box::new(index), k.min(x.dims()[0])))
            }
        }
    }

    /// Similarities of rows to the samples, (rows, samples), in double precision; sparse for neighbors.
    pub(super) fn rows(&self, x: &Tensor) -> Result<Rows> {
        match self {
            Similar::Rbf(gamma, samples) => {
                let x = x.to_dtype(DType::F64);
                Ok(Rows::Dense(kernel_matrix(&KernelFunction::Rbf { gamma: *gamma }, &x, samples)?))
            }
            Similar::Near(index, k) => {
                let found = index.nearest(&Rows::from(x), *k)?;
                let mut indices: Vec<u32> = found.into_iter().map(|pair| pair.1).collect();
                indices.chunks_mut(*k).for_each(<[u32]>::sort_unstable);
                let indptr = (0..=x.dims()[0]).map(|row| row * k).collect();
                let ones = Tensor::try_from_vec(vec![1.0f64; indices.len()], [indices.len()])?;
                Ok(Rows::Sparse(Csr::new(indptr, indices, ones, index.len())?))
            }
        }
    }
}

/// W F for similarities W and distributions F.
pub(super) fn product(graph: &Rows, distributions: &Tensor) -> Result<Tensor> {
    match graph {
        Rows::Dense(graph) => Ok(graph.try_matmul(distributions)?),
        Rows::Sparse(graph) => graph.dot(distributions),
    }
}

/// Every similarity, changed by a function of its row, its column and itself.
fn map(graph: &Rows, change: impl Fn(usize, usize, f64) -> f64) -> Result<Rows> {
    match graph {
        Rows::Dense(graph) => {
            let (shape, mut numbers) = (graph.dims().to_vec(), graph.to_f64_vec());
            for (row, numbers) in numbers.chunks_exact_mut(shape[1].max(1)).enumerate() {
                numbers.iter_mut().enumerate().for_each(|(column, w)| *w = change(row, column, *w));
            }
            Ok(Rows::Dense(Tensor::try_from_vec(numbers, shape)?))
        }
        Rows::Sparse(graph) => {
            let values = graph.values().to_f64_vec().into_iter().enumerate().map(|(index, w)| {
                let (row, column) = graph.place(index);
                change(row, column, w)
            });
            let values = Tensor::from_slice(&values.collect::<Vec<f64>>());
            let (indptr, indices) = (graph.indptr().to_vec(), graph.indices().to_vec());
            Ok(Rows::Sparse(Csr::new(indptr, indices, values, graph.columns())?))
        }
    }
}

/// D⁻¹W. Samples without neighbors keep zeros.
pub(super) fn by_rows(graph: &Rows) -> Result<Rows> {
    let sums = product(graph, &Tensor::try_ones([graph.width()], DType::F64)?)?.to_f64_vec();
    map(graph, |row, _, w| if sums[row] > 0.0 { w / sums[row] } else { w })
}

/// D^(−½) W D^(−½) without the diagonal, with the degrees D of the columns. Samples without neighbors keep zeros.
pub(super) fn symmetric(graph: &Rows) -> Result<Rows> {
    let graph = map(graph, |row, column, w| if row == column { 0.0 } else { w })?;
    let ones = Tensor::try_ones([graph.len()], DType::F64)?;
    let degrees = match &graph {
        Rows::Dense(graph) => graph.try_t()?.try_matmul(&ones)?,
        Rows::Sparse(graph) => graph.transposed_dot(&ones)?,
    };
    let roots: Vec<f64> =
        degrees.to_f64_vec().into_iter().map(|degree| if degree > 0.0 { degree.sqrt() } else { 1.0 }).collect();
    map(&graph, |row, column, w| w / (roots[row] * roots[column]))
}
