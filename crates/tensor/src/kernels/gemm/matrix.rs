//! Matrices in memory as the products take them.

/// A matrix in memory, to be read. Strides count elements and may be negative or zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatRef<T> {
    /// Element (0, 0).
    pub ptr: *const T,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Distance from a row to the next.
    pub row_stride: isize,
    /// Distance from a column to the next.
    pub col_stride: isize,
}

/// A matrix in memory, to be written: no two elements may share a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MatMut<T> {
    /// Element (0, 0).
    pub ptr: *mut T,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Distance from a row to the next.
    pub row_stride: isize,
    /// Distance from a column to the next; 1 is the fast case.
    pub col_stride: isize,
}

// SAFETY: a description of memory; who reads or writes through it answers for that, in unsafe code.
unsafe impl<T: Sync> Sync for MatRef<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for MatMut<T> {}

impl<T: Copy> MatRef<T> {
    /// A matrix stored row after row.
    #[cfg(test)]
    pub fn row_major(ptr: *const T, rows: usize, cols: usize) -> Self {
        Self { ptr, rows, cols, row_stride: cols as isize, col_stride: 1 }
    }

    /// The same memory with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self {
            ptr: self.ptr,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }

    /// The matrix of the same form that begins `distance` elements further on.
    pub(super) unsafe fn shifted(&self, distance: isize) -> Self {
        // SAFETY: the caller guarantees that it exists.
        Self { ptr: unsafe { self.ptr.offset(distance) }, ..*self }
    }

    /// The place of an element.
    #[inline]
    pub(super) unsafe fn at(&self, i: usize, j: usize) -> *const T {
        // SAFETY: the caller guarantees that the element exists.
        unsafe { self.ptr.offset(i as isize * self.row_stride + j as isize * self.col_stride) }
    }
}

impl<T: Copy> MatMut<T> {
    /// A matrix stored row after row.
    pub fn row_major(ptr: *mut T, rows: usize, cols: usize) -> Self {
        Self { ptr, rows, cols, row_stride: cols as isize, col_stride: 1 }
    }

    /// The same memory with rows and columns exchanged.
    pub fn transposed(self) -> Self {
        Self {
            ptr: self.ptr,
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
        }
    }

    /// The same matrix, to be read.
    pub fn as_ref(&self) -> MatRef<T> {
        let Self { ptr, rows, cols, row_stride, col_stride } = *self;
        MatRef { ptr, rows, cols, row_stride, col_stride }
    }

    /// The matrix of the same form that begins `distance` elements further on.
    pub(super) unsafe fn shifted(&self, distance: isize) -> Self {
        // SAFETY: the caller guarantees that it exists.
        Self { ptr: unsafe { self.ptr.offset(distance) }, ..*self }
    }

    /// The place of an element, which need not exist.
    #[inline]
    pub(super) fn at(&self, i: usize, j: usize) -> *mut T {
        self.ptr.wrapping_offset(i as isize * self.row_stride + j as isize * self.col_stride)
    }
}

/// What happens to the result before it is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Epilogue<T> {
    /// Nothing.
    None,
    /// One number per column is added to every row.
    Bias(*const T),
    /// The same, then negative values become zero.
    BiasRelu(*const T),
}

impl<T> Epilogue<T> {
    /// The same with the bias `distance` numbers further on.
    pub(super) unsafe fn shifted(&self, distance: isize) -> Self {
        // SAFETY: the caller guarantees that it has them.
        unsafe {
            match *self {
                Self::None => Self::None,
                Self::Bias(bias) => Self::Bias(bias.offset(distance)),
                Self::BiasRelu(bias) => Self::BiasRelu(bias.offset(distance)),
            }
        }
    }

    pub(super) fn bias(&self) -> *const T {
        match *self {
            Self::None => std::ptr::null(),
            Self::Bias(bias) | Self::BiasRelu(bias) => bias,
        }
    }
}
