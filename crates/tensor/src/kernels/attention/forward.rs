//! The forward pass: blocks of queries walk over blocks of keys with a running maximum and sum.

use super::{
    FromScale, Heads, KEYS, Number, Operands, QUERIES, Reach, Strided, TASK, add_mask, clear, row_of_mut, scratch,
};
use crate::kernels::gemm::{Epilogue, MatMut, gemm};
use crate::kernels::math::Float;
use crate::kernels::rows::{Shared, for_runs, get, larger, largest, sum};
use crate::kernels::simd::{Kernel, dispatch};
use crate::kernels::softmax::shift_of;

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

/// Largest score and sum of exponentials of each query so far.
struct Running<T> {
    largest: [T; QUERIES],
    sum: [T; QUERIES],
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
