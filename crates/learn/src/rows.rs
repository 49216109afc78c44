//! Feature matrices, dense or sparse, with one row per sample.
//!
//! Functions that take features take `impl Into<Rows>`, so both `&Tensor` and `&Csr` work. Cloning is cheap.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Tensor, TryIndex};

use crate::{Csr, LearnError, Result, with_real};

/// A feature matrix of f32 or f64 with one row per sample and one column per feature.
#[derive(Clone, Debug)]
pub enum Rows {
    /// A dense matrix in row-major order.
    Dense(Tensor),
    /// A sparse matrix.
    Sparse(Csr),
}

impl From<&Tensor> for Rows {
    fn from(x: &Tensor) -> Rows {
        Rows::Dense(x.detach())
    }
}

impl From<Tensor> for Rows {
    fn from(x: Tensor) -> Rows {
        Rows::Dense(x.detach())
    }
}

impl From<&Csr> for Rows {
    fn from(x: &Csr) -> Rows {
        Rows::Sparse(x.clone())
    }
}

impl From<Csr> for Rows {
    fn from(x: Csr) -> Rows {
        Rows::Sparse(x)
    }
}

impl From<&Rows> for Rows {
    fn from(x: &Rows) -> Rows {
        x.clone()
    }
}

impl Rows {
    /// Number of rows; the first dimension if it is not a matrix.
    pub fn len(&self) -> usize {
        match self {
            Rows::Dense(x) => x.dims().first().copied().unwrap_or(0),
            Rows::Sparse(x) => x.rows(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        match self {
            Rows::Dense(x) => x.dims().get(1).copied().unwrap_or(0),
            Rows::Sparse(x) => x.columns(),
        }
    }

    /// Type of the values.
    pub fn dtype(&self) -> DType {
        match self {
            Rows::Dense(x) => x.dtype(),
            Rows::Sparse(x) => x.dtype(),
        }
    }

    /// Returns the dense matrix, or an error naming the estimator if the rows are sparse.
    pub fn dense(&self, who: &'static str) -> Result<&Tensor> {
        match self {
            Rows::Dense(x) => Ok(x),
            Rows::Sparse(_) => {
                let fix = "convert the rows to a dense matrix with `to_dense`, or choose a linear model";
                Err(LearnError::unsupported(who, "only supports dense features", fix))
            }
        }
    }

    /// Refuses negative values, by row and column.
    pub(crate) fn require_nonnegative(&self, who: &'static str) -> Result<()> {
        let values = match self {
            Rows::Dense(x) => x,
            Rows::Sparse(x) => x.values(),
        };
        let Some(place) = values.to_f64_vec().iter().position(|&value| value < 0.0) else { return Ok(()) };
        let (row, column) = match self {
            Rows::Dense(_) => (place / self.width().max(1), place % self.width().max(1)),
            Rows::Sparse(x) => x.place(place),
        };
        let problem = format!("the feature in row {row}, column {column}, is negative");
        Err(LearnError::data(who, problem, "give numbers from 0 on, for instance by `MinMaxScaler`"))
    }

    /// Converts to a dense matrix.
    pub fn to_dense(&self) -> Result<Tensor> {
        match self {
            Rows::Dense(x) => Ok(x.clone()),
            Rows::Sparse(x) => x.to_dense(),
        }
    }

    /// Returns the rows at these indices, in this order.
    pub fn take(&self, rows: &[usize]) -> Result<Rows> {
        Ok(match self {
            Rows::Dense(x) => Rows::Dense(take(x, rows)?),
            Rows::Sparse(x) => Rows::Sparse(x.take(rows)?),
        })
    }

    /// Converts the values to another precision.
    pub fn to_dtype(&self, dtype: DType) -> Rows {
        match self {
            _ if self.dtype() == dtype => self.clone(),
            Rows::Dense(x) => Rows::Dense(x.to_dtype(dtype)),
            Rows::Sparse(x) => Rows::Sparse(x.to_dtype(dtype)),
        }
    }

    /// Returns a row-major matrix of finite floating-point numbers, or an error that names the wrong shape, the wrong
    /// type, or the row and column of the first non-finite value. Integers are converted to f64.
    pub fn checked(&self) -> Result<Rows> {
        Ok(self.measured()?.0)
    }

    /// Like [`Rows::checked`], and also returns the largest magnitude.
    pub(crate) fn measured(&self) -> Result<(Rows, f64)> {
        let rows = self.tabular()?;
        let values = match &rows {
            Rows::Dense(x) => x,
            Rows::Sparse(x) => x.values(),
        };
        let survey = with_real!(values.dtype(), T => survey(values.as_slice::<T>()?));
        if let Some((index, value)) = survey.first_not_finite {
            let (row, column) = match &rows {
                Rows::Dense(_) => (index / rows.width().max(1), index % rows.width().max(1)),
                Rows::Sparse(x) => x.place(index),
            };
            let fix = "remove the row or impute missing values, for example with `Imputer`";
            return Err(LearnError::NotFinite { what: "the feature", row, column: Some(column), value, fix });
        }
        Ok((rows, survey.largest))
    }

    /// Like [`Rows::checked`], but allows NaN.
    pub fn tabular(&self) -> Result<Rows> {
        match self {
            Rows::Dense(x) if x.rank() != 2 => Err(LearnError::NotTable { shape: x.shape().to_string() }),
            Rows::Dense(x) if x.dtype().is_float() => Ok(Rows::Dense(x.try_contiguous()?)),
            Rows::Dense(x) => Ok(Rows::Dense(x.to_dtype(DType::F64).try_contiguous()?)),
            Rows::Sparse(x) => Ok(Rows::Sparse(x.clone())),
        }
    }

    /// Checks that the number of features matches the model.
    pub fn check_width(&self, who: &'static str, expected: usize) -> Result<()> {
        let found = self.width();
        if found == expected { Ok(()) } else { Err(LearnError::Width { who, expected, found }) }
    }
}

/// Returns the slices at these indices of the first dimension.
pub(crate) fn take(x: &Tensor, rows: &[usize]) -> Result<Tensor> {
    let index: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    Ok(x.try_index_select(0, &Tensor::try_from_vec(index, [rows.len()])?)?)
}

/// Result of one pass over the values.
pub(crate) struct Survey {
    /// Index and value of the first NaN or infinity.
    pub(crate) first_not_finite: Option<(usize, f64)>,
    /// The largest magnitude; unspecified if a value is not finite.
    pub(crate) largest: f64,
}

/// Scans values in one pass, in parallel for large slices.
pub(crate) fn survey<T: crate::Real>(values: &[T]) -> Survey {
    const PART: usize = 1 << 17;
    let (first, largest) = (AtomicUsize::new(usize::MAX), AtomicU64::new(0));
    parallel_for(values.len().div_ceil(PART), &|part| {
        let start = part * PART;
        let values = &values[start..(start + PART).min(values.len())];
        match dispatch(Pass { values }) {
            Ok(max) => {
                largest.fetch_max(max.to_bits(), Ordering::Relaxed); // positive numbers are ordered like their bits
            }
            Err(index) => {
                first.fetch_min(start + index, Ordering::Relaxed);
            }
        }
    });
    let index = first.into_inner();
    let first_not_finite = values.get(index).map(|value| (index, value.f64()));
    Survey { first_not_finite, largest: f64::from_bits(largest.into_inner()) }
}

/// Index and value of the first non-finite number.
pub(crate) fn first_not_finite<T: crate::Real>(values: &[T]) -> Option<(usize, f64)> {
    survey(values).first_not_finite
}

struct Pass<'a, T> {
    values: &'a [T],
}

impl<T: crate::Real> Kernel for Pass<'_, T> {
    type Output = std::result::Result<f64, usize>;

    /// Returns the largest magnitude, or the index of the first non-finite value. A sum of values times zero is NaN if
    /// and only if one of them is not finite.
    #[inline(always)]
    fn run(self) -> std::result::Result<f64, usize> {
        const BLOCK: usize = 1024;
        let mut largest = [T::ZERO; 32];
        for (block, part) in self.values.chunks(BLOCK).enumerate() {
            let mut sums = [T::ZERO; 32];
            let (chunks, rest) = part.as_chunks::<32>();
            for numbers in chunks {
                for ((sum, max), &x) in sums.iter_mut().zip(&mut largest).zip(numbers) {
                    *sum += x * T::ZERO;
                    let size = x.abs();
                    *max = if size > *max { size } else { *max };
                }
            }
            for (max, &x) in largest.iter_mut().zip(rest) {
                *max = if x.abs() > *max { x.abs() } else { *max };
            }
            let clean = sums.iter().chain(rest.iter()).all(|x| x.is_finite());
            if !clean && let Some(index) = part.iter().position(|x| !x.is_finite()) {
                return Err(block * BLOCK + index);
            }
        }
        Ok(largest.iter().fold(0.0, |max, x| if x.f64() > max { x.f64() } else { max }))
    }
}

/// Converts a numeric tensor of shape (n) or (n, 1) to a vector of f64.
pub(crate) fn vector(what: &'static str, x: &Tensor) -> Result<Vec<f64>> {
    match x.dims() {
        [_] | [_, 1] => Ok(x.to_f64_vec()),
        _ => Err(not_vector(what, x.shape())),
    }
}

#[cold]
fn not_vector(what: &'static str, shape: &impl Display) -> LearnError {
    LearnError::parameter(what, format!("shape {shape}; give one number per sample"))
}
