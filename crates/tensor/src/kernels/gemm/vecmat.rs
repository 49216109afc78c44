//! Products with a vector or with a few: one of the outer dimensions is tiny.
//!
//! `y = M x` is a dot product per row when the rows of `M` are adjacent in memory, and a linear combination of columns
//! when the columns are; either way the matrix is read once, in order. Long sums with a short result are cut into
//! chunks by the shape, computed side by side and added up in order.

use super::scratch::{Slot, with_scratch};
use super::table::{GemmScalar, Kernels};
use super::{Epilogue, MatMut, MatRef, finish_element};
use crate::pool::parallel_for;

/// Rows handled at a time; their results wait in a buffer on the stack.
const CHUNK: usize = 256;
/// Multiply-adds in a task, a fixed part of the shape.
const TASK: usize = 1 << 18;

/// `y = alpha m x + beta y`, then the epilogue; a bias has one number per element of `y`, `bias_stride` apart.
#[derive(Clone, Copy)]
pub(super) struct VectorProduct<T: 'static> {
    pub kernels: &'static Kernels<T>,
    pub alpha: T,
    pub m: MatRef<T>,
    pub x: *const T,
    pub x_stride: isize,
    pub beta: T,
    pub y: *mut T,
    pub y_stride: isize,
    pub epilogue: Epilogue<T>,
    pub bias_stride: isize,
    pub parallel: bool,
}

// SAFETY: tasks write disjoint parts of `y` and only read the rest.
unsafe impl<T> Sync for VectorProduct<T> {}

impl<T: GemmScalar> VectorProduct<T> {
    /// Computes the product.
    ///
    /// # Safety
    /// The operands must be valid, `y` apart from the others, and the processor must have the instruction set.
    pub unsafe fn run(&self) {
        let k = self.m.cols;
        if self.by_rows() && self.x_stride != 1 && k > 1 {
            with_scratch(Slot::Panel, k, |copy: *mut T| {
                for p in 0..k {
                    // SAFETY: the buffer has room for the vector.
                    unsafe { *copy.add(p) = *self.x.offset(p as isize * self.x_stride) };
                }
                // SAFETY: the same product with an adjacent vector.
                unsafe { Self { x: copy, x_stride: 1, ..*self }.with_adjacent_vector() };
            });
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.with_adjacent_vector() };
        }
    }

    /// Whether the product is taken as dot products of rows.
    fn by_rows(&self) -> bool {
        self.m.col_stride == 1 || self.m.row_stride != 1
    }

    unsafe fn with_adjacent_vector(&self) {
        let (rows, k) = (self.m.rows, self.m.cols);
        if rows <= CHUNK && k >= 1 << 14 && rows * k >= 2 * TASK {
            // SAFETY: passed on to the caller.
            return unsafe { self.long_sums((k >> 13).min(16)) };
        }
        let chunks = rows.div_ceil(CHUNK);
        let per_task = (TASK / (CHUNK * k.max(1))).max(1);
        let tasks = chunks.div_ceil(per_task);
        let body = |task: usize| {
            for chunk in task * per_task..((task + 1) * per_task).min(chunks) {
                let (first, count) = (chunk * CHUNK, (rows - chunk * CHUNK).min(CHUNK));
                let mut sums = [T::from(0); CHUNK];
                // SAFETY: chunks are disjoint ranges of rows.
                unsafe {
                    self.sums((first, count), (0, k), sums.as_mut_ptr());
                    self.finish(first, &sums[..count]);
                }
            }
        };
        let parallel = self.parallel && rows * k >= 2 * TASK && tasks > 1;
        if parallel { parallel_for(tasks, &body) } else { (0..tasks).for_each(body) }
    }

    /// At most `CHUNK` rows over a long inner dimension, cut into `parts`.
    unsafe fn long_sums(&self, parts: usize) {
        let (rows, k) = (self.m.rows, self.m.cols);
        with_scratch(Slot::Partial, parts * CHUNK, |partial: *mut T| {
            let partial = MatMut::row_major(partial, parts, CHUNK);
            let body = |part: usize| {
                let (first, end) = (part * k / parts, (part + 1) * k / parts);
                // SAFETY: each part has its own row of the buffer.
                unsafe { self.sums((0, rows), (first, end - first), partial.at(part, 0)) };
            };
            if self.parallel {
                parallel_for(parts, &body)
            } else {
                (0..parts).for_each(body)
            }
            let mut sums = [T::from(0); CHUNK];
            for (i, sum) in sums.iter_mut().enumerate().take(rows) {
                for part in 0..parts {
                    // SAFETY: written above.
                    *sum = *sum + unsafe { *partial.at(part, i) };
                }
            }
            // SAFETY: the rows of the result.
            unsafe { self.finish(0, &sums[..rows]) };
        });
    }

    /// The sums of rows `(first, count)` over the inner range `(k0, k)`; `to` has room for `CHUNK` of them.
    unsafe fn sums(&self, (first, count): (usize, usize), (k0, k): (usize, usize), to: *mut T) {
        let m = self.m;
        // SAFETY: the rows exist; the buffer holds whole registers for any count up to `CHUNK`.
        unsafe {
            let from = m.at(first, k0);
            let x = self.x.offset(k0 as isize * self.x_stride);
            if !self.by_rows() {
                (self.kernels.combine)(k, x, self.x_stride, from, m.col_stride, count, to);
            } else if m.col_stride == 1 {
                (self.kernels.dots)(k, x, from, m.row_stride, count, to);
            } else {
                for i in 0..count {
                    let term = |p: usize| *m.at(first + i, k0 + p) * *x.add(p);
                    *to.add(i) = (0..k).fold(T::from(0), |sum, p| sum + term(p));
                }
            }
        }
    }

    unsafe fn finish(&self, first: usize, sums: &[T]) {
        for (i, &sum) in sums.iter().enumerate() {
            let i = (first + i) as isize;
            // SAFETY: an element of the result and its bias.
            unsafe {
                let y = self.y.offset(i * self.y_stride);
                finish_element(sum, self.alpha, self.beta, y, self.epilogue, i * self.bias_stride);
            }
        }
    }

    /// Computes the product for `count` vectors, results and biases that lie the given distances apart, block of rows
    /// by block of rows so that a block is read from memory once.
    ///
    /// # Safety
    /// As for [`run`](Self::run), for each of the vectors.
    pub unsafe fn run_each(&self, count: usize, x_step: isize, y_step: isize, bias_step: isize) {
        if count == 1 {
            // SAFETY: passed on to the caller.
            return unsafe { self.run() };
        }
        let (rows, k) = (self.m.rows, self.m.cols);
        let per_block = ((1 << 16) / k).clamp(4, CHUNK) / 4 * 4;
        let blocks = rows.div_ceil(per_block);
        let body = |block: usize| {
            let first = block * per_block;
            let height = (rows - first).min(per_block);
            for vector in 0..count as isize {
                // SAFETY: blocks are disjoint ranges of rows.
                unsafe {
                    let along = first as isize * self.bias_stride + vector * bias_step;
                    let part = Self {
                        m: MatRef { ptr: self.m.at(first, 0), rows: height, ..self.m },
                        x: self.x.offset(vector * x_step),
                        y: self.y.offset(first as isize * self.y_stride + vector * y_step),
                        epilogue: self.epilogue.shifted(along),
                        parallel: false,
                        ..*self
                    };
                    part.run();
                }
            }
        };
        let parallel = self.parallel && count * rows * k >= 2 * TASK && blocks > 1;
        if parallel { parallel_for(blocks, &body) } else { (0..blocks).for_each(body) }
    }
}
