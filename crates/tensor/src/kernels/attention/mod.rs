//! Attention softmax(scale · Q Kᵀ + mask) V, block by block, so that no matrix of queries by keys is ever stored.
//!
//! Forward, each block of queries walks over blocks of keys with a running maximum m and sum l per query; when m grows,
//! what has been added up is scaled by e^(old − new) (Milakov and Gimelshein 2018; Dao et al. 2022). Only ln Σ e^s per
//! query is kept. Backward, the blocks of probabilities are computed again:
//! ∂V = Pᵀ G, ∂S = P ∘ (G Vᵀ − Σ G ∘ Y), ∂Q = scale ∂S K, ∂K = scale ∂Sᵀ Q.
//! Heads are independent tasks, and the order of blocks is fixed.

mod backward;
mod forward;

use super::gemm::{GemmScalar, MatMut, MatRef};
use super::math::Float;
use crate::error::OrPanic;
use crate::tensor::Fresh;
use crate::{Element, Shape};

pub(crate) use backward::{Gradients, Kept, backward};
pub(crate) use forward::forward;

/// Numbers that attention works on.
pub(crate) trait Number: Float + GemmScalar + Element {}
impl Number for f32 {}
impl Number for f64 {}

/// Queries and keys of a block.
const QUERIES: usize = 64;
const KEYS: usize = 128;
/// Multiply-adds that make a task.
const TASK: usize = 100_000;

/// A matrix for each head, with any strides.
pub(crate) struct Heads<T> {
    pub(crate) start: *const T,
    /// Distance of each head's matrix from the start.
    pub(crate) offsets: Vec<isize>,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) row_stride: isize,
    pub(crate) column_stride: isize,
}

// SAFETY: a description of memory that tasks read, or of which each writes its own heads and rows.
unsafe impl<T: Sync> Sync for Heads<T> {}

impl<T: Copy> Heads<T> {
    /// Matrices stored row after row, head after head.
    pub(crate) fn row_major(start: *const T, count: usize, rows: usize, columns: usize) -> Heads<T> {
        let offsets = (0..count).map(|head| (head * rows * columns) as isize).collect();
        Heads { start, offsets, rows, columns, row_stride: columns as isize, column_stride: 1 }
    }

    /// The same rows to be written. The memory must be of this call's own.
    unsafe fn place(&self, head: usize, first: usize, rows: usize) -> MatMut<T> {
        // SAFETY: by the caller's promise.
        let MatRef { ptr, rows, cols, row_stride, col_stride } = unsafe { self.block(head, first, rows) };
        MatMut { ptr: ptr.cast_mut(), rows, cols, row_stride, col_stride }
    }

    /// Rows `first .. first + rows` of a head's matrix.
    unsafe fn block(&self, head: usize, first: usize, rows: usize) -> MatRef<T> {
        // SAFETY: the caller asks for rows that exist.
        let ptr = unsafe { self.start.offset(self.offsets[head] + first as isize * self.row_stride) };
        MatRef { ptr, rows, cols: self.columns, row_stride: self.row_stride, col_stride: self.column_stride }
    }
}

/// The operands. The mask has a row for each query and a column for each key.
pub(crate) struct Operands<T> {
    pub(crate) q: Heads<T>,
    pub(crate) k: Heads<T>,
    pub(crate) v: Heads<T>,
    pub(crate) mask: Option<Heads<T>>,
    pub(crate) causal: bool,
    pub(crate) scale: f64,
}

impl<T: Number> Operands<T> {
    fn heads(&self) -> usize {
        self.q.offsets.len()
    }

    /// Keys that the queries before `end` may see.
    fn visible(&self, end: usize) -> usize {
        if self.causal { end.min(self.k.rows) } else { self.k.rows }
    }

    /// The mask of a block, if there is one.
    unsafe fn mask(&self, head: usize, query: usize, key: usize) -> Option<Strided<T>> {
        self.mask.as_ref().map(|mask| {
            let shift = query as isize * mask.row_stride + key as isize * mask.column_stride;
            // SAFETY: the caller asks for a block that exists.
            let start = unsafe { mask.start.offset(mask.offsets[head] + shift) };
            Strided { start, row: mask.row_stride, column: mask.column_stride }
        })
    }
}

#[derive(Clone, Copy)]
struct Strided<T> {
    start: *const T,
    row: isize,
    column: isize,
}

/// A row of a matrix whose columns are neighbours.
#[inline(always)]
unsafe fn row_of<'a, T>(matrix: MatRef<T>, row: usize) -> &'a [T] {
    // SAFETY: the caller asks for a row that exists.
    unsafe { std::slice::from_raw_parts(matrix.ptr.offset(row as isize * matrix.row_stride), matrix.cols) }
}

/// The same row to be written.
#[inline(always)]
unsafe fn row_of_mut<'a, T>(matrix: MatMut<T>, row: usize) -> &'a mut [T] {
    // SAFETY: the caller asks for a row that exists and is its own.
    unsafe { std::slice::from_raw_parts_mut(matrix.ptr.offset(row as isize * matrix.row_stride), matrix.cols) }
}

unsafe fn clear<T: Float>(matrix: MatMut<T>) {
    // SAFETY: as in `row_of_mut`.
    (0..matrix.rows).for_each(|row| unsafe { row_of_mut(matrix, row).fill(T::ZERO) });
}

/// Adds the mask to a row of scores.
#[inline(always)]
unsafe fn add_mask<T: Float>(mask: Option<Strided<T>>, row: usize, scores: &mut [T]) {
    let Some(mask) = mask else { return };
    // SAFETY: the caller's row exists in the mask's block.
    unsafe {
        let start = mask.start.offset(row as isize * mask.row);
        if mask.column == 1 {
            let terms = std::slice::from_raw_parts(start, scores.len());
            scores.iter_mut().zip(terms).for_each(|(score, &term)| *score += term);
        } else {
            for (i, score) in scores.iter_mut().enumerate() {
                *score += *start.offset(i as isize * mask.column);
            }
        }
    }
}

/// Scratch memory for a task, recycled.
fn scratch<T: Element>(count: usize) -> Fresh {
    // A few kilobytes that every thread keeps; kernels have no way to report that even these are not there.
    Fresh::new(Shape::from(count), T::DTYPE).or_panic()
}

/// Converts the scale; a name of its own, since both traits of a number have a `from`.
trait FromScale {
    fn from_scale(scale: f64) -> Self;
}
impl<T: Number> FromScale for T {
    fn from_scale(scale: f64) -> Self {
        <T as Float>::from_f64(scale)
    }
}

/// Which keys of a block a query sees.
#[derive(Clone, Copy)]
struct Reach {
    causal: bool,
    query: usize,
    key: usize,
}

impl Reach {
    #[inline(always)]
    fn of(self, row: usize, keys: usize) -> usize {
        if self.causal { (self.query + row + 1).saturating_sub(self.key).min(keys) } else { keys }
    }
}
