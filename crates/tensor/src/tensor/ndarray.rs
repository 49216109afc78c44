//! Conversion to and from the arrays of the `ndarray` crate; with the feature `ndarray`.
//!
//! ```
//! use ndarray::{ArrayD, array};
//! use tove_tensor::Tensor;
//! let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
//! assert_eq!(x.t().to_ndarray::<f64>().unwrap(), array![[1.0, 3.0], [2.0, 4.0]].into_dyn());
//! let back: ArrayD<f64> = (&x).try_into().unwrap();
//! assert_eq!(back.shape(), &[2, 2]);
//! ```

use ndarray::{Array, ArrayBase, ArrayD, Data, Dimension, IxDyn};

use super::Tensor;
use crate::{Element, Error, Result};

impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    /// Takes over the memory of an array in standard layout; others are copied.
    fn from(array: Array<T, D>) -> Tensor {
        if !array.is_standard_layout() {
            return Tensor::from(&array);
        }
        let sizes = array.shape().to_vec();
        let (mut data, first) = array.into_raw_vec_and_offset();
        // An array sliced in place keeps what lies around it.
        data.drain(..first.unwrap_or(0));
        data.truncate(sizes.iter().product());
        Tensor::from_vec(data, sizes)
    }
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Tensor {
    fn from(array: &ArrayBase<S, D>) -> Tensor {
        Tensor::from_vec(array.iter().copied().collect::<Vec<T>>(), array.shape().to_vec())
    }
}

impl Tensor {
    /// A copy as an array of the `ndarray` crate; an error when the element type is another.
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>> {
        let data = self.try_to_vec::<T>()?;
        ArrayD::from_shape_vec(IxDyn(self.dims()), data)
            .map_err(|error| Error::shape("to_ndarray", self.shape(), error.to_string()))
    }
}

impl<T: Element> TryFrom<&Tensor> for ArrayD<T> {
    type Error = Error;

    fn try_from(x: &Tensor) -> Result<ArrayD<T>> {
        x.to_ndarray()
    }
}
