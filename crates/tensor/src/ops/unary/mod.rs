//! Functions of one tensor, element by element; one file each.

mod abs;
mod acos;
mod acosh;
mod add_scalar;
mod asin;
mod asinh;
mod atan;
mod atanh;
mod ceil;
mod cos;
mod cosh;
mod declare;
mod digamma;
mod div_into;
mod div_scalar;
mod elu;
mod erf;
mod erfc;
mod exp;
mod exp2;
mod expm1;
mod floor;
mod gelu;
mod gelu_tanh;
mod leaky_relu;
mod lgamma;
mod ln;
mod log10;
mod log1p;
mod log2;
mod log_sigmoid;
mod maximum_scalar;
mod minimum_scalar;
mod mul_scalar;
mod neg;
mod normal_cdf;
mod positive;
mod powf;
mod recip;
mod relu;
mod round;
mod rsqrt;
mod sigmoid;
mod sign;
mod silu;
mod sin;
mod sinh;
mod softplus;
mod sqrt;
mod square;
mod sub_from;
mod tally;
mod tan;
mod tanh;
mod trigamma;
mod trunc;

use super::arith::Arith;
use super::pointwise::{Elementwise, Pointwise};
use crate::autodiff::{Point, Saves, apply};
use crate::dtype::match_float;
use crate::kernels::elementwise::{Map1, Map2, map1, map2};
use crate::kernels::math::Float;
use crate::tensor::Fresh;
use crate::{DType, Error, Result, Tensor};

pub(crate) use declare::unary;
pub(crate) use {
    abs::abs,
    acos::acos,
    acosh::acosh,
    add_scalar::{AddScalar, add_scalar},
    asin::asin,
    asinh::asinh,
    atan::atan,
    atanh::atanh,
    ceil::ceil,
    cos::cos,
    cosh::cosh,
    digamma::digamma,
    div_into::{DivInto, div_into},
    div_scalar::{DivScalar, div_scalar},
    elu::elu,
    erf::erf,
    erfc::erfc,
    exp::exp,
    exp2::exp2,
    expm1::expm1,
    floor::floor,
    gelu::gelu,
    gelu_tanh::gelu_tanh,
    leaky_relu::leaky_relu,
    lgamma::lgamma,
    ln::ln,
    log_sigmoid::log_sigmoid,
    log1p::log1p,
    log2::log2,
    log10::log10,
    maximum_scalar::maximum_scalar,
    minimum_scalar::minimum_scalar,
    mul_scalar::{MulScalar, mul_scalar},
    neg::{Neg, neg},
    normal_cdf::normal_cdf,
    positive::positive,
    powf::powf,
    recip::recip,
    relu::{Relu, relu},
    round::round,
    rsqrt::rsqrt,
    sigmoid::sigmoid,
    sign::sign,
    silu::silu,
    sin::sin,
    sinh::sinh,
    softplus::softplus,
    sqrt::sqrt,
    square::square,
    sub_from::{SubFrom, sub_from},
    tan::tan,
    tanh::tanh,
    trigamma::trigamma,
    trunc::trunc,
};

/// From what the slope of a function is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlopeOf {
    /// The argument.
    Input,
    /// The value.
    Output,
    /// Both.
    Both,
    /// Neither: the slope is constant or zero.
    Neither,
}

/// A function of one number with its derivative.
pub(crate) trait Unary: Copy + Send + Sync + 'static {
    const NAME: &'static str;
    /// Rough cost against a copy, for deciding when several threads pay.
    const COST: usize;
    const SLOPE_OF: SlopeOf;
    /// Whether integers have a value too.
    const INTEGERS: bool = false;
    /// Whether the function is locally constant, so that its derivative is zero everywhere.
    const FLAT: bool = false;
    /// Whether nothing passes where the slope is 0, not even an infinite derivative; else 0 · ∞ is NaN.
    const BLOCKS: bool = false;

    fn value<T: Float>(self, x: T) -> T;
    /// The values of contiguous numbers.
    ///
    /// # Safety
    /// `count` numbers can be read from `x` and written to `out`, which are the same memory or do not overlap.
    #[inline(always)]
    #[allow(unsafe_code)]
    unsafe fn row<T: Float>(self, x: *const T, out: *mut T, count: usize) {
        for i in 0..count {
            // SAFETY: by the caller's promise.
            unsafe { *out.add(i) = self.value(*x.add(i)) };
        }
    }
    /// The derivative from argument and value, as far as [`Unary::SLOPE_OF`] asks for them.
    fn slope<A: Arith>(self, x: A, y: A) -> A;
    fn integer(self, x: i64) -> i64 {
        x
    }
    /// The number that is a parameter of the function, if it has one.
    fn scalar(&self) -> Option<f64> {
        None
    }
    fn attributes(&self) -> String {
        String::new()
    }
}

/// A [`Unary`] function seen by the element loops.
#[derive(Clone, Copy)]
struct Value<F>(F);

macro_rules! value_of_floats {
    ($($t:ident),*) => {$(
        impl<F: Unary> Map1<$t, $t> for Value<F> {
            const COST: usize = F::COST;
            #[inline(always)]
            fn call(self, x: $t) -> $t {
                self.0.value(x)
            }
            #[inline(always)]
            #[allow(unsafe_code)]
            unsafe fn row(self, x: *const $t, out: *mut $t, count: usize) {
                // SAFETY: by the caller's promise.
                unsafe { self.0.row(x, out, count) }
            }
        }

        impl<F: Unary> Map2<$t, $t, $t> for SlopeTimes<F> {
            const COST: usize = F::COST;
            #[inline(always)]
            fn call(self, t: $t, saved: $t) -> $t {
                let slope = self.0.slope(saved, saved);
                if F::BLOCKS { <$t as Float>::select(slope == 0.0, 0.0, t * slope) } else { t * slope }
            }
        }
    )*};
}
value_of_floats!(f32, f64);

impl<F: Unary> Map1<i64, i64> for Value<F> {
    #[inline(always)]
    fn call(self, x: i64) -> i64 {
        self.0.integer(x)
    }
}

impl<F: Unary> Map1<u8, u8> for Value<F> {
    #[inline(always)]
    fn call(self, x: u8) -> u8 {
        self.0.integer(i64::from(x)) as u8
    }
}

/// Multiplication by the slope, in one pass over incoming derivative and saved value.
#[derive(Clone, Copy)]
struct SlopeTimes<F>(F);

impl<F: Unary> Pointwise for F {
    fn name(&self) -> &'static str {
        F::NAME
    }

    #[inline]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let x = inputs[0];
        check_dtype(*self, x)?;
        values(*self, x)
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        match F::SLOPE_OF {
            SlopeOf::Input => Saves::nothing().input(0),
            SlopeOf::Output => Saves::output(),
            SlopeOf::Both => Saves::output().input(0),
            SlopeOf::Neither => Saves::nothing(),
        }
    }

    fn times_partial(&self, at: &Point<'_>, _index: usize, t: &Tensor) -> Result<Option<Tensor>> {
        if F::FLAT {
            return Ok(None);
        }
        let (x, y) = match F::SLOPE_OF {
            SlopeOf::Input => (at.input(0), at.input(0)),
            SlopeOf::Output => (at.output(), at.output()),
            SlopeOf::Both => (at.input(0), at.output()),
            SlopeOf::Neither => (t, t),
        };
        let plain = x.track().is_none() && y.track().is_none() && t.track().is_none();
        if plain && F::SLOPE_OF != SlopeOf::Both {
            return times_slope(*self, t, x).map(Some);
        }
        let slope = self.slope(x.clone(), y.clone());
        let product = super::binary::mul(t, &slope)?;
        if !F::BLOCKS {
            return Ok(Some(product));
        }
        let blocked = super::binary::eq_scalar(&slope, 0.0)?;
        super::binary::select(&blocked, &Tensor::scalar_of(0.0, t.dtype()), &product).map(Some)
    }

    fn attributes(&self) -> String {
        Unary::attributes(self)
    }
}

fn check_dtype<F: Unary>(f: F, x: &Tensor) -> Result<()> {
    match x.dtype() {
        DType::F32 | DType::F64 => Ok(()),
        DType::I64 | DType::U8 if F::INTEGERS => match f.scalar() {
            None => Ok(()),
            Some(c) if is_whole(c, x.dtype()) => Ok(()),
            Some(_) => {
                let expected = "its number has a fraction or is too large for whole numbers of this type";
                Err(Error::DType { op: F::NAME, dtype: x.dtype(), expected })
            }
        },
        dtype => {
            let expected = if F::INTEGERS { "a number type is needed" } else { "f32 or f64 is needed" };
            Err(Error::DType { op: F::NAME, dtype, expected })
        }
    }
}

/// Whether a number stands for one of a whole type. Infinities do: they are cut to the largest and the smallest.
fn is_whole(c: f64, dtype: DType) -> bool {
    let fits = if dtype == DType::U8 { (0.0..=255.0).contains(&c) } else { c.abs() < 9_223_372_036_854_775_808.0 };
    c.is_infinite() || c.fract() == 0.0 && fits
}

/// The values for `x`, in new memory.
#[allow(unsafe_code)]
#[inline]
fn values<F: Unary>(f: F, x: &Tensor) -> Result<Tensor> {
    let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
    // SAFETY: `out` has the shape and type of `x`.
    unsafe {
        match x.dtype() {
            DType::F32 => map1::<f32, f32, _>(Value(f), x, out.pointer()),
            DType::F64 => map1::<f64, f64, _>(Value(f), x, out.pointer()),
            DType::I64 => map1::<i64, i64, _>(Value(f), x, out.pointer()),
            DType::U8 | DType::Bool => map1::<u8, u8, _>(Value(f), x, out.pointer()),
        }
    }
    Ok(out.finish())
}

/// `t` times the slope at the saved values.
#[allow(unsafe_code)]
pub(crate) fn times_slope<F: Unary>(f: F, t: &Tensor, saved: &Tensor) -> Result<Tensor> {
    let shape = super::binary::common_shape(F::NAME, t, saved)?;
    if crate::meter::on() {
        tally::report(f, shape.numel());
    }
    let mut out = Fresh::new(shape.clone(), saved.dtype())?;
    match_float!(F::NAME, saved.dtype(), T => {
        // SAFETY: `out` has the common shape and the type of both.
        unsafe { map2::<T, T, T, _>(SlopeTimes(f), t, saved, &shape, out.pointer()) }
    });
    Ok(out.finish())
}

/// Applies a function to a tensor.
#[inline]
pub(crate) fn apply_unary<F: Unary>(f: F, x: &Tensor) -> Result<Tensor> {
    apply(Elementwise(f), &[x])
}

/// Applies a function to a tensor that is not needed any more; in place when nobody else holds it.
#[allow(unsafe_code)]
pub(crate) fn unary_assign<F: Unary>(f: F, x: &mut Tensor) -> Result<()> {
    if x.track().is_some() || !x.dtype().is_float() || !x.owns_alone() || crate::meter::on() {
        *x = apply_unary(f, x)?;
        return Ok(());
    }
    match_float!(F::NAME, x.dtype(), T => {
        let out = x.pointer_mut::<T>();
        // SAFETY: `x` is row-major and alone on its buffer; the loop reads each element before it writes it.
        unsafe { map1::<T, T, _>(Value(f), x, out) }
    });
    Ok(())
}

/// As [`unary_assign`], for a tensor passed on.
pub(crate) fn unary_owned<F: Unary>(f: F, mut x: Tensor) -> Result<Tensor> {
    unary_assign(f, &mut x)?;
    Ok(x)
}
