//! Loops over the elements of one, two or three tensors of equal (or broadcast) shape.
//!
//! Axes along which all operands step uniformly are merged; what remains is walked as rows and columns, with the column
//! loop compiled for unit steps and for operands that do not move (broadcast scalars, bias rows).

mod plan;
mod rows;

use super::simd::dispatch;
use crate::dtype::match_any;
use crate::tensor::Fresh;
use crate::{Shape, Tensor};
use plan::{Operand, Plan, Shared, run1, run2, run3};
use rows::{Rows1, Rows2, Rows3};

pub(crate) use plan::GRAIN;

/// A function of one element. `cost` weighs an element against one that is merely copied.
pub(crate) trait Map1<A, U>: Copy + Send + Sync {
    /// Rough cost per element, 1 for arithmetic.
    const COST: usize = 1;
    fn call(self, a: A) -> U;
    /// `out[i] = f(a[i])` for contiguous elements.
    ///
    /// # Safety
    /// `count` elements can be read from `a` and written to `out`, which are the same memory or do not overlap.
    #[inline(always)]
    unsafe fn row(self, a: *const A, out: *mut U, count: usize)
    where
        A: Copy,
    {
        for i in 0..count {
            // SAFETY: by the caller's promise.
            unsafe { *out.add(i) = self.call(*a.add(i)) };
        }
    }
}

/// A function of two elements.
pub(crate) trait Map2<A, B, U>: Copy + Send + Sync {
    /// Rough cost per element, 1 for arithmetic.
    const COST: usize = 1;
    fn call(self, a: A, b: B) -> U;
}

/// A function of three elements.
pub(crate) trait Map3<A, B, C, U>: Copy + Send + Sync {
    fn call(self, a: A, b: B, c: C) -> U;
}

/// `out[i] = f(a[i])`. `out` is row-major of `a`'s shape; it may be `a`'s own memory.
pub(crate) unsafe fn map1<A: Copy, U: Copy, F: Map1<A, U>>(f: F, a: &Tensor, out: *mut U) {
    let n = a.numel();
    if n * F::COST < 2 * GRAIN && a.is_contiguous() {
        let a = Operand { pointer: a.pointer::<A>().cast_mut(), row: 0, column: 1 };
        dispatch(Rows1 { rows: 1, columns: n, out: Operand { pointer: out, row: 0, column: 1 }, a, f });
        return;
    }
    let (out, start) = (Shared(out), Shared::<A>::of(a));
    run1(a, F::COST, &|block| {
        // SAFETY: the plan's offsets stay inside the operands, and tasks write disjoint parts.
        let (out, a) = unsafe { (block.operand(0, out.get()), block.operand(1, start.get())) };
        dispatch(Rows1 { rows: block.rows, columns: block.columns, out, a, f });
    });
}

/// `out[i] = f(a[i], b[i])` with both operands stretched to `shape`; `out` is row-major of that shape.
pub(crate) unsafe fn map2<A: Copy, B: Copy, U: Copy, F: Map2<A, B, U>>(
    f: F,
    a: &Tensor,
    b: &Tensor,
    shape: &Shape,
    out: *mut U,
) {
    if a.shape() == b.shape() && a.is_contiguous() && b.is_contiguous() {
        let n = a.numel();
        if n * F::COST < 2 * GRAIN {
            let out = Operand { pointer: out, row: 0, column: 1 };
            let a = Operand { pointer: a.pointer::<A>().cast_mut(), row: 0, column: 1 };
            let b = Operand { pointer: b.pointer::<B>().cast_mut(), row: 0, column: 1 };
            dispatch(Rows2 { rows: 1, columns: n, out, a, b, f });
            return;
        }
    }
    let operands = [a, b];
    let (out, a, b) = (Shared(out), Shared::<A>::of(a), Shared::<B>::of(b));
    run2(shape, operands, F::COST, &|block| {
        // SAFETY: as in `map1`.
        let (out, a, b) =
            unsafe { (block.operand(0, out.get()), block.operand(1, a.get()), block.operand(2, b.get())) };
        dispatch(Rows2 { rows: block.rows, columns: block.columns, out, a, b, f });
    });
}

/// `out[i] = f(a[i], b[i], c[i])`, all stretched to `shape`; `out` is row-major of that shape.
pub(crate) unsafe fn map3<A: Copy, B: Copy, C: Copy, U: Copy, F: Map3<A, B, C, U>>(
    f: F,
    a: &Tensor,
    b: &Tensor,
    c: &Tensor,
    shape: &Shape,
    out: *mut U,
) {
    let operands = [a, b, c];
    let (out, a, b, c) = (Shared(out), Shared::<A>::of(a), Shared::<B>::of(b), Shared::<C>::of(c));
    run3(shape, operands, 1, &|block| {
        // SAFETY: as in `map1`.
        unsafe {
            let (out, a, b) = (block.operand(0, out.get()), block.operand(1, a.get()), block.operand(2, b.get()));
            let c = block.operand(3, c.get());
            dispatch(Rows3 { rows: block.rows, columns: block.columns, out, a, b, c, f });
        }
    });
}

/// The function that changes nothing.
#[derive(Clone, Copy)]
struct Identity;

impl<T> Map1<T, T> for Identity {
    #[inline(always)]
    fn call(self, a: T) -> T {
        a
    }
}

/// Copies a tensor of any strides into row-major memory of the same shape and type.
pub(crate) fn copy(x: &Tensor, out: &mut Fresh) {
    assert!(out.shape() == x.shape() && out.dtype() == x.dtype());
    match_any!(x.dtype(), T => {
        let pointer = out.pointer::<T>();
        // SAFETY: `out` has the shape and type of `x`, as checked.
        unsafe { map1::<T, T, _>(Identity, x, pointer) }
    });
}

/// Writes `x` into the region of a larger row-major tensor that starts at `start` and has these strides.
///
/// # Safety
/// Every element so addressed lies inside the memory behind `start`, which nobody else uses meanwhile.
pub(crate) unsafe fn copy_into<T: Copy>(x: &Tensor, start: *mut T, strides: &[isize]) {
    let plan = Plan::new(x.shape(), [strides, x.strides()]);
    let (out, a) = (Shared(start), Shared::<T>::of(x));
    plan.run(1, &|block| {
        // SAFETY: as in `map1`, by the caller's promise.
        let (out, a) = unsafe { (block.operand(0, out.get()), block.operand(1, a.get())) };
        dispatch(Rows1 { rows: block.rows, columns: block.columns, out, a, f: Identity });
    });
}
