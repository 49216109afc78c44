//! Rectangular blocks of a kernel matrix.

use tove_tensor::kernels::math::Float;
use tove_tensor::{DType, Tensor, TryOps};

use super::{KernelFunction, sparse, transform};
use crate::{Csr, LearnError, Real, Result, Rows, with_real};

/// Features with their kernel. Subsets of rows are extracted as parts, from which blocks of the kernel matrix are
/// computed.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    x: Rows, // (n, d), row-major
    /// Whether parts are sparse: parts of queries are converted to the layout of the points, tile by tile.
    sparse: bool,
    function: KernelFunction,
    /// Subtracted from every row if the kernel is shift-invariant, to avoid cancellation.
    center: Option<Vec<f64>>,
    /// For a precomputed kernel, the training sample of each row; otherwise their own indices.
    columns: Option<Vec<usize>>,
    /// ‖x‖² of every row, if known.
    norms: Option<Vec<f64>>,
}

/// The largest γ ‖x‖² for which products in single precision are accurate enough. On rows of 784 numbers their error is
/// 2⁻²³ ‖x‖² on average and at most 2⁻¹⁹ ‖x‖², so kernel values have a mean error of 2⁻²¹.
const MAX_SINGLE_PRECISION: f64 = 4.0;

/// A subset of rows, prepared for products.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    x: Rows, // (m, d)
    norms: Vec<f64>,
    /// For a precomputed kernel, their indices in the training samples.
    columns: Vec<usize>,
}

impl Part {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.x.len()
    }
}

impl Features {
    /// Creates features from training samples of a precomputed kernel, by their indices.
    pub(crate) fn named(columns: Vec<usize>, function: KernelFunction, dtype: DType) -> Result<Features> {
        let x = Rows::Dense(Tensor::try_zeros([columns.len(), 0], dtype)?);
        Ok(Features { x, sparse: false, function, center: None, columns: Some(columns), norms: None })
    }

    /// Creates features (n, d) with a kernel; sparse rows that are not very sparse are converted to dense.
    pub(crate) fn new(x: impl Into<Rows>, function: KernelFunction) -> Result<Features> {
        Features::as_stored(dense_if_smaller(x.into())?, function)
    }

    /// Like [`Features::new`], but keeps the layout, dense or sparse.
    pub(crate) fn as_stored(x: impl Into<Rows>, function: KernelFunction) -> Result<Features> {
        let x = contiguous(x.into())?;
        let (sparse, center) = match (&x, &function) {
            (Rows::Sparse(_), KernelFunction::Precomputed { .. }) => return Err(precomputed_sparse()),
            // Sparse rows are not centered, which would make them dense.
            (Rows::Sparse(_), _) => (true, None),
            (Rows::Dense(x), function) if function.is_shift_invariant() => (false, Some(column_means(x)?)),
            (Rows::Dense(_), _) => (false, None),
        };
        Ok(Features { x, sparse, function, center, columns: None, norms: None })
    }

    /// Like [`Features::new`], with the center of these features, to compute the kernel between the two.
    pub(crate) fn with_same_center(&self, x: impl Into<Rows>) -> Result<Features> {
        let (x, function, center) = (contiguous(x.into())?, self.function.clone(), self.center.clone());
        Ok(Features { x, sparse: self.sparse, function, center, columns: None, norms: None })
    }

    /// Returns the rows at these indices in contiguous memory and single precision: products cost half of those in
    /// double precision, and contiguous rows need not be gathered again. The center is subtracted before rounding.
    /// Kernel values then have a mean error of 2⁻²¹. `None` for kernels other than RBF, and if the kernel is so narrow
    /// that the error would be larger.
    pub(crate) fn single(&self, indices: &[usize]) -> Result<Option<Features>> {
        let (KernelFunction::Rbf { gamma }, Rows::Dense(x)) = (&self.function, &self.x) else { return Ok(None) };
        let (gamma, width) = (*gamma, self.x.width());
        let zeros = vec![0.0; width];
        let center = self.center.as_deref().unwrap_or(&zeros);
        let mut rows: Vec<f32> = Vec::with_capacity(indices.len() * width);
        with_real!(x.dtype(), T => {
            let all = x.as_slice::<T>()?;
            for &index in indices {
                let row = &all[index * width..(index + 1) * width];
                rows.extend(row.iter().zip(center).map(|(x, c)| (x.f64() - c) as f32));
            }
        });
        let norms: Vec<f64> = rows.chunks_exact(width.max(1)).map(square_norm).collect();
        // Also if a value is too large for single precision.
        if !norms.iter().all(|norm| gamma * norm <= MAX_SINGLE_PRECISION) {
            return Ok(None);
        }
        let x = Rows::Dense(Tensor::try_from_vec(rows, [indices.len(), width])?);
        let function = self.function.clone();
        Ok(Some(Features { x, sparse: false, function, center: None, columns: None, norms: Some(norms) }))
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &Rows {
        &self.x
    }

    /// The training samples that the rows represent, if they are given by index.
    pub(crate) fn columns(&self) -> Option<&[usize]> {
        self.columns.as_deref()
    }

    /// The kernel.
    pub(crate) fn function(&self) -> &KernelFunction {
        &self.function
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.x.len()
    }

    /// Type of the values.
    pub(crate) fn dtype(&self) -> DType {
        self.x.dtype()
    }

    /// Extracts the rows at these indices.
    pub(crate) fn part(&self, indices: impl ExactSizeIterator<Item = usize>) -> Result<Part> {
        let indices: Vec<usize> = indices.collect();
        let columns = match (&self.function, &self.columns) {
            (KernelFunction::Precomputed { .. }, Some(columns)) => {
                indices.iter().map(|&index| columns[index]).collect()
            }
            (KernelFunction::Precomputed { .. }, None) => indices.clone(),
            _ => Vec::new(),
        };
        match &self.x {
            Rows::Dense(x) if !self.sparse => self.dense_part(x, &indices, columns),
            Rows::Dense(x) => self.sparse_part(&Csr::from_dense(&crate::rows::take(x, &indices)?)?),
            Rows::Sparse(x) if self.sparse => self.sparse_part(&x.take(&indices)?),
            Rows::Sparse(x) => {
                let tile = x.take(&indices)?.to_dense()?;
                self.dense_part(&tile, &(0..indices.len()).collect::<Vec<_>>(), columns)
            }
        }
    }

    fn sparse_part(&self, x: &Csr) -> Result<Part> {
        let norms = match self.function {
            KernelFunction::Rbf { .. } => sparse::square_norms(x)?,
            _ => Vec::new(),
        };
        Ok(Part { x: Rows::Sparse(x.clone()), norms, columns: Vec::new() })
    }

    fn dense_part(&self, x: &Tensor, indices: &[usize], columns: Vec<usize>) -> Result<Part> {
        let width = x.dims()[1];
        let together = indices.windows(2).all(|two| two[1] == two[0] + 1);
        if let (Some(norms), true, Some(&first)) = (&self.norms, together, indices.first()) {
            let x = Rows::Dense(x.try_narrow(0, first, indices.len())?);
            return Ok(Part { x, norms: norms[first..first + indices.len()].to_vec(), columns });
        }
        with_real!(x.dtype(), T => {
            let (all, count) = (x.as_slice::<T>()?, indices.len());
            let mut rows: Vec<T> = Vec::with_capacity(count * width);
            let center: Option<Vec<T>> = self.center.as_ref().map(|c| c.iter().map(|&c| <T as Real>::of(c)).collect());
            for &index in indices {
                let row = &all[index * width..(index + 1) * width];
                match &center {
                    None => rows.extend_from_slice(row),
                    Some(center) => rows.extend(row.iter().zip(center).map(|(&x, &c)| x - c)),
                }
            }
            let norms = match self.function {
                KernelFunction::Rbf { .. } => rows.chunks_exact(width.max(1)).map(square_norm).collect(),
                _ => Vec::new(),
            };
            Ok(Part { x: Rows::Dense(Tensor::try_from_vec(rows, [count, width])?), norms, columns })
        })
    }

    /// k(aᵢ, bⱼ) for all rows of two parts, (a, b).
    pub(crate) fn block(&self, a: &Part, b: &Part) -> Result<Tensor> {
        if let KernelFunction::Custom(function) = &self.function {
            let (x, z, width) = (a.x.to_dense()?.to_f64_vec(), b.x.to_dense()?.to_f64_vec(), a.x.width().max(1));
            let row = |x| z.chunks_exact(width).map(move |z| function(x, z));
            let values: Vec<f64> = x.chunks_exact(width).flat_map(row).collect();
            return Ok(Tensor::try_from_vec(values, [a.len(), b.len()])?.to_dtype(self.dtype()));
        }
        let mut values = match (&a.x, &b.x) {
            (Rows::Dense(_), _) if matches!(self.function, KernelFunction::Precomputed { .. }) => return given(a, b),
            (Rows::Dense(x), Rows::Dense(z)) => x.try_matmul(&z.try_swap_axes(0, 1)?)?,
            (Rows::Sparse(x), Rows::Sparse(z)) => sparse::products(x, z)?,
            // Parts of points and of queries have the same layout.
            _ => return Err(LearnError::parameter("kernel", "the parts have different layouts")),
        };
        if !matches!(self.function, KernelFunction::Linear) {
            with_real!(values.dtype(), T => self.transform::<T>(values.as_mut_slice::<T>()?, a, b)?);
        }
        Ok(values)
    }

    /// Converts products to kernel values.
    fn transform<T: Real + Float>(&self, values: &mut [T], a: &Part, b: &Part) -> Result<()> {
        let rows = values.chunks_exact_mut(b.len().max(1));
        let number = <T as Real>::of;
        match self.function {
            KernelFunction::Rbf { gamma } => {
                let norms: Vec<T> = b.norms.iter().map(|&norm| number(norm)).collect();
                // At least half of the digits must be correct.
                let doubt = number(<T as Real>::EPSILON.sqrt() * 4.0);
                let distances = Distances::<T>::of(a, b)?;
                for (i, row) in rows.enumerate() {
                    let norm = number(a.norms[i]);
                    if transform::rbf(row, norm, &norms, number(gamma), doubt) {
                        let limit = |j: usize| (doubt * (norm + norms[j])).f64();
                        recompute(row, |j| distances.square(i, j), limit, gamma);
                    }
                }
            }
            KernelFunction::Poly { gamma, coef0, degree } => {
                rows.for_each(|row| transform::poly(row, number(gamma), number(coef0), degree));
            }
            KernelFunction::Sigmoid { gamma, coef0 } => {
                rows.for_each(|row| transform::sigmoid(row, number(gamma), number(coef0)));
            }
            KernelFunction::Linear | KernelFunction::Custom(_) | KernelFunction::Precomputed { .. } => {}
        }
        Ok(())
    }
}

/// The columns of `a` that correspond to the samples of `b`.
fn given(a: &Part, b: &Part) -> Result<Tensor> {
    let x = a.x.dense("kernel")?;
    let width = x.dims()[1].max(1);
    with_real!(x.dtype(), T => {
        let rows = x.as_slice::<T>()?.chunks_exact(width);
        let values: Vec<T> = rows.flat_map(|row| b.columns.iter().map(|&column| row[column])).collect();
        Ok(Tensor::try_from_vec(values, [a.len(), b.len()])?)
    })
}

/// Rows of two parts, for distances computed from coordinate differences.
enum Distances<'a, T> {
    Dense(&'a [T], &'a [T], usize),
    Sparse(&'a Csr, &'a Csr),
}

impl<'a, T: Real> Distances<'a, T> {
    fn of(a: &'a Part, b: &'a Part) -> Result<Distances<'a, T>> {
        Ok(match (&a.x, &b.x) {
            (Rows::Sparse(x), Rows::Sparse(z)) => Distances::Sparse(x, z),
            (x, z) => {
                let (x, z) = (x.dense("kernel")?, z.dense("kernel")?);
                Distances::Dense(x.as_slice::<T>()?, z.as_slice::<T>()?, x.dims()[1])
            }
        })
    }

    /// ‖xᵢ − zⱼ‖².
    fn square(&self, i: usize, j: usize) -> f64 {
        match *self {
            Distances::Dense(x, z, width) => {
                let (x, z) = (&x[i * width..(i + 1) * width], &z[j * width..(j + 1) * width]);
                x.iter().zip(z).map(|(&x, &z)| (x - z).f64() * (x - z).f64()).sum()
            }
            Distances::Sparse(x, z) => sparse::square_distance(x, i, z, j),
        }
    }
}

/// Recomputes the kernel values of close points from coordinate differences.
fn recompute<T: Real>(row: &mut [T], square: impl Fn(usize) -> f64, limit: impl Fn(usize) -> f64, gamma: f64) {
    for (j, value) in row.iter_mut().enumerate() {
        // exp(−γ s) above exp(−γ limit) means s below the limit; recomputing a few more is harmless.
        if value.f64() >= (-gamma * limit(j)).exp() * (1.0 - 1e-6) {
            *value = T::of((-gamma * square(j)).exp());
        }
    }
}

fn contiguous(x: Rows) -> Result<Rows> {
    Ok(match x {
        Rows::Dense(x) => Rows::Dense(x.detach().try_contiguous()?),
        sparse => sparse,
    })
}

/// Converts sparse rows to dense if at least a sixth of the values is stored: they take a quarter of the dense matrix
/// or more, and products of dense rows are much faster.
fn dense_if_smaller(x: Rows) -> Result<Rows> {
    match x {
        Rows::Sparse(x) if 6 * x.indices().len() >= x.rows().saturating_mul(x.columns()) => {
            Ok(Rows::Dense(x.to_dense()?))
        }
        other => Ok(other),
    }
}

#[cold]
fn precomputed_sparse() -> LearnError {
    let fix = "give the kernel matrix as a dense tensor";
    LearnError::unsupported("kernel", "does not support sparse precomputed kernels", fix)
}

/// ‖x‖² in eight lanes of f64.
fn square_norm<T: Real>(x: &[T]) -> f64 {
    let mut lanes = [0.0; 8];
    let (chunks, rest) = x.as_chunks::<8>();
    for eight in chunks {
        for (lane, x) in lanes.iter_mut().zip(eight) {
            *lane += x.f64() * x.f64();
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|x| x.f64() * x.f64()).sum::<f64>()
}

/// The mean of each column.
fn column_means(x: &Tensor) -> Result<Vec<f64>> {
    let width = x.dims()[1];
    let mut sums = vec![0.0; width];
    with_real!(x.dtype(), T => {
        for row in x.as_slice::<T>()?.chunks_exact(width.max(1)) {
            sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.f64());
        }
    });
    let count = x.dims()[0].max(1) as f64;
    Ok(sums.into_iter().map(|sum| sum / count).collect())
}

#[cfg(test)]
mod tests {
    use tove_tensor::Key;

    use super::*;

    #[test]
    fn products_in_single_precision_err_by_as_little_as_is_said() {
        // Far from 0, like pixels: the center is subtracted before rounding.
        let x = Key::new(3).uniform([120, 784], DType::F64).try_add(&Tensor::scalar(100.0)).unwrap();
        let indices: Vec<usize> = (0..120).rev().collect();
        let largest = 784.0 / 12.0 * 1.3; // of the squared distances from the center
        let features = Features::new(&x, KernelFunction::Rbf { gamma: MAX_SINGLE_PRECISION / largest }).unwrap();
        let single = features.single(&indices).unwrap().unwrap();
        let exact = features.part(indices.iter().copied()).unwrap();
        let rounded = single.part(0..120).unwrap();
        let (exact, rounded) = (features.block(&exact, &exact).unwrap(), single.block(&rounded, &rounded).unwrap());
        let errors = exact.to_f64_vec().into_iter().zip(rounded.to_f64_vec()).map(|(a, b)| (a - b).abs());
        let mean = errors.sum::<f64>() / (120.0 * 120.0);
        assert!(mean > 0.0 && mean < 2f64.powi(-21), "{mean}");
    }

    #[test]
    fn narrow_kernels_and_large_numbers_stay_in_double_precision() {
        let x = Tensor::from([[0.0, 1.0], [4.0, 1.0]]);
        let single = |x: &Tensor, gamma| {
            Features::new(x, KernelFunction::Rbf { gamma }).unwrap().single(&[0, 1]).unwrap().is_some()
        };
        assert!(single(&x, 1.0)); // both rows are at distance 2 from their center
        assert!(!single(&x, 1.01));
        assert!(!single(&Tensor::from([[1e60], [-1e60]]), 0.0));
        assert!(Features::new(&x, KernelFunction::Linear).unwrap().single(&[0, 1]).unwrap().is_none());
    }
}
