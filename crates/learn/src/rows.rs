//! Features: a row per sample, dense or sparse.
//!
//! Everything that takes features takes `impl Into<Rows>`, so `&Tensor` and `&Csr` both do. Cloning is cheap.

use std::fmt::Display;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Tensor, TryIndex};

use crate::{Csr, LearnError, Result, with_real};

/// A matrix with a row per sample and a column per feature, f32 or f64.
#[derive(Clone, Debug)]
pub enum Rows {
    /// All numbers, row after row.
    Dense(Tensor),
    /// Numbers that are not zero.
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
    /// Number of rows; of something that is no matrix, of its first axis.
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

    /// Type of the numbers.
    pub fn dtype(&self) -> DType {
        match self {
            Rows::Dense(x) => x.dtype(),
            Rows::Sparse(x) => x.dtype(),
        }
    }

    /// The dense matrix, for estimators that take nothing else.
    pub fn dense(&self, who: &'static str) -> Result<&Tensor> {
        match self {
            Rows::Dense(x) => Ok(x),
            Rows::Sparse(_) => {
                let fix = "turn the rows into a dense matrix with `to_dense`, or choose a linear model";
                Err(LearnError::unsupported(who, "takes dense features only", fix))
            }
        }
    }

    /// The same matrix without its zeros left out.
    pub fn to_dense(&self) -> Result<Tensor> {
        match self {
            Rows::Dense(x) => Ok(x.clone()),
            Rows::Sparse(x) => x.to_dense(),
        }
    }

    /// The rows at these places, in this order.
    pub fn take(&self, rows: &[usize]) -> Result<Rows> {
        Ok(match self {
            Rows::Dense(x) => Rows::Dense(take(x, rows)?),
            Rows::Sparse(x) => Rows::Sparse(x.take(rows)?),
        })
    }

    /// The same numbers in another precision.
    pub fn to_dtype(&self, dtype: DType) -> Rows {
        match self {
            _ if self.dtype() == dtype => self.clone(),
            Rows::Dense(x) => Rows::Dense(x.to_dtype(dtype)),
            Rows::Sparse(x) => Rows::Sparse(x.to_dtype(dtype)),
        }
    }

    /// A row-major matrix of finite floating-point numbers, or an error that names what is wrong: the shape, the type, or the
    /// row and column of the first number that is not finite. Integers become doubles.
    pub fn checked(&self) -> Result<Rows> {
        Ok(self.measured()?.0)
    }

    /// As [`Rows::checked`], with the largest magnitude among the numbers.
    pub(crate) fn measured(&self) -> Result<(Rows, f64)> {
        let rows = self.tabular()?;
        let values = match &rows {
            Rows::Dense(x) => x,
            Rows::Sparse(x) => x.values(),
        };
        let survey = with_real!(values.dtype(), T => survey(values.as_slice::<T>()?));
        if let Some((place, value)) = survey.first_not_finite {
            let (row, column) = match &rows {
                Rows::Dense(_) => (place / rows.width().max(1), place % rows.width().max(1)),
                Rows::Sparse(x) => x.place(place),
            };
            let fix = "remove the row or fill the gap, for instance with `Imputer`";
            return Err(LearnError::NotFinite { what: "the feature", row, column: Some(column), value, fix });
        }
        Ok((rows, survey.largest))
    }

    /// As [`Rows::checked`], for what may hold NaN.
    pub fn tabular(&self) -> Result<Rows> {
        match self {
            Rows::Dense(x) if x.rank() != 2 => Err(LearnError::NotTable { shape: x.shape().to_string() }),
            Rows::Dense(x) if x.dtype().is_float() => Ok(Rows::Dense(x.try_contiguous()?)),
            Rows::Dense(x) => Ok(Rows::Dense(x.to_dtype(DType::F64).try_contiguous()?)),
            Rows::Sparse(x) => Ok(Rows::Sparse(x.clone())),
        }
    }

    /// That a model fitted on `expected` features can take these rows.
    pub fn check_width(&self, who: &'static str, expected: usize) -> Result<()> {
        let found = self.width();
        if found == expected { Ok(()) } else { Err(LearnError::Width { who, expected, found }) }
    }
}

/// The slices of a tensor at these places of its first axis.
pub(crate) fn take(x: &Tensor, rows: &[usize]) -> Result<Tensor> {
    let index: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    Ok(x.try_index_select(0, &Tensor::try_from_vec(index, [rows.len()])?)?)
}

/// What one pass over numbers finds.
pub(crate) struct Survey {
    /// Place and value of the first number that is NaN or infinite.
    pub(crate) first_not_finite: Option<(usize, f64)>,
    /// The largest magnitude; of no use where a number is not finite.
    pub(crate) largest: f64,
}

/// One pass over numbers. Large slices are looked at in parallel.
pub(crate) fn survey<T: crate::Real>(values: &[T]) -> Survey {
    const PART: usize = 1 << 17;
    let (first, largest) = (AtomicUsize::new(usize::MAX), AtomicU64::new(0));
    parallel_for(values.len().div_ceil(PART), &|part| {
        let start = part * PART;
        let values = &values[start..(start + PART).min(values.len())];
        match dispatch(Pass { values }) {
            Ok(most) => {
                largest.fetch_max(most.to_bits(), Ordering::Relaxed); // positive numbers are ordered like their bits
            }
            Err(place) => {
                first.fetch_min(start + place, Ordering::Relaxed);
            }
        }
    });
    let place = first.into_inner();
    let first_not_finite = values.get(place).map(|value| (place, value.f64()));
    Survey { first_not_finite, largest: f64::from_bits(largest.into_inner()) }
}

/// Place and value of the first number that is not finite.
pub(crate) fn first_not_finite<T: crate::Real>(values: &[T]) -> Option<(usize, f64)> {
    survey(values).first_not_finite
}

struct Pass<'a, T> {
    values: &'a [T],
}

impl<T: crate::Real> Kernel for Pass<'_, T> {
    type Output = std::result::Result<f64, usize>;

    /// The largest magnitude, or the place of the first number that is not finite. A sum of numbers times zero is NaN exactly if
    /// one of them is not finite.
    #[inline(always)]
    fn run(self) -> std::result::Result<f64, usize> {
        const BLOCK: usize = 1024;
        let mut largest = [T::ZERO; 32];
        for (block, part) in self.values.chunks(BLOCK).enumerate() {
            let mut sums = [T::ZERO; 32];
            let (whole, rest) = part.as_chunks::<32>();
            for numbers in whole {
                for ((sum, most), &x) in sums.iter_mut().zip(&mut largest).zip(numbers) {
                    *sum += x * T::ZERO;
                    let size = x.abs();
                    *most = if size > *most { size } else { *most };
                }
            }
            for (most, &x) in largest.iter_mut().zip(rest) {
                *most = if x.abs() > *most { x.abs() } else { *most };
            }
            let clean = sums.iter().chain(rest.iter()).all(|x| x.is_finite());
            if !clean && let Some(place) = part.iter().position(|x| !x.is_finite()) {
                return Err(block * BLOCK + place);
            }
        }
        Ok(largest.iter().fold(0.0, |most, x| if x.f64() > most { x.f64() } else { most }))
    }
}

/// A vector of doubles from a tensor of any numbers with one axis, or with a second axis of length 1.
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
