//! The driver of convolutions, and of transposed ones with their filters turned round.

use super::grid::{Grid, Unit, wanted_tiles};
use super::products::{Products, Stack, position_stride};
use super::routines::{Filters, Points, Results, Strip, ToPixels};
use super::transforms::Image;
use super::{BLOCK, POINTS, POSITIONS, SIDE};
use crate::kernels::conv::correlate::gated;
use crate::kernels::conv::layout::{Finish, Target};
use crate::kernels::conv::table::{ConvScalar, Routines};
use crate::kernels::conv::{ChannelBlock, Gate, Shared, channel_blocks, piece};
use crate::kernels::gemm::GemmScalar;
use crate::kernels::gemm::scratch::{Slot, with_scratch};
use crate::kernels::gemm::vector::on;
use crate::kernels::simd::{Isa, dispatch, isa};
use crate::pool::parallel_for;

/// Filters in memory: distances between results' channels and between sources' channels, and whether they are turned
/// round.
#[derive(Clone, Copy)]
pub(super) struct Taps {
    pub pointer: *const f32,
    pub output: usize,
    pub input: usize,
    pub flipped: bool,
}

/// One convolution with 3×3 filters.
pub(super) struct Convolution {
    pub images: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub source: *const f32,
    pub source_size: [usize; 2],
    /// Zeros before the source.
    pub padding: [usize; 2],
    /// Where not positive, the source counts as zero; null for none.
    pub gate: *const f32,
    pub taps: Taps,
    pub finish: Finish<f32>,
    pub result: Shared<f32>,
    pub result_size: [usize; 2],
}

// SAFETY: shared with tasks that read the sources and write disjoint results.
unsafe impl Sync for Convolution {}

/// What all tasks know.
pub(super) struct Plan {
    pub isa: Isa,
    pub routines: &'static Routines<f32>,
    pub grid: Grid,
    pub blocks: Vec<ChannelBlock>,
    /// Channels of the source, with the padding to whole registers.
    pub width: usize,
    /// Channels of the widest block.
    pub widest: usize,
}

impl Plan {
    pub fn new(images: usize, result: [usize; 2], inputs: usize, outputs: usize) -> Plan {
        let isa = isa();
        let routines = f32::routines(isa);
        let lanes = routines.lanes;
        let grid = Grid::new(images, result, wanted_tiles(inputs, outputs.min(BLOCK)));
        let blocks = channel_blocks(outputs, lanes, BLOCK / lanes);
        let widest = blocks.iter().map(|block| block.width).max().unwrap_or(0);
        Plan { isa, routines, grid, blocks, width: inputs.next_multiple_of(lanes), widest }
    }

    /// Numbers between positions of the transformed tiles and of the products or gradients.
    pub fn positions(&self) -> (usize, usize) {
        let tiles = self.grid.tiles();
        (position_stride(tiles * self.width), position_stride(tiles * self.widest))
    }

    /// Rows and columns of pixels that the tiles of a strip read.
    pub fn window(&self) -> (usize, usize) {
        (SIDE * self.grid.strip + POINTS - SIDE, SIDE * self.grid.columns + POINTS - SIDE)
    }

    /// The transforms of a strip of an image, which begins at `source`, into `out`.
    ///
    /// # Safety
    /// `source` has the channels of an image of `size`, `out` room for the strip's tiles, `window` for [`Plan::window`].
    pub unsafe fn transform_image(&self, unit: &Unit, from: &Source, window: *mut f32, out: *mut f32) {
        let (rows, pitch) = self.window();
        let ([height, length], [above, before]) = (from.size, from.padding);
        // Rows of the image that the strip sees.
        let top = SIDE * unit.first;
        let first = top.saturating_sub(above);
        let end = (top + SIDE * unit.rows + POINTS - SIDE).saturating_sub(above).min(height).max(first);
        // SAFETY: rows first..end lie in the image, and by the padding inside the window.
        unsafe {
            (self.routines.zero)(window, rows * pitch * self.width);
            let lead = (first + above - top) * pitch + before;
            let to = window.add(lead * self.width);
            let (count, channels, places) = ((end - first) * length, from.channels, from.places);
            gated_pixels(from.start, from.gate, channels, height * length, first * length, count, |from, plane| {
                on(self.isa, ToPixels { from, plane, channels, count, places, to });
            });
            let position = self.positions().0;
            let strip = Strip { rows: unit.rows, columns: self.grid.columns, width: self.width, pitch, position };
            on(self.isa, Points::<Image, 6>::new(strip, window, out));
        }
    }
}

/// An image to be transformed.
pub(super) struct Source<'a> {
    pub start: *const f32,
    /// Where not positive, the image counts as zero; null for none.
    pub gate: *const f32,
    pub channels: usize,
    pub size: [usize; 2],
    pub padding: [usize; 2],
    /// Where pixels go in a window, from that of the first one on.
    pub places: &'a [usize],
}

/// Places of the first `rows` rows of `length` pixels in an area whose rows are `pitch` pixels of `width` numbers.
pub(super) fn places(rows: usize, length: usize, pitch: usize, width: usize) -> Vec<usize> {
    (0..rows * length).map(|pixel| (pixel / length * pitch + pixel % length) * width).collect()
}

/// Calls `body` with pixels `first..first + count` of every channel, gated if there is a gate, and the distance between
/// channels.
///
/// # Safety
/// `from` and `gate` (unless null) have `channels` planes of `plane` numbers.
pub(super) unsafe fn gated_pixels(
    from: *const f32,
    gate: *const f32,
    channels: usize,
    plane: usize,
    first: usize,
    count: usize,
    body: impl FnOnce(*const f32, usize),
) {
    // SAFETY: by the caller's promise; the scratch area has the room asked for.
    unsafe {
        if gate.is_null() {
            body(from.add(first), plane);
        } else if count == plane {
            gated(from, gate, channels * plane, |from| body(from, plane));
        } else {
            with_scratch(Slot::Gated, channels * count, |to: *mut f32| {
                for channel in 0..channels {
                    let place = channel * plane + first;
                    dispatch(Gate { g: from.add(place), gate: gate.add(place), to: to.add(channel * count), count });
                }
                body(to, count);
            });
        }
    }
}

impl Convolution {
    /// # Safety
    /// Pointers and sizes describe tensors as `convolve` says, which [`pays`](super::pays) holds for.
    pub unsafe fn run(&self) {
        let plan = Plan::new(self.images, self.result_size, self.inputs, self.outputs);
        let (window_rows, pitch) = plan.window();
        let places = places(window_rows.min(self.source_size[0]), self.source_size[1], pitch, plan.width);
        let groups = plan.grid.groups();
        // Few groups are cut by blocks of channels too.
        let cuts = if groups < 8 { plan.blocks.len() } else { 1 };
        let filter_position = position_stride(self.inputs * plan.widest);
        with_scratch(Slot::Filters, plan.blocks.len() * POSITIONS * filter_position, |filters: *mut f32| {
            let filters = Shared(filters);
            // SAFETY: the scratch area has room for all blocks; tasks write disjoint parts of it and of the result.
            unsafe {
                self.transform_filters(&plan, filters, filter_position);
                parallel_for(groups * cuts, &|task| {
                    let (first, end) = piece(plan.blocks.len(), cuts, task % cuts);
                    let filters = (filters.get().cast_const(), filter_position);
                    self.group(&plan, task / cuts, first..end, &places, filters);
                });
            }
        });
    }

    unsafe fn transform_filters(&self, plan: &Plan, filters: Shared<f32>, position: usize) {
        let per_task = (4096 / plan.widest.max(1)).clamp(1, self.inputs);
        let runs = self.inputs.div_ceil(per_task);
        parallel_for(plan.blocks.len() * runs, &|task| {
            let (index, block) = (task / runs, &plan.blocks[task / runs]);
            let first = task % runs * per_task;
            for channel in first..(first + per_task).min(self.inputs) {
                // SAFETY: each channel and block has its own part.
                unsafe {
                    let taps = &self.taps;
                    let from = taps.pointer.add(block.first * taps.output + channel * taps.input);
                    let out = filters.get().add(index * POSITIONS * position + channel * block.width);
                    let (stride, flipped, used, width) = (taps.output, taps.flipped, block.used, block.width);
                    on(plan.isa, Filters { from, stride, flipped, used, width, out, position });
                }
            }
        });
    }

    /// A group of strips, for some blocks of channels.
    unsafe fn group(
        &self,
        plan: &Plan,
        group: usize,
        blocks: std::ops::Range<usize>,
        places: &[usize],
        (filters, filter_position): (*const f32, usize),
    ) {
        let (tile_position, product_position) = plan.positions();
        let (rows, pitch) = plan.window();
        // SAFETY: scratch areas have the room asked for; the rest is the caller's.
        with_scratch(Slot::Tiles, POSITIONS * tile_position, |tiles: *mut f32| unsafe {
            let mut count = 0;
            with_scratch(Slot::Image, rows * pitch * plan.width, |window: *mut f32| {
                for unit in plan.grid.units_of(group).map(|index| plan.grid.unit(index)) {
                    self.transform(plan, &unit, places, window, tiles.add(count * plan.width));
                    count += unit.rows * plan.grid.columns;
                }
            });
            with_scratch(Slot::Products, POSITIONS * product_position, |products: *mut f32| {
                for index in blocks {
                    let block = &plan.blocks[index];
                    let b = filters.add(index * POSITIONS * filter_position);
                    Products {
                        kernels: f32::kernels(plan.isa),
                        a: Stack { start: tiles.cast_const(), row: plan.width, position: tile_position },
                        rows_form: true,
                        b: Stack { start: b, row: block.width, position: filter_position },
                        c: Stack { start: products, row: block.width, position: product_position },
                        rows: count,
                        columns: block.width,
                        depth: self.inputs,
                        accumulate: false,
                    }
                    .run();
                    self.emit(plan, group, block, products);
                }
            });
        });
    }

    unsafe fn transform(&self, plan: &Plan, unit: &Unit, places: &[usize], window: *mut f32, out: *mut f32) {
        let count = self.inputs * self.source_size[0] * self.source_size[1];
        // SAFETY: the image and its gate, as the caller guarantees.
        unsafe {
            let start = self.source.add(unit.image * count);
            let gate = if self.gate.is_null() { self.gate } else { self.gate.add(unit.image * count) };
            let (channels, size, padding) = (self.inputs, self.source_size, self.padding);
            plan.transform_image(unit, &Source { start, gate, channels, size, padding, places }, window, out);
        }
    }

    /// Turns the products of a group back into pixels and writes them.
    unsafe fn emit(&self, plan: &Plan, group: usize, block: &ChannelBlock, products: *const f32) {
        let [height, length] = self.result_size;
        let room = (SIDE * plan.grid.strip * length + SIDE) * block.width;
        with_scratch(Slot::Pixels, room, |pixels: *mut f32| {
            let mut done = 0;
            for unit in plan.grid.units_of(group).map(|index| plan.grid.unit(index)) {
                let (rows, columns, width) = (unit.rows, plan.grid.columns, block.width);
                let strip = Strip { rows, columns, width, pitch: length, position: plan.positions().1 };
                // SAFETY: the strip's own products, pixels and part of the result.
                unsafe {
                    on(plan.isa, Results { strip, products: products.add(done * width), pixels });
                    let first = SIDE * unit.first;
                    let plane = height * length;
                    let channel = unit.image * self.outputs + block.first;
                    let target = Target {
                        out: self.result.get().add(channel * plane + first * length),
                        plane,
                        rows: (height - first).min(SIDE * rows),
                        columns: length,
                        row_step: length,
                        column_step: 1,
                    };
                    let bias = self.finish.bias;
                    let bias = if bias.is_null() { bias } else { bias.add(block.first) };
                    let finish = Finish { bias, relu: self.finish.relu };
                    (plan.routines.emit_pixel_major)(pixels, width, block.used, &finish, &target);
                }
                done += rows * columns;
            }
        });
    }
}
