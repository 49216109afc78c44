//! [`Float`] for `f64`.
use super::{Float, circular, error_function, exponential, gamma, hyperbolic, logarithm, power};

impl Float for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    const TWO: Self = 2.0;
    const HALF: Self = 0.5;
    const INFINITY: Self = f64::INFINITY;
    const NEG_INFINITY: Self = f64::NEG_INFINITY;
    const NAN: Self = f64::NAN;
    const EPSILON: Self = f64::EPSILON;
    const MAX: Self = f64::MAX;
    const MIN: Self = f64::MIN;
    const MIN_POSITIVE: Self = f64::MIN_POSITIVE;
    const PI: Self = std::f64::consts::PI;
    const LN_2: Self = std::f64::consts::LN_2;

    #[inline(always)]
    fn from_f64(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        f64::mul_add(self, a, b)
    }

    #[inline(always)]
    fn abs(self) -> Self {
        f64::abs(self)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }

    #[inline(always)]
    fn floor(self) -> Self {
        f64::floor(self)
    }

    #[inline(always)]
    fn ceil(self) -> Self {
        f64::ceil(self)
    }

    #[inline(always)]
    fn trunc(self) -> Self {
        f64::trunc(self)
    }

    #[inline(always)]
    fn round_half_even(self) -> Self {
        f64::round_ties_even(self)
    }

    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        f64::copysign(self, sign)
    }

    #[inline(always)]
    fn exp(self) -> Self {
        exponential::exp(self)
    }

    #[inline(always)]
    fn exp2(self) -> Self {
        exponential::exp2(self)
    }

    #[inline(always)]
    fn expm1(self) -> Self {
        exponential::expm1(self)
    }

    #[inline(always)]
    fn ln(self) -> Self {
        logarithm::ln(self)
    }

    #[inline(always)]
    fn log2(self) -> Self {
        logarithm::log2(self)
    }

    #[inline(always)]
    fn log10(self) -> Self {
        logarithm::log10(self)
    }

    #[inline(always)]
    fn log1p(self) -> Self {
        logarithm::log1p(self)
    }

    #[inline(always)]
    fn sin(self) -> Self {
        circular::sin(self)
    }

    #[inline(always)]
    fn cos(self) -> Self {
        circular::cos(self)
    }

    #[inline(always)]
    fn tan(self) -> Self {
        circular::tan(self)
    }

    #[inline(always)]
    fn asin(self) -> Self {
        circular::asin(self)
    }

    #[inline(always)]
    fn acos(self) -> Self {
        circular::acos(self)
    }

    #[inline(always)]
    fn atan(self) -> Self {
        circular::atan(self)
    }

    #[inline(always)]
    fn sinh(self) -> Self {
        hyperbolic::sinh(self)
    }

    #[inline(always)]
    fn cosh(self) -> Self {
        hyperbolic::cosh(self)
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        hyperbolic::tanh(self)
    }

    #[inline(always)]
    fn asinh(self) -> Self {
        hyperbolic::asinh(self)
    }

    #[inline(always)]
    fn acosh(self) -> Self {
        hyperbolic::acosh(self)
    }

    #[inline(always)]
    fn atanh(self) -> Self {
        hyperbolic::atanh(self)
    }

    #[inline(always)]
    fn sigmoid(self) -> Self {
        hyperbolic::sigmoid(self)
    }

    #[inline(always)]
    fn softplus(self) -> Self {
        hyperbolic::softplus(self)
    }

    #[inline(always)]
    fn erf(self) -> Self {
        error_function::erf(self)
    }

    #[inline(always)]
    fn erfc(self) -> Self {
        error_function::erfc(self)
    }

    #[inline(always)]
    fn normal_cdf(self) -> Self {
        error_function::normal_cdf(self)
    }

    #[inline(always)]
    fn gelu(self) -> Self {
        error_function::gelu(self)
    }

    #[inline(always)]
    fn lgamma(self) -> Self {
        gamma::lgamma(self)
    }

    #[inline(always)]
    fn digamma(self) -> Self {
        gamma::digamma(self)
    }

    #[inline(always)]
    fn trigamma(self) -> Self {
        gamma::trigamma(self)
    }

    #[inline(always)]
    fn atan2(self, x: Self) -> Self {
        circular::atan2(self, x)
    }

    #[inline(always)]
    fn pow(self, exponent: Self) -> Self {
        power::pow(self, exponent)
    }
}
