//! Loops that move rows and elements to and from positions given by indices.
//!
//! A tensor is seen as (outer, length, inner) around the axis that is indexed. Indices have been checked and made
//! non-negative before they come here; the loops still read and write through checked slices, since a random access to
//! memory hides the comparison. Sums run over partitions of the output, so that every element is added up by one task,
//! in the order of the indices, and the result does not depend on the number of threads.

use super::elementwise::GRAIN;
use super::simd::{Kernel, dispatch};
use crate::Tensor;
use crate::pool::parallel_for;
use crate::tensor::Fresh;

/// An element moved without being looked at; tensors of equal element size share the loops.
pub(crate) trait Bits: Copy + Send + Sync + 'static {}
impl Bits for u8 {}
impl Bits for u32 {}
impl Bits for u64 {}

/// Runs the block with `$U` standing for the unsigned type of an element type's size.
macro_rules! match_bits {
    ($dtype:expr, $U:ident => $body:expr) => {
        match $dtype.size() {
            1 => {
                type $U = u8;
                $body
            }
            4 => {
                type $U = u32;
                $body
            }
            _ => {
                type $U = u64;
                $body
            }
        }
    };
}
pub(crate) use match_bits;

/// The elements of a row-major tensor as plain bits.
pub(crate) fn bits<U: Bits>(x: &Tensor) -> &[U] {
    assert!(size_of::<U>() == x.dtype().size() && x.is_contiguous());
    // SAFETY: the size was checked, every value of an element type is a value of the unsigned type of its size, and a
    // row-major tensor's elements are adjacent and inside the buffer.
    unsafe { std::slice::from_raw_parts(x.pointer::<U>(), x.numel()) }
}

/// The elements of new memory as plain bits, for writing values of its type.
pub(crate) fn bits_mut<U: Bits>(out: &mut Fresh) -> &mut [U] {
    let len = out.shape().numel();
    // SAFETY: `pointer` checks the size of the elements, of which the memory holds `len`; `&mut` is the only way to it.
    unsafe { std::slice::from_raw_parts_mut(out.pointer::<U>(), len) }
}

/// A pointer that tasks may share.
struct Shared<T>(*mut T);
// SAFETY: tasks write disjoint pieces of what the pointer leads to.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

/// Calls `body(i, piece)` for the `i`-th piece of `length` elements, on several threads.
pub(crate) fn for_pieces<T: Send>(out: &mut [T], length: usize, body: impl Fn(usize, &mut [T]) + Sync) {
    let total = out.len();
    let length = length.max(1);
    if total <= length {
        if total > 0 {
            body(0, out);
        }
        return;
    }
    let start = Shared(out.as_mut_ptr());
    parallel_for(total.div_ceil(length), &|task| {
        let first = task * length;
        // SAFETY: pieces of different tasks do not overlap and lie inside `out`, which is borrowed for the whole call.
        let piece = unsafe { std::slice::from_raw_parts_mut(start.get().add(first), length.min(total - first)) };
        body(task, piece);
    });
}

/// `out[o, i, :] = x[o, index[i], :]`, with `size` the length of the indexed axis.
pub(crate) fn take_rows<U: Bits>(x: &[U], index: &[i64], size: usize, inner: usize, out: &mut [U]) {
    let n = index.len();
    if out.is_empty() {
        return;
    }
    let rows = GRAIN.div_ceil(inner);
    for_pieces(out, rows * inner, |task, piece| {
        let (mut o, mut i) = ((task * rows) / n, (task * rows) % n);
        for row in piece.chunks_exact_mut(inner) {
            let start = (o * size + index[i] as usize) * inner;
            match row {
                [only] => *only = x[start],
                row => row.copy_from_slice(&x[start..start + inner]),
            }
            i += 1;
            if i == n {
                (o, i) = (o + 1, 0);
            }
        }
    });
}

/// `out[o, i, j] = x[o, index[o, i, j], j]`; `n` is the length of the axis in `index`, `size` that in `x`.
pub(crate) fn gather<U: Bits>(x: &[U], index: &[i64], size: usize, n: usize, inner: usize, out: &mut [U]) {
    if out.is_empty() {
        return;
    }
    let rows = GRAIN.div_ceil(inner);
    for_pieces(out, rows * inner, |task, piece| {
        let (mut o, mut i) = ((task * rows) / n, (task * rows) % n);
        let index = &index[task * rows * inner..][..piece.len()];
        for (row, places) in piece.chunks_exact_mut(inner).zip(index.chunks_exact(inner)) {
            let slab = &x[o * size * inner..(o + 1) * size * inner];
            for (j, (slot, &place)) in row.iter_mut().zip(places).enumerate() {
                *slot = slab[place as usize * inner + j];
            }
            i += 1;
            if i == n {
                (o, i) = (o + 1, 0);
            }
        }
    });
}

/// Numbers that can be summed; whole numbers wrap around.
pub(crate) trait Summand: Copy + Default + Send + Sync + 'static {
    fn plus(self, other: Self) -> Self;
}

macro_rules! summand {
    ($($t:ident |$a:ident, $b:ident| $sum:expr;)*) => {$(
        impl Summand for $t {
            #[inline(always)]
            fn plus(self, other: $t) -> $t {
                let ($a, $b) = (self, other);
                $sum
            }
        }
    )*};
}
summand! {
    f32 |a, b| a + b;
    f64 |a, b| a + b;
    i64 |a, b| a.wrapping_add(b);
    u8 |a, b| a.wrapping_add(b);
}

/// Adds to the rows `first ..` of one slab those source rows whose index falls among them. The rows start from those of
/// the same place in `before`, or from zero.
struct AddRows<'a, T> {
    before: Option<&'a [T]>,
    source: &'a [T],
    index: &'a [i64],
    first: usize,
    inner: usize,
    out: &'a mut [T],
}

impl<T: Summand> Kernel for AddRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.before {
            Some(before) => self.out.copy_from_slice(before),
            None => self.out.fill(T::default()),
        }
        let rows = self.out.len() / self.inner;
        for (i, &place) in self.index.iter().enumerate() {
            // Places before `first` wrap around to huge numbers.
            let row = (place as usize).wrapping_sub(self.first);
            if row < rows {
                let target = &mut self.out[row * self.inner..(row + 1) * self.inner];
                let source = &self.source[i * self.inner..(i + 1) * self.inner];
                for (slot, &value) in target.iter_mut().zip(source) {
                    *slot = slot.plus(value);
                }
            }
        }
    }
}

/// The transpose of [`take_rows`]: `out[o, index[i], :] += source[o, i, :]` from `before` or from zero, `size` rows per
/// slab.
pub(crate) fn add_rows<T: Summand>(
    before: Option<&[T]>,
    source: &[T],
    index: &[i64],
    size: usize,
    inner: usize,
    out: &mut [T],
) {
    let (slab, n) = (size * inner, index.len());
    if out.is_empty() {
        return;
    }
    // Every task reads all indices, which pays when rows are long; their number follows from the shape alone.
    let work = (n * inner).max(slab);
    let parts = if inner >= 16 { (work / GRAIN).clamp(1, 16).min(size) } else { 1 };
    let from = |start: usize, out: &[T]| before.map(|before| &before[start..start + out.len()]);
    if parts == 1 {
        let slabs = GRAIN.div_ceil(work);
        for_pieces(out, slabs * slab, |task, piece| {
            for (k, out) in piece.chunks_exact_mut(slab).enumerate() {
                let o = task * slabs + k;
                let source = &source[o * n * inner..][..n * inner];
                dispatch(AddRows { before: from(o * slab, out), source, index, first: 0, inner, out });
            }
        });
        return;
    }
    let rows = size.div_ceil(parts);
    for (o, out) in out.chunks_exact_mut(slab).enumerate() {
        let source = &source[o * n * inner..(o + 1) * n * inner];
        for_pieces(out, rows * inner, |task, out| {
            let before = from(o * slab + task * rows * inner, out);
            dispatch(AddRows { before, source, index, first: task * rows, inner, out });
        });
    }
}

/// The transpose of [`gather`]: `out[o, index[o, i, j], j] += source[o, i, j]` from zero.
pub(crate) fn scatter_add<T: Summand>(source: &[T], index: &[i64], size: usize, n: usize, inner: usize, out: &mut [T]) {
    let slab = size * inner;
    if out.is_empty() {
        return;
    }
    let slabs = GRAIN.div_ceil(slab.max(n * inner));
    for_pieces(out, slabs * slab, |task, piece| {
        for (k, out) in piece.chunks_exact_mut(slab).enumerate() {
            out.fill(T::default());
            let from = (task * slabs + k) * n * inner..(task * slabs + k + 1) * n * inner;
            for (position, (&value, &place)) in source[from.clone()].iter().zip(&index[from]).enumerate() {
                let slot = &mut out[place as usize * inner + position % inner];
                *slot = slot.plus(value);
            }
        }
    });
}
