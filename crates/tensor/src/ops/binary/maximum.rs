//! Larger of two values; a NaN wins. The derivative goes to the larger operand, and half of it to each at a tie, so that
//! the two shares always sum to one and the result is a subgradient. Equal infinities are a tie as well.

use super::{binary, common_shape, eq_scalar, mul, select};
use crate::autodiff::{Saves, apply};
use crate::dtype::match_float;
use crate::kernels::elementwise::{Map2, map2};
use crate::kernels::math::Float;
use crate::ops::constant::{Constant, constant_op};
use crate::tensor::Fresh;
use crate::{Result, Tensor};

binary! {
    /// max(a, b).
    Maximum, maximum, cost 1,
    |a, b| a.maximum(b),
    integers |a, b| a.max(b),
    saves |needs| Saves::nothing().input(0).input(1),
    partial |at, index, t| times_share(t, &share(at.input(index), at.input(1 - index))?).map(Some)
}

/// `t` times a share. Nothing passes where the share is 0, not even an infinite derivative.
pub(super) fn times_share(t: &Tensor, share: &Tensor) -> Result<Tensor> {
    select(&eq_scalar(share, 0.0)?, &Tensor::scalar_of(0.0, t.dtype()), &mul(t, share)?)
}

/// The share of the first operand in the derivative of the larger of two; locally constant.
#[derive(Clone, Copy)]
struct Share;

/// 1 where `own` is larger, 1/2 where both are equal, 0 where it is smaller; NaN beside a NaN. By comparison rather than
/// by the sign of the difference, which infinities do not have.
#[inline(always)]
pub(crate) fn share_of<T: Float>(own: T, other: T) -> T {
    let ordered = T::select(own > other, T::ONE, T::select(own < other, T::ZERO, T::HALF));
    T::select(own.is_nan() | other.is_nan(), T::NAN, ordered)
}

impl<T: Float> Map2<T, T, T> for Share {
    #[inline(always)]
    fn call(self, own: T, other: T) -> T {
        share_of(own, other)
    }
}

impl Constant for Share {
    const NAME: &'static str = "larger_share";

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (a, b) = (inputs[0], inputs[1]);
        let shape = common_shape(Self::NAME, a, b)?;
        let mut out = Fresh::new(shape.clone(), a.dtype())?;
        match_float!(Self::NAME, a.dtype(), T => {
            // SAFETY: `out` has the common shape of the operands and their type.
            unsafe { map2::<T, T, T, _>(Share, a, b, &shape, out.pointer()) }
        });
        Ok(out.finish())
    }
}

/// The share of `own` in the derivative of the larger of both.
pub(crate) fn share(own: &Tensor, other: &Tensor) -> Result<Tensor> {
    apply(constant_op(Share), &[own, other])
}
