//! Elementary and special functions without branches, written so that the compiler turns a loop over them into SIMD.
//!
//! [`Float`] is implemented for `f32` and `f64`. Every method is `#[inline(always)]`; called in the `run` of a
//! [`Kernel`](crate::kernels::simd::Kernel) it is compiled once per instruction set. All arithmetic is IEEE and every
//! fused multiply-add is written out, so the bits are the same on every instruction set.
//!
//! Method: reduce the argument exactly (a multiple of ln 2, of π/2, a power of two), evaluate a polynomial on the small
//! rest, undo the reduction, and choose between ranges by selection rather than by branch. Single precision is within
//! 2 units in the last place and double precision within 4 where the function is not next to a zero of its own;
//! `tests.rs` measures each. The coefficients come from `tests/reference/math_coefficients.py`.
//!
//! A loop body given as a closure is not inlined by force: the compiler may leave it out of line, compiled for the baseline
//! only, and everything becomes a hundred times slower. Give the body as a type with an `#[inline(always)]` method.
//!
//! Inherent methods win over trait methods in Rust: on a concrete `f32`, `x.exp()` is the standard library's scalar
//! call. In code that is generic over `T: Float` it is the one here; on concrete types write `Float::exp(x)`. Where the
//! meaning differs from the standard library's, so does the name (`maximum`, `round_half_even`, `sign`).
//!
//! ```
//! use tove_tensor::kernels::math::Float;
//! fn logistic_loss<T: Float>(margin: T) -> T {
//!     (-margin).softplus()
//! }
//! assert_eq!(logistic_loss(-1000.0f32), 1000.0);
//! assert_eq!(logistic_loss(1000.0f64), 0.0);
//! ```

mod circular;
mod coefficients;
mod constants;
mod error_function;
mod exponential;
mod gamma;
mod hyperbolic;
mod logarithm;
mod power;
mod single;
mod trait_double;
mod trait_single;

#[cfg(test)]
mod tests;

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// `if mask { a } else { b }` for values that are both at hand, which compiles to a select.
#[inline(always)]
pub(crate) fn pick<T>(mask: bool, a: T, b: T) -> T {
    if mask { a } else { b }
}

mod sealed {
    /// Keeps [`Float`](super::Float) to the types it is meant for.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Real arithmetic and functions on `f32` and `f64`; see the [module](self). Kernels rely on these two being all, so that
/// other types cannot implement it.
pub trait Float:
    sealed::Sealed
    + Copy
    + Debug
    + Display
    + Default
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + Sum
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// 2.
    const TWO: Self;
    /// 1/2.
    const HALF: Self;
    /// +∞.
    const INFINITY: Self;
    /// −∞.
    const NEG_INFINITY: Self;
    /// A quiet NaN.
    const NAN: Self;
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// The largest finite number.
    const MAX: Self;
    /// The smallest finite number, −[`MAX`](Self::MAX).
    const MIN: Self;
    /// The smallest positive normal number.
    const MIN_POSITIVE: Self;
    /// π.
    const PI: Self;
    /// ln 2.
    const LN_2: Self;

    /// The nearest number to `x`.
    fn from_f64(x: f64) -> Self;
    /// The same number in double precision.
    fn to_f64(self) -> f64;
    /// `self * a + b`, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// |x|.
    fn abs(self) -> Self;
    /// √x; NaN below zero.
    fn sqrt(self) -> Self;
    /// The largest integer not above x.
    fn floor(self) -> Self;
    /// The smallest integer not below x.
    fn ceil(self) -> Self;
    /// The nearest integer, halves to the even one (NumPy's and PyTorch's `round`).
    fn round_half_even(self) -> Self;
    /// The integer part, towards zero.
    fn trunc(self) -> Self;
    /// The magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// e^x.
    fn exp(self) -> Self;
    /// 2^x.
    fn exp2(self) -> Self;
    /// e^x − 1, accurate near 0.
    fn expm1(self) -> Self;
    /// Natural logarithm: −∞ at 0, NaN below.
    fn ln(self) -> Self;
    /// Logarithm to base 2.
    fn log2(self) -> Self;
    /// Logarithm to base 10.
    fn log10(self) -> Self;
    /// ln(1 + x), accurate near 0.
    fn log1p(self) -> Self;
    /// Sine, reduced exactly for arguments of any size.
    fn sin(self) -> Self;
    /// Cosine, reduced exactly for arguments of any size.
    fn cos(self) -> Self;
    /// Tangent, reduced exactly for arguments of any size.
    fn tan(self) -> Self;
    /// Inverse sine in [−π/2, π/2]; NaN outside [−1, 1].
    fn asin(self) -> Self;
    /// Inverse cosine in [0, π]; NaN outside [−1, 1].
    fn acos(self) -> Self;
    /// Inverse tangent in [−π/2, π/2].
    fn atan(self) -> Self;
    /// The angle in [−π, π] of the point (`x`, `self`), with IEEE 754's signs of zero.
    fn atan2(self, x: Self) -> Self;
    /// Hyperbolic sine.
    fn sinh(self) -> Self;
    /// Hyperbolic cosine.
    fn cosh(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// Inverse hyperbolic sine.
    fn asinh(self) -> Self;
    /// Inverse hyperbolic cosine; NaN below 1.
    fn acosh(self) -> Self;
    /// Inverse hyperbolic tangent; ±∞ at ±1, NaN beyond.
    fn atanh(self) -> Self;
    /// 1/(1 + e^−x), without overflow.
    fn sigmoid(self) -> Self;
    /// ln(1 + e^x), without overflow.
    fn softplus(self) -> Self;
    /// The error function 2/√π ∫₀ˣ e^(−t²) dt.
    fn erf(self) -> Self;
    /// 1 − erf x, accurate in the tail.
    fn erfc(self) -> Self;
    /// The standard normal distribution function Φ(x) = erfc(−x/√2)/2, accurate in both tails.
    fn normal_cdf(self) -> Self;
    /// x Φ(x), the exact form of the Gaussian error linear unit.
    fn gelu(self) -> Self;
    /// x^y as IEEE 754 defines it: x^0 = 1^y = 1 even for NaN; NaN for a negative base with a fractional exponent.
    fn pow(self, exponent: Self) -> Self;
    /// ln |Γ(x)|; +∞ at 0, −1, −2, …
    fn lgamma(self) -> Self;
    /// ψ(x) = d ln Γ(x) / dx; NaN at the negative integers, −1/x at ±0.
    fn digamma(self) -> Self;
    /// ψ′(x); +∞ at 0, −1, −2, …
    fn trigamma(self) -> Self;

    /// `if mask { a } else { b }` as a select, for values that are both computed.
    #[inline(always)]
    fn select(mask: bool, a: Self, b: Self) -> Self {
        pick(mask, a, b)
    }
    /// x/(1 + e^−x), the sigmoid linear unit.
    #[inline(always)]
    fn silu(self) -> Self {
        self * self.sigmoid()
    }
    /// 1/√x.
    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::ONE / self.sqrt()
    }
    /// 1/x.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::ONE / self
    }
    /// x².
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }
    /// The larger of the two; NaN if either is NaN (NumPy's `maximum`).
    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        pick(self > other || self.is_nan(), self, other)
    }
    /// The smaller of the two; NaN if either is NaN (NumPy's `minimum`).
    #[inline(always)]
    fn minimum(self, other: Self) -> Self {
        pick(self < other || self.is_nan(), self, other)
    }
    /// −1, 0 or 1; NaN at NaN.
    #[inline(always)]
    fn sign(self) -> Self {
        let magnitude = pick(self == Self::ZERO, self, Self::ONE.copysign(self));
        pick(self.is_nan(), self, magnitude)
    }
    /// Whether this is NaN.
    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn is_nan(self) -> bool {
        self != self
    }
    /// Whether this is neither NaN nor infinite.
    #[inline(always)]
    fn is_finite(self) -> bool {
        self.abs() < Self::INFINITY
    }
    /// Whether this is +∞ or −∞.
    #[inline(always)]
    fn is_infinite(self) -> bool {
        self.abs() == Self::INFINITY
    }
}
