//! Sparse rows.

use tove_tensor::{DType, Tensor};

use crate::{DataError, Result};

/// A matrix by its numbers other than zero (compressed sparse rows): those of row i are
/// `values[indptr[i]..indptr[i + 1]]`, in the columns `indices` at the same places, which rise within a row.
///
/// ```
/// use tove_data::table::SparseRows;
/// use tove_tensor::DType;
/// let rows = SparseRows { indptr: vec![0, 1, 1], indices: vec![2], values: vec![5.0], n_cols: 3 };
/// assert_eq!(rows.to_dense(DType::F64)?.to_vec::<f64>(), [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    /// Where each row begins; one entry more than there are rows.
    pub indptr: Vec<usize>,
    /// Columns.
    pub indices: Vec<u32>,
    /// Numbers.
    pub values: Vec<f64>,
    /// Number of columns.
    pub n_cols: usize,
}

impl SparseRows {
    /// Blocks of rows, one below the other. Their `indptr` begin with the end of the first row.
    pub(super) fn joined(blocks: Vec<SparseRows>, n_cols: usize) -> SparseRows {
        let entries = blocks.iter().map(|block| block.values.len()).sum();
        let rows = blocks.iter().map(|block| block.indptr.len()).sum::<usize>();
        let (mut indptr, mut indices, mut values) =
            (Vec::with_capacity(rows + 1), Vec::with_capacity(entries), Vec::with_capacity(entries));
        indptr.push(0);
        for block in blocks {
            let before = values.len();
            indptr.extend(block.indptr.iter().map(|end| before + end));
            indices.extend_from_slice(&block.indices);
            values.extend_from_slice(&block.values);
        }
        SparseRows { indptr, indices, values, n_cols }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.indptr.len().saturating_sub(1)
    }

    /// Columns and numbers of a row; empty if there is no such row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = match self.indptr.get(row..row + 2) {
            Some(&[start, end]) => start..end,
            _ => 0..0,
        };
        let (indices, values) = (self.indices.get(range.clone()), self.values.get(range));
        let pairs = indices.unwrap_or_default().iter().zip(values.unwrap_or_default());
        pairs.map(|(&index, &value)| (index as usize, value))
    }

    /// The numbers other than zero as a tensor (entries).
    ///
    /// # Errors
    /// If the type is not f32 or f64.
    pub fn values_tensor(&self, dtype: DType) -> Result<Tensor> {
        tensor(self.values.clone(), [self.values.len()], dtype)
    }

    /// Where rows begin, columns, and numbers as a tensor of f64, without a copy.
    ///
    /// # Errors
    /// If the numbers do not fit in a tensor.
    pub fn into_parts(self) -> Result<(Vec<usize>, Vec<u32>, Tensor)> {
        let count = self.values.len();
        Ok((self.indptr, self.indices, tensor(self.values, [count], DType::F64)?))
    }

    /// The matrix with its zeros, (rows, columns).
    ///
    /// # Errors
    /// If the type is not f32 or f64, or the matrix does not fit in memory.
    pub fn to_dense(&self, dtype: DType) -> Result<Tensor> {
        let mut dense = zeros(self.n_rows(), self.n_cols)?;
        for row in 0..self.n_rows() {
            for (column, value) in self.row(row) {
                if let Some(place) = dense.get_mut(row * self.n_cols + column) {
                    *place = value;
                }
            }
        }
        tensor(dense, [self.n_rows(), self.n_cols], dtype)
    }
}

pub(super) fn zeros(rows: usize, columns: usize) -> Result<Vec<f64>> {
    let mut dense = Vec::new();
    let room = rows.checked_mul(columns).filter(|&numbers| dense.try_reserve_exact(numbers).is_ok());
    let advice = "encode to sparse rows, use fewer buckets or words, or take fewer rows at a time";
    let too_large =
        || DataError::parameter("encode", format!("{rows} × {columns} numbers do not fit in memory; {advice}"));
    dense.resize(room.ok_or_else(too_large)?, 0.0);
    Ok(dense)
}

pub(super) fn tensor<const N: usize>(values: Vec<f64>, shape: [usize; N], dtype: DType) -> Result<Tensor> {
    match dtype {
        DType::F64 => Ok(Tensor::try_from_vec(values, shape)?),
        DType::F32 => {
            Ok(Tensor::try_from_vec(values.into_iter().map(|value| value as f32).collect::<Vec<f32>>(), shape)?)
        }
        other => Err(DataError::parameter("encode", format!("{other} asked for; features are f32 or f64"))),
    }
}
