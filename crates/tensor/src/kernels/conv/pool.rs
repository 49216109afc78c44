//! Pooling: the largest or the mean of every window, and the transposes.
//!
//! Windows are clipped to the image, so that padding never wins a maximum. Among equals the first in row order wins, and
//! a NaN wins over everything, as in PyTorch. Two by two windows side by side, the usual case, have loops of their own
//! that the compiler vectorises.

use super::Shared;
use super::halves::Room;
use crate::kernels::elementwise::GRAIN;
use crate::kernels::simd::{Kernel, dispatch};
use crate::pool::parallel_for;

/// Sizes of one plane and its windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Windows {
    pub image: [usize; 2],
    pub result: [usize; 2],
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    /// Whether means count the padding.
    pub include_pad: bool,
}

/// What pooling computes in.
pub(crate) trait PoolScalar: Copy + Send + Sync + PartialOrd + std::ops::Add<Output = Self> {
    fn of_count(count: usize) -> Self;
    fn of_product(a: usize, b: usize) -> Self;
    fn over(self, other: Self) -> Self;
}

macro_rules! pool_scalar {
    ($($t:ty),*) => {$(
        impl PoolScalar for $t {
            #[inline(always)]
            fn of_count(count: usize) -> $t {
                count as $t
            }
            #[inline(always)]
            fn of_product(a: usize, b: usize) -> $t {
                a.checked_mul(b).map_or(a as $t * b as $t, |product| product as $t)
            }
            #[inline(always)]
            fn over(self, other: $t) -> $t {
                self / other
            }
        }
    )*};
}
pool_scalar!(f32, f64);

/// Whether `candidate` takes the place of `best`.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(super) fn beats<T: PoolScalar>(candidate: T, best: T) -> bool {
    (candidate > best) | (candidate != candidate)
}

impl Windows {
    /// The positions of window `o` along an axis, inside the image.
    #[inline(always)]
    fn range(&self, axis: usize, o: usize) -> (usize, usize) {
        let start = o * self.stride[axis];
        let end = (start + self.kernel[axis]).saturating_sub(self.padding[axis]).min(self.image[axis]);
        (start.saturating_sub(self.padding[axis]).min(end), end)
    }

    /// Number of elements that a mean divides by. Windows that reach beyond the padding count only up to its end.
    #[inline(always)]
    fn divisor<T: PoolScalar>(&self, i: usize, j: usize) -> T {
        let length = |axis: usize, o: usize| {
            let (start, end) = self.range(axis, o);
            let first = o * self.stride[axis];
            let padded = (first + self.kernel[axis]).min(self.image[axis] + 2 * self.padding[axis]) - first;
            if self.include_pad { padded } else { end - start }
        };
        T::of_product(length(0, i), length(1, j))
    }

    fn pixels(&self) -> usize {
        self.image[0] * self.image[1]
    }

    fn outputs(&self) -> usize {
        self.result[0] * self.result[1]
    }

    /// Two by two windows that tile the image (but for a last odd row or column).
    pub(super) fn is_halving(&self) -> bool {
        self.kernel == [2, 2] && self.stride == [2, 2] && self.padding == [0, 0]
    }

    fn over_planes(&self, planes: usize, body: impl Fn(usize, usize) + Sync) {
        let group = GRAIN.div_ceil(self.pixels().max(1)).clamp(1, planes.max(1));
        parallel_for(planes.div_ceil(group), &|task| body(task * group, ((task + 1) * group).min(planes)));
    }

    /// Position of the winner of a window.
    #[inline(always)]
    unsafe fn winner<T: PoolScalar>(&self, x: *const T, i: usize, j: usize) -> usize {
        let ((top, bottom), (left, right)) = (self.range(0, i), self.range(1, j));
        let mut best = top * self.image[1] + left;
        for y in top..bottom {
            for position in y * self.image[1] + left..y * self.image[1] + right {
                // SAFETY: inside the plane.
                if unsafe { beats(*x.add(position), *x.add(best)) } {
                    best = position;
                }
            }
        }
        best
    }
}

/// Which loop a [`Planes`] kernel runs.
#[derive(Clone, Copy, PartialEq)]
enum Task {
    Largest,
    LargestTransposed,
    Mean,
    MeanTransposed,
}

/// A run of planes; `g` is read by the transposes only.
struct Planes<'a, T> {
    windows: &'a Windows,
    task: Task,
    planes: usize,
    x: *const T,
    g: *const T,
    out: *mut T,
}

impl<T: PoolScalar> Kernel for Planes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let w = self.windows;
        let halves = Room::<T>::serves(w);
        let mut room = Room::new();
        for plane in 0..self.planes {
            // SAFETY: whoever makes the kernel guarantees `planes` planes of these sizes.
            unsafe {
                let (image, result) = (plane * w.pixels(), plane * w.outputs());
                match self.task {
                    Task::Largest if halves => room.largest(w, self.x.add(image), self.out.add(result)),
                    Task::Largest if w.is_halving() => halve(w, self.x.add(image), self.out.add(result)),
                    Task::Largest => largest(w, self.x.add(image), self.out.add(result)),
                    Task::LargestTransposed if halves => {
                        room.send_back(w, self.x.add(image), self.g.add(result), self.out.add(image));
                    }
                    Task::LargestTransposed if w.is_halving() => {
                        unhalve(w, self.x.add(image), self.g.add(result), self.out.add(image));
                    }
                    Task::LargestTransposed => send_back(w, self.x.add(image), self.g.add(result), self.out.add(image)),
                    Task::Mean if w.is_halving() => halve_mean(w, self.x.add(image), self.out.add(result)),
                    Task::Mean => mean(w, self.x.add(image), self.out.add(result)),
                    Task::MeanTransposed if w.is_halving() => {
                        spread_halves(w, self.g.add(result), self.out.add(image));
                    }
                    Task::MeanTransposed => spread(w, self.g.add(result), self.out.add(image)),
                }
            }
        }
    }
}

#[inline(always)]
unsafe fn largest<T: PoolScalar>(w: &Windows, x: *const T, out: *mut T) {
    for i in 0..w.result[0] {
        for j in 0..w.result[1] {
            // SAFETY: inside the plane and its result.
            unsafe { *out.add(i * w.result[1] + j) = *x.add(w.winner(x, i, j)) };
        }
    }
}

#[inline(always)]
pub(super) fn winner_of<T: PoolScalar>(a: T, b: T) -> T {
    if beats(b, a) { b } else { a }
}

#[inline(always)]
unsafe fn halve<T: PoolScalar>(w: &Windows, x: *const T, out: *mut T) {
    let columns = w.result[1];
    for i in 0..w.result[0] {
        // SAFETY: rows 2i and 2i + 1 of the plane, row i of the result.
        unsafe {
            let (top, out) = (x.add(2 * i * w.image[1]), out.add(i * columns));
            let bottom = top.add(w.image[1]);
            for j in 0..columns {
                let upper = winner_of(*top.add(2 * j), *top.add(2 * j + 1));
                let lower = winner_of(*bottom.add(2 * j), *bottom.add(2 * j + 1));
                *out.add(j) = winner_of(upper, lower);
            }
        }
    }
}

#[inline(always)]
unsafe fn fill_zero<T: PoolScalar>(out: *mut T, count: usize) {
    for i in 0..count {
        // SAFETY: the caller guarantees the room.
        unsafe { *out.add(i) = T::of_count(0) };
    }
}

#[inline(always)]
unsafe fn send_back<T: PoolScalar>(w: &Windows, x: *const T, g: *const T, out: *mut T) {
    // SAFETY: inside the plane and its result.
    unsafe {
        fill_zero(out, w.pixels());
        for i in 0..w.result[0] {
            for j in 0..w.result[1] {
                let place = out.add(w.winner(x, i, j));
                *place = *place + *g.add(i * w.result[1] + j);
            }
        }
    }
}

/// Zeros first, then one store per window at a computed place: branches on the data would be mispredicted.
#[inline(always)]
unsafe fn unhalve<T: PoolScalar>(w: &Windows, x: *const T, g: *const T, out: *mut T) {
    let (columns, length) = (w.result[1], w.image[1]);
    // SAFETY: rows 2i and 2i + 1 of the plane, row i of the result.
    unsafe {
        fill_zero(out, w.pixels());
        for i in 0..w.result[0] {
            let (top, g, out) = (x.add(2 * i * length), g.add(i * columns), out.add(2 * i * length));
            let bottom = top.add(length);
            for j in 0..columns {
                let (a, b) = (*top.add(2 * j), *top.add(2 * j + 1));
                let (c, d) = (*bottom.add(2 * j), *bottom.add(2 * j + 1));
                let (right, lower_right) = (beats(b, a), beats(d, c));
                let lower = beats(winner_of(c, d), winner_of(a, b));
                let column = usize::from((lower & lower_right) | (!lower & right));
                *out.add(usize::from(lower) * length + 2 * j + column) = *g.add(j);
            }
        }
    }
}

#[inline(always)]
unsafe fn halve_mean<T: PoolScalar>(w: &Windows, x: *const T, out: *mut T) {
    let columns = w.result[1];
    for i in 0..w.result[0] {
        // SAFETY: rows 2i and 2i + 1 of the plane, row i of the result.
        unsafe {
            let (top, out) = (x.add(2 * i * w.image[1]), out.add(i * columns));
            let bottom = top.add(w.image[1]);
            for j in 0..columns {
                let sum = *top.add(2 * j) + *top.add(2 * j + 1) + *bottom.add(2 * j) + *bottom.add(2 * j + 1);
                *out.add(j) = sum.over(T::of_count(4));
            }
        }
    }
}

#[inline(always)]
unsafe fn spread_halves<T: PoolScalar>(w: &Windows, g: *const T, out: *mut T) {
    let (columns, length) = (w.result[1], w.image[1]);
    // SAFETY: rows 2i and 2i + 1 of the plane, row i of the result; odd edges are zeroed.
    unsafe {
        for i in 0..w.result[0] {
            let (g, top) = (g.add(i * columns), out.add(2 * i * length));
            for row in [top, top.add(length)] {
                for j in 0..columns {
                    let share = (*g.add(j)).over(T::of_count(4));
                    *row.add(2 * j) = share;
                    *row.add(2 * j + 1) = share;
                }
                fill_zero(row.add(2 * columns), length - 2 * columns);
            }
        }
        fill_zero(out.add(2 * w.result[0] * length), (w.image[0] - 2 * w.result[0]) * length);
    }
}

#[inline(always)]
unsafe fn mean<T: PoolScalar>(w: &Windows, x: *const T, out: *mut T) {
    for i in 0..w.result[0] {
        for j in 0..w.result[1] {
            let ((top, bottom), (left, right)) = (w.range(0, i), w.range(1, j));
            let mut sum = T::of_count(0);
            for y in top..bottom {
                for position in y * w.image[1] + left..y * w.image[1] + right {
                    // SAFETY: inside the plane.
                    sum = sum + unsafe { *x.add(position) };
                }
            }
            // SAFETY: inside the result.
            unsafe { *out.add(i * w.result[1] + j) = sum.over(w.divisor(i, j)) };
        }
    }
}

#[inline(always)]
unsafe fn spread<T: PoolScalar>(w: &Windows, g: *const T, out: *mut T) {
    // SAFETY: inside the plane and its result.
    unsafe {
        fill_zero(out, w.pixels());
        for i in 0..w.result[0] {
            for j in 0..w.result[1] {
                let ((top, bottom), (left, right)) = (w.range(0, i), w.range(1, j));
                let share = (*g.add(i * w.result[1] + j)).over(w.divisor(i, j));
                for y in top..bottom {
                    for position in y * w.image[1] + left..y * w.image[1] + right {
                        *out.add(position) = *out.add(position) + share;
                    }
                }
            }
        }
    }
}

unsafe fn over_planes<T: PoolScalar>(w: &Windows, task: Task, planes: usize, x: *const T, g: *const T, out: *mut T) {
    let (x, g, out) = (Shared(x.cast_mut()), Shared(g.cast_mut()), Shared(out));
    let transposed = matches!(task, Task::LargestTransposed | Task::MeanTransposed);
    let (read, written) = if transposed { (w.outputs(), w.pixels()) } else { (0, w.outputs()) };
    w.over_planes(planes, |first, end| {
        // SAFETY: runs of planes are disjoint; what a task does not read may be null and is not moved.
        unsafe {
            let image = if x.get().is_null() { x.get() } else { x.get().add(first * w.pixels()) };
            let g = if g.get().is_null() { g.get() } else { g.get().add(first * read) };
            let out = out.get().add(first * written);
            dispatch(Planes { windows: w, task, planes: end - first, x: image, g, out });
        }
    });
}

/// The largest element of every window.
///
/// # Safety
/// `x` and `out` are row-major with `planes` planes of these sizes and do not overlap.
pub(crate) unsafe fn max_pool<T: PoolScalar>(w: &Windows, planes: usize, x: *const T, out: *mut T) {
    // SAFETY: passed on.
    unsafe { over_planes(w, Task::Largest, planes, x, std::ptr::null(), out) }
}

/// Sends `g` back to the winner of each window of `x`.
///
/// # Safety
/// As for [`max_pool`].
pub(crate) unsafe fn max_pool_transposed<T: PoolScalar>(
    w: &Windows,
    planes: usize,
    x: *const T,
    g: *const T,
    out: *mut T,
) {
    // SAFETY: passed on.
    unsafe { over_planes(w, Task::LargestTransposed, planes, x, g, out) }
}

/// The mean of every window.
///
/// # Safety
/// As for [`max_pool`].
pub(crate) unsafe fn mean_pool<T: PoolScalar>(w: &Windows, planes: usize, x: *const T, out: *mut T) {
    // SAFETY: passed on.
    unsafe { over_planes(w, Task::Mean, planes, x, std::ptr::null(), out) }
}

/// The transpose of [`mean_pool`].
///
/// # Safety
/// As for [`max_pool`].
pub(crate) unsafe fn mean_pool_transposed<T: PoolScalar>(w: &Windows, planes: usize, g: *const T, out: *mut T) {
    // SAFETY: passed on.
    unsafe { over_planes(w, Task::MeanTransposed, planes, std::ptr::null(), g, out) }
}

/// The position of the winner of every window, in its plane.
///
/// # Safety
/// As for [`max_pool`].
pub(crate) unsafe fn winners<T: PoolScalar>(w: &Windows, planes: usize, x: *const T, out: *mut i64) {
    let (x, out) = (Shared(x.cast_mut()), Shared(out));
    w.over_planes(planes, |first, end| {
        for plane in first..end {
            for entry in 0..w.outputs() {
                // SAFETY: each task has its own planes.
                unsafe {
                    let winner = w.winner(x.get().add(plane * w.pixels()), entry / w.result[1], entry % w.result[1]);
                    *out.get().add(plane * w.outputs() + entry) = winner as i64;
                }
            }
        }
    });
}
