//! Sum or mean of squared differences: one number, one pass forward, one pass backward. ∂a = 2 g (a - b).

use smallvec::smallvec;

use super::{Fused, Saved, fused};
use crate::autodiff::Grads;
use crate::dtype::match_float;
use crate::kernels::elementwise::{Map2, map2};
use crate::kernels::math::Float;
use crate::kernels::squares::squared_distance;
use crate::ops::{Aux, binary, reduce, unary};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

/// Inputs of one shape; the sum is multiplied by 1/n for the mean.
#[derive(Clone, Copy)]
struct SquaredError {
    mean: bool,
}

impl SquaredError {
    fn factor(self, x: &Tensor) -> f64 {
        if self.mean { 1.0 / x.numel() as f64 } else { 1.0 }
    }
}

/// factor · (a - b).
#[derive(Clone, Copy)]
struct Scaled<T>(T);

impl<T: Float> Map2<T, T, T> for Scaled<T> {
    #[inline(always)]
    fn call(self, a: T, b: T) -> T {
        self.0 * (a - b)
    }
}

impl Fused for SquaredError {
    const NAME: &'static str = "squared_error";

    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let (a, b) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        if a.dtype() != b.dtype() {
            return Err(Error::DTypePair { op: Self::NAME, left: a.dtype(), right: b.dtype() });
        }
        if a.shape() != b.shape() {
            return Err(Error::shapes(Self::NAME, a.shape(), b.shape(), "shapes must be equal"));
        }
        let mut out = Fresh::new(Shape::from(()), a.dtype())?;
        match_float!(Self::NAME, a.dtype(), T => {
            let sum = squared_distance::<T>(a.contiguous_slice(), b.contiguous_slice());
            out.slice::<T>()[0] = sum * <T as Float>::from_f64(self.factor(&a));
        });
        Ok((out.finish(), Aux::new()))
    }

    #[allow(unsafe_code)]
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let (a, b) = (at.inputs[0], at.inputs[1]);
        let mut grads: Grads = smallvec![None, None];
        for (index, slot) in grads.iter_mut().enumerate().filter(|(index, _)| needs[*index]) {
            let sign = if index == 0 { 2.0 } else { -2.0 };
            let mut out = Fresh::new(a.shape().clone(), a.dtype())?;
            match_float!(Self::NAME, a.dtype(), T => {
                let factor = grad.try_item::<T>()? * <T as Float>::from_f64(sign * self.factor(a));
                // SAFETY: `out` has the shape and type of both operands.
                unsafe { map2::<T, T, T, _>(Scaled(factor), a, b, a.shape(), out.pointer()) }
            });
            *slot = Some(out.finish());
        }
        Ok(grads)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let squares = unary::square(&binary::sub(inputs[0], inputs[1])?)?;
        if self.mean { reduce::mean_all(&squares) } else { reduce::sum_all(&squares) }
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        3 * inputs[0].numel() as u64
    }

    fn attributes(&self) -> String {
        format!("mean={}", self.mean)
    }
}

/// Σ (a - b)², or its mean over all elements, for operands of one shape.
pub(crate) fn squared_error(a: &Tensor, b: &Tensor, mean: bool) -> Result<Tensor> {
    fused(SquaredError { mean }, &[a, b])
}
