//! The driver of the gradient by filters and bias.
//!
//! Images are cut into runs by their number alone. Each run adds its images, one after the other, to sums of its own,
//! which lie pair by pair of (channel, tap), a register row of output channels each; the runs' sums are added in order.

use super::correlate::{distances, gated, pad, plane};
use super::layout::{Finish, Target};
use super::plan::Axis;
use super::table::{ConvScalar, Routines};
use super::tiles::FilterTile;
use super::{ChannelBlock, Shared, Sizes, channel_blocks, piece};
use crate::kernels::gemm::scratch::{Slot, with_scratch};
use crate::pool::parallel_for;

/// Most runs of images.
const RUNS: usize = 16;
/// Numbers that the sums of all runs may take together, if more than one run is to be had.
const MOST_SUMS: usize = 1 << 22;

pub(super) struct FilterGradient<'a, T: 'static> {
    pub routines: &'static Routines<T>,
    pub sizes: &'a Sizes,
    pub axes: [Axis; 2],
    pub x: *const T,
    pub g: *const T,
    pub gate: *const T,
    pub w: Shared<T>,
    pub bias: Shared<T>,
}

// SAFETY: shared with tasks that read the sources and write disjoint results.
unsafe impl<T> Sync for FilterGradient<'_, T> {}

impl<T: ConvScalar> FilterGradient<'_, T> {
    /// # Safety
    /// Pointers and sizes describe tensors as `filter_gradient` says.
    pub unsafe fn run(&self) {
        let s = self.sizes;
        let blocks = channel_blocks(s.outputs, self.routines.lanes, 2);
        let width = blocks.last().map_or(0, |block| block.before + block.width);
        let distances = distances(&self.axes, s.inputs, &self.axes[0].classes[0], &self.axes[1].classes[0]);
        // One row more than pairs, for the bias.
        let (k, rows) = (distances.len(), distances.len() + 1);
        let run_size = s.groups * width * rows;
        if run_size == 0 {
            return;
        }
        let runs = (MOST_SUMS / run_size).clamp(1, RUNS).min(s.images.max(1));
        let cuts = if runs * s.groups < 8 { blocks.len() } else { 1 };
        let work = s.images * s.groups * width * k * s.result[0] * s.result[1];
        with_scratch(Slot::Sums, runs * run_size, |sums: *mut T| {
            let sums = Shared(sums);
            let body = |task: usize| {
                let (run, rest) = (task / (s.groups * cuts), task % (s.groups * cuts));
                let (group, cut) = (rest / cuts, rest % cuts);
                let (first, end) = piece(blocks.len(), cuts, cut);
                // SAFETY: each task has its own part of the sums.
                unsafe {
                    let sums = sums.get().add(run * run_size + group * width * rows);
                    self.run_of_images(piece(s.images, runs, run), group, &blocks[first..end], &distances, sums);
                }
            };
            let tasks = runs * s.groups * cuts;
            if work < 100_000 {
                (0..tasks).for_each(body)
            } else {
                parallel_for(tasks, &body)
            }
            let combine = |task: usize| {
                let (group, block) = (task / blocks.len(), &blocks[task % blocks.len()]);
                let place = (group * width + block.before) * rows;
                // SAFETY: each task has its own block of the sums and of the results.
                unsafe {
                    let w = Shared(self.w.get().add(group * s.outputs * k));
                    let bias = Shared(self.bias.get().wrapping_add(group * s.outputs));
                    let bias = if self.bias.get().is_null() { self.bias } else { bias };
                    write_filters(self.routines, (w, bias), block, k, (runs, run_size), sums.get().add(place));
                }
            };
            let tasks = s.groups * blocks.len();
            if work < 100_000 { (0..tasks).for_each(combine) } else { parallel_for(tasks, &combine) }
        });
    }

    /// The sums over a run of images, for one group and some of its blocks.
    unsafe fn run_of_images(
        &self,
        (first, end): (usize, usize),
        group: usize,
        blocks: &[ChannelBlock],
        distances: &[usize],
        sums: *mut T,
    ) {
        let (s, r) = (self.sizes, self.routines);
        let rows = distances.len() + 1;
        let source = s.inputs * s.image[0] * s.image[1];
        let pixels = s.result[0] * s.result[1];
        let padded = s.inputs * plane(&self.axes).1;
        let widest = blocks.iter().map(|block| block.width).max().unwrap_or(0);
        // SAFETY: the images of this run and their gradients, as the caller guarantees; scratch areas have the room.
        unsafe {
            for block in blocks {
                (r.zero)(sums.add(block.before * rows), block.width * rows);
            }
            with_scratch(Slot::Image, padded, |image: *mut T| {
                with_scratch(Slot::Pixels, pixels * widest, |turned: *mut T| {
                    for unit in (first..end).map(|index| index * s.groups + group) {
                        pad(r, &self.axes, s.inputs, self.x.add(unit * source), s.image, image);
                        for block in blocks {
                            let count = block.used * pixels;
                            let place = (unit * s.outputs + block.first) * pixels;
                            let gate = if self.gate.is_null() { self.gate } else { self.gate.add(place) };
                            gated(self.g.add(place), gate, count, |g| {
                                (r.transpose)(g, pixels, block.used, pixels, turned, block.width);
                            });
                            self.image(block, distances, image, turned, sums.add(block.before * rows));
                        }
                    }
                });
            });
        }
    }

    /// Adds one image to the sums of a block.
    unsafe fn image(&self, block: &ChannelBlock, distances: &[usize], image: *const T, grad: *const T, sums: *mut T) {
        let (s, r, k) = (self.sizes, self.routines, distances.len());
        let kernels = r.filters[block.width / r.lanes - 1];
        let pieces = k.div_ceil(r.rows);
        // SAFETY: pairs and sums of the block; every distance lies inside the padded image.
        unsafe {
            for index in 0..pieces {
                let (first, end) = piece(k, pieces, index);
                let tile = FilterTile {
                    distances: distances.as_ptr().add(first),
                    image,
                    pitch: self.axes[1].length,
                    rows: s.result[0],
                    columns: s.result[1],
                    grad,
                    grad_stride: block.width,
                    sums: sums.add(first * block.width),
                    sum_stride: block.width,
                };
                kernels[end - first - 1](&tile);
            }
            if !self.bias.get().is_null() {
                let pixels = s.result[0] * s.result[1];
                (r.add_rows)(grad, block.width, pixels, block.width, sums.add(k * block.width));
            }
        }
    }
}

/// Adds up the runs' sums of a block, `run_size` numbers apart, in order, and writes its filters, `k` numbers each, and
/// bias (unless null). The results begin at the first filter of the group.
///
/// # Safety
/// `sums` are those of the block in the first run: `k + 1` rows of its width.
pub(super) unsafe fn write_filters<T: ConvScalar>(
    r: &Routines<T>,
    (w, bias): (Shared<T>, Shared<T>),
    block: &ChannelBlock,
    k: usize,
    (runs, run_size): (usize, usize),
    sums: *mut T,
) {
    // SAFETY: by the caller's promise.
    unsafe {
        for run in 1..runs {
            (r.add_rows)(sums.add(run * run_size), 0, 1, block.width * (k + 1), sums);
        }
        let target =
            Target { out: w.get().add(block.first * k), plane: k, rows: 1, columns: k, row_step: k, column_step: 1 };
        let finish = Finish { bias: std::ptr::null(), relu: false };
        (r.emit_pixel_major)(sums, block.width, block.used, &finish, &target);
        if !bias.get().is_null() {
            let bias = bias.get().add(block.first);
            std::ptr::copy_nonoverlapping(sums.add(k * block.width), bias, block.used);
        }
    }
}
