//! Blocking and threads.
//!
//! The result is cut into blocks of rows and columns, the inner dimension into blocks of at most [`DEPTH`]; for each
//! such block the operands are packed (where that pays) and then multiplied tile by tile. Tasks are ranges of tiles
//! and panels; the cut depends on the shape alone, and cannot change a bit anyway (see `micro`).

use super::around::fence;
use super::micro::Tile;
use super::pack::{PackB, copy_block, pack_a};
use super::scratch::{Slot, with_scratch};
use super::table::{GemmScalar, Kernels};
use super::{MatMut, MatRef};
use crate::pool::parallel_for;

/// Longest block of the inner dimension: a packed panel of `b` then takes 64 KiB, and a few of them with the rows of
/// `a` stay in the second-level cache.
const DEPTH: usize = 512;
/// Rows and columns of the result that are packed at once; bounds the scratch memory.
const SPAN: usize = 4096;
/// Products below this many multiply-adds stay on the calling thread: a fork and join costs about a microsecond.
const PARALLEL: usize = 250_000;
/// Multiply-adds that make a task worth handing out.
const TASK: usize = 250_000;
/// Bytes of a cache line.
pub(super) const LINE: usize = 64;
/// Numbers that make a packing task.
const PACK_TASK: usize = 1 << 15;
/// Most tasks of a block.
const TASKS: usize = 32;

/// A product `c = alpha a b (+ c) (+ start)` as the tiles see it.
pub(super) struct Product<'a, T: 'static, B> {
    pub kernels: &'static Kernels<T>,
    pub alpha: T,
    pub a: MatRef<T>,
    pub b: &'a B,
    pub c: MatMut<T>,
    /// Whether `c` is added to, or overwritten unread.
    pub accumulate: bool,
    /// Bias, one number per column, or null; only with `alpha` equal to one.
    pub bias: *const T,
    pub relu: bool,
    /// Whether both operands come in order from memory, adjacent along the result, and are worth fetching ahead.
    pub streams: bool,
    /// Whether the pool may be used.
    pub parallel: bool,
}

/// A block of the product; rows, columns and inner range are `(first, count)`.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub rows: (usize, usize),
    pub columns: (usize, usize),
    pub inner: (usize, usize),
    /// First and last block of the inner dimension.
    pub first: bool,
    pub last: bool,
}

/// Operands of a block: packed, or where they are.
struct Operands<T> {
    /// Packed panels of `a`, or null.
    left: *mut T,
    /// Packed panels of `b`, or null.
    right: *mut T,
    /// Whether tasks pack the panels of `b` they use, one after the other.
    pack_in_task: bool,
    /// Whether whole panels of the result are written around the caches.
    around: bool,
}

// SAFETY: tasks write disjoint parts of the result and of the scratch memory, and only read the operands.
unsafe impl<T, B: Sync> Sync for Product<'_, T, B> {}
// SAFETY: as above.
unsafe impl<T> Sync for Operands<T> {}

/// The `index`-th of `parts` even parts of `0..total`, as `(first, count)`.
#[inline]
fn part(total: usize, parts: usize, index: usize) -> (usize, usize) {
    let (size, extra) = (total / parts, total % parts);
    (index * size + index.min(extra), size + usize::from(index < extra))
}

/// Into how many parts the rows of tiles and the panels are cut, for about `wanted` tasks of even size.
fn cut(tiles: usize, panels: usize, wanted: usize) -> (usize, usize) {
    let columns_for = |rows: usize| panels.min(wanted.div_ceil(rows));
    if wanted > 8 {
        // Many tasks even themselves out.
        let rows = tiles.min(wanted);
        return (rows, columns_for(rows));
    }
    // The largest task times the number of tasks is what the cut costs.
    let cost = |rows: usize| {
        let columns = columns_for(rows);
        tiles.div_ceil(rows) * panels.div_ceil(columns) * rows * columns
    };
    let fits = |&rows: &usize| rows * columns_for(rows) >= wanted.min(tiles * panels);
    let rows = (1..=tiles.min(wanted)).rev().filter(fits).min_by_key(|&rows| cost(rows)).unwrap_or(1);
    (rows, columns_for(rows))
}

/// Runs the tasks on the pool, or here.
fn run_tasks(parallel: bool, tasks: usize, body: &(dyn Fn(usize) + Sync)) {
    if parallel && tasks > 1 { parallel_for(tasks, body) } else { (0..tasks).for_each(body) }
}

impl<T: GemmScalar, B: PackB<T>> Product<'_, T, B> {
    /// Computes the product over the inner range `(first, count)`, which must not be empty.
    ///
    /// # Safety
    /// The matrices must be valid, `c` apart from the others, and the processor must have the instruction set.
    pub unsafe fn run(&self, inner: (usize, usize)) {
        let (m, n) = (self.c.rows, self.c.cols);
        let depths = inner.1.div_ceil(DEPTH);
        let width = self.kernels.columns();
        // Panels that are packed when they are needed, and used once, take no room: one block for all of them.
        let once = depths == 1 && self.fits_near(m, inner.1);
        let (row_blocks, column_blocks) = (m.div_ceil(SPAN), if once { 1 } else { n.div_ceil(SPAN) });
        for column_block in 0..column_blocks {
            for row_block in 0..row_blocks {
                for depth in 0..depths {
                    let (p, count) = part(inner.1, depths, depth);
                    // Blocks begin with whole panels, which then lie in memory as the result does.
                    let (panel, panels) = part(n.div_ceil(width), column_blocks, column_block);
                    let block = Block {
                        rows: part(m, row_blocks, row_block),
                        columns: (panel * width, (panels * width).min(n - panel * width)),
                        inner: (inner.0 + p, count),
                        first: depth == 0,
                        last: depth + 1 == depths,
                    };
                    // SAFETY: passed on to the caller.
                    unsafe { self.block(block) };
                }
            }
        }
    }

    unsafe fn block(&self, block: Block) {
        let (m, n, k) = (block.rows.1, block.columns.1, block.inner.1);
        let (tiles, panels) = (m.div_ceil(self.kernels.rows), n.div_ceil(self.kernels.columns()));
        let pack_left = self.packs_left(m, n);
        let pack_right = self.packs_right(m, n, k);
        let work = m * n * k;
        let parallel = self.parallel && work >= PARALLEL;
        let wanted = if parallel { (work / TASK).clamp(2, TASKS) } else { 1 };
        let pack_in_task = pack_right && (!parallel || panels >= 4) && self.fits_near(m, k);
        let (row_parts, column_parts) = if pack_in_task { (1, panels.min(wanted)) } else { cut(tiles, panels, wanted) };
        let left_size = if pack_left { tiles * k * self.kernels.padded_rows() } else { 0 };
        let right_size = if pack_right && !pack_in_task { panels * k * self.kernels.columns() } else { 0 };
        with_scratch(Slot::Left, left_size, |left: *mut T| {
            with_scratch(Slot::Right, right_size, |right: *mut T| {
                let operands = Operands { left, right, pack_in_task, around: self.goes_around(block) };
                // SAFETY: the scratch buffers have the sizes that the packing writes; the rest is the caller's.
                unsafe { self.pack(&operands, block, parallel) };
                run_tasks(parallel, row_parts * column_parts, &|task| {
                    let tile_range = part(tiles, row_parts, task / column_parts);
                    let panel_range = part(panels, column_parts, task % column_parts);
                    // SAFETY: the ranges of different tasks are disjoint parts of the result.
                    unsafe { self.tiles_of_task(&operands, block, tile_range, panel_range) };
                    if operands.around {
                        fence();
                    }
                });
            });
        });
    }

    /// Whether `m` rows of `a` with `k` numbers each stay near while panels of `b` pass by.
    fn fits_near(&self, m: usize, k: usize) -> bool {
        m * k * size_of::<T>() <= 512 << 10
    }

    /// Whether `a` is packed: needless for adjacent rows or columns that are read only a few times.
    pub(super) fn packs_left(&self, m: usize, n: usize) -> bool {
        let stride = if self.a.row_stride == 1 {
            self.a.col_stride
        } else if self.a.col_stride == 1 {
            self.a.row_stride
        } else {
            return true;
        };
        let columns = self.kernels.columns();
        // Strides of a large power of two fall into few sets of the cache.
        let clash = (stride.unsigned_abs() * size_of::<T>()).is_multiple_of(4096);
        m > 1 && (n > 16 * columns || (clash && n > 2 * columns))
    }

    /// Whether `b` is packed: needless when its columns are adjacent and it is small or read only a few times.
    pub(super) fn packs_right(&self, m: usize, n: usize, k: usize) -> bool {
        self.b.direct().is_none() || (k * n * size_of::<T>() > 256 << 10 && m > 2 * self.kernels.rows)
    }

    /// Packs what the block's tasks share.
    unsafe fn pack(&self, operands: &Operands<T>, block: Block, parallel: bool) {
        let kernels = self.kernels;
        let (k0, k) = block.inner;
        let (tiles, panels) = (block.rows.1.div_ceil(kernels.rows), block.columns.1.div_ceil(kernels.columns()));
        let left_tasks =
            if operands.left.is_null() { 0 } else { (tiles * k * kernels.rows / PACK_TASK).clamp(1, tiles) };
        let right_tasks =
            if operands.right.is_null() { 0 } else { (panels * k * kernels.columns() / PACK_TASK).clamp(1, panels) };
        if left_tasks + right_tasks == 0 {
            return;
        }
        let body = |task: usize| {
            // SAFETY: each task writes its own panels, which the scratch buffers have room for.
            unsafe {
                if task < left_tasks {
                    let (first, count) = part(tiles, left_tasks, task);
                    for tile in first..first + count {
                        let (row, rows) = part(block.rows.1, tiles, tile);
                        let to = operands.left.add(tile * k * kernels.padded_rows());
                        pack_a(kernels, self.a, (block.rows.0 + row, rows), (k0, k), to);
                    }
                } else {
                    let (first, count) = part(panels, right_tasks, task - left_tasks);
                    for panel in first..first + count {
                        self.pack_panel(block, panel, operands.right.add(panel * k * kernels.columns()));
                    }
                }
            }
        };
        run_tasks(parallel, left_tasks + right_tasks, &body);
    }

    #[inline]
    unsafe fn pack_panel(&self, block: Block, panel: usize, to: *mut T) {
        let width = self.kernels.columns();
        let (k0, k) = block.inner;
        let first = panel * width;
        let columns = (block.columns.1 - first).min(width);
        // SAFETY: the panel lies inside the block, and the caller guarantees room.
        unsafe { self.b.pack(k0, k, block.columns.0 + first, columns, width, to) };
    }

    /// Multiplies the tiles and panels of a task.
    unsafe fn tiles_of_task(
        &self,
        operands: &Operands<T>,
        block: Block,
        tiles: (usize, usize),
        panels: (usize, usize),
    ) {
        let width = self.kernels.columns();
        let k = block.inner.1;
        let scratch = if operands.pack_in_task { k * width } else { 0 };
        with_scratch(Slot::Panel, scratch, |buffer: *mut T| {
            for panel in panels.0..panels.0 + panels.1 {
                // SAFETY: the panel lies inside the block; the buffers have room for it.
                unsafe {
                    let (b, b_stride) = if operands.pack_in_task {
                        self.pack_panel(block, panel, buffer);
                        (buffer.cast_const(), width as isize)
                    } else if !operands.right.is_null() {
                        (operands.right.add(panel * k * width).cast_const(), width as isize)
                    } else if let Some((start, stride)) = self.b.direct() {
                        let column = block.columns.0 + panel * width;
                        (start.offset(block.inner.0 as isize * stride).add(column), stride)
                    } else {
                        return; // Not reached: what cannot be read in place is packed.
                    };
                    self.panel(operands, block, tiles, panel, (b, b_stride));
                }
            }
        });
    }

    /// Multiplies the tiles of a task with one panel.
    #[inline]
    unsafe fn panel(
        &self,
        operands: &Operands<T>,
        block: Block,
        tiles: (usize, usize),
        panel: usize,
        (b, b_stride): (*const T, isize),
    ) {
        let kernels = self.kernels;
        let width = kernels.columns();
        let (row0, m) = block.rows;
        let tile_count = m.div_ceil(kernels.rows);
        // As `part` cuts, without its divisions at every tile.
        let (size, extra) = (m / tile_count, m % tile_count);
        let first = panel * width;
        let columns = (block.columns.1 - first).min(width);
        let column = block.columns.0 + first;
        let (k0, k) = block.inner;
        let rows_form = operands.left.is_null() && self.a.row_stride != 1;
        let a_stride = if !operands.left.is_null() {
            kernels.padded_rows() as isize
        } else if rows_form {
            self.a.row_stride
        } else {
            self.a.col_stride
        };
        for index in tiles.0..tiles.0 + tiles.1 {
            let (row, rows) = (index * size + index.min(extra), size + usize::from(index < extra));
            let (ahead, ahead_step) = self.ahead(block, panel * tile_count + index).unwrap_or((b, 0));
            // SAFETY: the tile lies inside the block.
            unsafe {
                let mut tile = Tile {
                    k,
                    a: if operands.left.is_null() {
                        self.a.at(row0 + row, k0)
                    } else {
                        operands.left.add(index * k * kernels.padded_rows())
                    },
                    a_stride,
                    b,
                    b_stride,
                    c: self.c.at(row0 + row, column),
                    c_stride: self.c.row_stride,
                    last: 0,
                    ahead,
                    ahead_step,
                    start: if block.first && !self.bias.is_null() { self.bias.add(column) } else { std::ptr::null() },
                    alpha: self.alpha,
                    accumulate: self.accumulate || !block.first,
                    relu: self.relu && block.last,
                    around: operands.around && columns == width,
                };
                if self.c.col_stride == 1 {
                    kernels.run(rows, columns, rows_form, &mut tile);
                } else {
                    self.scattered(rows, columns, rows_form, tile);
                }
            }
        }
    }

    /// Which part of the next block of the operands the `call`-th tile of this block fetches: first the lines of `a`,
    /// then those of `b`, as many as the inner dimension has steps.
    #[inline]
    fn ahead(&self, block: Block, call: usize) -> Option<(*const T, usize)> {
        if !self.streams || block.last {
            return None;
        }
        let (k0, k) = block.inner;
        let next = (k0 + k) as isize;
        let bytes = |stride: isize| k * stride.unsigned_abs() * size_of::<T>();
        let left = bytes(self.a.col_stride);
        let mut from = call * k * LINE;
        let (mut start, mut stride) = (self.a.ptr, self.a.col_stride);
        if from >= left {
            from -= left;
            let (b, b_stride) = self.b.direct()?;
            if from >= bytes(b_stride) {
                return None;
            }
            (start, stride) = (b, b_stride);
        }
        Some((start.wrapping_offset(next * stride).wrapping_byte_add(from), LINE))
    }

    /// A tile of a result whose columns are not adjacent, by way of a buffer.
    #[cold]
    unsafe fn scattered(&self, rows: usize, columns: usize, rows_form: bool, mut tile: Tile<T>) {
        let mut buffer = [T::from(0); 14 * 32];
        let near = MatMut { ptr: buffer.as_mut_ptr(), rows, cols: columns, row_stride: 32, col_stride: 1 };
        let far = MatMut { ptr: tile.c, rows, cols: columns, ..self.c };
        // SAFETY: no tile is larger than the buffer, and `far` is the tile's part of the result.
        unsafe {
            if tile.accumulate {
                copy_block(far.as_ref(), near);
            }
            (tile.c, tile.c_stride) = (near.ptr, near.row_stride);
            self.kernels.run(rows, columns, rows_form, &mut tile);
            copy_block(near.as_ref(), far);
        }
    }
}
