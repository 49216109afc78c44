//! [`Float`] for `f32`.
use super::{Float, circular, error_function, gamma, hyperbolic, logarithm, power, single};

impl Float for f32 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const TWO: Self = 2.0;
    const HALF: Self = 0.5;
    const INFINITY: Self = f32::INFINITY;
    const NEG_INFINITY: Self = f32::NEG_INFINITY;
    const NAN: Self = f32::NAN;
    const EPSILON: Self = f32::EPSILON;
    const MAX: Self = f32::MAX;
    const MIN: Self = f32::MIN;
    const MIN_POSITIVE: Self = f32::MIN_POSITIVE;
    const PI: Self = std::f32::consts::PI;
    const LN_2: Self = std::f32::consts::LN_2;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f32::mul_add(self, a, b)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f32::abs(self)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f32::sqrt(self)
    }

    #[inline(always)]
    fn floor(self) -> Self {
        f32::floor(self)
    }

    #[inline(always)]
    fn ceil(self) -> Self {
        f32::ceil(self)
    }

    #[inline(always)]
    fn trunc(self) -> Self {
        f32::trunc(self)
    }

    #[inline(always)]
    fn round_half_even(self) -> Self {
        f32::round_ties_even(self)
    }

    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        f32::copysign(self, sign)
    }

    #[inline(always)]
    fn exp(self) -> Self {
        single::exp(self)
    }

    #[inline(always)]
    fn exp2(self) -> Self {
        single::exp2(self)
    }

    #[inline(always)]
    fn expm1(self) -> Self {
        single::expm1(self)
    }

    #[inline(always)]
    fn ln(self) -> Self {
        single::ln(self)
    }

    #[inline(always)]
    fn log2(self) -> Self {
        logarithm::log2(f64::from(self)) as f32
    }

    #[inline(always)]
    fn log10(self) -> Self {
        logarithm::log10(f64::from(self)) as f32
    }

    #[inline(always)]
    fn log1p(self) -> Self {
        single::log1p(self)
    }

    #[inline(always)]
    fn sin(self) -> Self {
        circular::sin_single(self)
    }

    #[inline(always)]
    fn cos(self) -> Self {
        circular::cos_single(self)
    }

    #[inline(always)]
    fn tan(self) -> Self {
        circular::tan_single(self)
    }

    #[inline(always)]
    fn asin(self) -> Self {
        circular::asin(f64::from(self)) as f32
    }

    #[inline(always)]
    fn acos(self) -> Self {
        circular::acos(f64::from(self)) as f32
    }

    #[inline(always)]
    fn atan(self) -> Self {
        circular::atan(f64::from(self)) as f32
    }

    #[inline(always)]
    fn sinh(self) -> Self {
        hyperbolic::sinh(f64::from(self)) as f32
    }

    #[inline(always)]
    fn cosh(self) -> Self {
        hyperbolic::cosh(f64::from(self)) as f32
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        single::tanh(self)
    }

    #[inline(always)]
    fn asinh(self) -> Self {
        hyperbolic::asinh(f64::from(self)) as f32
    }

    #[inline(always)]
    fn acosh(self) -> Self {
        hyperbolic::acosh(f64::from(self)) as f32
    }

    #[inline(always)]
    fn atanh(self) -> Self {
        hyperbolic::atanh(f64::from(self)) as f32
    }

    #[inline(always)]
    fn sigmoid(self) -> Self {
        single::sigmoid(self)
    }

    #[inline(always)]
    fn silu(self) -> Self {
        single::silu(self)
    }

    #[inline(always)]
    fn softplus(self) -> Self {
        single::softplus(self)
    }

    #[inline(always)]
    fn erf(self) -> Self {
        single::erf(self)
    }

    #[inline(always)]
    fn erfc(self) -> Self {
        error_function::erfc_single(f64::from(self)) as f32
    }

    #[inline(always)]
    fn normal_cdf(self) -> Self {
        error_function::normal_cdf_single(f64::from(self)) as f32
    }

    #[inline(always)]
    fn gelu(self) -> Self {
        let x = super::pick(self < -20.0, -20.0, self);
        (f64::from(x) * error_function::normal_cdf_single(f64::from(x))) as f32
    }

    #[inline(always)]
    fn lgamma(self) -> Self {
        gamma::lgamma(f64::from(self)) as f32
    }

    #[inline(always)]
    fn digamma(self) -> Self {
        gamma::digamma(f64::from(self)) as f32
    }

    #[inline(always)]
    fn trigamma(self) -> Self {
        gamma::trigamma(f64::from(self)) as f32
    }

    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        circular::atan2(f64::from(self), f64::from(x)) as f32
    }

    #[inline(always)]
    fn pow(self, exponent: Self) -> Self {
        power::pow_single(f64::from(self), f64::from(exponent)) as f32
    }
}
