//! Functions of two tensors, element by element, with broadcasting; one file each.

mod add;
mod atan2;
mod compare;
mod cross_entropy;
mod div;
mod logaddexp;
mod logical;
mod maximum;
mod minimum;
mod mul;
mod pow;
mod rem;
mod select;
mod sub;

use super::pointwise::{Elementwise, Pointwise};
use crate::autodiff::{Point, Saves, apply};
use crate::dtype::match_number;
use crate::kernels::elementwise::{Map2, map2};
use crate::kernels::math::Float;
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Shape, Tensor};

pub(crate) use add::{Add, add, add_owned};
pub(crate) use atan2::atan2;
pub(crate) use compare::{eq, eq_scalar, ge, ge_scalar, gt, gt_scalar, le, le_scalar, lt, lt_scalar, ne, ne_scalar};
pub(crate) use cross_entropy::{logit_loss, probability_loss};
pub(crate) use div::{Div, div};
pub(crate) use logaddexp::logaddexp;
pub(crate) use logical::{is_finite, is_inf, is_nan, logical_and, logical_not, logical_or, logical_xor};
pub(crate) use maximum::{maximum, share, share_of};
pub(crate) use minimum::minimum;
pub(crate) use mul::{Mul, mul};
pub(crate) use pow::pow;
pub(crate) use rem::rem;
pub(crate) use select::select;
pub(crate) use sub::{Sub, sub};

/// A function of two numbers with its partial derivatives.
pub(crate) trait Binary: Copy + Send + Sync + 'static {
    const NAME: &'static str;
    /// Rough cost against a copy.
    const COST: usize;
    /// Whether whole numbers have a value too.
    const INTEGERS: bool = true;

    fn value<T: Float>(a: T, b: T) -> T;
    fn integer(a: i64, b: i64) -> i64;
    /// Refuses whole numbers on which there is no value. Sees all rows of a batch.
    fn check_integers(_a: &Tensor, _b: &Tensor) -> Result<()> {
        Ok(())
    }
    fn saves(needs: &[bool]) -> Saves;
    /// `t` times the partial derivative by operand `index`; `None` where that is zero.
    fn times_partial(at: &Point<'_>, index: usize, t: &Tensor) -> Result<Option<Tensor>>;
}

/// A [`Binary`] function seen by the element loops.
#[derive(Clone, Copy)]
struct Value<F>(F);

macro_rules! value_of_floats {
    ($($t:ident),*) => {$(
        impl<F: Binary> Map2<$t, $t, $t> for Value<F> {
            const COST: usize = F::COST;
            #[inline(always)]
            fn call(self, a: $t, b: $t) -> $t {
                F::value(a, b)
            }
        }
    )*};
}
value_of_floats!(f32, f64);

impl<F: Binary> Map2<i64, i64, i64> for Value<F> {
    #[inline(always)]
    fn call(self, a: i64, b: i64) -> i64 {
        F::integer(a, b)
    }
}

impl<F: Binary> Map2<u8, u8, u8> for Value<F> {
    #[inline(always)]
    fn call(self, a: u8, b: u8) -> u8 {
        F::integer(i64::from(a), i64::from(b)) as u8
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Of<F>(F);

impl<F: Binary> Pointwise for Of<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    #[allow(unsafe_code)]
    #[inline]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (a, b) = (inputs[0], inputs[1]);
        let shape = common_shape(F::NAME, a, b)?;
        if !F::INTEGERS && !a.dtype().is_float() {
            return Err(Error::DType { op: F::NAME, dtype: a.dtype(), expected: "f32 or f64 is needed" });
        }
        if a.dtype() == DType::I64 {
            F::check_integers(a, b)?;
        }
        let mut out = Fresh::new(shape, a.dtype())?;
        match_number!(F::NAME, a.dtype(), T => {
            let pointer = out.pointer();
            // SAFETY: `out` is new and has the common shape of the operands and their type, which is one.
            unsafe { map2::<T, T, T, _>(Value(self.0), a, b, out.shape(), pointer) }
        });
        Ok(out.finish())
    }

    fn saves(&self, needs: &[bool]) -> Saves {
        F::saves(needs)
    }

    fn times_partial(&self, at: &Point<'_>, index: usize, t: &Tensor) -> Result<Option<Tensor>> {
        F::times_partial(at, index, t)
    }
}

/// The broadcast shape of two operands of one type.
#[inline]
pub(crate) fn common_shape(op: &'static str, a: &Tensor, b: &Tensor) -> Result<Shape> {
    if a.dtype() != b.dtype() {
        return Err(Error::DTypePair { op, left: a.dtype(), right: b.dtype() });
    }
    if a.shape() == b.shape() {
        return Ok(a.shape().clone());
    }
    a.shape()
        .broadcast(b.shape())
        .ok_or_else(|| Error::shapes(op, a.shape(), b.shape(), "sizes must be equal or 1, axis by axis from the last"))
}

/// Applies a function to two tensors.
#[inline]
pub(crate) fn apply_binary<F: Binary>(f: F, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    apply(Elementwise(Of(f)), &[a, b])
}

/// Applies a function to two tensors of which the first is not needed any more; in place when nobody else holds it.
#[allow(unsafe_code)]
pub(crate) fn binary_assign<F: Binary>(f: F, a: &mut Tensor, b: &Tensor) -> Result<()> {
    let plain = a.track().is_none() && b.track().is_none() && a.dtype() == b.dtype() && a.dtype().is_float();
    let fits = plain && (a.shape() == b.shape() || a.shape().broadcast(b.shape()).as_ref() == Some(a.shape()));
    if !fits || crate::meter::on() || !a.owns_alone() {
        *a = apply_binary(f, a, b)?;
        return Ok(());
    }
    let shape = a.shape().clone();
    crate::dtype::match_float!(F::NAME, a.dtype(), T => {
        let out = a.pointer_mut::<T>();
        // SAFETY: `a` is row-major of the common shape and alone on its buffer (so `b` cannot overlap it), and the loop
        // reads each element before it writes it.
        unsafe { map2::<T, T, T, _>(Value(f), a, b, &shape, out) }
    });
    Ok(())
}

/// As [`binary_assign`], for a tensor passed on.
pub(crate) fn binary_owned<F: Binary>(f: F, mut a: Tensor, b: &Tensor) -> Result<Tensor> {
    binary_assign(f, &mut a, b)?;
    Ok(a)
}

/// Declares a function of two elements.
macro_rules! binary {
    (@integers) => {
        const INTEGERS: bool = false;
        fn integer(a: i64, _b: i64) -> i64 {
            a
        }
    };
    (@integers |$ia:ident, $ib:ident| $integer:expr) => {
        #[inline(always)]
        fn integer($ia: i64, $ib: i64) -> i64 {
            $integer
        }
    };
    (
        $(#[$doc:meta])*
        $Type:ident, $name:ident, cost $cost:literal,
        |$a:ident, $b:ident| $value:expr,
        $(integers |$ia:ident, $ib:ident| $integer:expr,)?
        $(checked by $check:path,)?
        saves |$needs:ident| $saves:expr,
        partial |$at:ident, $index:ident, $t:ident| $partial:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $Type;

        impl $crate::ops::binary::Binary for $Type {
            const NAME: &'static str = stringify!($name);
            const COST: usize = $cost;

            #[inline(always)]
            fn value<T: $crate::kernels::math::Float>($a: T, $b: T) -> T {
                $value
            }

            $crate::ops::binary::binary!(@integers $(|$ia, $ib| $integer)?);

            $(fn check_integers(a: &$crate::Tensor, b: &$crate::Tensor) -> $crate::Result<()> {
                $check(a, b)
            })?

            #[allow(unused_variables)]
            fn saves($needs: &[bool]) -> $crate::autodiff::Saves {
                $saves
            }

            fn times_partial(
                $at: &$crate::autodiff::Point<'_>,
                $index: usize,
                $t: &$crate::Tensor,
            ) -> $crate::Result<Option<$crate::Tensor>> {
                $partial
            }
        }

        #[inline]
        pub(crate) fn $name(a: &$crate::Tensor, b: &$crate::Tensor) -> $crate::Result<$crate::Tensor> {
            $crate::ops::binary::apply_binary($Type, a, b)
        }
    };
}
pub(crate) use binary;
