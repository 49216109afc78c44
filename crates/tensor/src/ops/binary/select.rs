//! Choice by a mask: `where` in numpy. Linear in both alternatives.

use super::common_shape;
use crate::autodiff::{Point, Saves, apply};
use crate::dtype::match_any;
use crate::kernels::elementwise::{Map3, map3};
use crate::ops::pointwise::{Elementwise, Pointwise};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Tensor};

#[derive(Clone, Copy)]
pub(crate) struct Select;

impl<T> Map3<u8, T, T, T> for Select {
    #[inline(always)]
    fn call(self, mask: u8, a: T, b: T) -> T {
        if mask != 0 { a } else { b }
    }
}

impl Pointwise for Select {
    fn name(&self) -> &'static str {
        "select"
    }

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (mask, a, b) = (inputs[0], inputs[1], inputs[2]);
        if mask.dtype() != DType::Bool {
            return Err(Error::DType {
                op: "select",
                dtype: mask.dtype(),
                expected: "the mask must hold truth values",
            });
        }
        let shape = common_shape("select", a, b)?;
        let shape = shape.broadcast(mask.shape()).ok_or_else(|| {
            Error::shapes("select", mask.shape(), &shape, "the mask must broadcast with the alternatives")
        })?;
        let mut out = Fresh::new(shape.clone(), a.dtype())?;
        match_any!(a.dtype(), T => {
            // SAFETY: `out` has the common shape and the alternatives' type; the mask holds bytes.
            unsafe { map3::<u8, T, T, T, _>(Select, mask, a, b, &shape, out.pointer()) }
        });
        Ok(out.finish())
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing().input(0)
    }

    fn times_partial(&self, at: &Point<'_>, index: usize, t: &Tensor) -> Result<Option<Tensor>> {
        let (mask, zero) = (at.input(0), Tensor::scalar_of(0.0, t.dtype()));
        match index {
            1 => select(mask, t, &zero).map(Some),
            2 => select(mask, &zero, t).map(Some),
            _ => Ok(None),
        }
    }
}

/// `a` where the mask is true, `b` elsewhere.
pub(crate) fn select(mask: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    apply(Elementwise(Select), &[mask, a, b])
}
