//! Element types.
//!
//! A tensor's element type is a value, not a type parameter. There is no silent promotion: two tensors in one operation
//! must have the same type, while a Rust number takes the type of the tensor it meets.

use std::fmt;

/// The type of a tensor's elements.
///
/// There are no complex, half or 32-bit integer tensors: each would need every kernel and every rule once more, complex
/// results come as pairs of tensors (see [`linalg::Complex`](crate::linalg::Complex)), and files with halves or narrower
/// integers are read as f32 and i64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// 32-bit floating point.
    F32,
    /// 64-bit floating point.
    F64,
    /// 64-bit signed integer; the type of indices.
    I64,
    /// Unsigned byte.
    U8,
    /// Truth value.
    Bool,
}

impl DType {
    /// Bytes per element.
    #[inline]
    pub fn size(self) -> usize {
        match self {
            DType::F32 => 4,
            DType::F64 | DType::I64 => 8,
            DType::U8 | DType::Bool => 1,
        }
    }

    /// Whether derivatives exist for this type.
    #[inline]
    pub fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64)
    }

    /// Distance from 1 to the next larger number; 0 for types that are not floating point.
    pub fn epsilon(self) -> f64 {
        match self {
            DType::F32 => f64::from(f32::EPSILON),
            DType::F64 => f64::EPSILON,
            _ => 0.0,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::Bool => "bool",
        })
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for i64 {}
    impl Sealed for u8 {}
    impl Sealed for bool {}
}

/// A Rust type that tensors can hold.
pub trait Element: sealed::Sealed + Copy + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// The corresponding tag.
    const DTYPE: DType;
    /// Conversion by value, as Rust's `as` does it; truth values become 0 and 1.
    fn to_f64(self) -> f64;
    /// Conversion by value, saturating as Rust's `as` does; nonzero is true.
    fn from_f64(value: f64) -> Self;
    /// Conversion by value without the detour over floating point.
    fn to_i64(self) -> i64;
    /// Conversion by value without the detour over floating point.
    fn from_i64(value: i64) -> Self;
}

macro_rules! number {
    ($($t:ident $tag:ident),*) => {$(
        impl Element for $t {
            const DTYPE: DType = DType::$tag;
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn from_i64(value: i64) -> Self {
                value as $t
            }
        }
    )*};
}
number!(f32 F32, f64 F64, i64 I64, u8 U8);

impl Element for bool {
    const DTYPE: DType = DType::Bool;
    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(u8::from(self))
    }
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value != 0.0
    }
    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self)
    }
    #[inline(always)]
    fn from_i64(value: i64) -> Self {
        value != 0
    }
}

/// Runs the block with `$T` standing for the Rust type of one of the listed tags; the rest goes to the last arm, if there is one.
macro_rules! match_tags {
    ($dtype:expr, $T:ident => $body:expr, [$($tag:ident $type:ty),*] $($other:pat => $failure:expr)?) => {
        match $dtype {
            $($crate::DType::$tag => {
                type $T = $type;
                $body
            })*
            $($other => $failure,)?
        }
    };
}

/// Runs the block with `$T` standing for the Rust type of a floating-point tag; anything else is an error.
macro_rules! match_float {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        $crate::dtype::match_tags!($dtype, $T => $body, [F32 f32, F64 f64] other => {
            return Err($crate::Error::DType { op: $op, dtype: other, expected: "f32 or f64 is needed" })
        })
    };
}

/// Runs the block with `$T` standing for the Rust type of a numeric tag; truth values are an error.
macro_rules! match_number {
    ($op:expr, $dtype:expr, $T:ident => $body:expr) => {
        $crate::dtype::match_tags!($dtype, $T => $body, [F32 f32, F64 f64, I64 i64, U8 u8] other => {
            return Err($crate::Error::DType { op: $op, dtype: other, expected: "a number type is needed" })
        })
    };
}

/// Runs the block with `$T` standing for the Rust type of any tag.
macro_rules! match_any {
    ($dtype:expr, $T:ident => $body:expr) => {
        $crate::dtype::match_tags!($dtype, $T => $body, [F32 f32, F64 f64, I64 i64, U8 u8, Bool bool])
    };
}

pub(crate) use {match_any, match_float, match_number, match_tags};
