//! Running folds along an axis: a tensor seen as (outer, length, inner) keeps its shape, and element k of the middle axis
//! becomes the fold of elements 0 … k (or k … end, in reverse).
//!
//! A long contiguous row is cut into chunks by its length alone: the chunks are folded, their results cumulated, and
//! each chunk then starts from what came before it. Hence the same bits for any number of threads.

use super::math::Float;
use super::reduce::{Fold, Shared, fold};
use super::simd::{Kernel, dispatch};
use crate::pool::parallel_for;

/// Elements per task.
pub(super) const CHUNK: usize = 32 * 1024;
/// Columns walked side by side.
pub(super) const STRIP: usize = 512;

/// Sizes of a tensor around the axis of interest.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) outer: usize,
    pub(crate) length: usize,
    pub(crate) inner: usize,
}

impl Sizes {
    pub(crate) fn numel(self) -> usize {
        self.outer * self.length * self.inner
    }

    /// Calls `body(start, width)` for strips of columns that cover the tensor, on several threads when that pays;
    /// `start` is the position of the strip's first element.
    pub(super) fn for_strips(self, body: impl Fn(usize, usize) + Sync) {
        if self.numel() == 0 {
            return;
        }
        let strips = self.inner.div_ceil(STRIP);
        let per_task = (CHUNK / (self.length * self.inner.min(STRIP))).max(1);
        let count = self.outer * strips;
        let task = |task: usize| {
            for strip in task * per_task..((task + 1) * per_task).min(count) {
                let column = strip % strips * STRIP;
                let start = strip / strips * self.length * self.inner + column;
                body(start, STRIP.min(self.inner - column));
            }
        };
        let tasks = count.div_ceil(per_task);
        if self.numel() >= 2 * CHUNK {
            parallel_for(tasks, &task);
        } else {
            (0..tasks).for_each(task);
        }
    }
}

/// Writes the running folds of row-major `x` to `out`.
///
/// # Safety
/// `x` and `out` have `sizes.numel()` elements and do not overlap.
pub(crate) unsafe fn scan<T: Copy, F: Fold<T>>(f: F, x: *const T, sizes: Sizes, reverse: bool, out: *mut T) {
    let (x, out) = (Shared(x.cast_mut()), Shared(out));
    if sizes.inner == 1 && sizes.length > CHUNK {
        // SAFETY: by the caller's promise.
        unsafe { scan_long_rows(f, x, sizes, reverse, out) };
        return;
    }
    sizes.for_strips(|start, width| {
        // SAFETY: the strip lies inside both tensors, and strips are disjoint.
        let (x, out) = unsafe { (x.get().add(start).cast_const(), out.get().add(start)) };
        dispatch(Strip { f, x, length: sizes.length, stride: sizes.inner, width, reverse, first: None, out });
    });
}

unsafe fn scan_long_rows<T: Copy, F: Fold<T>>(f: F, x: Shared<T>, sizes: Sizes, reverse: bool, out: Shared<T>) {
    let Sizes { outer, length, .. } = sizes;
    let chunks = length.div_ceil(CHUNK);
    let stretch = |task: usize| {
        let first = task % chunks * CHUNK;
        (task / chunks * length + first, CHUNK.min(length - first))
    };
    let mut totals = vec![f.neutral(); outer * chunks];
    let target = Shared(totals.as_mut_ptr());
    parallel_for(outer * chunks, &|task| {
        let (start, count) = stretch(task);
        // SAFETY: the chunk lies inside its row; each task writes its own total.
        unsafe { fold(f, x.get().add(start), 1, count, 1, target.get().add(task)) };
    });
    for row in totals.chunks_exact_mut(chunks) {
        let mut before = f.neutral();
        let mut step = |total: &mut T| before = f.combine(std::mem::replace(total, before), before);
        if reverse { row.iter_mut().rev().for_each(&mut step) } else { row.iter_mut().for_each(&mut step) }
    }
    let totals = &Shared(totals.as_mut_ptr());
    parallel_for(outer * chunks, &|task| {
        let (start, count) = stretch(task);
        // SAFETY: as above.
        unsafe {
            let (x, out) = (x.get().add(start).cast_const(), out.get().add(start));
            let first = Some(*totals.get().add(task));
            dispatch(Strip { f, x, length: count, stride: 1, width: 1, reverse, first, out });
        }
    });
}

/// Scans `width` neighbouring columns.
struct Strip<T, F> {
    f: F,
    x: *const T,
    length: usize,
    stride: usize,
    width: usize,
    reverse: bool,
    /// What comes before the first element (of a single column).
    first: Option<T>,
    out: *mut T,
}

impl<T: Copy, F: Fold<T>> Kernel for Strip<T, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Strip { f, x, length, stride, width, reverse, first, out } = self;
        let place = |k: usize| stride * if reverse { length - 1 - k } else { k };
        // SAFETY: the maker's columns have `length` elements, `stride` apart.
        unsafe {
            if width == 1 {
                let mut total = first.unwrap_or(f.neutral());
                for k in 0..length {
                    total = f.combine(total, *x.add(place(k)));
                    *out.add(place(k)) = total;
                }
                return;
            }
            std::ptr::copy_nonoverlapping(x.add(place(0)), out.add(place(0)), width);
            for k in 1..length {
                let before = std::slice::from_raw_parts(out.add(place(k - 1)), width);
                let value = std::slice::from_raw_parts(x.add(place(k)), width);
                let target = std::slice::from_raw_parts_mut(out.add(place(k)), width);
                for i in 0..width {
                    target[i] = f.combine(before[i], value[i]);
                }
            }
        }
    }
}

/// The gradient of running products: with g_k the gradient of x_0 ⋯ x_k,
/// ∂x_i = (x_0 ⋯ x_{i−1}) · S_i, where S_i = g_i + x_{i+1} S_{i+1}. No division, hence right with zeros.
/// With `total` only the last product has a gradient, and `grad` is of shape (outer, inner).
///
/// # Safety
/// `x` and `out` have `sizes.numel()` elements, `grad` as many or outer · inner; none overlap.
pub(crate) unsafe fn product_gradient<T: Float>(x: *const T, grad: *const T, sizes: Sizes, total: bool, out: *mut T) {
    let (x, grad, out) = (Shared(x.cast_mut()), Shared(grad.cast_mut()), Shared(out));
    let row = sizes.length * sizes.inner;
    sizes.for_strips(|start, width| {
        let of_grad = if total { start / row * sizes.inner + start % row } else { start };
        // SAFETY: the strip lies inside all three tensors, and strips are disjoint.
        unsafe {
            let (x, grad) = (x.get().add(start).cast_const(), grad.get().add(of_grad).cast_const());
            let out = out.get().add(start);
            dispatch(ProductGradient { x, grad, length: sizes.length, stride: sizes.inner, width, total, out });
        }
    });
}

struct ProductGradient<T> {
    x: *const T,
    grad: *const T,
    length: usize,
    stride: usize,
    width: usize,
    total: bool,
    out: *mut T,
}

impl<T: Float> Kernel for ProductGradient<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let ProductGradient { x, grad, length, stride, width, total, out } = self;
        let (mut carry, last) = ([T::ONE; STRIP], (length - 1) * stride);
        // SAFETY: the maker's columns have `length` elements, `stride` apart; with `total` the gradient has one row.
        unsafe {
            std::ptr::copy_nonoverlapping(grad.add(if total { 0 } else { last }), out.add(last), width);
            for k in (0..length - 1).rev() {
                let place = k * stride;
                for i in place..place + width {
                    let own = if total { T::ZERO } else { *grad.add(i) };
                    *out.add(i) = own + *x.add(i + stride) * *out.add(i + stride);
                }
            }
            for k in 0..length {
                let place = k * stride;
                for (i, product) in carry[..width].iter_mut().enumerate() {
                    *out.add(place + i) = *product * *out.add(place + i);
                    *product *= *x.add(place + i);
                }
            }
        }
    }
}
