//! Comparisons: truth values, no derivative. Against a number, floating-point tensors round it to their type; whole ones
//! compare as real numbers do.

use super::common_shape;
use crate::autodiff::apply;
use crate::dtype::match_any;
use crate::kernels::elementwise::{Map2, map2};
use crate::ops::constant::{Constant, constant_op};
use crate::tensor::Fresh;
use crate::{DType, Result, Tensor};

/// The comparisons by name.
#[derive(Clone, Copy, PartialEq)]
enum Relation {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

/// Smallest number of a type without fractions, and the one behind its largest.
fn bounds(dtype: DType) -> (f64, f64) {
    const END: f64 = 9_223_372_036_854_775_808.0; // 2^63
    match dtype {
        DType::Bool => (0.0, 2.0),
        DType::U8 => (0.0, 256.0),
        _ => (-END, END),
    }
}

/// Whether a type without fractions holds this number.
fn holds(dtype: DType, b: f64) -> bool {
    let (low, end) = bounds(dtype);
    b.fract() == 0.0 && b >= low && b < end
}

/// Whole numbers against a real one that their type does not hold, compared as numbers: against the whole number below
/// where that is in range, else all the same answer.
fn beside_real(a: &Tensor, b: f64, relation: Relation) -> Result<Tensor> {
    let (low, end) = bounds(a.dtype());
    let same = |answer: bool| if answer { eq(a, a) } else { ne(a, a) };
    if b.is_nan() {
        return same(relation == Relation::Ne);
    }
    match relation {
        Relation::Eq => same(false),
        Relation::Ne => same(true),
        Relation::Lt | Relation::Le if b < low => same(false),
        Relation::Lt | Relation::Le if b >= end => same(true),
        Relation::Lt | Relation::Le => le(a, &Tensor::scalar_of(b.floor(), a.dtype())),
        Relation::Gt | Relation::Ge if b < low => same(true),
        Relation::Gt | Relation::Ge if b >= end => same(false),
        Relation::Gt | Relation::Ge => gt(a, &Tensor::scalar_of(b.floor(), a.dtype())),
    }
}

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
                // SAFETY: every byte was written and came from a truth value.
                Ok(unsafe { out.finish_written() })
            }
        }

        pub(crate) fn $name(a: &Tensor, b: &Tensor) -> Result<Tensor> {
            apply(constant_op($Type), &[a, b])
        }

        pub(crate) fn $scalar(a: &Tensor, b: f64) -> Result<Tensor> {
            if a.dtype().is_float() || holds(a.dtype(), b) {
                return $name(a, &Tensor::scalar_of(b, a.dtype()));
            }
            beside_real(a, b, Relation::$Type)
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
