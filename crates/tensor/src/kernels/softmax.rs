//! Softmax and log-softmax of rows, and of columns of row-major blocks.
//!
//! The largest entry is subtracted first, so that nothing overflows. A row of −∞ alone has no distribution: its softmax
//! is 0 and its log-softmax −∞.

use super::math::Float;
use super::rows::{Shared, for_runs, get, larger, largest, rows_per_task, sum};
use super::simd::{Kernel, dispatch};

/// What is computed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// e^x / Σ e^x.
    Softmax,
    /// x − ln Σ e^x.
    LogSoftmax,
}

/// A row-major tensor seen as (outer, length, inner), with the middle axis to be normalised.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) outer: usize,
    pub(crate) length: usize,
    pub(crate) inner: usize,
}

/// Columns handled at once when the axis is not the last.
const STRIP: usize = 64;

/// What to subtract before exponentials: the largest entry, or nothing when all are −∞.
#[inline(always)]
pub(crate) fn shift_of<T: Float>(largest: T) -> T {
    T::select(largest == T::NEG_INFINITY, T::ZERO, largest)
}

/// A sum of exponentials made fit for division and logarithm: that of a row of −∞ counts as 1.
#[inline(always)]
pub(crate) fn positive_sum<T: Float>(sum: T) -> T {
    T::select(sum == T::ZERO, T::ONE, sum)
}

/// Writes the value for row-major `x`.
///
/// # Safety
/// `x` and `out` have the layout's size and do not overlap.
pub(crate) unsafe fn forward<T: Float>(kind: Kind, x: *const T, layout: Layout, out: *mut T) {
    let (x, out) = (Shared::new(x.cast_mut()), Shared::new(out));
    run(layout, |task| dispatch(Forward { kind, x, out, layout, task }));
}

/// Writes the gradient, given the value `y` and its gradient `g`.
///
/// # Safety
/// All have the layout's size, and `out` overlaps none of the others.
pub(crate) unsafe fn backward<T: Float>(kind: Kind, y: *const T, g: *const T, layout: Layout, out: *mut T) {
    let (y, g, out) = (Shared::new(y.cast_mut()), Shared::new(g.cast_mut()), Shared::new(out));
    run(layout, |task| dispatch(Backward { kind, y, g, out, layout, task }));
}

/// A run of rows, or a strip of columns of one outer position.
#[derive(Clone, Copy)]
enum Task {
    Rows(usize, usize),
    Strip { start: usize, width: usize },
}

fn run(layout: Layout, body: impl Fn(Task) + Sync) {
    let Layout { outer, length, inner } = layout;
    if length == 0 {
        return;
    }
    if inner == 1 {
        for_runs(outer, rows_per_task(length, 4), |first, count| body(Task::Rows(first, count)));
        return;
    }
    let strips = inner.div_ceil(STRIP);
    for_runs(outer * strips, rows_per_task(length * STRIP.min(inner.max(1)), 4), |first, count| {
        for index in first..first + count {
            let column = index % strips * STRIP;
            let width = STRIP.min(inner - column);
            body(Task::Strip { start: index / strips * length * inner + column, width });
        }
    });
}

struct Forward<T> {
    kind: Kind,
    x: Shared<T>,
    out: Shared<T>,
    layout: Layout,
    task: Task,
}

impl<T: Float> Kernel for Forward<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Layout { length, inner, .. } = self.layout;
        match self.task {
            Task::Rows(first, count) => {
                for row in first..first + count {
                    // SAFETY: the row exists and belongs to this task.
                    let (x, out) =
                        unsafe { (self.x.slice(row * length, length), self.out.slice_mut(row * length, length)) };
                    match self.kind {
                        Kind::Softmax => softmax_row(x, out),
                        Kind::LogSoftmax => log_softmax_row(x, out),
                    }
                }
            }
            Task::Strip { start, width } => {
                let (mut shift, mut total) = ([T::NEG_INFINITY; STRIP], [T::ZERO; STRIP]);
                for j in 0..length {
                    // SAFETY: row j of the strip exists.
                    let x = unsafe { self.x.slice(start + j * inner, width) };
                    shift.iter_mut().zip(x).for_each(|(m, &x)| *m = larger(x, *m));
                }
                shift.iter_mut().for_each(|m| *m = shift_of(*m));
                for j in 0..length {
                    // SAFETY: as above; the strip belongs to this task.
                    let (x, out) = unsafe {
                        (self.x.slice(start + j * inner, width), self.out.slice_mut(start + j * inner, width))
                    };
                    for c in 0..width {
                        let z = x[c] - shift[c];
                        let e = z.exp();
                        out[c] = if self.kind == Kind::Softmax { e } else { z };
                        total[c] += e;
                    }
                }
                for t in &mut total {
                    *t = positive_sum(*t);
                    *t = if self.kind == Kind::Softmax { T::ONE / *t } else { t.ln() };
                }
                for j in 0..length {
                    // SAFETY: as above.
                    let out = unsafe { self.out.slice_mut(start + j * inner, width) };
                    for c in 0..width {
                        out[c] = if self.kind == Kind::Softmax { out[c] * total[c] } else { out[c] - total[c] };
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn softmax_row<T: Float>(x: &[T], out: &mut [T]) {
    let shift = shift_of(largest(x));
    for (y, &x) in out.iter_mut().zip(x) {
        *y = (x - shift).exp();
    }
    // SAFETY: sums ask for positions below the length alone.
    let scale = T::ONE / positive_sum(sum(out.len(), |i| unsafe { get(out, i) }));
    for y in out {
        *y *= scale;
    }
}

#[inline(always)]
fn log_softmax_row<T: Float>(x: &[T], out: &mut [T]) {
    let shift = shift_of(largest(x));
    for (y, &x) in out.iter_mut().zip(x) {
        *y = (x - shift).exp();
    }
    // SAFETY: sums ask for positions below the length alone.
    let log = positive_sum(sum(out.len(), |i| unsafe { get(out, i) })).ln();
    for (y, &x) in out.iter_mut().zip(x) {
        *y = (x - shift) - log;
    }
}

struct Backward<T> {
    kind: Kind,
    y: Shared<T>,
    g: Shared<T>,
    out: Shared<T>,
    layout: Layout,
    task: Task,
}

impl<T: Float> Kernel for Backward<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Layout { length, inner, .. } = self.layout;
        match self.task {
            Task::Rows(first, count) => {
                for row in first..first + count {
                    let start = row * length;
                    // SAFETY: the row exists and belongs to this task.
                    let (y, g, out) = unsafe {
                        (self.y.slice(start, length), self.g.slice(start, length), self.out.slice_mut(start, length))
                    };
                    match self.kind {
                        Kind::Softmax => {
                            // SAFETY: sums ask for positions below the length alone.
                            let mean = sum(length, |i| unsafe { get(y, i) * get(g, i) });
                            for i in 0..length {
                                out[i] = y[i] * (g[i] - mean);
                            }
                        }
                        Kind::LogSoftmax => {
                            // SAFETY: sums ask for positions below the length alone.
                            let total = sum(length, |i| unsafe { get(g, i) });
                            for i in 0..length {
                                out[i] = g[i] - y[i].exp() * total;
                            }
                        }
                    }
                }
            }
            Task::Strip { start, width } => self.strip(start, width, length, inner),
        }
    }
}

impl<T: Float> Backward<T> {
    #[inline(always)]
    fn strip(self, start: usize, width: usize, length: usize, inner: usize) {
        let mut total = [T::ZERO; STRIP];
        for j in 0..length {
            let at = start + j * inner;
            // SAFETY: row j of the strip exists.
            let (y, g) = unsafe { (self.y.slice(at, width), self.g.slice(at, width)) };
            for c in 0..width {
                total[c] += if self.kind == Kind::Softmax { y[c] * g[c] } else { g[c] };
            }
        }
        for j in 0..length {
            let at = start + j * inner;
            // SAFETY: as above; the strip belongs to this task.
            let (y, g, out) =
                unsafe { (self.y.slice(at, width), self.g.slice(at, width), self.out.slice_mut(at, width)) };
            for c in 0..width {
                out[c] = match self.kind {
                    Kind::Softmax => y[c] * (g[c] - total[c]),
                    Kind::LogSoftmax => g[c] - y[c].exp() * total[c],
                };
            }
        }
    }
}
