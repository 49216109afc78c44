//! Attention softmax(scale · Q Kᵀ + mask) V, block by block, so that no matrix of queries by keys is ever stored.
//!
//! Forward, each block of queries walks over blocks of keys with a running maximum m and sum l per query; when m grows,
//! what has been added up is scaled by e^(old − new) (Milakov and Gimelshein 2018; Dao et al. 2022). Only ln Σ e^s per
//! query is kept. Backward, the blocks of probabilities are computed again:
//! ∂V = Pᵀ G, ∂S = P ∘ (G Vᵀ − Σ G ∘ Y), ∂Q = scale ∂S K, ∂K = scale ∂Sᵀ Q.
//! Heads are independent tasks, and the order of blocks is fixed.

use super::gemm::{Epilogue, GemmScalar, MatMut, MatRef, gemm};
use super::math::Float;
use super::rows::{Shared, for_runs, get, larger, largest, sum};
use super::simd::{Kernel, dispatch};
use super::softmax::shift_of;
use crate::error::OrPanic;
use crate::tensor::Fresh;
use crate::{Element, Shape};

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

/// Writes the result, whose columns must be neighbours, and ln Σ e^s of each query (+∞ where a query sees no key), head
/// after head.
///
/// # Safety
/// The operands fit each other, and the results have room.
pub(crate) unsafe fn forward<T: Number>(operands: &Operands<T>, out: &Heads<T>, log_sums: *mut T) {
    let (queries, width) = (operands.q.rows, operands.v.columns);
    let blocks = queries.div_ceil(QUERIES);
    let log_sums = Shared::new(log_sums);
    let work = QUERIES.min(queries) * operands.k.rows * (operands.q.columns + width);
    for_runs(operands.heads() * blocks, TASK.div_ceil(work.max(1)), |first, count| {
        let mut memory = scratch::<T>(QUERIES * KEYS);
        for index in first..first + count {
            let (head, query) = (index / blocks, index % blocks * QUERIES);
            let rows = QUERIES.min(queries - query);
            let log_sums = log_sums.at(head * queries + query);
            // SAFETY: the block of queries exists, and its results belong to this task.
            unsafe {
                let out = out.place(head, query, rows);
                forward_block(operands, head, query, memory.pointer(), out, log_sums);
            }
        }
    });
}

unsafe fn forward_block<T: Number>(
    operands: &Operands<T>,
    head: usize,
    query: usize,
    scores: *mut T,
    out: MatMut<T>,
    log_sums: *mut T,
) {
    let rows = out.rows;
    let end = operands.visible(query + rows);
    let mut running = Running { largest: [T::NEG_INFINITY; QUERIES], sum: [T::ZERO; QUERIES] };
    if end == 0 {
        // SAFETY: the rows of the result exist.
        unsafe { clear(out) };
    }
    let mut key = 0;
    while key < end {
        let keys = KEYS.min(end - key);
        // SAFETY: blocks exist and fit; scratch and results are this task's own.
        unsafe {
            let (q, k) = (operands.q.block(head, query, rows), operands.k.block(head, key, keys));
            let s = MatMut::row_major(scores, rows, keys);
            gemm(T::from_scale(operands.scale), q, k.transposed(), T::ZERO, s, Epilogue::None);
            let mask = operands.mask(head, query, key);
            let reach = Reach { causal: operands.causal, query, key };
            dispatch(ForwardRows { running: &mut running, scores, keys, mask, reach, out });
            let beta = if key == 0 { T::ZERO } else { T::ONE };
            let v = operands.v.block(head, key, keys);
            gemm(T::ONE, s.as_ref(), v, beta, out, Epilogue::None);
        }
        key += keys;
    }
    dispatch(Finish { running: &running, out, log_sums });
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

/// Largest score and sum of exponentials of each query so far.
struct Running<T> {
    largest: [T; QUERIES],
    sum: [T; QUERIES],
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

struct ForwardRows<'a, T> {
    running: &'a mut Running<T>,
    scores: *mut T,
    keys: usize,
    mask: Option<Strided<T>>,
    reach: Reach,
    out: MatMut<T>,
}

impl<T: Float> Kernel for ForwardRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in 0..self.out.rows {
            // SAFETY: rows of the block of scores and of the result, both this task's own.
            let (scores, out) = unsafe {
                let scores = std::slice::from_raw_parts_mut(self.scores.add(row * self.keys), self.keys);
                (scores, row_of_mut(self.out, row))
            };
            let (seen, hidden) = scores.split_at_mut(self.reach.of(row, self.keys));
            hidden.fill(T::ZERO);
            // SAFETY: the mask covers the block.
            unsafe { add_mask(self.mask, row, seen) };
            let before = self.running.largest[row];
            let after = larger(largest(seen), before);
            let shift = shift_of(after);
            for score in seen.iter_mut() {
                *score = (*score - shift).exp();
            }
            // SAFETY: sums ask for positions below the length alone.
            let total = sum(seen.len(), |i| unsafe { get(seen, i) });
            // Nothing was added up before the first block.
            let scale = if self.reach.key == 0 { T::ZERO } else { (before - shift).exp() };
            self.running.sum[row] = self.running.sum[row].mul_add(scale, total);
            self.running.largest[row] = after;
            if self.reach.key > 0 && scale != T::ONE {
                out.iter_mut().for_each(|y| *y *= scale);
            }
        }
    }
}

struct Finish<'a, T> {
    running: &'a Running<T>,
    out: MatMut<T>,
    log_sums: *mut T,
}

impl<T: Float> Kernel for Finish<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in 0..self.out.rows {
            let (largest, sum) = (self.running.largest[row], self.running.sum[row]);
            let empty = sum == T::ZERO;
            let scale = T::ONE / T::select(empty, T::ONE, sum);
            // SAFETY: rows of the result, this task's own.
            unsafe {
                row_of_mut(self.out, row).iter_mut().for_each(|y| *y *= scale);
                *self.log_sums.add(row) = if empty { T::INFINITY } else { shift_of(largest) + sum.ln() };
            }
        }
    }
}

/// What the backward pass reads: the gradient of the result and the result, whose columns are neighbours, and ln Σ e^s of
/// each query, head after head.
pub(crate) struct Kept<T> {
    pub(crate) grad: Heads<T>,
    pub(crate) out: Heads<T>,
    pub(crate) log_sums: *const T,
}

// SAFETY: a description of memory that tasks only read.
unsafe impl<T: Sync> Sync for Kept<T> {}

/// Where the gradients by queries, keys and values go; columns are neighbours.
pub(crate) struct Gradients<T> {
    pub(crate) dq: Heads<T>,
    pub(crate) dk: Heads<T>,
    pub(crate) dv: Heads<T>,
}

/// Writes the gradients.
///
/// # Safety
/// The operands fit each other and what was kept, and the gradients have room.
pub(crate) unsafe fn backward<T: Number>(operands: &Operands<T>, kept: &Kept<T>, gradients: &Gradients<T>) {
    let (queries, keys) = (operands.q.rows, operands.k.rows);
    let (width, value_width) = (operands.q.columns, operands.v.columns);
    let work = queries * keys * (3 * width + 2 * value_width);
    for_runs(operands.heads(), TASK.div_ceil(work.max(1)), |first, count| {
        let mut memory = scratch::<T>(2 * QUERIES * KEYS + queries);
        for head in first..first + count {
            // SAFETY: each head's operands exist, and its gradients belong to this task.
            unsafe { Head { operands, head, kept, memory: memory.pointer(), gradients }.run() }
        }
    });
}

/// The backward pass of one head.
struct Head<'a, T> {
    operands: &'a Operands<T>,
    head: usize,
    kept: &'a Kept<T>,
    /// Probabilities and score gradients of a block, then one number per query.
    memory: *mut T,
    gradients: &'a Gradients<T>,
}

impl<T: Number> Head<'_, T> {
    unsafe fn run(&self) {
        let Operands { q, k, causal, .. } = self.operands;
        let Gradients { dq, dk, dv } = self.gradients;
        let queries = q.rows;
        // SAFETY: the whole of the head's memory is this task's own, and every block lies inside it.
        unsafe {
            let dots = self.memory.add(2 * QUERIES * KEYS);
            let whole = |heads: &Heads<T>| heads.block(self.head, 0, queries);
            dispatch(Dots { grad: whole(&self.kept.grad), out: whole(&self.kept.out), dots });
            if k.rows == 0 {
                clear(dq.place(self.head, 0, queries));
            }
            let mut key = 0;
            while key < k.rows {
                let keys = KEYS.min(k.rows - key);
                clear(dk.place(self.head, key, keys));
                clear(dv.place(self.head, key, keys));
                let start = if *causal { key / QUERIES * QUERIES } else { 0 };
                for query in (start..queries).step_by(QUERIES) {
                    let rows = QUERIES.min(queries - query);
                    // Keys after the last query of the block are hidden from it.
                    let keys = keys.min(self.operands.visible(query + rows) - key);
                    self.block(query, rows, key, keys, dots);
                }
                key += keys;
            }
        }
    }

    unsafe fn block(&self, query: usize, rows: usize, key: usize, keys: usize, dots: *mut T) {
        let Operands { q, k, v, causal, scale, .. } = self.operands;
        let Gradients { dq, dk, dv } = self.gradients;
        let (one, zero) = (T::ONE, T::ZERO);
        // SAFETY: as in `run`.
        unsafe {
            let (q, k, v) =
                (q.block(self.head, query, rows), k.block(self.head, key, keys), v.block(self.head, key, keys));
            let g = self.kept.grad.block(self.head, query, rows);
            let p = MatMut::row_major(self.memory, rows, keys);
            let ds = MatMut::row_major(self.memory.add(QUERIES * KEYS), rows, keys);
            gemm(T::from_scale(*scale), q, k.transposed(), zero, p, Epilogue::None);
            gemm(one, g, v.transposed(), zero, ds, Epilogue::None);
            dispatch(BackwardRows {
                p: p.ptr,
                ds: ds.ptr,
                rows,
                keys,
                mask: self.operands.mask(self.head, query, key),
                reach: Reach { causal: *causal, query, key },
                log_sums: self.kept.log_sums.add(self.head * self.operands.q.rows + query),
                dots: dots.add(query),
                scale: T::from_scale(*scale),
            });
            let query_beta = if key == 0 { zero } else { one };
            let (dk, dv) = (dk.place(self.head, key, keys), dv.place(self.head, key, keys));
            let dq = dq.place(self.head, query, rows);
            gemm(one, p.as_ref().transposed(), g, one, dv, Epilogue::None);
            gemm(one, ds.as_ref().transposed(), q, one, dk, Epilogue::None);
            gemm(one, ds.as_ref(), k, query_beta, dq, Epilogue::None);
        }
    }
}

/// Σ G ∘ Y of each query.
struct Dots<T> {
    grad: MatRef<T>,
    out: MatRef<T>,
    dots: *mut T,
}

impl<T: Float> Kernel for Dots<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in 0..self.grad.rows {
            // SAFETY: the row exists in both.
            unsafe {
                let (g, y) = (row_of(self.grad, row), row_of(self.out, row));
                *self.dots.add(row) = sum(g.len(), |i| get(g, i) * get(y, i));
            }
        }
    }
}

/// Turns scores into probabilities and their gradients into those of the scores, in place.
struct BackwardRows<T> {
    p: *mut T,
    ds: *mut T,
    rows: usize,
    keys: usize,
    mask: Option<Strided<T>>,
    reach: Reach,
    log_sums: *const T,
    dots: *const T,
    scale: T,
}

impl<T: Float> Kernel for BackwardRows<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.keys;
        for row in 0..self.rows {
            // SAFETY: rows of this task's blocks, and one kept number per query.
            let (p, ds, log, dot) = unsafe {
                let p = std::slice::from_raw_parts_mut(self.p.add(row * n), n);
                let ds = std::slice::from_raw_parts_mut(self.ds.add(row * n), n);
                (p, ds, *self.log_sums.add(row), *self.dots.add(row))
            };
            let seen = self.reach.of(row, n);
            p[seen..].fill(T::ZERO);
            ds[seen..].fill(T::ZERO);
            let (p, ds) = (&mut p[..seen], &mut ds[..seen]);
            // SAFETY: the mask covers the block.
            unsafe { add_mask(self.mask, row, p) };
            for i in 0..seen {
                let probability = (p[i] - log).exp();
                p[i] = probability;
                ds[i] = probability * (ds[i] - dot) * self.scale;
            }
        }
    }
}
