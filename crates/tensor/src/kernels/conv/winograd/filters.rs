//! The driver of the gradient by filters and bias.
//!
//! Tasks are runs of groups of tiles, cut by their number alone, times blocks of output channels. Each adds up the
//! products of its groups in order and turns the sums into filters; the filters of the runs are then added in order.

use super::images::{Plan, Source, gated_pixels, places};
use super::products::{Products, Stack, position_stride};
use super::routines::{FilterGradients, Points, Strip, ToPixels};
use super::transforms::Gradient;
use super::{POSITIONS, SIDE};
use crate::kernels::conv::gradient::write_filters;
use crate::kernels::conv::{ChannelBlock, Shared, Sizes, piece};
use crate::kernels::gemm::GemmScalar;
use crate::kernels::gemm::scratch::{Slot, with_scratch};
use crate::kernels::gemm::vector::on;
use crate::pool::parallel_for;

/// Most runs.
const RUNS: usize = 16;

/// The gradient of one convolution with 3×3 filters.
pub(super) struct FilterGradient<'a> {
    pub sizes: &'a Sizes,
    pub x: *const f32,
    pub g: *const f32,
    pub gate: *const f32,
    pub w: Shared<f32>,
    pub bias: Shared<f32>,
}

// SAFETY: shared with tasks that read the sources and write disjoint results.
unsafe impl Sync for FilterGradient<'_> {}

/// Places of pixels in the windows of the image and of the gradient.
struct Places {
    image: Vec<usize>,
    gradient: Vec<usize>,
}

impl FilterGradient<'_> {
    /// # Safety
    /// Pointers and sizes describe tensors as `filter_gradient` says, and [`pays`](super::pays) holds for them.
    pub unsafe fn run(&self) {
        let s = self.sizes;
        let plan = Plan::new(s.images, s.result, s.inputs, s.outputs);
        let (window_rows, pitch) = plan.window();
        let places = Places {
            image: places(window_rows.min(s.image[0]), s.image[1], pitch, plan.width),
            gradient: places(SIDE * plan.grid.strip, s.result[1], SIDE * plan.grid.columns, plan.widest),
        };
        let groups = plan.grid.groups();
        let runs = groups.min(RUNS);
        // One row more than (channel, tap) pairs, for the bias.
        let rows = 9 * s.inputs + 1;
        let width = plan.blocks.last().map_or(0, |block| block.before + block.width);
        let run_size = rows * width;
        with_scratch(Slot::Sums, runs * run_size, |sums: *mut f32| {
            let sums = Shared(sums);
            parallel_for(runs * plan.blocks.len(), &|task| {
                let (run, block) = (task / plan.blocks.len(), &plan.blocks[task % plan.blocks.len()]);
                let (first, end) = piece(groups, runs, run);
                // SAFETY: each task has its own part of the sums.
                unsafe {
                    let sums = sums.get().add(run * run_size + block.before * rows);
                    self.run_of_groups(&plan, first..end, block, &places, sums);
                }
            });
            parallel_for(plan.blocks.len(), &|index| {
                let block = &plan.blocks[index];
                // SAFETY: each task has its own block of the sums and of the results.
                unsafe {
                    let sums = sums.get().add(block.before * rows);
                    write_filters(plan.routines, (self.w, self.bias), block, rows - 1, (runs, run_size), sums);
                }
            });
        });
    }

    /// The gradient from some groups by a block of filters, (channel, tap, filter), then the bias.
    unsafe fn run_of_groups(
        &self,
        plan: &Plan,
        groups: std::ops::Range<usize>,
        block: &ChannelBlock,
        places: &Places,
        sums: *mut f32,
    ) {
        let s = self.sizes;
        let (tile_position, gradient_position) = plan.positions();
        let position = position_stride(s.inputs * block.width);
        let first = groups.start;
        let bias = if self.bias.get().is_null() {
            std::ptr::null_mut()
        } else {
            sums.wrapping_add(9 * s.inputs * block.width)
        };
        // SAFETY: scratch areas have the room asked for; the rest is the caller's.
        unsafe {
            if !bias.is_null() {
                (plan.routines.zero)(bias, block.width);
            }
            with_scratch(Slot::Positions, POSITIONS * position, |totals: *mut f32| {
                for group in groups {
                    with_scratch(Slot::Tiles, POSITIONS * tile_position, |tiles: *mut f32| {
                        with_scratch(Slot::Products, POSITIONS * gradient_position, |gradients: *mut f32| {
                            let count = self.transform_images(plan, group, places, tiles);
                            self.transform_gradients(plan, group, block, places, (gradients, bias));
                            Products {
                                kernels: f32::kernels(plan.isa),
                                a: Stack { start: tiles.cast_const(), row: plan.width, position: tile_position },
                                rows_form: false,
                                b: Stack { start: gradients, row: block.width, position: gradient_position },
                                c: Stack { start: totals, row: block.width, position },
                                rows: s.inputs,
                                columns: block.width,
                                depth: count,
                                accumulate: group > first,
                            }
                            .run();
                        });
                    });
                }
                let (channels, width) = (s.inputs, block.width);
                on(plan.isa, FilterGradients { channels, width, sums: totals, position, out: sums });
            });
        }
    }

    /// Gives the number of tiles.
    unsafe fn transform_images(&self, plan: &Plan, group: usize, places: &Places, tiles: *mut f32) -> usize {
        let s = self.sizes;
        let (rows, pitch) = plan.window();
        let mut count = 0;
        with_scratch(Slot::Image, rows * pitch * plan.width, |window: *mut f32| {
            for unit in plan.grid.units_of(group).map(|index| plan.grid.unit(index)) {
                // SAFETY: the unit's image and room for its tiles.
                unsafe {
                    let start = self.x.add(unit.image * s.inputs * s.image[0] * s.image[1]);
                    let (channels, size, padding) = (s.inputs, s.image, s.padding);
                    let source =
                        Source { start, gate: std::ptr::null(), channels, size, padding, places: &places.image };
                    plan.transform_image(&unit, &source, window, tiles.add(count * plan.width));
                }
                count += unit.rows * plan.grid.columns;
            }
        });
        count
    }

    unsafe fn transform_gradients(
        &self,
        plan: &Plan,
        group: usize,
        block: &ChannelBlock,
        places: &Places,
        (out, bias): (*mut f32, *mut f32),
    ) {
        let [height, length] = self.sizes.result;
        let (plane, pitch) = (height * length, SIDE * plan.grid.columns);
        let area = SIDE * plan.grid.strip * pitch;
        // Places are counted for the widest block.
        let scaled: Vec<usize>;
        let gradient_places = if block.width == plan.widest {
            &places.gradient
        } else {
            scaled = places.gradient.iter().map(|place| place / plan.widest * block.width).collect();
            &scaled
        };
        let mut done = 0;
        with_scratch(Slot::Pixels, area * block.width, |pixels: *mut f32| {
            for unit in plan.grid.units_of(group).map(|index| plan.grid.unit(index)) {
                let first = SIDE * unit.first;
                let rows = (height - first).min(SIDE * unit.rows);
                let place = (unit.image * self.sizes.outputs + block.first) * plane;
                // SAFETY: the unit's gradient and room for its tiles.
                unsafe {
                    (plan.routines.zero)(pixels, area * block.width);
                    let gate = if self.gate.is_null() { self.gate } else { self.gate.add(place) };
                    let (channels, count, places) = (block.used, rows * length, gradient_places);
                    gated_pixels(self.g.add(place), gate, channels, plane, first * length, count, |from, plane| {
                        on(plan.isa, ToPixels { from, plane, channels, count, places, to: pixels });
                    });
                    if !bias.is_null() {
                        (plan.routines.add_rows)(pixels, block.width, rows * pitch, block.width, bias);
                    }
                    let (columns, width, position) = (plan.grid.columns, block.width, plan.positions().1);
                    let strip = Strip { rows: unit.rows, columns, width, pitch, position };
                    on(plan.isa, Points::<Gradient, 4>::new(strip, pixels, out.add(done * width)));
                }
                done += unit.rows * plan.grid.columns;
            }
        });
    }
}
