//! Compressed sparse rows (CSR), for text features and one-hot encodings.
//!
//! The non-zero values of row i are `values[indptr[i]..indptr[i + 1]]`. Their columns are the entries of `indices` at
//! the same positions, ascending.
//!
//! ```
//! use tove_learn::Csr;
//! use tove_tensor::Tensor;
//! let x = Csr::new(vec![0, 2, 3], vec![0, 2, 1], Tensor::from([1.0, 2.0, 3.0]), 3)?;
//! assert_eq!(x.to_dense()?.to_vec::<f64>(), [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]);
//! assert_eq!(x.dot(&Tensor::from([1.0, 10.0, 100.0]))?.to_vec::<f64>(), [201.0, 30.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Error, Tensor};

use crate::{LearnError, Real, Result, memory, with_real};

/// Rows per task.
const ROWS: usize = 1024;

/// A sparse matrix in CSR format. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Csr {
    indptr: Arc<[usize]>,
    indices: Arc<[u32]>,
    values: Tensor,
    columns: usize,
}

impl Csr {
    /// Creates a matrix from its parts; `indptr` has one entry more than there are rows.
    pub fn new(indptr: Vec<usize>, indices: Vec<u32>, values: Tensor, columns: usize) -> Result<Csr> {
        let wrong = |problem: String| Err(LearnError::parameter("Csr", problem));
        let entries = indices.len();
        if !values.dtype().is_float() || values.dims() != [entries] {
            return wrong(format!(
                "values of type {} and shape {} for {entries} indices; give a vector of f32 or f64 of the same length",
                values.dtype(),
                values.shape()
            ));
        }
        if indptr.first() != Some(&0) || indptr.last() != Some(&entries) || indptr.windows(2).any(|two| two[0] > two[1])
        {
            return wrong(format!(
                "indptr must start with 0, be non-decreasing, and end with the number of values, {entries}"
            ));
        }
        if u32::try_from(columns).is_err() {
            return wrong(format!("{columns} columns; at most {} are possible", u32::MAX));
        }
        for (row, two) in indptr.windows(2).enumerate() {
            let columns_of_row = &indices[two[0]..two[1]];
            let ascending = columns_of_row.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascending || columns_of_row.last().is_some_and(|&last| last as usize >= columns) {
                return wrong(format!(
                    "the indices of row {row} must be strictly ascending and less than the number of columns, {columns}"
                ));
            }
        }
        Ok(Csr { indptr: indptr.into(), indices: indices.into(), values: values.detach().try_contiguous()?, columns })
    }

    /// Converts a dense matrix; zeros are not stored.
    pub fn from_dense(x: &Tensor) -> Result<Csr> {
        let &[_, columns] = x.dims() else { return Err(LearnError::NotTable { shape: x.shape().to_string() }) };
        let x = x.try_contiguous()?;
        with_real!(x.dtype(), T => {
            let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for row in x.as_slice::<T>()?.chunks(columns.max(1)) {
                for (column, &value) in row.iter().enumerate().filter(|&(_, &value)| value != 0.0) {
                    indices.push(column as u32);
                    values.push(value);
                }
                indptr.push(indices.len());
            }
            let entries = values.len();
            Csr::new(indptr, indices, Tensor::try_from_vec(values, [entries])?, columns)
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Type of the values.
    pub fn dtype(&self) -> DType {
        self.values.dtype()
    }

    /// The stored values.
    pub fn values(&self) -> &Tensor {
        &self.values
    }

    /// Start of each row in `indices` and `values`.
    pub fn indptr(&self) -> &[usize] {
        &self.indptr
    }

    /// The columns of the stored values.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Returns row and column of a stored value by its index.
    pub fn place(&self, index: usize) -> (usize, usize) {
        let row = self.indptr.partition_point(|&start| start <= index) - 1;
        (row, self.indices.get(index).map_or(0, |&column| column as usize))
    }

    /// Converts the values to another precision.
    pub fn to_dtype(&self, dtype: DType) -> Csr {
        Csr { values: self.values.to_dtype(dtype), ..self.clone() }
    }

    /// Converts to a dense matrix.
    pub fn to_dense(&self) -> Result<Tensor> {
        let what = format!("a dense matrix of {} x {} numbers", self.rows(), self.columns);
        let bytes = memory::matrix(self.rows(), self.columns, self.dtype().size());
        memory::require("Csr::to_dense", what, bytes, "keep the rows sparse, or take fewer rows or columns")?;
        with_real!(self.dtype(), T => {
            let values = self.values.as_slice::<T>()?;
            let mut dense = vec![<T as Real>::ZERO; self.rows() * self.columns];
            for (row, two) in self.indptr.windows(2).enumerate() {
                for index in two[0]..two[1] {
                    dense[row * self.columns + self.indices[index] as usize] = values[index];
                }
            }
            Ok(Tensor::try_from_vec(dense, [self.rows(), self.columns])?)
        })
    }

    /// The rows at these indices, in this order.
    pub fn take(&self, rows: &[usize]) -> Result<Csr> {
        let limit = self.rows();
        if let Some(&row) = rows.iter().find(|&&row| row >= limit) {
            return Err(Error::Index { op: "Csr::take", index: row as i64, size: limit }.into());
        }
        with_real!(self.dtype(), T => {
            let old = self.values.as_slice::<T>()?;
            let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
            for &row in rows {
                let range = self.indptr[row]..self.indptr[row + 1];
                indices.extend_from_slice(&self.indices[range.clone()]);
                values.extend_from_slice(&old[range]);
                indptr.push(indices.len());
            }
            let entries = values.len();
            let values = Tensor::try_from_vec(values, [entries])?;
            Ok(Csr { indptr: indptr.into(), indices: indices.into(), values, columns: self.columns })
        })
    }

    /// X w for w (columns) or (columns, k).
    pub fn dot(&self, w: &Tensor) -> Result<Tensor> {
        let k = self.outputs(w, self.columns, "a number per column")?;
        let w = w.to_dtype(self.dtype()).try_contiguous()?;
        let mut shape = vec![self.rows()];
        shape.extend_from_slice(&w.dims()[1..]);
        with_real!(self.dtype(), T => {
            let (values, w) = (self.values.as_slice::<T>()?, w.as_slice::<T>()?);
            let mut out = vec![<T as Real>::ZERO; self.rows() * k];
            let parts: Vec<Mutex<&mut [T]>> = out.chunks_mut((ROWS * k).max(1)).map(Mutex::new).collect();
            parallel_for(parts.len(), &|task| {
                let mut part = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
                for (offset, out) in part.chunks_mut(k).enumerate() {
                    let row = task * ROWS + offset;
                    let range = self.indptr[row]..self.indptr[row + 1];
                    for (&value, &column) in values[range.clone()].iter().zip(&self.indices[range]) {
                        let start = column as usize * k;
                        for (out, &w) in out.iter_mut().zip(&w[start..start + k]) {
                            *out += value * w;
                        }
                    }
                }
            });
            drop(parts);
            Ok(Tensor::try_from_vec(out, shape)?)
        })
    }

    /// Xᵀ r for r (rows) or (rows, k). Rows are added in a fixed order, so the result does not depend on the number of
    /// threads.
    pub fn transposed_dot(&self, r: &Tensor) -> Result<Tensor> {
        let k = self.outputs(r, self.rows(), "a number per row")?;
        let r = r.to_dtype(self.dtype()).try_contiguous()?;
        let mut shape = vec![self.columns];
        shape.extend_from_slice(&r.dims()[1..]);
        with_real!(self.dtype(), T => {
            let (values, r) = (self.values.as_slice::<T>()?, r.as_slice::<T>()?);
            let mut out = vec![<T as Real>::ZERO; self.columns * k];
            for (row, r) in r.chunks(k.max(1)).enumerate() {
                let range = self.indptr[row]..self.indptr[row + 1];
                for (&value, &column) in values[range.clone()].iter().zip(&self.indices[range]) {
                    let start = column as usize * k;
                    for (out, &r) in out[start..start + k].iter_mut().zip(r) {
                        *out += value * r;
                    }
                }
            }
            Ok(Tensor::try_from_vec(out, shape)?)
        })
    }

    /// Number of columns of the other operand.
    fn outputs(&self, other: &Tensor, length: usize, needed: &str) -> Result<usize> {
        match *other.dims() {
            [n] if n == length => Ok(1),
            [n, k] if n == length => Ok(k),
            _ => {
                let shape = tove_tensor::Shape::from([self.rows(), self.columns]);
                Err(Error::shapes("Csr::dot", &shape, other.shape(), format!("the second operand needs {needed}"))
                    .into())
            }
        }
    }
}
