//! Loops over the elements of one, two or three tensors of equal (or broadcast) shape.
//!
//! Axes along which all operands step uniformly are merged; what remains is walked as rows and columns, with the column
//! loop compiled for unit steps and for operands that do not move (broadcast scalars, bias rows).

use std::mem::MaybeUninit;

use smallvec::SmallVec;

use super::simd::{Kernel, dispatch};
use crate::dtype::match_any;
use crate::pool::parallel_for;
use crate::tensor::Fresh;
use crate::{Shape, Tensor};

/// Elements per task; below twice this, everything stays on one thread. By measurement: forking costs about a
/// microsecond, an element of a memory-bound loop half a nanosecond.
pub(crate) const GRAIN: usize = 16 * 1024;

/// Tasks that are enough for any number of threads.
const TASKS: usize = 64;

/// A function of one element. `cost` weighs an element against one that is merely copied.
pub(crate) trait Map1<A, U>: Copy + Send + Sync {
    /// Rough cost per element, 1 for arithmetic.
    const COST: usize = 1;
    fn call(self, a: A) -> U;
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

/// Address and steps of one operand in a block of rows and columns.
#[derive(Clone, Copy)]
struct Operand<T> {
    pointer: *mut T,
    row: isize,
    column: isize,
}

// SAFETY: operands are handed to tasks that touch disjoint parts of the output and only read the inputs.
unsafe impl<T> Send for Operand<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Operand<T> {}

impl<T: Copy> Operand<T> {
    #[inline(always)]
    unsafe fn at_row(self, row: usize) -> *mut T {
        // SAFETY: the caller stays inside the block the operand describes.
        unsafe { self.pointer.offset(self.row * row as isize) }
    }
}

/// A block: `N` operands (the output first) over rows and columns.
struct Block<const N: usize> {
    rows: usize,
    columns: usize,
    /// Byte-free element offsets of each operand's first element.
    offsets: [isize; N],
    row_steps: [isize; N],
    column_steps: [isize; N],
}

/// Shape and strides of a loop over `N` operands after merging axes.
struct Plan<const N: usize> {
    dims: SmallVec<[usize; 8]>,
    strides: [SmallVec<[isize; 8]>; N],
}

impl<const N: usize> Plan<N> {
    fn new(shape: &Shape, strides: [&[isize]; N]) -> Plan<N> {
        let mut dims: SmallVec<[usize; 8]> = SmallVec::new();
        let mut merged: [SmallVec<[isize; 8]>; N] = std::array::from_fn(|_| SmallVec::new());
        for axis in (0..shape.rank()).rev() {
            let size = shape[axis];
            if size == 1 {
                continue;
            }
            let fits = dims.last().is_some_and(|&inner: &usize| {
                (0..N).all(|i| strides[i][axis] == merged[i][merged[i].len() - 1] * inner as isize)
            });
            if fits {
                if let Some(inner) = dims.last_mut() {
                    *inner *= size;
                }
            } else {
                dims.push(size);
                (0..N).for_each(|i| merged[i].push(strides[i][axis]));
            }
        }
        // Stored innermost first; at least one axis, so that scalars are a loop of one.
        if dims.is_empty() {
            dims.push(1);
            merged.iter_mut().for_each(|m| m.push(1));
        }
        Plan { dims, strides: merged }
    }

    /// Calls `body` with blocks that cover the loop, on several threads when there is enough to do.
    fn run(&self, cost: usize, body: impl Fn(Block<N>) + Sync) {
        let columns = self.dims[0];
        let inner_rows = self.dims.get(1).copied().unwrap_or(1);
        let outer: usize = self.dims.iter().skip(2).product();
        let rows = inner_rows * outer;
        let grain = (GRAIN / cost).max(256);
        if rows * columns == 0 {
            return;
        }
        // Tasks are runs of rows, or pieces of a row when rows are few and long.
        // Where there is plenty, longer tasks: memory is read ahead within a task only.
        let task = (rows * columns).div_ceil(TASKS).clamp(grain, GRAIN.max(grain));
        let row_chunk = task.div_ceil(columns).min(rows);
        let column_chunk = if rows == 1 { task.min(columns) } else { columns };
        let (row_tasks, column_tasks) = (rows.div_ceil(row_chunk), columns.div_ceil(column_chunk));
        let task = |index: usize| {
            let (row_task, column_task) = (index / column_tasks, index % column_tasks);
            let first_column = column_task * column_chunk;
            let width = column_chunk.min(columns - first_column);
            let (mut row, end) = (row_task * row_chunk, ((row_task + 1) * row_chunk).min(rows));
            while row < end {
                let within = row % inner_rows;
                let height = (inner_rows - within).min(end - row);
                let mut block = self.block(row / inner_rows, within, first_column);
                (block.rows, block.columns) = (height, width);
                body(block);
                row += height;
            }
        };
        if row_tasks * column_tasks < 2 || rows * columns < 2 * grain {
            (0..row_tasks * column_tasks).for_each(task);
        } else {
            parallel_for(row_tasks * column_tasks, &task);
        }
    }

    fn block(&self, outer: usize, row: usize, column: usize) -> Block<N> {
        let mut offsets: [isize; N] = std::array::from_fn(|i| {
            let along_rows = self.strides[i].get(1).copied().unwrap_or(0) * row as isize;
            along_rows + self.strides[i][0] * column as isize
        });
        let mut rest = outer;
        for axis in 2..self.dims.len() {
            let position = (rest % self.dims[axis]) as isize;
            rest /= self.dims[axis];
            (0..N).for_each(|i| offsets[i] += self.strides[i][axis] * position);
        }
        Block {
            rows: 1,
            columns: 1,
            offsets,
            row_steps: std::array::from_fn(|i| self.strides[i].get(1).copied().unwrap_or(0)),
            column_steps: std::array::from_fn(|i| self.strides[i][0]),
        }
    }
}

impl<const N: usize> Block<N> {
    #[inline(always)]
    unsafe fn operand<T: Copy>(&self, index: usize, start: *mut T) -> Operand<T> {
        // SAFETY: offsets of a block address elements of the operand.
        let pointer = unsafe { start.offset(self.offsets[index]) };
        Operand { pointer, row: self.row_steps[index], column: self.column_steps[index] }
    }
}

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

struct Rows1<A, U, F> {
    rows: usize,
    columns: usize,
    out: Operand<U>,
    a: Operand<A>,
    f: F,
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
                    for i in 0..count {
                        *out.add(first + i) = self.f.call(*a.add(i));
                    }
                    first += count;
                }
            } else if self.out.column == 1 && self.a.column == 1 {
                for i in 0..self.columns {
                    *out.add(i) = self.f.call(*a.add(i));
                }
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

struct Rows2<A, B, U, F> {
    rows: usize,
    columns: usize,
    out: Operand<U>,
    a: Operand<A>,
    b: Operand<B>,
    f: F,
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

struct Rows3<A, B, C, U, F> {
    rows: usize,
    columns: usize,
    out: Operand<U>,
    a: Operand<A>,
    b: Operand<B>,
    c: Operand<C>,
    f: F,
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

/// A pointer that tasks may share.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);

// SAFETY: see `Operand`.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: see `Operand`.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    fn of(x: &Tensor) -> Shared<T> {
        Shared(x.pointer::<T>().cast_mut())
    }
    #[inline(always)]
    fn get(self) -> *mut T {
        self.0
    }
}

/// `out[i] = f(a[i])`. `out` is row-major of `a`'s shape; it may be `a`'s own memory.
pub(crate) unsafe fn map1<A: Copy, U: Copy, F: Map1<A, U>>(f: F, a: &Tensor, out: *mut U) {
    let n = a.numel();
    if n * F::COST < 2 * GRAIN && a.is_contiguous() {
        let a = Operand { pointer: a.pointer::<A>().cast_mut(), row: 0, column: 1 };
        dispatch(Rows1 { rows: 1, columns: n, out: Operand { pointer: out, row: 0, column: 1 }, a, f });
        return;
    }
    let plan = Plan::new(a.shape(), [&a.shape().row_major(), a.strides()]);
    let (out, a) = (Shared(out), Shared::<A>::of(a));
    plan.run(F::COST, |block| {
        // SAFETY: the plan's offsets stay inside the operands, and tasks write disjoint parts.
        let (out, a) = unsafe { (block.operand(0, out.get()), block.operand(1, a.get())) };
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
    let strides = [shape.row_major(), a.broadcast_strides(shape), b.broadcast_strides(shape)];
    let plan = Plan::new(shape, [&strides[0], &strides[1], &strides[2]]);
    let (out, a, b) = (Shared(out), Shared::<A>::of(a), Shared::<B>::of(b));
    plan.run(F::COST, |block| {
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
    let strides =
        [shape.row_major(), a.broadcast_strides(shape), b.broadcast_strides(shape), c.broadcast_strides(shape)];
    let plan = Plan::new(shape, [&strides[0], &strides[1], &strides[2], &strides[3]]);
    let (out, a, b, c) = (Shared(out), Shared::<A>::of(a), Shared::<B>::of(b), Shared::<C>::of(c));
    plan.run(1, |block| {
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

/// Copies a tensor of any strides into row-major memory.
pub(crate) fn copy(x: &Tensor, out: &mut Fresh) {
    match_any!(x.dtype(), T => {
        let pointer = out.pointer::<T>();
        // SAFETY: `out` has been made with the shape and type of `x`.
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
    plan.run(1, |block| {
        // SAFETY: as in `map1`, by the caller's promise.
        let (out, a) = unsafe { (block.operand(0, out.get()), block.operand(1, a.get())) };
        dispatch(Rows1 { rows: block.rows, columns: block.columns, out, a, f: Identity });
    });
}
