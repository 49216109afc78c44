//! Routines beside the tiles: packing of panels, dot products and linear combinations of rows.

use super::vector::Vector;

/// Packs `lines` lines of `length` adjacent numbers into `to[p * to_stride + line]`. Room for whole registers of
/// lines must be there; what lies between is filled with anything.
#[inline(always)]
pub(super) unsafe fn transpose_panel<V: Vector>(
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
pub(super) unsafe fn copy_panel<V: Vector>(
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
pub(super) unsafe fn dots<V: Vector>(
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
pub(super) unsafe fn combine<V: Vector>(
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
        while j < columns {
            // As many columns as there are registers for, so that the matrix is read in few passes.
            let left = (columns - j).min(8 * V::LANES);
            let registers = left.div_ceil(V::LANES);
            let last = left - (registers - 1) * V::LANES;
            let (m, out) = (m.add(j), out.add(j));
            match registers {
                1 => combine_group::<V, 1, 4>(k, x, x_stride, m, stride, last, out),
                2 => combine_group::<V, 2, 4>(k, x, x_stride, m, stride, last, out),
                3 => combine_group::<V, 3, 2>(k, x, x_stride, m, stride, last, out),
                4 => combine_group::<V, 4, 2>(k, x, x_stride, m, stride, last, out),
                5 => combine_group::<V, 5, 1>(k, x, x_stride, m, stride, last, out),
                6 => combine_group::<V, 6, 1>(k, x, x_stride, m, stride, last, out),
                7 => combine_group::<V, 7, 1>(k, x, x_stride, m, stride, last, out),
                _ => combine_group::<V, 8, 1>(k, x, x_stride, m, stride, last, out),
            }
            j += left;
        }
    }
}

/// `combine` for `G` registers, the last with `last` columns. Few registers need several chains of sums to hide the
/// latency of the multiply-add.
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
    // SAFETY: the caller guarantees the rows and the vector.
    unsafe {
        let mask = V::mask(last);
        let mut sums = [[V::zero(); CHAINS]; G];
        let mut step = |p: usize, chain: usize| {
            let factor = V::splat(*x.offset(p as isize * x_stride));
            let from = m.offset(p as isize * stride);
            for (g, sum) in sums.iter_mut().enumerate() {
                let from = from.add(g * V::LANES);
                let row = if g == G - 1 { V::load_masked(from, mask) } else { V::load(from) };
                sum[chain] = row.mul_add(factor, sum[chain]);
            }
        };
        let whole = k / CHAINS * CHAINS;
        for p in (0..whole).step_by(CHAINS) {
            for chain in 0..CHAINS {
                step(p + chain, chain);
            }
        }
        for p in whole..k {
            step(p, 0);
        }
        for (g, sum) in sums.into_iter().enumerate() {
            let total = sum[1..].iter().fold(sum[0], |total, &chain| total.add(chain));
            total.store(out.add(g * V::LANES));
        }
    }
}
