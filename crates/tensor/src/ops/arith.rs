//! The arithmetic in which slopes of elementwise functions are written once: with numbers for the kernels, with tensors
//! for derivatives of any order.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{binary, unary};
use crate::Tensor;
use crate::error::OrPanic;
use crate::kernels::gelu;
use crate::kernels::math::Float;

/// Numbers and tensors alike.
pub(crate) trait Arith:
    Clone + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// `self + c`.
    fn plus(self, c: f64) -> Self;
    /// `self * c`.
    fn times(self, c: f64) -> Self;
    /// `c` in the shape of `self`.
    fn constant(&self, c: f64) -> Self;
    /// `self ^ c`.
    fn power(self, c: f64) -> Self;
    /// `exp(self)`.
    fn exp(self) -> Self;
    /// `sin(self)`.
    fn sin(self) -> Self;
    /// `cos(self)`.
    fn cos(self) -> Self;
    /// `sinh(self)`.
    fn sinh(self) -> Self;
    /// `cosh(self)`.
    fn cosh(self) -> Self;
    /// `sqrt(self)`.
    fn sqrt(self) -> Self;
    /// `1 / self`.
    fn recip(self) -> Self;
    /// `self * self`.
    fn square(self) -> Self;
    /// `1 / (1 + exp(-self))`.
    fn sigmoid(self) -> Self;
    /// The standard normal distribution function.
    fn normal_cdf(self) -> Self;
    /// Derivative of the logarithm of the gamma function.
    fn digamma(self) -> Self;
    /// Its derivative.
    fn trigamma(self) -> Self;
    /// Φ(x) + x φ(x), the slope of x Φ(x).
    fn gelu_slope(self) -> Self;
    /// -1, 0 or 1; locally constant.
    fn sign(self) -> Self;
    /// 1 above `c`, 1/2 at it, 0 below; locally constant.
    fn above(self, c: f64) -> Self;
    /// min(self, 0).
    fn cut(self) -> Self;
    /// The nearest whole number, halves to the even one; locally constant.
    fn nearest(self) -> Self;
    /// 1 where positive, else 0 (also at 0); locally constant.
    fn positive(self) -> Self;
}

#[inline(always)]
fn gelu_slope<A: Arith>(x: A) -> A {
    /// 1 / √(2π).
    const INV_SQRT_TAU: f64 = 0.398_942_280_401_432_7;
    x.clone().normal_cdf() + x.clone() * x.square().times(-0.5).exp().times(INV_SQRT_TAU)
}

macro_rules! arith_for_numbers {
    ($($t:ident),*) => {$(
        impl Arith for $t {
            #[inline(always)]
            fn plus(self, c: f64) -> Self { self + c as $t }
            #[inline(always)]
            fn times(self, c: f64) -> Self { self * c as $t }
            #[inline(always)]
            fn constant(&self, c: f64) -> Self { c as $t }
            #[inline(always)]
            fn power(self, c: f64) -> Self { Float::pow(self, c as $t) }
            #[inline(always)]
            fn gelu_slope(self) -> Self {
                if size_of::<$t>() == 4 { gelu::slope(self as f32) as $t } else { gelu_slope(self) }
            }
            #[inline(always)]
            fn sign(self) -> Self { Float::sign(self) }
            #[inline(always)]
            fn above(self, c: f64) -> Self { binary::share_of(self, c as $t) }
            #[inline(always)]
            fn cut(self) -> Self { Float::minimum(self, 0.0) }
            #[inline(always)]
            fn nearest(self) -> Self { Float::round_half_even(self) }
            #[inline(always)]
            fn positive(self) -> Self { if self > 0.0 { 1.0 } else { 0.0 } }
            arith_for_numbers!(@forward $t: exp sin cos sinh cosh sqrt recip square sigmoid normal_cdf digamma trigamma);
        }
    )*};
    (@forward $t:ident: $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self { Float::$name(self) }
    )*};
}
arith_for_numbers!(f32, f64);

macro_rules! arith_for_tensors {
    ($($name:ident)*) => {
        impl Arith for Tensor {
            fn plus(self, c: f64) -> Self {
                self + c
            }
            fn times(self, c: f64) -> Self {
                self * c
            }
            fn constant(&self, c: f64) -> Self {
                Tensor::full(self.shape().clone(), c, self.dtype())
            }
            fn gelu_slope(self) -> Self {
                gelu_slope(self)
            }
            fn above(self, c: f64) -> Self {
                binary::share(&self, &Tensor::scalar_of(c, self.dtype())).or_panic()
            }
            fn cut(self) -> Self {
                unary::minimum_scalar(&self, 0.0).or_panic()
            }
            fn power(self, c: f64) -> Self {
                unary::powf(&self, c).or_panic()
            }
            fn nearest(self) -> Self {
                unary::round(&self).or_panic()
            }
            $(fn $name(self) -> Self {
                unary::$name(&self).or_panic()
            })*
        }
    };
}
arith_for_tensors!(exp sin cos sinh cosh sqrt recip square sigmoid normal_cdf digamma trigamma sign positive);
