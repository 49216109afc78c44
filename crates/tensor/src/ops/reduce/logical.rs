//! Whether any or all elements are true, and how many are not zero. Numbers count as true when they are not zero. No
//! derivative.

use super::{Axes, axes_from_end, describe, fold_axes, sum};
use crate::autodiff::apply;
use crate::kernels::reduce::{Fold, fold};
use crate::ops::constant::{Constant, constant_op};
use crate::ops::{binary, shape};
use crate::{DType, Result, Tensor};

macro_rules! quantifier {
    ($($Type:ident $name:ident $neutral:literal $operator:tt $doc:literal;)*) => {$(
        #[derive(Clone)]
        struct $Type {
            axes: Axes,
            keep: bool,
        }

        mod $name {
            #[derive(Clone, Copy)]
            pub(super) struct Combine;
        }

        impl Fold<u8> for $name::Combine {
            #[inline(always)]
            fn neutral(self) -> u8 {
                $neutral
            }
            #[inline(always)]
            fn combine(self, a: u8, b: u8) -> u8 {
                a $operator b
            }
        }

        impl Constant for $Type {
            const NAME: &'static str = stringify!($name);

            #[allow(unsafe_code)]
            fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
                fold_axes(inputs[0], &self.axes, self.keep, DType::Bool, |x, [outer, length, inner], out| {
                    let (from, to) = (x.pointer::<u8>(), out.pointer::<u8>());
                    // SAFETY: truth values are bytes 0 and 1; `x` is row-major with these sizes, `out` made for them.
                    unsafe { fold($name::Combine, from, outer, length, inner, to) };
                    Ok(())
                })
            }

            fn attributes(&self) -> String {
                describe(&self.axes, self.keep)
            }
        }

        #[doc = $doc]
        pub(crate) fn $name(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
            let axes = axes_from_end(stringify!($name), x, axes)?;
            apply(constant_op($Type { axes, keep }), &[&truth(x)?])
        }
    )*};
}

quantifier! {
    Any any 0 | "Whether any element along the axes is true; false of none.";
    All all 1 & "Whether all elements along the axes are true; true of none.";
}

/// Truth values as they are, numbers as whether they differ from 0.
fn truth(x: &Tensor) -> Result<Tensor> {
    if x.dtype() == DType::Bool { Ok(x.clone()) } else { binary::ne_scalar(x, 0.0) }
}

/// Number of elements along the axes that are not zero.
pub(crate) fn count_nonzero(x: &Tensor, axes: &[isize], keep: bool) -> Result<Tensor> {
    sum(&shape::to_dtype(&truth(x)?, DType::I64)?, axes, keep)
}
