//! Packing: the operands rearranged into the order in which the micro-kernels read them.

use super::table::{GemmScalar, Kernels};
use super::{MatMut, MatRef};

/// The right-hand matrix of a product, as far as the driver needs to know it: something that can write any panel of
/// itself in packed order. An ordinary strided matrix is [`StridedB`]; a convolution writes the patches of its image
/// here and never stores the unfolded matrix.
///
/// A panel is `kc` rows by at most `width` columns. Several threads pack different panels at once, and each element
/// is packed once per 4096 rows of the left-hand matrix.
pub(crate) trait PackB<T>: Sync {
    /// Rows of the matrix, the inner dimension of the product.
    fn rows(&self) -> usize;

    /// Writes element `(k0 + p, n0 + j)` to `to[p * width + j]` for `p < kc` and `j < columns <= width`. The columns
    /// from `columns` to `width` may be left as they are or filled with anything: they reach no result.
    ///
    /// # Safety
    /// `to` must have room for `kc * width` numbers; the block must lie inside the matrix.
    unsafe fn pack(&self, k0: usize, kc: usize, n0: usize, columns: usize, width: usize, to: *mut T);

    /// The first element and the row stride of a matrix in memory whose columns are adjacent, which the driver may
    /// then read without packing.
    fn direct(&self) -> Option<(*const T, isize)> {
        None
    }
}

/// A strided matrix on the right-hand side.
pub(super) struct StridedB<T: 'static> {
    pub matrix: MatRef<T>,
    pub kernels: &'static Kernels<T>,
}

impl<T: GemmScalar> PackB<T> for StridedB<T> {
    fn rows(&self) -> usize {
        self.matrix.rows
    }

    unsafe fn pack(&self, k0: usize, kc: usize, n0: usize, columns: usize, width: usize, to: *mut T) {
        let b = self.matrix;
        // SAFETY: the caller guarantees the block and the room; `width` is a whole number of registers.
        unsafe {
            let from = b.at(k0, n0);
            if b.col_stride == 1 {
                (self.kernels.copy)(from, b.row_stride, kc, columns, to, width);
            } else if b.row_stride == 1 {
                (self.kernels.transpose)(from, b.col_stride, columns, kc, to, width);
            } else {
                gather(from, b.row_stride, b.col_stride, kc, columns, to, width);
            }
        }
    }

    fn direct(&self) -> Option<(*const T, isize)> {
        (self.matrix.col_stride == 1).then_some((self.matrix.ptr, self.matrix.row_stride))
    }
}

/// Packs `rows` rows of `a` from `(first, k0)` on, `kc` columns, into `to[p * padded_rows + row]`.
///
/// # Safety
/// `to` must have room for `kc * padded_rows` numbers; the block must lie inside the matrix.
pub(super) unsafe fn pack_a<T: GemmScalar>(
    kernels: &Kernels<T>,
    a: MatRef<T>,
    (first, rows): (usize, usize),
    (k0, kc): (usize, usize),
    to: *mut T,
) {
    let width = kernels.padded_rows();
    // SAFETY: the caller guarantees the block and the room.
    unsafe {
        let from = a.at(first, k0);
        if a.row_stride == 1 {
            (kernels.copy)(from, a.col_stride, kc, rows, to, width);
        } else if a.col_stride == 1 {
            (kernels.transpose)(from, a.row_stride, rows, kc, to, width);
        } else {
            gather(from, a.col_stride, a.row_stride, kc, rows, to, width);
        }
    }
}

/// `to[p * width + j] = from[p * p_stride + j * j_stride]`.
unsafe fn gather<T: Copy>(
    from: *const T,
    p_stride: isize,
    j_stride: isize,
    kc: usize,
    count: usize,
    to: *mut T,
    width: usize,
) {
    for p in 0..kc {
        for j in 0..count {
            // SAFETY: the caller guarantees the block and the room.
            unsafe { *to.add(p * width + j) = *from.offset(p as isize * p_stride + j as isize * j_stride) };
        }
    }
}

/// Copies a strided block of `rows x columns`, either way round.
pub(super) unsafe fn copy_block<T: Copy>(from: MatRef<T>, to: MatMut<T>) {
    for i in 0..from.rows {
        for j in 0..from.cols {
            // SAFETY: the caller guarantees two matrices of that size.
            unsafe { *to.at(i, j) = *from.at(i, j) };
        }
    }
}
