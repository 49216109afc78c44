//! The driver of convolutions and transposed convolutions.

use super::layout::{Finish, Target};
use super::plan::{Axis, Class};
use super::table::{ConvScalar, Routines};
use super::tiles::Tile;
use super::{ChannelBlock, Gate, Shared, channel_blocks, piece};
use crate::kernels::gemm::scratch::{Slot, with_scratch};
use crate::kernels::simd::dispatch;
use crate::pool::parallel_for;

/// Filters in memory, with the distances between groups, results' channels, sources' channels and rows.
#[derive(Clone, Copy)]
pub(super) struct Filters<T> {
    pub pointer: *const T,
    pub group: usize,
    pub output: usize,
    pub input: usize,
    pub row: usize,
}

/// One convolution or transposed convolution; channels are counted per group.
pub(super) struct Correlation<T: 'static> {
    pub routines: &'static Routines<T>,
    pub images: usize,
    pub groups: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub source: *const T,
    pub source_size: [usize; 2],
    pub axes: [Axis; 2],
    pub result: Shared<T>,
    pub result_size: [usize; 2],
    pub filters: Filters<T>,
    pub finish: Finish<T>,
    /// Where not positive, the source counts as zero; null for none.
    pub gate: *const T,
}

// SAFETY: shared with tasks that read the sources and write disjoint results.
unsafe impl<T> Sync for Correlation<T> {}

/// Results that meet the same taps, with the distances they read at.
struct Part<'a> {
    rows: &'a Class,
    columns: &'a Class,
    distances: Vec<usize>,
    /// Where its packed filters begin.
    filters: usize,
}

/// Multiply-adds that make a task.
const TASK: usize = 200_000;

/// Number of a phase plane's numbers, and of all phases of one channel.
pub(super) fn plane(axes: &[Axis; 2]) -> (usize, usize) {
    let one = axes[0].length * axes[1].length;
    (one, one * axes[0].phases * axes[1].phases)
}

/// Distances of every (channel, tap) pair of two classes.
pub(super) fn distances(axes: &[Axis; 2], channels: usize, rows: &Class, columns: &Class) -> Vec<usize> {
    let (one, all) = plane(axes);
    let mut distances = Vec::with_capacity(channels * rows.taps.len() * columns.taps.len());
    for channel in 0..channels {
        for row in &rows.taps {
            for column in &columns.taps {
                let phase = row.phase * axes[1].phases + column.phase;
                distances.push(channel * all + phase * one + row.shift * axes[1].length + column.shift);
            }
        }
    }
    distances
}

/// Copies channels of an image into the padded layout of `axes`.
///
/// # Safety
/// `from` has `channels` planes of `size`, `to` room for as many padded ones.
pub(super) unsafe fn pad<T: ConvScalar>(
    routines: &Routines<T>,
    axes: &[Axis; 2],
    channels: usize,
    from: *const T,
    size: [usize; 2],
    to: *mut T,
) {
    let (pitch, (one, _)) = (axes[1].length, plane(axes));
    let mut to = to;
    for channel in 0..channels {
        for row_phase in 0..axes[0].phases {
            let (rows, first_row) = axes[0].inside(row_phase, size[0]);
            for column_phase in 0..axes[1].phases {
                let (columns, first_column) = axes[1].inside(column_phase, size[1]);
                let parts = (columns.start, columns.len(), pitch - columns.end);
                // SAFETY: `inside` gives entries of the plane and positions of the image.
                unsafe {
                    (routines.zero)(to, rows.start * pitch);
                    for (i, row) in rows.clone().enumerate() {
                        let position = first_row + i * axes[0].phases;
                        let line = from.add((channel * size[0] + position) * size[1] + first_column);
                        (routines.pad_line)(line, axes[1].phases, parts, to.add(row * pitch));
                    }
                    (routines.zero)(to.add(rows.end * pitch), (axes[0].length - rows.end) * pitch);
                    to = to.add(one);
                }
            }
        }
    }
}

/// Calls `body` with the source, or with a gated copy of it.
///
/// # Safety
/// `source` and `gate` (unless null) have `count` numbers.
pub(super) unsafe fn gated<T: ConvScalar, R>(
    source: *const T,
    gate: *const T,
    count: usize,
    body: impl FnOnce(*const T) -> R,
) -> R {
    if gate.is_null() {
        return body(source);
    }
    with_scratch(Slot::Gated, count, |to: *mut T| {
        dispatch(Gate { g: source, gate, to, count });
        body(to)
    })
}

impl<T: ConvScalar> Correlation<T> {
    /// # Safety
    /// Pointers and sizes describe tensors as `convolve` says.
    pub unsafe fn run(&self) {
        // Sums over few pairs are not worth the turn from pixels to planes that tiles of channels end with.
        let pairs = self.axes.iter().map(|axis| axis.classes.iter().map(|class| class.taps.len()).max().unwrap_or(0));
        let few = self.inputs * pairs.product::<usize>() < 32 && self.result_size.iter().product::<usize>() >= 64;
        let by_channels = 2 * self.outputs >= self.routines.lanes && !few;
        let blocks =
            if by_channels { channel_blocks(self.outputs, self.routines.lanes, 2) } else { self.few_channels() };
        let width = blocks.last().map_or(0, |block| block.before + block.width);
        let (mut parts, mut packed) = (Vec::new(), 0);
        for rows in &self.axes[0].classes {
            for columns in &self.axes[1].classes {
                let distances = distances(&self.axes, self.inputs, rows, columns);
                let filters = packed;
                packed += distances.len() * width * self.groups;
                parts.push(Part { rows, columns, distances, filters });
            }
        }
        let units = self.images * self.groups;
        if units == 0 || width == 0 {
            return;
        }
        let work: usize = parts.iter().map(|p| p.distances.len() * p.rows.count * p.columns.count * width).sum();
        // Few images are cut by blocks of channels too.
        let cuts = if units < 16 && work > 2 * TASK { blocks.len() } else { 1 };
        let per_task = (TASK / (work / cuts).max(1)).clamp(1, units * cuts);
        with_scratch(Slot::Filters, packed, |filters: *mut T| {
            // SAFETY: the scratch area has room for all parts, groups and blocks.
            unsafe { self.pack(&parts, &blocks, width, filters) };
            let filters = Shared(filters);
            parallel_for((units * cuts).div_ceil(per_task), &|task| {
                for index in task * per_task..((task + 1) * per_task).min(units * cuts) {
                    let (first, end) = piece(blocks.len(), cuts, index % cuts);
                    // SAFETY: units write disjoint parts of the result.
                    unsafe { self.unit(index / cuts, &parts, &blocks[first..end], width, filters.get(), by_channels) };
                }
            });
        });
    }

    /// Blocks of up to four output channels, for tiles of pixels.
    fn few_channels(&self) -> Vec<ChannelBlock> {
        let block = |first: usize| {
            let used = (self.outputs - first).min(4);
            ChannelBlock { first, used, width: used, before: first }
        };
        (0..self.outputs).step_by(4).map(block).collect()
    }

    /// Writes the filters of every part, group and block: a row of `width` channels per (channel, tap).
    unsafe fn pack(&self, parts: &[Part<'_>], blocks: &[ChannelBlock], width: usize, to: *mut T) {
        let f = &self.filters;
        for part in parts {
            for group in 0..self.groups {
                for block in blocks {
                    let k = part.distances.len();
                    // SAFETY: inside the scratch area and the filters.
                    unsafe {
                        let mut row = to.add(part.filters + (group * width + block.before) * k);
                        let from = f.pointer.add(group * f.group + block.first * f.output);
                        for channel in 0..self.inputs {
                            for (s, t) in taps(part) {
                                let from = from.add(channel * f.input + s * f.row + t);
                                for lane in 0..block.used {
                                    *row.add(lane) = *from.add(lane * f.output);
                                }
                                for lane in block.used..block.width {
                                    *row.add(lane) = T::from(0);
                                }
                                row = row.add(block.width);
                            }
                        }
                    }
                }
            }
        }
    }

    /// One group of one image.
    unsafe fn unit(
        &self,
        unit: usize,
        parts: &[Part<'_>],
        blocks: &[ChannelBlock],
        width: usize,
        filters: *const T,
        by_channels: bool,
    ) {
        let (r, group) = (self.routines, unit % self.groups);
        let [height, length] = self.source_size;
        let count = self.inputs * height * length;
        let padded = self.inputs * plane(&self.axes).1;
        let slack = r.wide * r.lanes;
        // SAFETY: the unit's part of each tensor, as the caller guarantees; scratch areas have the room asked for.
        unsafe {
            let source = self.source.add(unit * count);
            let gate = if self.gate.is_null() { self.gate } else { self.gate.add(unit * count) };
            with_scratch(Slot::Image, padded + slack, |image: *mut T| {
                gated(source, gate, count, |source| pad(r, &self.axes, self.inputs, source, self.source_size, image));
                (r.zero)(image.add(padded), slack);
                for part in parts {
                    for block in blocks {
                        let place = part.filters + (group * width + block.before) * part.distances.len();
                        let filters = filters.add(place);
                        if by_channels {
                            self.channels(unit, part, block, image, filters);
                        } else {
                            self.pixels(unit, part, block, image, filters);
                        }
                    }
                }
            });
        }
    }

    /// Where a block's results go, and what happens to them on the way.
    unsafe fn target(&self, unit: usize, part: &Part<'_>, block: &ChannelBlock) -> (Target<T>, Finish<T>) {
        let [height, length] = self.result_size;
        let plane = height * length;
        let channel = unit * self.outputs + block.first;
        let first = part.rows.first * length + part.columns.first;
        let bias = self.finish.bias;
        let target = Target {
            // SAFETY: inside the result.
            out: unsafe { self.result.get().add(channel * plane + first) },
            plane,
            rows: part.rows.count,
            columns: part.columns.count,
            row_step: part.rows.step * length,
            column_step: part.columns.step,
        };
        let shift = unit % self.groups * self.outputs + block.first;
        // SAFETY: a bias has a number for every channel.
        let bias = if bias.is_null() { bias } else { unsafe { bias.add(shift) } };
        (target, Finish { bias, relu: self.finish.relu })
    }

    /// Tiles of pixels by registers of channels.
    unsafe fn channels(&self, unit: usize, part: &Part<'_>, block: &ChannelBlock, image: *const T, filters: *const T) {
        let (rows, columns) = (part.rows.count, part.columns.count);
        let (r, pitch) = (self.routines, self.axes[1].length);
        let kernels = r.channels[block.width / r.lanes - 1];
        let pieces = columns.div_ceil(r.rows);
        with_scratch(Slot::Pixels, rows * columns * block.width, |sums: *mut T| {
            // SAFETY: tiles stay inside the padded image and the sums; the target is the unit's own.
            unsafe {
                for row in 0..rows {
                    for index in 0..pieces {
                        let (first, end) = piece(columns, pieces, index);
                        let tile = Tile {
                            k: part.distances.len(),
                            distances: part.distances.as_ptr(),
                            image: image.add(row * pitch + first),
                            filters,
                            filter_stride: block.width,
                            out: sums.add((row * columns + first) * block.width),
                            out_stride: block.width,
                        };
                        kernels[end - first - 1](&tile);
                    }
                }
                let (target, finish) = self.target(unit, part, block);
                (r.emit_pixel_major)(sums, block.width, block.used, &finish, &target);
            }
        });
    }

    /// Tiles of channels by registers of pixels, over whole rows of the padded image; what lies between the rows of the
    /// result is computed and dropped.
    unsafe fn pixels(&self, unit: usize, part: &Part<'_>, block: &ChannelBlock, image: *const T, filters: *const T) {
        let (rows, columns) = (part.rows.count, part.columns.count);
        let (r, pitch) = (self.routines, self.axes[1].length);
        let registers = ((rows - 1) * pitch + columns).div_ceil(r.lanes);
        let stride = (registers + 1) * r.lanes;
        with_scratch(Slot::Pixels, block.used * stride, |sums: *mut T| {
            // SAFETY: as above; the padded image has slack for a wide tile behind its end.
            unsafe {
                let mut done = 0;
                while done < registers {
                    let wide = registers - done >= r.wide;
                    let tile = Tile {
                        k: part.distances.len(),
                        distances: part.distances.as_ptr(),
                        image: image.add(done * r.lanes),
                        filters,
                        filter_stride: block.width,
                        out: sums.add(done * r.lanes),
                        out_stride: stride,
                    };
                    r.pixels[usize::from(!wide)][block.used - 1](&tile);
                    done += if wide { r.wide } else { 1 };
                }
                let (target, finish) = self.target(unit, part, block);
                for channel in 0..block.used {
                    (r.emit_rows)(sums.add(channel * stride), pitch, channel, &finish, &target);
                }
            }
        });
    }
}

/// The taps of a part as positions in the filter, in the order of its distances.
fn taps<'a>(part: &'a Part<'_>) -> impl Iterator<Item = (usize, usize)> + 'a {
    let columns = &part.columns.taps;
    part.rows.taps.iter().flat_map(move |row| columns.iter().map(move |column| (row.index, column.index)))
}
