//! Logic on truth values, and tests of numbers. No derivative.

use super::common_shape;
use crate::autodiff::apply;
use crate::dtype::match_float;
use crate::kernels::elementwise::{Map1, Map2, map1, map2};
use crate::kernels::math::Float;
use crate::ops::constant::{Constant, constant_op};
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Tensor};

macro_rules! logic {
    ($($Type:ident $name:ident $operator:tt;)*) => {$(
        #[derive(Clone, Copy)]
        struct $Type;

        impl Map2<u8, u8, u8> for $Type {
            #[inline(always)]
            fn call(self, a: u8, b: u8) -> u8 {
                a $operator b
            }
        }

        impl Constant for $Type {
            const NAME: &'static str = stringify!($name);

            #[allow(unsafe_code)]
            fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
                let (a, b) = (inputs[0], inputs[1]);
                let shape = common_shape(Self::NAME, a, b)?;
                check_bool(Self::NAME, a)?;
                let mut out = Fresh::new(shape.clone(), DType::Bool)?;
                // SAFETY: `out` has the common shape; truth values are bytes 0 and 1, which the operator keeps.
                unsafe { map2::<u8, u8, u8, _>($Type, a, b, &shape, out.pointer()) };
                // SAFETY: every byte was written; both operands are of type `Bool`, as they are of one type.
                Ok(unsafe { out.finish_written() })
            }
        }

        pub(crate) fn $name(a: &Tensor, b: &Tensor) -> Result<Tensor> {
            apply(constant_op($Type), &[a, b])
        }
    )*};
}

logic! {
    And logical_and &;
    Or logical_or |;
    Xor logical_xor ^;
}

fn check_bool(op: &'static str, x: &Tensor) -> Result<()> {
    if x.dtype() != DType::Bool {
        return Err(Error::DType { op, dtype: x.dtype(), expected: "truth values are needed" });
    }
    Ok(())
}

/// Negation of truth values.
pub(crate) fn logical_not(x: &Tensor) -> Result<Tensor> {
    check_bool("logical_not", x)?;
    super::eq_scalar(x, 0.0)
}

macro_rules! test {
    ($($Type:ident $name:ident $method:ident;)*) => {$(
        #[derive(Clone, Copy)]
        struct $Type;

        impl<T: Float> Map1<T, u8> for $Type {
            #[inline(always)]
            fn call(self, x: T) -> u8 {
                u8::from(Float::$method(x))
            }
        }

        impl Constant for $Type {
            const NAME: &'static str = stringify!($name);

            #[allow(unsafe_code)]
            fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
                let mut out = Fresh::new(inputs[0].shape().clone(), DType::Bool)?;
                match_float!(Self::NAME, inputs[0].dtype(), T => {
                    // SAFETY: `out` has the shape of the input; truth values are bytes 0 and 1.
                    unsafe { map1::<T, u8, _>($Type, inputs[0], out.pointer()) }
                });
                // SAFETY: every byte was written and came from a truth value.
                Ok(unsafe { out.finish_written() })
            }
        }

        pub(crate) fn $name(x: &Tensor) -> Result<Tensor> {
            apply(constant_op($Type), &[x])
        }
    )*};
}

test! {
    IsNan is_nan is_nan;
    IsFinite is_finite is_finite;
    IsInf is_inf is_infinite;
}
