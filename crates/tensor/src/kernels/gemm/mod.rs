//! Matrix products `C = alpha A B + beta C`, then a bias and a rectifier where asked for.
//!
//! Method: the blocked algorithm of Goto and van de Geijn, *Anatomy of High-Performance Matrix Multiplication* (2008).
//! `micro` holds the register tiles, `table` their copies per instruction set, `pack` the rearrangement of operands, `driver` the blocking and the threads,
//! `vecmat` the products with a vector.
//!
//! The inner dimension is cut by the shape alone, and each element is summed in one fixed order, so that results are
//! bit-identical for any number of threads.

mod around;
mod driver;
mod matrix;
pub(in crate::kernels) mod micro;
mod outer;
mod pack;
mod panels;
pub(in crate::kernels) mod scratch;
mod small;
pub(in crate::kernels) mod table;
#[cfg(test)]
mod tests;
mod vecmat;
pub(in crate::kernels) mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

use crate::kernels::simd::{Isa, isa};
use crate::pool::parallel_for;
use driver::Product;
pub(crate) use matrix::{Epilogue, MatMut, MatRef};
use pack::{PackB, StridedB};
pub(crate) use scratch::guarded;
use scratch::{Slot, with_scratch};
pub(crate) use table::GemmScalar;
use vecmat::VectorProduct;

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
    let work = c.rows.saturating_mul(c.cols).saturating_mul(a.cols).max(1);
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
    assert!(a.rows == m && b.cols == n && b.rows == k, "the matrices of a product do not fit");
    // The other sizes of an empty product may be anything, so that they must not reach the sizes of scratch memory.
    if m == 0 || n == 0 {
        return;
    }
    let kernels = T::kernels(isa);
    // SAFETY: the caller guarantees the operands and the instruction set.
    unsafe {
        // With few columns (or rows) and long adjacent lines, dot products beat tiles that are mostly empty.
        let few = |count: usize, adjacent: bool| count == 1 || (count <= 4 && adjacent && k >= 32);
        let y = c.ptr;
        if alpha == T::from(1) && beta == T::from(0) && epilogue == Epilogue::None && outer::fits(&a, &b, &c) {
            outer::outer(a, b, c, parallel);
        } else if k > 0 && few(n, a.col_stride == 1) {
            let (m, x, x_stride, y_stride) = (a, b.ptr, b.row_stride, c.row_stride);
            let bias_stride = 0;
            VectorProduct { kernels, alpha, m, x, x_stride, beta, y, y_stride, epilogue, bias_stride, parallel }
                .run_each(n, b.col_stride, c.col_stride, 1);
        } else if k > 0 && few(m, b.row_stride == 1) {
            let (x, x_stride, y_stride) = (a.ptr, a.col_stride, c.col_stride);
            let bias_stride = 1;
            let rows = m;
            let m = b.transposed();
            VectorProduct { kernels, alpha, m, x, x_stride, beta, y, y_stride, epilogue, bias_stride, parallel }
                .run_each(rows, a.row_stride, c.row_stride, 0);
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
            streams: false,
            parallel,
        };
        let chunks = inner_chunks(c.rows, c.cols, k);
        if chunks > 1 {
            return sum_of_chunks(&product, chunks, k, epilogue);
        }
        if !product.run_small(k) {
            product.run((0, k));
        }
        if !fused {
            finish(one, c, epilogue);
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
                let (alpha, bias) = (T::from(1), std::ptr::null());
                let (accumulate, relu, parallel) = (false, false, false);
                let streams = product.a.row_stride == 1 && product.b.direct().is_some();
                let chunk_product = Product { c, alpha, accumulate, bias, relu, streams, parallel, ..*product };
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
