//! Conditioning: how much a small change of the data can change the solution.
//!
//! `cond A = s_max / s_min` (in the spectral norm) bounds the relative change of the solution of `A x = b` by the relative
//! change of the data. The normal equations have `cond(AᵀA) = (cond A)²`, so that above `1/√ε` they keep no correct digit:
//! that is where the warning begins. A ridge λ lifts every eigenvalue of `AᵀA` by λ and so bounds the growth of errors.

use super::inverse::{inverse, invert};
use super::kernel::{Job, Scalar, finite, matrices, square};
use super::norm::{Norm, matrix_norm};
use super::svd::singular_values;
use crate::dtype::match_float;
use crate::ops::{binary, shape};
use crate::{DType, Result, Tensor};

/// Condition number of an f64 matrix above which fits warn: about `1/√ε`, where the normal equations lose all digits.
pub const ILL_CONDITIONED: f64 = 1e8;

/// The same for f32.
pub const ILL_CONDITIONED_F32: f64 = 3e3;

/// How well a matrix conditions the problems solved with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditioning {
    values: Vec<f64>,
    rank: usize,
    columns: usize,
    dtype: DType,
}

impl Conditioning {
    /// The report for a matrix; for the worst of a batch.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg::Conditioning};
    /// let report = Conditioning::of(&Tensor::from([[1.0, 0.0], [0.0, 1e-9]])).unwrap();
    /// assert!((report.condition_number() - 1e9).abs() < 1.0);
    /// assert!(report.warning().is_some());
    /// assert!(Conditioning::of(&Tensor::from([[1.0, 0.0], [0.0, 0.5]])).unwrap().warning().is_none());
    /// ```
    pub fn of(a: &Tensor) -> Result<Conditioning> {
        let cutoff = super::pinv::cutoff("conditioning", a, None)?;
        let values = singular_values(&a.detach())?;
        let rank = super::rank::count(&values, cutoff)?;
        let columns = a.dims()[a.rank() - 1];
        Conditioning::from_values(&values, &rank, columns)
    }

    fn empty(columns: usize, dtype: DType) -> Conditioning {
        Conditioning { values: Vec::new(), rank: 0, columns, dtype }
    }

    /// The report from singular values (…, k) and ranks (…), which cannot be read inside `vmap`.
    pub(super) fn from_values(values: &Tensor, rank: &Tensor, columns: usize) -> Result<Conditioning> {
        let dtype = values.dtype();
        let k = values.dims()[values.rank() - 1];
        let ranks = rank.try_to_vec::<i64>()?;
        let all = shape::to_dtype(&values.detach(), DType::F64)?.try_to_vec::<f64>()?;
        let report = |(index, &rank): (usize, &i64)| Conditioning {
            values: all[index * k..(index + 1) * k].to_vec(),
            rank: rank as usize,
            columns,
            dtype,
        };
        let worse = |a: Conditioning, b: Conditioning| if b.badness() > a.badness() { b } else { a };
        Ok(ranks.iter().enumerate().map(report).reduce(worse).unwrap_or(Conditioning::empty(columns, dtype)))
    }

    /// Orders reports: dependent columns are worse than any condition number.
    fn badness(&self) -> f64 {
        if self.rank < self.columns { f64::INFINITY } else { self.condition_number() }
    }

    /// `s_max / s_min`; infinite if the smallest singular value is zero, 1 for a matrix without elements.
    pub fn condition_number(&self) -> f64 {
        match (self.values.first(), self.values.last()) {
            (Some(_), Some(0.0)) => f64::INFINITY,
            (Some(largest), Some(smallest)) => largest / smallest,
            _ => 1.0,
        }
    }

    /// Number of singular values that are not zero up to rounding.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The condition number above which [`Conditioning::warning`] speaks.
    pub fn threshold(&self) -> f64 {
        if self.dtype == DType::F32 { ILL_CONDITIONED_F32 } else { ILL_CONDITIONED }
    }

    /// The largest factor by which a change of y can grow in the least-squares weights w: `‖δw‖ / ‖δy‖` is at most
    /// `max s/(s² + λ)` over the singular values that are not zero up to rounding, that is `1/s_min` without a ridge λ and at most
    /// `1/(2√λ)` with one. Directions whose singular value is zero have no weight in the solution of least norm and do not count.
    ///
    /// ```
    /// use tove_tensor::{Tensor, linalg::Conditioning};
    /// let report = Conditioning::of(&Tensor::from([[2.0, 2.0], [2.0, 2.0]])).unwrap(); // singular values 4 and 0
    /// assert!((report.sensitivity(0.0) - 0.25).abs() < 1e-12);
    /// ```
    pub fn sensitivity(&self, ridge: f64) -> f64 {
        self.values.iter().take(self.rank).map(|s| s / (s * s + ridge)).fold(0.0, f64::max)
    }

    /// A sentence to show if the columns are dependent or the condition number exceeds the threshold.
    pub fn warning(&self) -> Option<String> {
        if self.rank < self.columns {
            return Some(format!(
                "the {} columns are linearly dependent (rank {}): the solution is not unique and the one of least norm was taken; drop columns or add a ridge penalty",
                self.columns, self.rank
            ));
        }
        let condition = self.condition_number();
        (condition > self.threshold()).then(|| {
            format!(
                "the matrix is ill conditioned: its condition number {condition:.1e} exceeds {:.0e}, so that small changes of the data change the solution a lot; drop near-collinear columns or add a ridge penalty",
                self.threshold()
            )
        })
    }
}

/// `‖A‖ ‖A⁻¹‖` of one matrix; infinite for singular ones.
fn product_of_norms<T: Scalar>(a: &[T], n: usize, norm: Norm) -> Result<f64> {
    finite("cond", a)?;
    let size = |x: &[T]| {
        let column = |j: usize| (0..n).map(|i| x[i * n + j].to_f64().abs()).sum::<f64>();
        let row = |i: usize| x[i * n..(i + 1) * n].iter().map(|x| x.to_f64().abs()).sum::<f64>();
        match norm {
            Norm::One => (0..n).map(column).fold(0.0, f64::max),
            Norm::Infinity => (0..n).map(row).fold(0.0, f64::max),
            _ => x.iter().map(|x| x.to_f64().powi(2)).sum::<f64>().sqrt(),
        }
    };
    let mut inverse = vec![T::default(); n * n];
    match invert("cond", a, n, &mut inverse) {
        Ok(()) => Ok(size(a) * size(&inverse)),
        Err(_) => Ok(f64::INFINITY),
    }
}

/// Condition number in a norm. The spectral one is `s_max / s_min` and takes matrices of any shape.
pub(crate) fn cond(a: &Tensor, norm: Norm) -> Result<Tensor> {
    let (_, m, n) = matrices("cond", a)?;
    if m == 0 || n == 0 {
        return Err(crate::Error::shape("cond", a.shape(), "has no elements"));
    }
    if norm == Norm::Spectral {
        let s = singular_values(a)?;
        let ratio = binary::div(&shape::select(&s, -1, 0)?, &shape::select(&s, -1, m.min(n) - 1)?)?;
        // 0/0 is the zero matrix, which is singular.
        let infinite = Tensor::scalar_of(f64::INFINITY, a.dtype());
        return binary::select(&binary::is_nan(&ratio)?, &infinite, &ratio);
    }
    square("cond", a)?;
    if a.track().is_some() || norm == Norm::Nuclear {
        return binary::mul(&matrix_norm(a, norm)?, &matrix_norm(&inverse(a)?, norm)?);
    }
    let job = Job { op: "cond", inputs: &[a], item: &[], work: 2 * n * n * n };
    match_float!("cond", a.dtype(), T => job.run::<T>(|a, out| {
        out[0] = crate::Element::from_f64(product_of_norms(a[0], n, norm)?);
        Ok(())
    }))
}
