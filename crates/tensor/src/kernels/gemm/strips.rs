//! Large results of short sums, by way of a strip.
//!
//! A tile writes a short piece of each of its rows. When rows lie a multiple of a page apart, all these pieces compete for
//! the few places of one set of the cache; when the result is larger than the caches, memory is written in pieces too
//! short for it. With a short inner dimension there is little arithmetic to hide that behind. Tiles then write to a strip
//! that holds some panels of all rows, and the strip goes to the result row by row.

use super::MatMut;
use super::driver::{Block, Operands, Product, part};
use super::pack::PackB;
use super::scratch::{Slot, with_scratch};
use super::table::GemmScalar;

/// Bytes of a page: addresses so far apart fall into the same set.
const PAGE: usize = 4096;
/// Bytes of a strip: half of the first-level cache.
const STRIP: usize = 16 << 10;
/// Results below this many bytes stay in the second-level cache anyway.
const LARGE: usize = 1 << 20;
/// Results above this many bytes go by way of strips however their rows lie.
const HUGE: usize = 8 << 20;
/// Longest inner dimension for which writing the result is a good part of the work.
const SHORT: usize = 64;

impl<T: GemmScalar, B: PackB<T>> Product<'_, T, B> {
    /// Whether the block goes by way of strips.
    fn strips(&self, block: Block) -> bool {
        let (m, k) = (block.rows.1, block.inner.1);
        let whole = block.first && block.last && !self.accumulate && self.c.col_stride == 1;
        let clash = (self.c.row_stride.unsigned_abs() * size_of::<T>()).is_multiple_of(PAGE);
        let bytes = self.c.rows * self.c.cols * size_of::<T>();
        whole && k <= SHORT && m >= 8 && (bytes > HUGE || (clash && bytes > LARGE))
    }

    /// Multiplies the tiles and panels of a task, straight into the result or by way of strips.
    ///
    /// # Safety
    /// As for [`Product::run`].
    pub(super) unsafe fn task(
        &self,
        operands: &Operands<T>,
        block: Block,
        tiles: (usize, usize),
        panels: (usize, usize),
    ) {
        if !self.strips(block) {
            // SAFETY: passed on to the caller.
            return unsafe { self.tiles_of_task(operands, block, tiles, panels) };
        }
        let width = self.kernels.columns();
        let tile_count = block.rows.1.div_ceil(self.kernels.rows);
        let first_row = part(block.rows.1, tile_count, tiles.0).0;
        let (last, last_rows) = part(block.rows.1, tile_count, tiles.0 + tiles.1 - 1);
        let rows = last + last_rows - first_row;
        let strip = (STRIP / (rows * width * size_of::<T>())).clamp(1, panels.1);
        let stride = strip * width;
        with_scratch(Slot::Strip, rows * stride, |buffer: *mut T| {
            for first in (panels.0..panels.0 + panels.1).step_by(strip) {
                let count = strip.min(panels.0 + panels.1 - first);
                let columns = (count * width).min(block.columns.1 - first * width);
                let (row, column) = (block.rows.0 + first_row, block.columns.0 + first * width);
                // The strip stands for its part of the result.
                let ptr = buffer.wrapping_sub(row * stride + column);
                let near = Product { c: MatMut { ptr, row_stride: stride as isize, ..self.c }, ..*self };
                // SAFETY: the strip has room for these rows and columns, which lie inside the result.
                unsafe {
                    near.tiles_of_task(operands, block, tiles, (first, count));
                    for i in 0..rows {
                        let to = self.c.at(row + i, column);
                        std::ptr::copy_nonoverlapping(buffer.add(i * stride), to, columns);
                    }
                }
            }
        });
    }
}
