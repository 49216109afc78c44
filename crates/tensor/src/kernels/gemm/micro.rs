//! Micro-kernels: a tile of `MR x NV` registers of the result stays in registers while the inner dimension runs.
//!
//! For each `p` a row of `b` (`NV` registers) is loaded once and multiplied by `MR` broadcast numbers of `a`, that is
//! `MR * NV` fused multiply-adds on `MR + NV` loads. Every `MR` up to the largest has a kernel of its own, so that
//! row edges cost what they are worth; column edges use masked loads and stores.
//!
//! Each element of the result is summed over `p` in rising order by one chain, whichever tile it falls in. How the
//! result is cut into tiles therefore never changes a bit of it; only cutting the inner dimension does.

use super::vector::{Lanes, Vector};
use crate::kernels::simd::Isa;

/// One call of a micro-kernel.
#[derive(Clone, Copy)]
pub(super) struct Tile<T> {
    /// Length of the inner dimension.
    pub k: usize,
    /// First element of the rows of `a`.
    pub a: *const T,
    /// Distance between rows (row form, where neighbours in `p` are adjacent) or between neighbours in `p` (column
    /// form, where rows are adjacent).
    pub a_stride: isize,
    /// First element of the columns of `b`, which are adjacent.
    pub b: *const T,
    /// Distance between neighbours in `p`.
    pub b_stride: isize,
    /// The result; columns are adjacent.
    pub c: *mut T,
    /// Distance between rows of the result.
    pub c_stride: isize,
    /// Columns in use of the last register (edge kernels only).
    pub last: usize,
    /// What the sums start from, one number per column, or null for zero.
    pub start: *const T,
    /// Factor of the sums.
    pub alpha: T,
    /// Whether `c` is added to, or overwritten without being read.
    pub accumulate: bool,
    /// Whether negative results are stored as zero.
    pub relu: bool,
}

pub(super) type TileFn<T> = unsafe fn(&Tile<T>);
/// `(from, stride, lines, length, to, to_stride)`: see [`transpose_panel`] and [`copy_panel`].
pub(super) type PanelFn<T> = unsafe fn(*const T, isize, usize, usize, *mut T, usize);
/// `(k, x, m, stride, count, out)`: see [`dots`].
pub(super) type DotsFn<T> = unsafe fn(usize, *const T, *const T, isize, usize, *mut T);
/// `(k, x, x_stride, m, stride, columns, out)`: see [`combine`].
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
        let registers = columns.div_ceil(self.lanes);
        tile.last = columns - (registers - 1) * self.lanes;
        let edge = tile.last != self.lanes;
        let kernel = self.tiles[usize::from(rows_form) + 2 * usize::from(edge)][registers - 1][rows - 1];
        // SAFETY: passed on to the caller.
        unsafe { kernel(tile) }
    }
}

/// The micro-kernel; see the module documentation. `ROWS` says that `a` is in row form, `EDGE` that the last register
/// is partly used.
#[inline(always)]
unsafe fn tile<V: Vector, const MR: usize, const NV: usize, const ROWS: bool, const EDGE: bool>(t: &Tile<V::Scalar>)
where
    V::Scalar: PartialEq + From<u8>,
{
    // SAFETY: the caller guarantees `MR` rows of `a` and `c`, `k` rows of `b`, and the columns they have.
    unsafe {
        let mask = V::mask(if EDGE { t.last } else { V::LANES });
        let load = |from: *const V::Scalar, v: usize| {
            let from = from.add(v * V::LANES);
            if EDGE && v == NV - 1 { V::load_masked(from, mask) } else { V::load(from) }
        };
        let mut sums = [[V::zero(); NV]; MR];
        if !t.start.is_null() {
            let start: [V; NV] = std::array::from_fn(|v| load(t.start, v));
            sums = [start; MR];
        }
        let (mut a, mut b) = (t.a, t.b);
        let (a_step, a_row) = if ROWS { (1, t.a_stride) } else { (t.a_stride, 1) };
        for _ in 0..t.k {
            let row: [V; NV] = std::array::from_fn(|v| load(b, v));
            for (i, sum) in sums.iter_mut().enumerate() {
                let factor = V::splat(*a.offset(i as isize * a_row));
                for v in 0..NV {
                    sum[v] = factor.mul_add(row[v], sum[v]);
                }
            }
            a = a.wrapping_offset(a_step);
            b = b.wrapping_offset(t.b_stride);
        }
        if t.alpha != V::Scalar::from(1) {
            let alpha = V::splat(t.alpha);
            sums = sums.map(|sum| sum.map(|x| x.mul(alpha)));
        }
        if t.accumulate {
            for (i, sum) in sums.iter_mut().enumerate() {
                let c = t.c.offset(i as isize * t.c_stride);
                for (v, x) in sum.iter_mut().enumerate() {
                    *x = x.add(load(c, v));
                }
            }
        }
        if t.relu {
            sums = sums.map(|sum| sum.map(|x| x.relu()));
        }
        for (i, sum) in sums.into_iter().enumerate() {
            let c = t.c.offset(i as isize * t.c_stride);
            for (v, x) in sum.into_iter().enumerate() {
                let to = c.add(v * V::LANES);
                if EDGE && v == NV - 1 { x.store_masked(to, mask) } else { x.store(to) }
            }
        }
    }
}

/// Packs `lines` lines of `length` adjacent numbers into `to[p * to_stride + line]`. Room for whole registers of
/// lines must be there; what lies between is filled with anything.
#[inline(always)]
unsafe fn transpose_panel<V: Vector>(
    from: *const V::Scalar,
    stride: isize,
    lines: usize,
    length: usize,
    to: *mut V::Scalar,
    to_stride: usize,
) {
    // SAFETY: the caller guarantees the lines, and room for `length` rows of `to_stride >= lines` rounded up.
    unsafe {
        for first in (0..lines).step_by(V::LANES) {
            let (from, to) = (from.offset(first as isize * stride), to.add(first));
            let count = (lines - first).min(V::LANES);
            let whole = length / V::LANES * V::LANES;
            if count == V::LANES {
                for p in (0..whole).step_by(V::LANES) {
                    V::transpose(from.add(p), stride, V::LANES, to.add(p * to_stride), to_stride);
                }
            } else {
                for p in (0..whole).step_by(V::LANES) {
                    V::transpose(from.add(p), stride, count, to.add(p * to_stride), to_stride);
                }
            }
            for p in whole..length {
                for r in 0..count {
                    *to.add(p * to_stride + r) = *from.offset(r as isize * stride).add(p);
                }
            }
        }
    }
}

/// Packs `lines` lines of `length` adjacent numbers into `to[line * to_stride + i]`.
#[inline(always)]
unsafe fn copy_panel<V: Vector>(
    from: *const V::Scalar,
    stride: isize,
    lines: usize,
    length: usize,
    to: *mut V::Scalar,
    to_stride: usize,
) {
    // SAFETY: the caller guarantees the lines, and room for `lines` rows of `to_stride >= length` rounded up.
    unsafe {
        let whole = length / V::LANES;
        let mask = V::mask(length % V::LANES);
        for line in 0..lines {
            let (from, to) = (from.offset(line as isize * stride), to.add(line * to_stride));
            for v in 0..whole {
                V::load(from.add(v * V::LANES)).store(to.add(v * V::LANES));
            }
            if whole * V::LANES != length {
                V::load_masked(from.add(whole * V::LANES), mask).store(to.add(whole * V::LANES));
            }
        }
    }
}

/// `out[i] = sum over p of m[i, p] x[p]` for `count` rows of `m` with adjacent elements.
#[inline(always)]
unsafe fn dots<V: Vector>(
    k: usize,
    x: *const V::Scalar,
    m: *const V::Scalar,
    stride: isize,
    count: usize,
    out: *mut V::Scalar,
) {
    // SAFETY: the caller guarantees `count` rows of `k` numbers and the vector.
    unsafe {
        let mut i = 0;
        while i + 4 <= count {
            dot_group::<V, 4>(k, x, m.offset(i as isize * stride), stride, out.add(i));
            i += 4;
        }
        for i in i..count {
            dot_group::<V, 1>(k, x, m.offset(i as isize * stride), stride, out.add(i));
        }
    }
}

#[inline(always)]
unsafe fn dot_group<V: Vector, const R: usize>(
    k: usize,
    x: *const V::Scalar,
    m: *const V::Scalar,
    stride: isize,
    out: *mut V::Scalar,
) {
    // Two chains a row hide the latency of the multiply-add. A row is summed the same way in a group of any size, so
    // that its place in the matrix does not change its bits.
    // SAFETY: the caller guarantees `R` rows of `k` numbers and the vector.
    unsafe {
        let mut sums = [[V::zero(); 2]; R];
        let mut p = 0;
        while p + 2 * V::LANES <= k {
            let factors = [V::load(x.add(p)), V::load(x.add(p + V::LANES))];
            for (r, sum) in sums.iter_mut().enumerate() {
                let row = m.offset(r as isize * stride).add(p);
                sum[0] = V::load(row).mul_add(factors[0], sum[0]);
                sum[1] = V::load(row.add(V::LANES)).mul_add(factors[1], sum[1]);
            }
            p += 2 * V::LANES;
        }
        while p < k {
            let mask = V::mask((k - p).min(V::LANES));
            let factor = V::load_masked(x.add(p), mask);
            for (r, sum) in sums.iter_mut().enumerate() {
                let row = m.offset(r as isize * stride).add(p);
                sum[0] = V::load_masked(row, mask).mul_add(factor, sum[0]);
            }
            p += V::LANES;
        }
        for (r, sum) in sums.into_iter().enumerate() {
            *out.add(r) = sum[0].add(sum[1]).sum();
        }
    }
}

/// `out[j] = sum over p of x[p] m[p, j]` for `columns` adjacent columns; whole registers of `out` are written.
#[inline(always)]
unsafe fn combine<V: Vector>(
    k: usize,
    x: *const V::Scalar,
    x_stride: isize,
    m: *const V::Scalar,
    stride: isize,
    columns: usize,
    out: *mut V::Scalar,
) {
    // SAFETY: the caller guarantees `k` rows of `columns` numbers, the vector, and room for whole registers.
    unsafe {
        let mut j = 0;
        while j + 8 * V::LANES <= columns {
            combine_group::<V, 8, 1>(k, x, x_stride, m.add(j), stride, V::LANES, out.add(j));
            j += 8 * V::LANES;
        }
        while j < columns {
            let left = (columns - j).min(V::LANES);
            combine_group::<V, 1, 4>(k, x, x_stride, m.add(j), stride, left, out.add(j));
            j += V::LANES;
        }
    }
}

#[inline(always)]
unsafe fn combine_group<V: Vector, const G: usize, const CHAINS: usize>(
    k: usize,
    x: *const V::Scalar,
    x_stride: isize,
    m: *const V::Scalar,
    stride: isize,
    last: usize,
    out: *mut V::Scalar,
) {
    // SAFETY: the caller guarantees `k` rows of `G` registers (the last with `last` columns) and the vector.
    unsafe {
        let mask = V::mask(last);
        // A narrow group needs several chains to hide the latency of the multiply-add.
        let mut sums = [[V::zero(); CHAINS]; G];
        let step = |sums: &mut [[V; CHAINS]; G], p: usize, chain: usize| {
            let factor = V::splat(*x.offset(p as isize * x_stride));
            for (g, sum) in sums.iter_mut().enumerate() {
                let from = m.offset(p as isize * stride).add(g * V::LANES);
                let row = if G == 1 { V::load_masked(from, mask) } else { V::load(from) };
                sum[chain] = row.mul_add(factor, sum[chain]);
            }
        };
        let whole = k / CHAINS * CHAINS;
        for p in (0..whole).step_by(CHAINS) {
            for chain in 0..CHAINS {
                step(&mut sums, p + chain, chain);
            }
        }
        for p in whole..k {
            step(&mut sums, p, 0);
        }
        for (g, sum) in sums.into_iter().enumerate() {
            let total = sum[1..].iter().fold(sum[0], |total, &chain| total.add(chain));
            total.store(out.add(g * V::LANES));
        }
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
                unsafe { super::tile::<V, MR, NV, ROWS, EDGE>(t) }
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
                unsafe { super::dots::<V>(k, x, m, stride, count, out) }
            }

            $(#[target_feature(enable = $feature)])?
            unsafe fn combine<V: Vector>(
                k: usize, x: *const V::Scalar, x_stride: isize, m: *const V::Scalar, stride: isize, columns: usize,
                out: *mut V::Scalar,
            ) {
                // SAFETY: passed on to the caller.
                unsafe { super::combine::<V>(k, x, x_stride, m, stride, columns, out) }
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
