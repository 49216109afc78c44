//! Loops over the rows and columns of a block.

use std::mem::MaybeUninit;

use super::plan::Operand;
use super::{Map1, Map2, Map3};
use crate::kernels::simd::Kernel;

/// Elements that are gathered at once from an operand with another step than one.
const STAGE: usize = 256;
/// From this cost on, a function gets one loop over contiguous elements only, and other operands are gathered for it:
/// compiling an expensive function for every combination of steps would take minutes and win nothing.
const EXPENSIVE: usize = 3;

/// `count` elements from `start` on as contiguous memory: where they are, or gathered into `stage`.
#[inline(always)]
unsafe fn contiguous<T: Copy>(
    start: *const T,
    step: isize,
    count: usize,
    stage: &mut [MaybeUninit<T>; STAGE],
) -> *const T {
    if step == 1 {
        return start;
    }
    for (i, slot) in stage.iter_mut().enumerate().take(count) {
        // SAFETY: the caller's elements exist, and it asks for no more than fit.
        slot.write(unsafe { *start.offset(i as isize * step) });
    }
    stage.as_ptr().cast()
}

pub(super) struct Rows1<A, U, F> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) out: Operand<U>,
    pub(super) a: Operand<A>,
    pub(super) f: F,
}

impl<A: Copy, U: Copy, F: Map1<A, U>> Rows1<A, U, F> {
    #[inline(always)]
    unsafe fn row(&self, out: *mut U, a: *mut A) {
        // SAFETY: the block's columns lie inside the operands; the output overlaps an input only element for element
        // (in-place use).
        unsafe {
            if F::COST >= EXPENSIVE {
                let mut stage = [MaybeUninit::uninit(); STAGE];
                let width = if self.a.column == 1 { self.columns } else { STAGE };
                let mut first = 0;
                while first < self.columns {
                    let count = width.min(self.columns - first);
                    let a = contiguous(a.offset(first as isize * self.a.column), self.a.column, count, &mut stage);
                    self.f.row(a, out.add(first), count);
                    first += count;
                }
            } else if self.out.column == 1 && self.a.column == 1 {
                self.f.row(a, out, self.columns);
            } else {
                for i in 0..self.columns as isize {
                    *out.offset(i * self.out.column) = self.f.call(*a.offset(i * self.a.column));
                }
            }
        }
    }
}

impl<A: Copy, U: Copy, F: Map1<A, U>> Kernel for Rows1<A, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        debug_assert!(F::COST < EXPENSIVE || self.out.column == 1);
        for row in 0..self.rows {
            // SAFETY: the row lies inside the block.
            unsafe { self.row(self.out.at_row(row), self.a.at_row(row)) };
        }
    }
}

pub(super) struct Rows2<A, B, U, F> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) out: Operand<U>,
    pub(super) a: Operand<A>,
    pub(super) b: Operand<B>,
    pub(super) f: F,
}

impl<A: Copy, B: Copy, U: Copy, F: Map2<A, B, U>> Rows2<A, B, U, F> {
    #[inline(always)]
    unsafe fn cheap_row(&self, out: *mut U, a: *mut A, b: *mut B) {
        // SAFETY: as in `Rows1`.
        unsafe {
            match (self.out.column, self.a.column, self.b.column) {
                (1, 1, 1) => {
                    for i in 0..self.columns {
                        *out.add(i) = self.f.call(*a.add(i), *b.add(i));
                    }
                }
                (1, 1, 0) => {
                    let b = *b;
                    for i in 0..self.columns {
                        *out.add(i) = self.f.call(*a.add(i), b);
                    }
                }
                (1, 0, 1) => {
                    let a = *a;
                    for i in 0..self.columns {
                        *out.add(i) = self.f.call(a, *b.add(i));
                    }
                }
                (out_step, a_step, b_step) => {
                    for i in 0..self.columns as isize {
                        *out.offset(i * out_step) = self.f.call(*a.offset(i * a_step), *b.offset(i * b_step));
                    }
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn expensive_row(&self, out: *mut U, a: *mut A, b: *mut B) {
        let mut a_stage = [MaybeUninit::uninit(); STAGE];
        let mut b_stage = [MaybeUninit::uninit(); STAGE];
        let width = if self.a.column == 1 && self.b.column == 1 { self.columns } else { STAGE };
        let mut first = 0;
        while first < self.columns {
            let count = width.min(self.columns - first);
            // SAFETY: as in `Rows1`.
            unsafe {
                let at = first as isize;
                let a = contiguous(a.offset(at * self.a.column), self.a.column, count, &mut a_stage);
                let b = contiguous(b.offset(at * self.b.column), self.b.column, count, &mut b_stage);
                for i in 0..count {
                    *out.add(first + i) = self.f.call(*a.add(i), *b.add(i));
                }
            }
            first += count;
        }
    }
}

impl<A: Copy, B: Copy, U: Copy, F: Map2<A, B, U>> Kernel for Rows2<A, B, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        debug_assert!(F::COST < EXPENSIVE || self.out.column == 1);
        for row in 0..self.rows {
            // SAFETY: the row lies inside the block.
            unsafe {
                let (out, a, b) = (self.out.at_row(row), self.a.at_row(row), self.b.at_row(row));
                if F::COST >= EXPENSIVE {
                    self.expensive_row(out, a, b);
                } else {
                    self.cheap_row(out, a, b);
                }
            }
        }
    }
}

pub(super) struct Rows3<A, B, C, U, F> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) out: Operand<U>,
    pub(super) a: Operand<A>,
    pub(super) b: Operand<B>,
    pub(super) c: Operand<C>,
    pub(super) f: F,
}

impl<A: Copy, B: Copy, C: Copy, U: Copy, F: Map3<A, B, C, U>> Kernel for Rows3<A, B, C, U, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for row in 0..self.rows {
            // SAFETY: as in `Rows1`.
            unsafe {
                let (out, a) = (self.out.at_row(row), self.a.at_row(row));
                let (b, c) = (self.b.at_row(row), self.c.at_row(row));
                if (self.out.column, self.a.column, self.b.column, self.c.column) == (1, 1, 1, 1) {
                    for i in 0..self.columns {
                        *out.add(i) = self.f.call(*a.add(i), *b.add(i), *c.add(i));
                    }
                } else {
                    for i in 0..self.columns as isize {
                        let (x, y) = (*a.offset(i * self.a.column), *b.offset(i * self.b.column));
                        *out.offset(i * self.out.column) = self.f.call(x, y, *c.offset(i * self.c.column));
                    }
                }
            }
        }
    }
}
