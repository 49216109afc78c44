//! Products with a vector: one of the outer dimensions is one.
//!
//! `y = M x` is a dot product per row when the rows of `M` are adjacent in memory, and a linear combination of columns
//! when the columns are; either way the matrix is read once, in order.

use super::scratch::{Slot, with_scratch};
use super::table::{GemmScalar, Kernels};
use super::{Epilogue, MatRef, finish_element};
use crate::pool::parallel_for;

/// Rows handled at a time; their results wait in a buffer on the stack.
const CHUNK: usize = 256;
/// Multiply-adds in a task, a fixed part of the shape.
const TASK: usize = 1 << 18;

/// `y = alpha m x + beta y`, then the epilogue; a bias has one number per element of `y`, `bias_stride` apart.
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
        let by_rows = self.m.col_stride == 1 || self.m.row_stride != 1;
        if by_rows && (self.x_stride != 1 && self.m.cols > 1) {
            with_scratch(Slot::Panel, self.m.cols, |copy: *mut T| {
                for p in 0..self.m.cols {
                    // SAFETY: the buffer has room for the vector.
                    unsafe { *copy.add(p) = *self.x.offset(p as isize * self.x_stride) };
                }
                // SAFETY: the same product with an adjacent vector.
                unsafe { self.chunks(copy, by_rows) };
            });
        } else {
            // SAFETY: passed on to the caller.
            unsafe { self.chunks(self.x, by_rows) };
        }
    }

    unsafe fn chunks(&self, x: *const T, by_rows: bool) {
        let chunks = self.m.rows.div_ceil(CHUNK);
        let work = self.m.rows * self.m.cols;
        let per_task = (TASK / (CHUNK * self.m.cols.max(1))).max(1);
        let tasks = chunks.div_ceil(per_task);
        let x = x as usize; // Shared by the tasks, which only read it.
        let body = |task: usize| {
            for chunk in task * per_task..((task + 1) * per_task).min(chunks) {
                // SAFETY: chunks are disjoint ranges of rows.
                unsafe { self.chunk(x as *const T, by_rows, chunk * CHUNK) };
            }
        };
        if self.parallel && work >= 2 * TASK && tasks > 1 {
            parallel_for(tasks, &body)
        } else {
            (0..tasks).for_each(body)
        }
    }

    unsafe fn chunk(&self, x: *const T, by_rows: bool, first: usize) {
        let (m, k) = (self.m, self.m.cols);
        let count = (m.rows - first).min(CHUNK);
        let mut sums = [T::from(0); CHUNK];
        // SAFETY: `first + count` rows exist; the buffer holds whole registers for any count up to `CHUNK`.
        unsafe {
            let from = m.at(first, 0);
            if !by_rows {
                (self.kernels.combine)(k, x, self.x_stride, from, m.col_stride, count, sums.as_mut_ptr());
            } else if m.col_stride == 1 {
                (self.kernels.dots)(k, x, from, m.row_stride, count, sums.as_mut_ptr());
            } else {
                for (i, sum) in sums.iter_mut().enumerate().take(count) {
                    for p in 0..k {
                        *sum = *sum + *m.at(first + i, p) * *x.add(p);
                    }
                }
            }
            for (i, &sum) in sums.iter().enumerate().take(count) {
                let i = (first + i) as isize;
                let y = self.y.offset(i * self.y_stride);
                finish_element(sum, self.alpha, self.beta, y, self.epilogue, i * self.bias_stride);
            }
        }
    }
}
