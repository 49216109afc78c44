//! Rectangular blocks of a kernel matrix.

use tove_tensor::kernels::math::Float;
use tove_tensor::{DType, Tensor, TryOps};

use super::{KernelFunction, transform};
use crate::{Real, Result, with_real};

/// Features with their kernel; rows are taken out in parts, of which blocks of the kernel matrix are made.
#[derive(Clone, Debug)]
pub(crate) struct Features {
    x: Tensor, // (n, d), row-major
    function: KernelFunction,
    /// Taken off every row where the kernel allows it, against cancellation.
    centre: Option<Vec<f64>>,
    /// The training samples that the rows stand for, with a precomputed kernel; their own places without it.
    columns: Option<Vec<usize>>,
    /// ‖x‖² of every row, where it is known.
    norms: Option<Vec<f64>>,
}

/// The largest γ ‖x‖² with which products in single precision serve. On rows of 784 numbers they err by 2⁻²³ ‖x‖² in the mean and
/// by 2⁻¹⁹ ‖x‖² at most, so that kernel values err by 2⁻²¹ in the mean.
const SINGLE: f64 = 4.0;

/// Some rows, ready to be multiplied.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    x: Tensor, // (m, d)
    norms: Vec<f64>,
    /// The training samples that they are, with a precomputed kernel.
    columns: Vec<usize>,
}

impl Part {
    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.x.dims()[0]
    }
}

impl Features {
    /// Training samples of a precomputed kernel, by their places.
    pub(crate) fn named(columns: Vec<usize>, function: KernelFunction, dtype: DType) -> Result<Features> {
        let x = Tensor::try_zeros([columns.len(), 0], dtype)?;
        Ok(Features { x, function, centre: None, columns: Some(columns), norms: None })
    }

    /// Features (n, d) with a kernel.
    pub(crate) fn new(x: &Tensor, function: KernelFunction) -> Result<Features> {
        let x = x.detach().try_contiguous()?;
        let centre = if function.is_shift_invariant() { Some(column_means(&x)?) } else { None };
        Ok(Features { x, function, centre, columns: None, norms: None })
    }

    /// As [`Features::new`] with the centre of other features, whose kernel with these is asked for.
    pub(crate) fn beside(&self, x: &Tensor) -> Result<Features> {
        let (function, centre) = (self.function.clone(), self.centre.clone());
        Ok(Features { x: x.detach().try_contiguous()?, function, centre, columns: None, norms: None })
    }

    /// The rows at these places, one after the other, in single precision: products cost half of those in double precision, and
    /// rows that lie together need not be gathered again. The centre is taken off before rounding. Kernel values then err by
    /// 2⁻²¹ in the mean. None for kernels other than RBF, and where the kernel is so narrow that they would err by more.
    pub(crate) fn single(&self, places: &[usize]) -> Result<Option<Features>> {
        let KernelFunction::Rbf { gamma } = self.function else { return Ok(None) };
        let width = self.x.dims()[1];
        let zeros = vec![0.0; width];
        let centre = self.centre.as_deref().unwrap_or(&zeros);
        let mut rows: Vec<f32> = Vec::with_capacity(places.len() * width);
        with_real!(self.x.dtype(), T => {
            let all = self.x.as_slice::<T>()?;
            for &place in places {
                let row = &all[place * width..(place + 1) * width];
                rows.extend(row.iter().zip(centre).map(|(x, c)| (x.f64() - c) as f32));
            }
        });
        let norms: Vec<f64> = rows.chunks_exact(width.max(1)).map(square_norm).collect();
        // Also where a number is too large for single precision.
        if !norms.iter().all(|norm| gamma * norm <= SINGLE) {
            return Ok(None);
        }
        let x = Tensor::try_from_vec(rows, [places.len(), width])?;
        Ok(Some(Features { x, function: self.function.clone(), centre: None, columns: None, norms: Some(norms) }))
    }

    /// The rows.
    pub(crate) fn rows(&self) -> &Tensor {
        &self.x
    }

    /// The training samples that the rows stand for, if they are named by their places.
    pub(crate) fn columns(&self) -> Option<&[usize]> {
        self.columns.as_deref()
    }

    /// The kernel.
    pub(crate) fn function(&self) -> &KernelFunction {
        &self.function
    }

    /// Number of rows.
    pub(crate) fn len(&self) -> usize {
        self.x.dims()[0]
    }

    /// Type of the numbers.
    pub(crate) fn dtype(&self) -> DType {
        self.x.dtype()
    }

    /// The rows at these places.
    pub(crate) fn part(&self, places: impl ExactSizeIterator<Item = usize>) -> Result<Part> {
        let width = self.x.dims()[1];
        let places: Vec<usize> = places.collect();
        let columns = match (&self.function, &self.columns) {
            (KernelFunction::Precomputed { .. }, Some(columns)) => places.iter().map(|&place| columns[place]).collect(),
            (KernelFunction::Precomputed { .. }, None) => places.clone(),
            _ => Vec::new(),
        };
        let together = places.windows(2).all(|two| two[1] == two[0] + 1);
        if let (Some(norms), true, Some(&first)) = (&self.norms, together, places.first()) {
            let x = self.x.try_narrow(0, first, places.len())?;
            return Ok(Part { x, norms: norms[first..first + places.len()].to_vec(), columns });
        }
        with_real!(self.x.dtype(), T => {
            let (all, count) = (self.x.as_slice::<T>()?, places.len());
            let mut rows: Vec<T> = Vec::with_capacity(count * width);
            let centre: Option<Vec<T>> = self.centre.as_ref().map(|c| c.iter().map(|&c| <T as Real>::of(c)).collect());
            for place in places {
                let row = &all[place * width..(place + 1) * width];
                match &centre {
                    None => rows.extend_from_slice(row),
                    Some(centre) => rows.extend(row.iter().zip(centre).map(|(&x, &c)| x - c)),
                }
            }
            let norms = match self.function {
                KernelFunction::Rbf { .. } => rows.chunks_exact(width.max(1)).map(square_norm).collect(),
                _ => Vec::new(),
            };
            Ok(Part { x: Tensor::try_from_vec(rows, [count, width])?, norms, columns })
        })
    }

    /// k(aᵢ, bⱼ) for all rows of two parts, (a, b).
    pub(crate) fn block(&self, a: &Part, b: &Part) -> Result<Tensor> {
        if let KernelFunction::Custom(function) = &self.function {
            let (x, z, width) = (a.x.to_f64_vec(), b.x.to_f64_vec(), a.x.dims()[1].max(1));
            let row = |x| z.chunks_exact(width).map(move |z| function(x, z));
            let values: Vec<f64> = x.chunks_exact(width).flat_map(row).collect();
            return Ok(Tensor::try_from_vec(values, [a.len(), b.len()])?.to_dtype(self.dtype()));
        }
        if let KernelFunction::Precomputed { .. } = self.function {
            return given(a, b);
        }
        let mut values = a.x.try_matmul(&b.x.try_swap_axes(0, 1)?)?;
        if !matches!(self.function, KernelFunction::Linear) {
            with_real!(values.dtype(), T => self.transform::<T>(values.as_mut_slice::<T>()?, a, b)?);
        }
        Ok(values)
    }

    /// Products to kernel values.
    fn transform<T: Real + Float>(&self, values: &mut [T], a: &Part, b: &Part) -> Result<()> {
        let rows = values.chunks_exact_mut(b.len().max(1));
        let number = <T as Real>::of;
        match self.function {
            KernelFunction::Rbf { gamma } => {
                let norms: Vec<T> = b.norms.iter().map(|&norm| number(norm)).collect();
                // Half of the digits must be left.
                let doubt = number(<T as Real>::EPSILON.sqrt() * 4.0);
                let width = a.x.dims()[1];
                let (x, z) = (a.x.as_slice::<T>()?, b.x.as_slice::<T>()?);
                for (i, row) in rows.enumerate() {
                    let norm = number(a.norms[i]);
                    if transform::rbf(row, norm, &norms, number(gamma), doubt) {
                        again(row, &x[i * width..(i + 1) * width], z, |j| (doubt * (norm + norms[j])).f64(), gamma);
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

/// The columns of `a` that belong to the samples of `b`.
fn given(a: &Part, b: &Part) -> Result<Tensor> {
    let width = a.x.dims()[1].max(1);
    with_real!(a.x.dtype(), T => {
        let rows = a.x.as_slice::<T>()?.chunks_exact(width);
        let values: Vec<T> = rows.flat_map(|row| b.columns.iter().map(|&column| row[column])).collect();
        Ok(Tensor::try_from_vec(values, [a.len(), b.len()])?)
    })
}

/// Kernel values of points that lie close together, from the differences of their coordinates.
fn again<T: Real>(row: &mut [T], x: &[T], z: &[T], limit: impl Fn(usize) -> f64, gamma: f64) {
    for (j, value) in row.iter_mut().enumerate() {
        // exp(−γ s) above exp(−γ limit) means s below the limit; a little more is harmless.
        if value.f64() >= (-gamma * limit(j)).exp() * (1.0 - 1e-6) {
            let z = &z[j * x.len()..(j + 1) * x.len()];
            let square: f64 = x.iter().zip(z).map(|(&x, &z)| (x - z).f64() * (x - z).f64()).sum();
            *value = T::of((-gamma * square).exp());
        }
    }
}

/// ‖x‖² in eight lanes of doubles.
fn square_norm<T: Real>(x: &[T]) -> f64 {
    let mut lanes = [0.0; 8];
    let (whole, rest) = x.as_chunks::<8>();
    for eight in whole {
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
        // Far from 0, as pixels are: the centre is taken off before rounding.
        let x = Key::new(3).uniform([120, 784], DType::F64).try_add(&Tensor::scalar(100.0)).unwrap();
        let places: Vec<usize> = (0..120).rev().collect();
        let largest = 784.0 / 12.0 * 1.3; // of the squared distances from the centre
        let features = Features::new(&x, KernelFunction::Rbf { gamma: SINGLE / largest }).unwrap();
        let single = features.single(&places).unwrap().unwrap();
        let exact = features.part(places.iter().copied()).unwrap();
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
        assert!(single(&x, 1.0)); // both rows lie at 2 from their centre
        assert!(!single(&x, 1.01));
        assert!(!single(&Tensor::from([[1e60], [-1e60]]), 0.0));
        assert!(Features::new(&x, KernelFunction::Linear).unwrap().single(&[0, 1]).unwrap().is_none());
    }
}
