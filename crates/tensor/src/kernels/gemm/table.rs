//! The routines compiled once per instruction set, as tables of functions.

use super::micro::Tile;
use super::panels::{copy_panel, transpose_panel};
use super::vector::{Lanes, Vector};
use crate::kernels::simd::Isa;

pub(super) type TileFn<T> = unsafe fn(&Tile<T>);
/// `(from, stride, lines, length, to, to_stride)`: see [`transpose_panel`] and [`copy_panel`].
pub(super) type PanelFn<T> = unsafe fn(*const T, isize, usize, usize, *mut T, usize);
/// `(k, x, m, stride, count, out)`: see `panels::dots`.
pub(super) type DotsFn<T> = unsafe fn(usize, *const T, *const T, isize, usize, *mut T);
/// `(k, x, x_stride, m, stride, columns, out)`: see `panels::combine`.
pub(super) type CombineFn<T> = unsafe fn(usize, *const T, isize, *const T, isize, usize, *mut T);

/// The routines of one instruction set for one scalar type.
pub(crate) struct Kernels<T: 'static> {
    /// Most rows of a tile.
    pub rows: usize,
    /// Numbers in a register; a tile is at most two registers wide.
    pub lanes: usize,
    /// By form of `a` (0 columns, 1 rows) + 2 * edge, then registers - 1, then rows - 1.
    pub tiles: [[&'static [TileFn<T>]; 2]; 4],
    /// Packs lines that run along the inner dimension.
    pub transpose: PanelFn<T>,
    /// Packs lines that run across it.
    pub copy: PanelFn<T>,
    /// Dot products of rows with one vector.
    pub dots: DotsFn<T>,
    /// Linear combination of rows.
    pub combine: CombineFn<T>,
}

impl<T> Kernels<T> {
    /// Columns of a tile.
    pub fn columns(&self) -> usize {
        2 * self.lanes
    }

    /// Distance between neighbours in `p` of a packed panel of `a`.
    pub fn padded_rows(&self) -> usize {
        self.rows.next_multiple_of(self.lanes)
    }

    /// Runs the kernel for a tile of `rows x columns`.
    ///
    /// # Safety
    /// `tile` must describe memory of that size, and the processor must have the instruction set.
    #[inline]
    pub unsafe fn run(&self, rows: usize, columns: usize, rows_form: bool, tile: &mut Tile<T>) {
        let registers = 1 + usize::from(columns > self.lanes);
        tile.last = columns - (registers - 1) * self.lanes;
        let edge = tile.last != self.lanes;
        let kernel = self.tiles[usize::from(rows_form) + 2 * usize::from(edge)][registers - 1][rows - 1];
        // SAFETY: passed on to the caller.
        unsafe { kernel(tile) }
    }
}

macro_rules! kernels {
    ($module:ident, $($feature:literal)?, $vector32:ty, $vector64:ty, [$($mr:literal)*]) => {
        mod $module {
            use super::*;

            $(#[target_feature(enable = $feature)])?
            unsafe fn tile<V: Vector, const MR: usize, const NV: usize, const ROWS: bool, const EDGE: bool>(
                t: &Tile<V::Scalar>,
            ) where
                V::Scalar: PartialEq + From<u8>,
            {
                // SAFETY: passed on to the caller.
                unsafe { crate::kernels::gemm::micro::tile::<V, MR, NV, ROWS, EDGE>(t) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn transpose<V: Vector>(
                from: *const V::Scalar, stride: isize, lines: usize, length: usize, to: *mut V::Scalar, to_stride: usize,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { transpose_panel::<V>(from, stride, lines, length, to, to_stride) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn copy<V: Vector>(
                from: *const V::Scalar, stride: isize, lines: usize, length: usize, to: *mut V::Scalar, to_stride: usize,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { copy_panel::<V>(from, stride, lines, length, to, to_stride) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn dots<V: Vector>(
                k: usize, x: *const V::Scalar, m: *const V::Scalar, stride: isize, count: usize, out: *mut V::Scalar,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { crate::kernels::gemm::panels::dots::<V>(k, x, m, stride, count, out) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn combine<V: Vector>(
                k: usize, x: *const V::Scalar, x_stride: isize, m: *const V::Scalar, stride: isize, columns: usize,
                out: *mut V::Scalar,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { crate::kernels::gemm::panels::combine::<V>(k, x, x_stride, m, stride, columns, out) }
            }

            const fn table<V: Vector>() -> Kernels<V::Scalar> where V::Scalar: PartialEq + From<u8> {
                Kernels {
                    rows: [$($mr),*].len(),
                    lanes: V::LANES,
                    tiles: [
                        [&[$(tile::<V, $mr, 1, false, false>),*], &[$(tile::<V, $mr, 2, false, false>),*]],
                        [&[$(tile::<V, $mr, 1, true, false>),*], &[$(tile::<V, $mr, 2, true, false>),*]],
                        [&[$(tile::<V, $mr, 1, false, true>),*], &[$(tile::<V, $mr, 2, false, true>),*]],
                        [&[$(tile::<V, $mr, 1, true, true>),*], &[$(tile::<V, $mr, 2, true, true>),*]],
                    ],
                    transpose: transpose::<V>,
                    copy: copy::<V>,
                    dots: dots::<V>,
                    combine: combine::<V>,
                }
            }

            pub(super) static F32: Kernels<f32> = table::<$vector32>();
            pub(super) static F64: Kernels<f64> = table::<$vector64>();
        }
    };
}

kernels!(baseline, , Lanes<f32, 4>, Lanes<f64, 2>, [1 2 3 4 5 6]);
#[cfg(target_arch = "x86_64")]
kernels!(avx2, "avx2,fma,bmi1,bmi2,lzcnt,popcnt", std::arch::x86_64::__m256, std::arch::x86_64::__m256d, [1 2 3 4 5 6]);
#[cfg(target_arch = "x86_64")]
kernels!(
    avx512,
    "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi1,bmi2,lzcnt,popcnt",
    std::arch::x86_64::__m512,
    std::arch::x86_64::__m512d,
    [1 2 3 4 5 6 7 8 9 10 11 12 13 14]
);

/// A scalar type that matrices can be multiplied in.
pub(crate) trait GemmScalar:
    Copy
    + Send
    + Sync
    + PartialEq
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Mul<Output = Self>
    + From<u8>
    + 'static
{
    /// The routines for an instruction set, which the processor must have.
    fn kernels(isa: Isa) -> &'static Kernels<Self>;
}

macro_rules! scalar {
    ($type:ty, $name:ident) => {
        impl GemmScalar for $type {
            #[inline]
            fn kernels(isa: Isa) -> &'static Kernels<Self> {
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
