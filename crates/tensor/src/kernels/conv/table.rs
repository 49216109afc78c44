//! The routines of convolutions compiled once per instruction set.

use super::layout::{self, Finish, Target};
use super::tiles::{self, FilterTile, Tile};
use crate::kernels::gemm::GemmScalar;
use crate::kernels::gemm::vector::{Lanes, Vector};
use crate::kernels::simd::Isa;

type TileFn<T> = unsafe fn(&Tile<T>);
type FilterFn<T> = unsafe fn(&FilterTile<T>);
type CopyFn<T> = unsafe fn(*const T, usize, usize, usize, *mut T, usize);
type EmitFn<T> = unsafe fn(*const T, usize, usize, &Finish<T>, &Target<T>);

/// The routines of one instruction set for one scalar type; see `tiles` and `layout`.
pub(crate) struct Routines<T: 'static> {
    /// Numbers in a register.
    pub(super) lanes: usize,
    /// Most rows of a tile.
    pub(super) rows: usize,
    /// Registers of pixels in a wide tile of `pixels`.
    pub(super) wide: usize,
    /// By registers - 1, then rows - 1.
    pub(super) channels: [&'static [TileFn<T>]; 2],
    /// Wide tiles and tiles of one register, by rows - 1.
    pub(super) pixels: [&'static [TileFn<T>]; 2],
    /// By registers - 1, then rows - 1.
    pub(super) filters: [&'static [FilterFn<T>]; 2],
    pub(super) transpose: CopyFn<T>,
    pub(super) emit_pixel_major: EmitFn<T>,
    pub(super) emit_rows: EmitFn<T>,
    pub(super) pad_line: unsafe fn(*const T, usize, (usize, usize, usize), *mut T),
    pub(super) zero: unsafe fn(*mut T, usize),
    pub(super) add_rows: unsafe fn(*const T, usize, usize, usize, *mut T),
}

macro_rules! routines {
    ($module:ident, [$($feature:literal)?], $vector32:ty, $vector64:ty, $wide:literal, [$($mr:literal)*]) => {
        mod $module {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn channels<V: Vector, const MR: usize, const NV: usize>(t: &Tile<V::Scalar>) {
                // SAFETY: passed on to the caller.
                unsafe { tiles::channels::<V, MR, NV>(t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn pixels<V: Vector, const MR: usize, const NV: usize>(t: &Tile<V::Scalar>) {
                // SAFETY: passed on to the caller.
                unsafe { tiles::pixels::<V, MR, NV>(t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn filters<V: Vector, const MR: usize, const NV: usize>(t: &FilterTile<V::Scalar>) {
                // SAFETY: passed on to the caller.
                unsafe { tiles::filters::<V, MR, NV>(t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn transpose<V: Vector>(
                from: *const V::Scalar, from_stride: usize, rows: usize, columns: usize, to: *mut V::Scalar, to_stride: usize,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { layout::transpose::<V>(from, from_stride, rows, columns, to, to_stride) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn emit_pixel_major<V: Vector>(
                from: *const V::Scalar, stride: usize, channels: usize, f: &Finish<V::Scalar>, t: &Target<V::Scalar>,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { layout::emit_pixel_major::<V>(from, stride, channels, f, t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn emit_rows<V: Vector>(
                from: *const V::Scalar, pitch: usize, channel: usize, f: &Finish<V::Scalar>, t: &Target<V::Scalar>,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { layout::emit_rows::<V>(from, pitch, channel, f, t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn pad_line<V: Vector>(
                from: *const V::Scalar, step: usize, parts: (usize, usize, usize), to: *mut V::Scalar,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { layout::pad_line::<V>(from, step, parts, to) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn zero<V: Vector>(to: *mut V::Scalar, count: usize) {
                // SAFETY: passed on to the caller.
                unsafe { layout::zero::<V>(to, count) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn add_rows<V: Vector>(
                from: *const V::Scalar, stride: usize, rows: usize, width: usize, sums: *mut V::Scalar,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { layout::add_rows::<V>(from, stride, rows, width, sums) }
            }

            const fn table<V: Vector>() -> Routines<V::Scalar> {
                Routines {
                    lanes: V::LANES,
                    rows: [$($mr),*].len(),
                    wide: $wide,
                    channels: [&[$(channels::<V, $mr, 1>),*], &[$(channels::<V, $mr, 2>),*]],
                    pixels: [
                        &[pixels::<V, 1, $wide>, pixels::<V, 2, $wide>, pixels::<V, 3, $wide>, pixels::<V, 4, $wide>],
                        &[pixels::<V, 1, 1>, pixels::<V, 2, 1>, pixels::<V, 3, 1>, pixels::<V, 4, 1>],
                    ],
                    filters: [&[$(filters::<V, $mr, 1>),*], &[$(filters::<V, $mr, 2>),*]],
                    transpose: transpose::<V>,
                    emit_pixel_major: emit_pixel_major::<V>,
                    emit_rows: emit_rows::<V>,
                    pad_line: pad_line::<V>,
                    zero: zero::<V>,
                    add_rows: add_rows::<V>,
                }
            }

            pub(super) static F32: Routines<f32> = table::<$vector32>();
            pub(super) static F64: Routines<f64> = table::<$vector64>();
        }
    };
}

routines!(baseline, [], Lanes<f32, 4>, Lanes<f64, 2>, 3, [1 2 3 4 5 6]);
#[cfg(target_arch = "x86_64")]
routines!(
    avx2,
    ["avx2,fma,bmi1,bmi2,lzcnt,popcnt"],
    std::arch::x86_64::__m256,
    std::arch::x86_64::__m256d,
    3,
    [1 2 3 4 5 6]
);
#[cfg(target_arch = "x86_64")]
routines!(
    avx512,
    ["avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi1,bmi2,lzcnt,popcnt"],
    std::arch::x86_64::__m512,
    std::arch::x86_64::__m512d,
    6,
    [1 2 3 4 5 6 7 8 9 10 11 12 13 14]
);

/// A scalar type that images can be convolved in.
pub(crate) trait ConvScalar: GemmScalar {
    /// Whether this is `f32`.
    const SINGLE: bool;

    /// The routines for an instruction set, which the processor must have.
    fn routines(isa: Isa) -> &'static Routines<Self>;
}

macro_rules! scalar {
    ($type:ty, $name:ident) => {
        impl ConvScalar for $type {
            const SINGLE: bool = size_of::<$type>() == size_of::<f32>();

            #[inline]
            fn routines(isa: Isa) -> &'static Routines<Self> {
                match isa {
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx512 => &avx512::$name,
                    #[cfg(target_arch = "x86_64")]
                    Isa::Avx2 => &avx2::$name,
                    _ => &baseline::$name,
                }
            }
        }
    };
}
scalar!(f32, F32);
scalar!(f64, F64);
