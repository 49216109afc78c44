//! The backward pass: the blocks of probabilities are computed again, one head after the other.

use super::{
    FromScale, Heads, KEYS, Number, Operands, QUERIES, Reach, Strided, TASK, add_mask, clear, row_of, scratch,
};
use crate::kernels::gemm::{Epilogue, MatMut, MatRef, gemm};
use crate::kernels::math::Float;
use crate::kernels::rows::{for_runs, get, sum};
use crate::kernels::simd::{Kernel, dispatch};

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
