//! Conversion of the element type. Differentiable between the floating-point types.

use crate::dtype::match_any;
use crate::kernels::elementwise::{Map1, map1};
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::tensor::Fresh;
use crate::{DType, Element, Result, Shape, Tensor};

#[derive(Clone)]
struct Cast {
    from: DType,
    to: DType,
}

#[derive(Clone, Copy)]
struct Convert;

impl<A: Element, B: Element> Map1<A, B> for Convert {
    #[inline(always)]
    fn call(self, a: A) -> B {
        // Through the type that holds both exactly.
        if A::DTYPE.is_float() { B::from_f64(a.to_f64()) } else { B::from_i64(a.to_i64()) }
    }
}

impl LinearMap for Cast {
    const NAME: &'static str = "to_dtype";

    #[allow(unsafe_code)]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let mut out = Fresh::new(x.shape().clone(), self.to)?;
        match_any!(x.dtype(), A => match_any!(self.to, B => {
            // SAFETY: `out` has the shape of `x` and the element type written.
            unsafe { map1::<A, B, _>(Convert, x, out.pointer()) }
        }));
        // SAFETY: every element was written, as a value of its type.
        Ok(unsafe { out.finish_written() })
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        to_dtype(grad, self.from)
    }

    fn attributes(&self) -> String {
        format!("to={}", self.to)
    }
}

pub(crate) fn to_dtype(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype {
        return Ok(x.clone());
    }
    linear_map(Cast { from: x.dtype(), to: dtype }, x)
}
