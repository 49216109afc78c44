//! Shape and strides of a loop over several operands, and how it is cut into tasks.

use smallvec::SmallVec;

use crate::pool::parallel_for;
use crate::{Shape, Tensor};

/// Elements per task; below twice this, everything stays on one thread. By measurement: forking costs about a
/// microsecond, an element of a memory-bound loop half a nanosecond.
pub(crate) const GRAIN: usize = 16 * 1024;

/// Address and steps of one operand in a block of rows and columns.
#[derive(Clone, Copy)]
pub(super) struct Operand<T> {
    pub(super) pointer: *mut T,
    pub(super) row: isize,
    pub(super) column: isize,
}

// SAFETY: operands are handed to tasks that touch disjoint parts of the output and only read the inputs.
unsafe impl<T> Send for Operand<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Operand<T> {}

impl<T: Copy> Operand<T> {
    #[inline(always)]
    pub(super) unsafe fn at_row(self, row: usize) -> *mut T {
        // SAFETY: the caller stays inside the block the operand describes.
        unsafe { self.pointer.offset(self.row * row as isize) }
    }
}

/// A block: `N` operands (the output first) over rows and columns.
pub(super) struct Block<const N: usize> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// Byte-free element offsets of each operand's first element.
    pub(super) offsets: [isize; N],
    row_steps: [isize; N],
    column_steps: [isize; N],
}

/// Shape and strides of a loop over `N` operands after merging axes.
pub(super) struct Plan<const N: usize> {
    dims: SmallVec<[usize; 8]>,
    strides: [SmallVec<[isize; 8]>; N],
}

impl<const N: usize> Plan<N> {
    pub(super) fn new(shape: &Shape, strides: [&[isize]; N]) -> Plan<N> {
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

    /// Calls `body` with blocks that cover the loop, on several threads when there is enough to do. The body is a pointer, so
    /// that this is compiled once and not for every function of elements.
    pub(super) fn run(&self, cost: usize, body: &(dyn Fn(&Block<N>) + Sync)) {
        let columns = self.dims[0];
        let inner_rows = self.dims.get(1).copied().unwrap_or(1);
        let outer: usize = self.dims.iter().skip(2).product();
        let rows = inner_rows * outer;
        let grain = (GRAIN / cost).max(256);
        if rows * columns == 0 {
            return;
        }
        // Tasks are runs of rows, or pieces of a row when rows are few and long.
        let row_chunk = grain.div_ceil(columns).min(rows);
        let column_chunk = if rows == 1 { grain.min(columns) } else { columns };
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
                body(&block);
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
    pub(super) unsafe fn operand<T: Copy>(&self, index: usize, start: *mut T) -> Operand<T> {
        // SAFETY: offsets of a block address elements of the operand.
        let pointer = unsafe { start.offset(self.offsets[index]) };
        Operand { pointer, row: self.row_steps[index], column: self.column_steps[index] }
    }
}

/// The elements of `x` in the order of row-major memory of the same shape, which comes first.
#[inline(never)]
pub(super) fn run1(x: &Tensor, cost: usize, body: &(dyn Fn(&Block<2>) + Sync)) {
    Plan::new(x.shape(), [&x.shape().row_major(), x.strides()]).run(cost, body);
}

/// The elements of two tensors stretched to `shape`, in the order of row-major memory of that shape, which comes first.
#[inline(never)]
pub(super) fn run2(shape: &Shape, [a, b]: [&Tensor; 2], cost: usize, body: &(dyn Fn(&Block<3>) + Sync)) {
    let strides = [shape.row_major(), a.broadcast_strides(shape), b.broadcast_strides(shape)];
    Plan::new(shape, [&strides[0], &strides[1], &strides[2]]).run(cost, body);
}

/// As [`run2`], with three tensors.
#[inline(never)]
pub(super) fn run3(shape: &Shape, [a, b, c]: [&Tensor; 3], cost: usize, body: &(dyn Fn(&Block<4>) + Sync)) {
    let strides =
        [shape.row_major(), a.broadcast_strides(shape), b.broadcast_strides(shape), c.broadcast_strides(shape)];
    Plan::new(shape, [&strides[0], &strides[1], &strides[2], &strides[3]]).run(cost, body);
}

/// A pointer that tasks may share.
#[derive(Clone, Copy)]
pub(super) struct Shared<T>(pub(super) *mut T);

// SAFETY: see `Operand`.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: see `Operand`.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    pub(super) fn of(x: &Tensor) -> Shared<T> {
        Shared(x.pointer::<T>().cast_mut())
    }
    #[inline(always)]
    pub(super) fn get(self) -> *mut T {
        self.0
    }
}
