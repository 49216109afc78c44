//! A batch of inputs as rows of numbers, and its way back to a tensor of the same shape and type.

use tove_tensor::{DType, Shape, Tensor};

use crate::input::{codes, reals};
use crate::{Result, TrustError};

/// The rows of a batch. All axes but the first count as one.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    values: Vec<f64>,
    width: usize,
    shape: Shape,
    dtype: DType,
}

impl Batch {
    /// Reads a batch of finite numbers with at least one row.
    pub(super) fn read(what: &'static str, batch: &Tensor) -> Result<Batch> {
        let Some(&n) = batch.dims().first() else {
            let fix = "give a batch with a row per sample; `unsqueeze(0)` makes a batch of one sample";
            return Err(TrustError::data(what, "the input is a single number", fix));
        };
        if !batch.dtype().is_float() {
            let fix = "convert it with `to_dtype(DType::F32)` or `to_dtype(DType::F64)`";
            return Err(TrustError::data(what, format!("the input has the type {}", batch.dtype()), fix));
        }
        let values = reals(what, "inputs", batch)?;
        let width = values.len() / n.max(1);
        Ok(Batch { values, width, shape: batch.shape().clone(), dtype: batch.dtype() })
    }

    pub(super) fn len(&self) -> usize {
        self.values.len() / self.width
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, f64> {
        self.values.chunks_exact(self.width)
    }

    /// Whether numbers are stored in single precision.
    pub(super) fn single(&self) -> bool {
        self.dtype == DType::F32
    }

    /// These numbers in the shape and type of the batch.
    pub(super) fn tensor_of(&self, values: Vec<f64>) -> Result<Tensor> {
        self.tensor_of_rows(values, self.len())
    }

    /// So many rows in the shape of a sample of the batch and its type.
    pub(super) fn tensor_of_rows(&self, values: Vec<f64>, rows: usize) -> Result<Tensor> {
        let mut dims = self.shape.dims().to_vec();
        dims[0] = rows;
        if self.single() {
            let values: Vec<f32> = values.into_iter().map(|value| value as f32).collect();
            return Ok(Tensor::try_from_vec(values, &dims[..])?);
        }
        Ok(Tensor::try_from_vec(values, &dims[..])?)
    }

    /// A batch of the same shape of samples and type with other numbers.
    pub(super) fn with(&self, values: Vec<f64>) -> Batch {
        let mut dims = self.shape.dims().to_vec();
        dims[0] = values.len() / self.width;
        Batch { values, width: self.width, shape: Shape::from(&dims[..]), dtype: self.dtype }
    }

    /// The rows at these positions.
    pub(super) fn take(&self, rows: &[usize]) -> Batch {
        self.with(rows.iter().flat_map(|&row| self.row(row).iter().copied()).collect())
    }
}

/// The class of each of `n` rows: whole numbers, at least 0. How many classes there are is known once a model is asked.
pub(super) fn classes(what: &'static str, labels: &Tensor, n: usize) -> Result<Vec<usize>> {
    codes(what, "labels", labels, n, usize::MAX).map_err(|error| match error {
        TrustError::Data { problem, .. } if problem.contains("not a class index") => {
            TrustError::data(what, problem, "give the column of the class among the scores, from 0 on")
        }
        other => other,
    })
}

/// The next number after `value` in the direction of `target`, in single or double precision.
pub(super) fn toward(value: f64, target: f64, single: bool) -> f64 {
    if value == target {
        return value;
    }
    match (single, target > value) {
        (true, true) => f64::from((value as f32).next_up()),
        (true, false) => f64::from((value as f32).next_down()),
        (false, true) => value.next_up(),
        (false, false) => value.next_down(),
    }
}
