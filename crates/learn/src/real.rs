//! Floating-point types that estimators compute with: f32 and f64.

use std::fmt::{Debug, Display};
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, MulAssign, Neg, Sub, SubAssign};

use tove_tensor::Element;

/// f32 or f64, for generic code.
pub trait Real:
    Element
    + Copy
    + PartialOrd
    + Debug
    + Display
    + Default
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + Sum
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Machine epsilon.
    const EPSILON: f64;
    /// The largest finite number.
    const MAX: f64;
    /// Rounds an f64 to this type.
    fn of(x: f64) -> Self;
    /// Converts to f64.
    fn f64(self) -> f64;
    /// |x|.
    fn abs(self) -> Self;
    /// √x.
    fn sqrt(self) -> Self;
    /// eˣ.
    fn exp(self) -> Self;
    /// ln x.
    fn ln(self) -> Self;
    /// self · a + b, rounded once.
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The larger of two numbers.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers.
    fn min(self, other: Self) -> Self;
    /// Whether the value is neither NaN nor infinite.
    fn is_finite(self) -> bool;
}

macro_rules! real {
    ($t:ty) => {
        impl Real for $t {
            const ZERO: $t = 0.0;
            const ONE: $t = 1.0;
            const EPSILON: f64 = <$t>::EPSILON as f64;
            const MAX: f64 = <$t>::MAX as f64;
            #[inline(always)]
            fn of(x: f64) -> $t {
                x as $t
            }
            #[inline(always)]
            fn f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn abs(self) -> $t {
                self.abs()
            }
            #[inline(always)]
            fn sqrt(self) -> $t {
                self.sqrt()
            }
            #[inline(always)]
            fn exp(self) -> $t {
                self.exp()
            }
            #[inline(always)]
            fn ln(self) -> $t {
                self.ln()
            }
            #[inline(always)]
            fn mul_add(self, a: $t, b: $t) -> $t {
                self.mul_add(a, b)
            }
            #[inline(always)]
            fn max(self, other: $t) -> $t {
                self.max(other)
            }
            #[inline(always)]
            fn min(self, other: $t) -> $t {
                self.min(other)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    };
}
real!(f32);
real!(f64);

/// Runs a block with `$T` bound to the Rust type of a floating-point dtype.
///
/// ```
/// use tove_tensor::{DType, Tensor};
/// let x = Tensor::from([1.5f32, 2.5]);
/// let sum: f64 = tove_learn::with_real!(x.dtype(), T => x.to_vec::<T>().iter().map(|&x| tove_learn::Real::f64(x)).sum());
/// assert_eq!(sum, 4.0);
/// ```
#[macro_export]
macro_rules! with_real {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            ::tove_tensor::DType::F32 => {
                type $T = f32;
                $body
            }
            _ => {
                type $T = f64;
                $body
            }
        }
    };
}
