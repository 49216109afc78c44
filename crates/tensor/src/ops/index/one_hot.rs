//! Class numbers as rows of zeros with a single one.

use super::checked::checked;
use crate::autodiff::apply;
use crate::kernels::index as kernel;
use crate::ops::constant::{Constant, constant_op};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Tensor};

#[derive(Clone, Copy)]
struct OneHot {
    classes: usize,
    dtype: DType,
}

impl Constant for OneHot {
    const NAME: &'static str = "one_hot";

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let index = inputs[0].contiguous_data()?;
        let places = index.contiguous_slice::<i64>();
        let mut out = Fresh::new(index.shape().joined(&[self.classes]), self.dtype)?;
        out.bytes_mut().fill(0);
        let one = Tensor::scalar_of(1.0, self.dtype);
        kernel::match_bits!(self.dtype, U => {
            let (one, slots) = (kernel::bits::<U>(&one)[0], kernel::bits_mut::<U>(&mut out));
            for (row, &class) in places.iter().enumerate() {
                slots[row * self.classes + class as usize] = one;
            }
        });
        Ok(out.finish())
    }

    fn attributes(&self) -> String {
        format!("classes={}, dtype={}", self.classes, self.dtype)
    }
}

/// A last axis of length `classes` with a one at each index.
pub(crate) fn one_hot(index: &Tensor, classes: usize, dtype: DType) -> Result<Tensor> {
    if index.shape().joined(&[classes]).checked_numel().is_none() {
        return Err(Error::shape("one_hot", index.shape(), format!("{classes} classes are too many to address")));
    }
    let index = checked("one_hot", index, classes)?;
    apply(constant_op(OneHot { classes, dtype }), &[&index])
}
