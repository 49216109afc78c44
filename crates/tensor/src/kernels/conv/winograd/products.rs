//! The matrix products of the 36 positions.

use super::POSITIONS;
use crate::kernels::conv::piece;
use crate::kernels::gemm::micro::Tile;
use crate::kernels::gemm::table::Kernels;

/// One operand or result per position: first number, distance between rows, distance between positions.
#[derive(Clone, Copy)]
pub(super) struct Stack<P> {
    pub start: P,
    pub row: usize,
    pub position: usize,
}

/// Distance between positions of matrices of `count` numbers: a line more than they need, since distances of a large
/// power of two would put all positions into the same sets of the cache.
pub(super) fn position_stride(count: usize) -> usize {
    count.next_multiple_of(16) + 16
}

/// `c = a b` or `c += a b` at every position, for `c` of `rows` by `columns` and an inner dimension of `depth`.
pub(super) struct Products {
    pub kernels: &'static Kernels<f32>,
    /// In row form (a row's numbers adjacent) or in column form.
    pub a: Stack<*const f32>,
    pub rows_form: bool,
    pub b: Stack<*const f32>,
    pub c: Stack<*mut f32>,
    pub rows: usize,
    pub columns: usize,
    pub depth: usize,
    pub accumulate: bool,
}

impl Products {
    /// # Safety
    /// The matrices must be valid and `c` apart from the others.
    pub unsafe fn run(&self) {
        let (height, width) = (self.kernels.rows, self.kernels.columns());
        let tiles = self.rows.div_ceil(height);
        for position in 0..POSITIONS {
            for column in (0..self.columns).step_by(width) {
                for index in 0..tiles {
                    let (first, end) = piece(self.rows, tiles, index);
                    // SAFETY: the tile lies inside the matrices.
                    unsafe {
                        let b = self.b.start.add(position * self.b.position + column);
                        let a_row = if self.rows_form { self.a.row } else { 1 };
                        let mut tile = Tile {
                            k: self.depth,
                            a: self.a.start.add(position * self.a.position + first * a_row),
                            a_stride: self.a.row as isize,
                            b,
                            b_stride: self.b.row as isize,
                            c: self.c.start.add(position * self.c.position + first * self.c.row + column),
                            c_stride: self.c.row as isize,
                            last: 0,
                            ahead: b,
                            ahead_step: 0,
                            start: std::ptr::null(),
                            alpha: 1.0,
                            accumulate: self.accumulate,
                            relu: false,
                            around: false,
                        };
                        let columns = (self.columns - column).min(width);
                        self.kernels.run(end - first, columns, self.rows_form, &mut tile);
                    }
                }
            }
        }
    }
}
