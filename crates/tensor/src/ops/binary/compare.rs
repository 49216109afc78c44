//! Comparisons: truth values, no derivative.

use super::common_shape;
use crate::autodiff::apply;
use crate::dtype::match_any;
use crate::kernels::elementwise::{Map2, map2};
use crate::ops::constant::{Constant, constant_op};
use crate::tensor::Fresh;
use crate::{DType, Result, Tensor};

macro_rules! comparison {
    ($($Type:ident $name:ident $scalar:ident $operator:tt;)*) => {$(
        #[derive(Clone, Copy)]
        struct $Type;

        impl<T: PartialOrd> Map2<T, T, u8> for $Type {
            #[inline(always)]
            fn call(self, a: T, b: T) -> u8 {
                u8::from(a $operator b)
            }
        }

        impl Constant for $Type {
            const NAME: &'static str = stringify!($name);

            #[allow(unsafe_code)]
            fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
                let (a, b) = (inputs[0], inputs[1]);
                let shape = common_shape(Self::NAME, a, b)?;
                let mut out = Fresh::new(shape.clone(), DType::Bool)?;
                match_any!(a.dtype(), T => {
                    // SAFETY: `out` has the common shape; truth values are bytes 0 and 1.
                    unsafe { map2::<T, T, u8, _>($Type, a, b, &shape, out.pointer()) }
                });
                Ok(out.finish())
            }
        }

        pub(crate) fn $name(a: &Tensor, b: &Tensor) -> Result<Tensor> {
            apply(constant_op($Type), &[a, b])
        }

        pub(crate) fn $scalar(a: &Tensor, b: f64) -> Result<Tensor> {
            $name(a, &Tensor::scalar_of(b, a.dtype()))
        }
    )*};
}

comparison! {
    Eq eq eq_scalar ==;
    Ne ne ne_scalar !=;
    Lt lt lt_scalar <;
    Le le le_scalar <=;
    Gt gt gt_scalar >;
    Ge ge ge_scalar >=;
}
