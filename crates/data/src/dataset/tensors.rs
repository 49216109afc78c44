//! A data set that is two tensors.

use tove_tensor::{DType, Key, Tensor, TryIndex, TryOps};

use super::{Batch, Dataset};
use crate::{DataError, Result};

/// Samples held in memory: row i of `x` and row i of `y`.
///
/// ```
/// use tove_data::{DataError, Dataset, TensorDataset};
/// use tove_tensor::{DType, Key, Tensor};
/// let data = TensorDataset::new(Tensor::zeros([3, 28, 28], DType::U8), Tensor::from([7i64, 1, 0]))?;
/// assert_eq!(data.batch(&[2, 0], Key::new(0))?.y.to_vec::<i64>(), [0, 7]);
/// assert!(matches!(data.batch(&[3], Key::new(0)), Err(DataError::Index { index: 3, len: 3 })));
/// # Ok::<(), DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorDataset {
    x: Tensor,
    y: Tensor,
    len: usize,
}

impl TensorDataset {
    /// A set over these tensors; tracking is dropped, other strides than row-major ones are copied once.
    ///
    /// # Errors
    /// If the first axes differ or one of the tensors has no axis.
    pub fn new(x: Tensor, y: Tensor) -> Result<TensorDataset> {
        let rows = |tensor: &Tensor, name: &str| {
            let missing =
                || DataError::parameter("TensorDataset", format!("{name} has no axis; its first counts the samples"));
            tensor.dims().first().copied().ok_or_else(missing)
        };
        let (len, targets) = (rows(&x, "x")?, rows(&y, "y")?);
        if len != targets {
            return Err(DataError::Lengths { x: len, y: targets });
        }
        Ok(TensorDataset { x: x.detach().contiguous(), y: y.detach().contiguous(), len })
    }

    /// The set with floating-point inputs and targets in another type; whole numbers stay.
    ///
    /// ```
    /// use tove_data::sets;
    /// use tove_tensor::DType;
    /// assert_eq!(sets::xor()?.to_dtype(DType::F64)?.x().dtype(), DType::F64);
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// If the type is not f32 or f64.
    pub fn to_dtype(&self, dtype: DType) -> Result<TensorDataset> {
        if !dtype.is_float() {
            return Err(DataError::parameter("to_dtype", format!("{dtype} asked for; data are f32 or f64")));
        }
        let convert = |tensor: &Tensor| if tensor.dtype().is_float() { tensor.to_dtype(dtype) } else { tensor.clone() };
        Ok(TensorDataset { x: convert(&self.x), y: convert(&self.y), len: self.len })
    }

    /// The set with each input as a plain row of numbers, (samples, features).
    ///
    /// ```
    /// assert_eq!(tove_data::sets::digits()?.flat()?.x().dims(), [1797, 64]);
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// None for a set that is in order; the reshape is checked.
    pub fn flat(&self) -> Result<TensorDataset> {
        let features = self.x.dims().iter().skip(1).product::<usize>();
        Ok(TensorDataset { x: self.x.try_reshape([self.len, features])?, y: self.y.clone(), len: self.len })
    }

    /// All inputs.
    pub fn x(&self) -> &Tensor {
        &self.x
    }

    /// All targets.
    pub fn y(&self) -> &Tensor {
        &self.y
    }
}

impl Dataset for TensorDataset {
    fn len(&self) -> usize {
        self.len
    }

    fn batch(&self, indices: &[usize], _: Key) -> Result<Batch> {
        if let Some(&index) = indices.iter().find(|&&index| index >= self.len) {
            return Err(DataError::Index { index, len: self.len });
        }
        let rows = Tensor::from(indices.iter().map(|&index| index as i64).collect::<Vec<_>>());
        Ok(Batch { x: self.x.try_index_select(0, &rows)?, y: self.y.try_index_select(0, &rows)? })
    }

    fn all(&self, _: Key) -> Result<Batch> {
        Ok(Batch { x: self.x.clone(), y: self.y.clone() })
    }
}
