//! Copies between the layout of tensors and the layouts that the tiles read and write.

use crate::kernels::gemm::vector::Vector;

/// `to[j · to_stride + i] = from[i · from_stride + j]`, a matrix of `rows` by `columns` transposed. Rows of `to` are
/// written up to the next multiple of the register width, which must fit into `to_stride`.
#[inline(always)]
pub(super) unsafe fn transpose<V: Vector>(
    from: *const V::Scalar,
    from_stride: usize,
    rows: usize,
    columns: usize,
    to: *mut V::Scalar,
    to_stride: usize,
) {
    let whole = columns / V::LANES * V::LANES;
    // SAFETY: the caller guarantees both matrices; blocks stay inside `columns`, edges go one by one.
    unsafe {
        for i in (0..rows).step_by(V::LANES) {
            let count = (rows - i).min(V::LANES);
            for j in (0..whole).step_by(V::LANES) {
                let (from, to) = (from.add(i * from_stride + j), to.add(j * to_stride + i));
                V::transpose(from, from_stride as isize, count, to, to_stride);
            }
            for j in whole..columns {
                for r in 0..count {
                    *to.add(j * to_stride + i + r) = *from.add((i + r) * from_stride + j);
                }
            }
        }
    }
}

/// What happens to sums on their way into the result: the bias is added, then negative values become zero.
pub(super) struct Finish<T> {
    /// One number per channel, or null.
    pub bias: *const T,
    pub relu: bool,
}

/// Where a block of results goes: `rows` by `columns` pixels of each channel.
pub(super) struct Target<T> {
    /// First pixel of the first channel.
    pub out: *mut T,
    /// Distance between channels.
    pub plane: usize,
    pub rows: usize,
    pub columns: usize,
    /// Distance between rows and between columns.
    pub row_step: usize,
    pub column_step: usize,
}

#[inline(always)]
unsafe fn finish<V: Vector>(value: V, bias: Option<V>, relu: bool) -> V {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe {
        let value = match bias {
            Some(bias) => value.add(bias),
            None => value,
        };
        if relu { value.relu() } else { value }
    }
}

#[inline(always)]
unsafe fn bias_of<V: Vector>(f: &Finish<V::Scalar>, channel: usize) -> Option<V> {
    // SAFETY: the caller guarantees a bias per channel where there is one.
    if f.bias.is_null() { None } else { Some(unsafe { V::splat(*f.bias.add(channel)) }) }
}

/// Writes sums that lie pixel by pixel (`stride` numbers each, `channels` of them in use) into the target.
#[inline(always)]
pub(super) unsafe fn emit_pixel_major<V: Vector>(
    from: *const V::Scalar,
    stride: usize,
    channels: usize,
    f: &Finish<V::Scalar>,
    t: &Target<V::Scalar>,
) {
    // SAFETY: the caller guarantees sums and target; the block is at most 16 by 16.
    unsafe {
        let mut block = [V::zero(); 16];
        let numbers: *mut V::Scalar = block.as_mut_ptr().cast();
        let flat = t.column_step == 1 && t.row_step == t.columns;
        let (lines, length) = if flat { (1, t.rows * t.columns) } else { (t.rows, t.columns) };
        for line in 0..lines {
            for first in (0..length).step_by(V::LANES) {
                let count = (length - first).min(V::LANES);
                let mask = V::mask(count);
                for channel in (0..channels).step_by(V::LANES) {
                    let source = from.add((line * length + first) * stride + channel);
                    V::transpose(source, stride as isize, count, numbers, V::LANES);
                    for (lane, &sums) in block.iter().enumerate().take((channels - channel).min(V::LANES)) {
                        let value = finish(sums, bias_of(f, channel + lane), f.relu);
                        let to = t.out.add((channel + lane) * t.plane + line * t.row_step + first * t.column_step);
                        if t.column_step != 1 {
                            scatter(value, count, to, t.column_step);
                        } else if count == V::LANES {
                            value.store(to);
                        } else {
                            value.store_masked(to, mask);
                        }
                    }
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn scatter<V: Vector>(value: V, count: usize, to: *mut V::Scalar, step: usize) {
    // SAFETY: a register seen as its numbers; the caller guarantees the places.
    unsafe {
        let numbers: *const V::Scalar = std::ptr::from_ref(&value).cast();
        for i in 0..count {
            *to.add(i * step) = *numbers.add(i);
        }
    }
}

/// Writes one channel's sums, whose rows lie `pitch` apart, into the target.
#[inline(always)]
pub(super) unsafe fn emit_rows<V: Vector>(
    from: *const V::Scalar,
    pitch: usize,
    channel: usize,
    f: &Finish<V::Scalar>,
    t: &Target<V::Scalar>,
) {
    // SAFETY: the caller guarantees sums (with a register of slack behind them) and target.
    unsafe {
        let bias = bias_of(f, channel);
        for row in 0..t.rows {
            for first in (0..t.columns).step_by(V::LANES) {
                let count = (t.columns - first).min(V::LANES);
                let value = finish(V::load(from.add(row * pitch + first)), bias, f.relu);
                let to = t.out.add(channel * t.plane + row * t.row_step + first * t.column_step);
                if t.column_step == 1 {
                    value.store_masked(to, V::mask(count));
                } else {
                    scatter(value, count, to, t.column_step);
                }
            }
        }
    }
}

/// Copies a row into the middle of a line: zeros, `count` numbers that lie `step` apart, zeros.
#[inline(always)]
pub(super) unsafe fn pad_line<V: Vector>(
    from: *const V::Scalar,
    step: usize,
    (before, count, after): (usize, usize, usize),
    to: *mut V::Scalar,
) {
    // SAFETY: the caller guarantees the numbers and the line.
    unsafe {
        zero::<V>(to, before);
        let middle = to.add(before);
        if step == 1 {
            let whole = count / V::LANES * V::LANES;
            for i in (0..whole).step_by(V::LANES) {
                V::load(from.add(i)).store(middle.add(i));
            }
            if whole < count {
                let mask = V::mask(count - whole);
                V::load_masked(from.add(whole), mask).store_masked(middle.add(whole), mask);
            }
        } else {
            for i in 0..count {
                *middle.add(i) = *from.add(i * step);
            }
        }
        zero::<V>(middle.add(count), after);
    }
}

/// Fills with zeros.
#[inline(always)]
pub(super) unsafe fn zero<V: Vector>(to: *mut V::Scalar, count: usize) {
    // SAFETY: the caller guarantees the room.
    unsafe {
        for i in (0..count).step_by(V::LANES) {
            V::zero().store_masked(to.add(i), V::mask((count - i).min(V::LANES)));
        }
    }
}

/// Adds `rows` rows of `width` numbers, `stride` apart, to `sums`.
#[inline(always)]
pub(super) unsafe fn add_rows<V: Vector>(
    from: *const V::Scalar,
    stride: usize,
    rows: usize,
    width: usize,
    sums: *mut V::Scalar,
) {
    // SAFETY: the caller guarantees the rows, whose width is a whole number of registers.
    unsafe {
        for first in (0..width).step_by(V::LANES) {
            // Four chains, so that an addition need not wait for the one before.
            let mut chains = [V::load(sums.add(first)), V::zero(), V::zero(), V::zero()];
            let whole = rows / 4 * 4;
            for row in (0..whole).step_by(4) {
                for (i, chain) in chains.iter_mut().enumerate() {
                    *chain = chain.add(V::load(from.add((row + i) * stride + first)));
                }
            }
            for row in whole..rows {
                chains[0] = chains[0].add(V::load(from.add(row * stride + first)));
            }
            chains[0].add(chains[1]).add(chains[2].add(chains[3])).store(sums.add(first));
        }
    }
}
