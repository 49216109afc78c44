//! Matrix products `C = alpha A B + beta C`, then a bias and a rectifier where asked for.
//!
//! Method: the blocked algorithm of Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication* (2008).
//! `micro` holds the register tiles, `table` their copies per instruction set, `pack` the rearrangement of operands, `driver` the blocking and the threads,
//! `vecmat` the products with a vector.
//!
//! The inner dimension is cut by the shape alone, and each element is summed in one fixed order, so that results are
//! bit-identical for any number of threads.

mod driver;
mod micro;
mod pack;
mod panels;
pub(in crate::kernels) mod scratch;
mod table;
#[cfg(test)]
mod tests;
mod vecmat;
pub(in crate::kernels) mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::kernels::simd::{Isa, isa};
use crate::pool::parallel_for;
use driver::Product;
pub(crate) use pack::PackB;
use pack::StridedB;
use scratch::{Slot, with_scratch};
pub(crate) use table::GemmScalar;
use vecmat::VectorProduct;

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
    unsafe fn shifted(&self, distance: isize) -> Self {
        // SAFETY: the caller guarantees that it exists.
        Self { ptr: unsafe { self.ptr.offset(distance) }, ..*self }
    }

    /// The place of an element.
    #[inline]
    unsafe fn at(&self, i: usize, j: usize) -> *const T {
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
    unsafe fn shifted(&self, distance: isize) -> Self {
        // SAFETY: the caller guarantees that it exists.
        Self { ptr: unsafe { self.ptr.offset(distance) }, ..*self }
    }

    /// The place of an element.
    #[inline]
    unsafe fn at(&self, i: usize, j: usize) -> *mut T {
        // SAFETY: the caller guarantees that the element exists.
        unsafe { self.ptr.offset(i as isize * self.row_stride + j as isize * self.col_stride) }
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
    fn bias(&self) -> *const T {
        match *self {
            Self::None => std::ptr::null(),
            Self::Bias(bias) | Self::BiasRelu(bias) => bias,
        }
    }
}

/// Computes `c = alpha a b + beta c`, then the epilogue. With `beta` zero, `c` is not read. An empty inner dimension
/// gives `beta c`.
///
/// # Safety
/// The three matrices (and the bias, one number per column of `c`) must be valid, of fitting sizes, and `c` must not
/// overlap the others.
pub(crate) unsafe fn gemm<T: GemmScalar>(
    alpha: T,
    a: MatRef<T>,
    b: MatRef<T>,
    beta: T,
    c: MatMut<T>,
    epilogue: Epilogue<T>,
) {
    // SAFETY: `isa` is what the processor has; the rest is the caller's.
    unsafe { gemm_on(isa(), true, alpha, a, b, beta, c, epilogue) }
}

/// [`gemm`] with a right-hand matrix that packs itself.
///
/// # Safety
/// As for [`gemm`]; `b` must pack what it says.
pub(crate) unsafe fn gemm_packed<T: GemmScalar, B: PackB<T>>(
    alpha: T,
    a: MatRef<T>,
    b: &B,
    beta: T,
    c: MatMut<T>,
    epilogue: Epilogue<T>,
) {
    // SAFETY: `isa` is what the processor has; the rest is the caller's.
    unsafe { multiply(isa(), true, alpha, a, b, beta, c, epilogue) }
}

/// Computes `batch` products whose operands lie the given distances apart (zero repeats a matrix).
///
/// # Safety
/// As for [`gemm`], for every product; the results must not overlap.
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn gemm_batched<T: GemmScalar>(
    batch: usize,
    alpha: T,
    a: MatRef<T>,
    a_batch_stride: isize,
    b: MatRef<T>,
    b_batch_stride: isize,
    beta: T,
    c: MatMut<T>,
    c_batch_stride: isize,
) {
    // Few large products are split inside; many small ones among themselves, in groups worth handing out.
    let work = (c.rows * c.cols * a.cols).max(1);
    let group = (BATCH_TASK / work).clamp(1, batch.max(1));
    let tasks = batch.div_ceil(group);
    let inside = batch < 8 && work > 8 * BATCH_TASK;
    let isa = isa();
    let body = |task: usize| {
        for index in task * group..((task + 1) * group).min(batch) {
            let index = index as isize;
            // SAFETY: the caller guarantees every entry; results do not overlap.
            unsafe {
                let (a, b) = (a.shifted(index * a_batch_stride), b.shifted(index * b_batch_stride));
                let c = c.shifted(index * c_batch_stride);
                gemm_on(isa, inside, alpha, a, b, beta, c, Epilogue::None);
            }
        }
    };
    if inside || tasks < 2 { (0..tasks).for_each(body) } else { parallel_for(tasks, &body) }
}

/// Multiply-adds of small products of a batch that make a task.
const BATCH_TASK: usize = 150_000;

/// [`gemm`] on a given instruction set, which the processor must have, and with or without the pool.
#[allow(clippy::too_many_arguments)]
unsafe fn gemm_on<T: GemmScalar>(
    isa: Isa,
    parallel: bool,
    alpha: T,
    a: MatRef<T>,
    b: MatRef<T>,
    beta: T,
    c: MatMut<T>,
    epilogue: Epilogue<T>,
) {
    let (m, n, k) = (c.rows, c.cols, a.cols);
    debug_assert!(a.rows == m && b.cols == n && b.rows == k);
    let kernels = T::kernels(isa);
    // SAFETY: the caller guarantees the operands and the instruction set.
    unsafe {
        if k > 0 && (m == 1 || n == 1) {
            let (matrix, x, x_stride, y_stride, bias_stride) = if n == 1 {
                (a, b.ptr, b.row_stride, c.row_stride, 0)
            } else {
                (b.transposed(), a.ptr, a.col_stride, c.col_stride, 1)
            };
            let m = matrix;
            let y = c.ptr;
            VectorProduct { kernels, alpha, m, x, x_stride, beta, y, y_stride, epilogue, bias_stride, parallel }.run();
        } else if c.col_stride != 1 && c.row_stride == 1 {
            gemm_on(isa, parallel, alpha, b.transposed(), a.transposed(), beta, c.transposed(), Epilogue::None);
            finish(T::from(1), c, epilogue);
        } else {
            multiply(isa, parallel, alpha, a, &StridedB { matrix: b, kernels }, beta, c, epilogue);
        }
    }
}

/// Reduces every case to what the driver knows.
#[allow(clippy::too_many_arguments)]
unsafe fn multiply<T: GemmScalar, B: PackB<T>>(
    isa: Isa,
    parallel: bool,
    alpha: T,
    a: MatRef<T>,
    b: &B,
    beta: T,
    c: MatMut<T>,
    epilogue: Epilogue<T>,
) {
    let (one, zero) = (T::from(1), T::from(0));
    let k = b.rows();
    // SAFETY: the caller guarantees the operands and the instruction set.
    unsafe {
        if c.rows == 0 || c.cols == 0 {
            return;
        }
        if k == 0 {
            return finish(beta, c, epilogue);
        }
        if beta != zero && beta != one {
            finish(beta, c, Epilogue::None);
        }
        let fused = alpha == one;
        let product = Product {
            kernels: T::kernels(isa),
            alpha,
            a,
            b,
            c,
            accumulate: beta != zero,
            bias: if fused { epilogue.bias() } else { std::ptr::null() },
            relu: fused && matches!(epilogue, Epilogue::BiasRelu(_)),
            parallel,
        };
        let chunks = inner_chunks(c.rows, c.cols, k);
        if chunks > 1 {
            sum_of_chunks(&product, chunks, k, epilogue);
        } else {
            product.run((0, k));
            if !fused {
                finish(one, c, epilogue);
            }
        }
    }
}

/// Into how many chunks the inner dimension is cut, for products with a small result and a long sum.
fn inner_chunks(m: usize, n: usize, k: usize) -> usize {
    if m * n <= 1 << 14 && k >= 4096 && k >= 16 * (m + n) { (k / 2048).min(16) } else { 1 }
}

/// Computes the chunks side by side and adds them up in order.
unsafe fn sum_of_chunks<T: GemmScalar, B: PackB<T>>(
    product: &Product<'_, T, B>,
    chunks: usize,
    k: usize,
    epilogue: Epilogue<T>,
) {
    let c = product.c;
    let size = c.rows * c.cols;
    with_scratch(Slot::Partial, chunks * size, |partial: *mut T| {
        let parts = MatMut::row_major(partial, c.rows, c.cols);
        let body = |chunk: usize| {
            // SAFETY: each chunk has its own part of the buffer.
            unsafe {
                let c = parts.shifted((chunk * size) as isize);
                let bias = std::ptr::null();
                let alpha = T::from(1);
                let chunk_product =
                    Product { c, alpha, accumulate: false, bias, relu: false, parallel: false, ..*product };
                let (first, end) = (chunk * k / chunks, (chunk + 1) * k / chunks);
                chunk_product.run((first, end - first));
            }
        };
        if product.parallel {
            parallel_for(chunks, &body)
        } else {
            (0..chunks).for_each(body)
        }
        let beta = T::from(u8::from(product.accumulate));
        for i in 0..c.rows {
            for j in 0..c.cols {
                // SAFETY: inside the buffer and the result.
                unsafe {
                    let place = partial.add(i * c.cols + j);
                    let sum = (1..chunks).fold(*place, |sum, chunk| sum + *place.add(chunk * size));
                    finish_element(sum, product.alpha, beta, c.at(i, j), epilogue, j as isize);
                }
            }
        }
    });
}

/// `c = beta c`, then the epilogue.
unsafe fn finish<T: GemmScalar>(beta: T, c: MatMut<T>, epilogue: Epilogue<T>) {
    if beta == T::from(1) && matches!(epilogue, Epilogue::None) {
        return;
    }
    for i in 0..c.rows {
        for j in 0..c.cols {
            // SAFETY: an element of `c`.
            unsafe { finish_element(T::from(0), T::from(1), beta, c.at(i, j), epilogue, j as isize) };
        }
    }
}

/// `c = alpha sum + beta c`, then the epilogue with the bias of the given index.
#[inline(always)]
unsafe fn finish_element<T: GemmScalar>(sum: T, alpha: T, beta: T, c: *mut T, epilogue: Epilogue<T>, index: isize) {
    let zero = T::from(0);
    // SAFETY: the caller guarantees the element and the bias.
    unsafe {
        let mut value = if alpha == T::from(1) { sum } else { alpha * sum };
        if beta != zero {
            value = value + if beta == T::from(1) { *c } else { beta * *c };
        }
        match epilogue {
            Epilogue::None => {}
            Epilogue::Bias(bias) => value = value + *bias.offset(index),
            Epilogue::BiasRelu(bias) => {
                value = value + *bias.offset(index);
                if value < zero {
                    value = zero;
                }
            }
        }
        *c = value;
    }
}
