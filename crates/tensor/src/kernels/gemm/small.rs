//! Small products, the shortest way.

use super::driver::Product;
use super::micro::Tile;
use super::pack::PackB;
use super::table::GemmScalar;

/// Products up to this many multiply-adds come here; they are too small for a second thread.
const SMALL: usize = 1 << 17;

impl<T: GemmScalar, B: PackB<T>> Product<'_, T, B> {
    /// A small product straight from the operands, where their form allows it: no packing, no scratch memory.
    /// Says whether it was done.
    ///
    /// # Safety
    /// As for [`run`](Self::run).
    pub unsafe fn run_small(&self, k: usize) -> bool {
        let (m, n) = (self.c.rows, self.c.cols);
        let Some((b, b_stride)) = self.b.direct() else { return false };
        let rows_form = self.a.row_stride != 1;
        let packs = m * n * k > SMALL || self.packs_left(m, n) || self.packs_right(m, n, k);
        if packs || self.c.col_stride != 1 {
            return false;
        }
        let width = self.kernels.columns();
        let tiles = m.div_ceil(self.kernels.rows);
        let (height, extra) = (m / tiles, m % tiles);
        let mut column = 0;
        while column < n {
            let columns = (n - column).min(width);
            let mut row = 0;
            while row < m {
                let rows = height + usize::from(row < extra * (height + 1));
                // SAFETY: the tile lies inside the result.
                unsafe {
                    let mut tile = Tile {
                        k,
                        a: self.a.at(row, 0),
                        a_stride: if rows_form { self.a.row_stride } else { self.a.col_stride },
                        b: b.add(column),
                        b_stride,
                        c: self.c.at(row, column),
                        c_stride: self.c.row_stride,
                        last: 0,
                        ahead: b,
                        ahead_step: 0,
                        start: if self.bias.is_null() { self.bias } else { self.bias.add(column) },
                        alpha: self.alpha,
                        accumulate: self.accumulate,
                        relu: self.relu,
                        around: false,
                    };
                    self.kernels.run(rows, columns, rows_form, &mut tile);
                }
                row += rows;
            }
            column += columns;
        }
        true
    }
}
