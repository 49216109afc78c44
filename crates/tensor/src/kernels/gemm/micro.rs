//! Micro-kernels: a tile of `MR x NV` registers of the result stays in registers while the inner dimension runs.
//!
//! For each `p` a row of `b` (`NV` registers) is loaded once and multiplied by `MR` broadcast numbers of `a`, that is
//! `MR * NV` fused multiply-adds on `MR + NV` loads. Every `MR` up to the largest has a kernel of its own, so that
//! row edges cost what they are worth; column edges use masked loads and stores.
//!
//! Each element of the result is summed over `p` in rising order by one chain, whichever tile it falls in. How the
//! result is cut into tiles therefore never changes a bit of it; only cutting the inner dimension does.

use super::vector::Vector;

/// One call of a micro-kernel.
#[derive(Clone, Copy)]
pub(crate) struct Tile<T> {
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
    /// Memory of later tiles to be fetched meanwhile, a line per step of `p`; any valid place if there is none.
    pub ahead: *const T,
    /// Bytes from one such line to the next: 64, or 0 for nothing to fetch.
    pub ahead_step: usize,
    /// What the sums start from, one number per column, or null for zero.
    pub start: *const T,
    /// Factor of the sums.
    pub alpha: T,
    /// Whether `c` is added to, or overwritten without being read.
    pub accumulate: bool,
    /// Whether negative results are stored as zero.
    pub relu: bool,
    /// Whether whole registers go around the caches; `c` and its rows are then aligned to cache lines.
    pub around: bool,
}

/// The micro-kernel; see the module documentation. `ROWS` says that `a` is in row form, `EDGE` that the last register
/// is partly used.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn tile<V: Vector, const MR: usize, const NV: usize, const ROWS: bool, const EDGE: bool>(
    t: &Tile<V::Scalar>,
) where
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
        if t.k >= 64 {
            for i in 0..MR {
                let c = t.c.offset(i as isize * t.c_stride);
                V::prefetch(c);
                if NV > 1 {
                    V::prefetch(c.add(V::LANES));
                }
            }
        }
        let (mut a, mut b) = (t.a, t.b);
        let (a_step, a_row) = if ROWS { (1, t.a_stride) } else { (t.a_stride, 1) };
        let mut ahead = t.ahead;
        for _ in 0..t.k {
            V::prefetch(ahead);
            ahead = ahead.wrapping_byte_add(t.ahead_step);
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
        // Plain indexed loops: iterators over the sums would send them through memory.
        if t.alpha != V::Scalar::from(1) {
            let alpha = V::splat(t.alpha);
            for i in 0..MR {
                for v in 0..NV {
                    sums[i][v] = sums[i][v].mul(alpha);
                }
            }
        }
        if t.accumulate {
            for i in 0..MR {
                let c = t.c.offset(i as isize * t.c_stride);
                for v in 0..NV {
                    sums[i][v] = sums[i][v].add(load(c, v));
                }
            }
        }
        if t.relu {
            for i in 0..MR {
                for v in 0..NV {
                    sums[i][v] = sums[i][v].relu();
                }
            }
        }
        if !EDGE && t.around {
            for i in 0..MR {
                for v in 0..NV {
                    sums[i][v].stream(t.c.offset(i as isize * t.c_stride).add(v * V::LANES));
                }
            }
            return;
        }
        for i in 0..MR {
            for v in 0..NV {
                let to = t.c.offset(i as isize * t.c_stride).add(v * V::LANES);
                if EDGE && v == NV - 1 { sums[i][v].store_masked(to, mask) } else { sums[i][v].store(to) }
            }
        }
    }
}
