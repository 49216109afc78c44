//! Products over an inner dimension of one: every row of the result is a multiple of one vector, so the time is that of
//! writing it.

use super::{GemmScalar, MatMut, MatRef};
use crate::kernels::simd::{Kernel, dispatch};
use crate::pool::parallel_for;

/// Elements of the result per task.
const TASK: usize = 64 * 1024;

struct Outer<T> {
    a: MatRef<T>,
    b: MatRef<T>,
    c: MatMut<T>,
    first: usize,
    rows: usize,
}

impl<T: GemmScalar> Kernel for Outer<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for i in self.first..self.first + self.rows {
            // SAFETY: row i exists in `a` (one column) and in `c`, whose columns and those of `b` are adjacent.
            unsafe {
                let factor = *self.a.ptr.offset(i as isize * self.a.row_stride);
                let row = self.c.ptr.offset(i as isize * self.c.row_stride);
                for j in 0..self.c.cols {
                    *row.add(j) = factor * *self.b.ptr.add(j);
                }
            }
        }
    }
}

/// Whether [`outer`] can compute this product.
pub(super) fn fits<T>(a: &MatRef<T>, b: &MatRef<T>, c: &MatMut<T>) -> bool {
    a.cols == 1 && b.col_stride == 1 && c.col_stride == 1 && c.cols >= 8
}

/// c = a b for a column `a` and a row `b`.
///
/// # Safety
/// The operands are valid, of fitting sizes, [`fits`] holds, and `c` does not overlap the others.
pub(super) unsafe fn outer<T: GemmScalar>(a: MatRef<T>, b: MatRef<T>, c: MatMut<T>, parallel: bool) {
    let per_task = TASK.div_ceil(c.cols);
    if !parallel || c.rows < 2 * per_task {
        return dispatch(Outer { a, b, c, first: 0, rows: c.rows });
    }
    parallel_for(c.rows.div_ceil(per_task), &|task| {
        let first = task * per_task;
        dispatch(Outer { a, b, c, first, rows: per_task.min(c.rows - first) });
    });
}
