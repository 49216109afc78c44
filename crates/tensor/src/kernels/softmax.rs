//! Softmax and log-softmax of rows, and of columns of row-major blocks.
//!
//! The largest entry is subtracted first, so that nothing overflows. A row of −∞ alone has no distribution: its softmax
//! is 0 and its log-softmax −∞. In single precision, probabilities less than 1.2e-38 of the largest count as 0.

use super::math::{Float, pick};
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

/// Most runs that rows are cut into.
const RUNS: usize = 64;
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
        // Where there is plenty, longer runs: memory is read ahead within a run only.
        let rows = rows_per_task(length, 4).max(outer.div_ceil(RUNS));
        for_runs(outer, rows, |first, count| body(Task::Rows(first, count)));
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
            Task::Strip { start, width } => match self.kind {
                Kind::Softmax => self.strip::<false>(start, width, length, inner),
                Kind::LogSoftmax => self.strip::<true>(start, width, length, inner),
            },
        }
    }
}

impl<T: Float> Forward<T> {
    #[inline(always)]
    fn strip<const LOG: bool>(&self, start: usize, width: usize, length: usize, inner: usize) {
        let (mut shift, mut total) = ([T::NEG_INFINITY; STRIP], [T::ZERO; STRIP]);
        // Slices of one length, known to be so: no checks in the loops.
        let (shift, total) = (&mut shift[..width], &mut total[..width]);
        for j in 0..length {
            // SAFETY: row j of the strip exists.
            let x = unsafe { self.x.slice(start + j * inner, width) };
            for c in 0..width {
                shift[c] = larger(x[c], shift[c]);
            }
        }
        for c in 0..width {
            shift[c] = shift_of(shift[c]);
        }
        for j in 0..length {
            let at = start + j * inner;
            // SAFETY: as above; the strip belongs to this task.
            let (x, out) = unsafe { (self.x.slice(at, width), self.out.slice_mut(at, width)) };
            for c in 0..width {
                let z = x[c] - shift[c];
                let e = exp_below(z);
                out[c] = if LOG { z } else { e };
                total[c] += e;
            }
        }
        for c in 0..width {
            let sum = positive_sum(total[c]);
            total[c] = if LOG { sum.ln() } else { T::ONE / sum };
        }
        for j in 0..length {
            // SAFETY: as above.
            let out = unsafe { self.out.slice_mut(start + j * inner, width) };
            for c in 0..width {
                out[c] = if LOG { out[c] - total[c] } else { out[c] * total[c] };
            }
        }
    }
}

/// e^x for x below zero or hardly above it; results below the normal numbers of single precision become 0.
#[inline(always)]
fn exp_below<T: Float>(x: T) -> T {
    if size_of::<T>() == 4 { T::from_f64(f64::from(exp_below_single(x.to_f64() as f32))) } else { x.exp() }
}

/// x = n ln 2 + r, e^r = 1 + r + r² q(r), and n is added to the exponent.
#[inline(always)]
fn exp_below_single(x: f32) -> f32 {
    const Q: [f32; 5] = [5.0e-1, 1.666_657_6e-1, 4.166_655_6e-2, 8.363_195e-3, 1.392_620_4e-3];
    // Adding it rounds to an integer, which then sits in the low bits.
    const ROUNDER: f32 = 12_582_912.0;
    const LN2_LOW: f32 = -1.904_654_2e-9;
    const SMALLEST: f32 = -87.0;
    let held = pick(x < SMALLEST, SMALLEST, x);
    let shifted = f32::mul_add(held, std::f32::consts::LOG2_E, ROUNDER);
    let n = shifted - ROUNDER;
    let r = f32::mul_add(-n, LN2_LOW, f32::mul_add(-n, std::f32::consts::LN_2, held));
    let mut q = Q[4];
    for coefficient in [Q[3], Q[2], Q[1], Q[0]] {
        q = f32::mul_add(q, r, coefficient);
    }
    let e = 1.0 + f32::mul_add(r * r, q, r);
    let e = e * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    pick(x < SMALLEST, 0.0, e)
}

#[inline(always)]
fn softmax_row<T: Float>(x: &[T], out: &mut [T]) {
    let shift = shift_of(largest(x));
    for (y, &x) in out.iter_mut().zip(x) {
        *y = exp_below(x - shift);
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
        *y = exp_below(x - shift);
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

/// Rows whose sums are taken before the first is written: what one waits for, the next ones fill.
const TOGETHER: usize = 8;

impl<T: Float> Kernel for Backward<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Layout { length, inner, .. } = self.layout;
        match (self.task, self.kind) {
            (Task::Rows(first, count), Kind::Softmax) => self.rows::<false>(first, first + count, length),
            (Task::Rows(first, count), Kind::LogSoftmax) => self.rows::<true>(first, first + count, length),
            (Task::Strip { start, width }, Kind::Softmax) => self.strip::<false>(start, width, length, inner),
            (Task::Strip { start, width }, Kind::LogSoftmax) => self.strip::<true>(start, width, length, inner),
        }
    }
}

impl<T: Float> Backward<T> {
    #[inline(always)]
    fn rows<const LOG: bool>(&self, mut first: usize, end: usize, length: usize) {
        while first < end {
            let count = TOGETHER.min(end - first);
            let mut totals = [T::ZERO; TOGETHER];
            for (row, total) in totals[..count].iter_mut().enumerate() {
                let start = (first + row) * length;
                // SAFETY: the row exists.
                let (y, g) = unsafe { (self.y.slice(start, length), self.g.slice(start, length)) };
                // SAFETY: sums ask for positions below the length alone.
                *total = sum(length, |i| unsafe { if LOG { get(g, i) } else { get(y, i) * get(g, i) } });
            }
            for (row, &total) in totals[..count].iter().enumerate() {
                // SAFETY: the row exists and belongs to this task.
                unsafe { self.write::<LOG>((first + row) * length, length, total) };
            }
            first += count;
        }
    }

    /// # Safety
    /// The row from `start` on exists and belongs to this task.
    #[inline(always)]
    unsafe fn write<const LOG: bool>(&self, start: usize, length: usize, total: T) {
        // SAFETY: by the caller's promise.
        let (y, g, out) =
            unsafe { (self.y.slice(start, length), self.g.slice(start, length), self.out.slice_mut(start, length)) };
        for i in 0..length {
            out[i] = if LOG { g[i] - exp_below(y[i]) * total } else { y[i] * (g[i] - total) };
        }
    }

    #[inline(always)]
    fn strip<const LOG: bool>(&self, start: usize, width: usize, length: usize, inner: usize) {
        let mut total = [T::ZERO; STRIP];
        let total = &mut total[..width];
        for j in 0..length {
            let at = start + j * inner;
            // SAFETY: row j of the strip exists.
            let (y, g) = unsafe { (self.y.slice(at, width), self.g.slice(at, width)) };
            for c in 0..width {
                total[c] += if LOG { g[c] } else { y[c] * g[c] };
            }
        }
        for j in 0..length {
            let at = start + j * inner;
            // SAFETY: as above; the strip belongs to this task.
            let (y, g, out) =
                unsafe { (self.y.slice(at, width), self.g.slice(at, width), self.out.slice_mut(at, width)) };
            for c in 0..width {
                out[c] = if LOG { g[c] - exp_below(y[c]) * total[c] } else { y[c] * (g[c] - total[c]) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_within_two_units() {
        for i in 0..870_000 {
            let x = i as f32 * -1e-4;
            let wanted = f64::from(x).exp();
            let unit = f64::from((wanted as f32).next_up()) - f64::from(wanted as f32);
            assert!((f64::from(exp_below(x)) - wanted).abs() <= 2.0 * unit, "x {x}");
        }
        assert_eq!((exp_below(f32::NEG_INFINITY), exp_below(-100.0f32), exp_below(0.0f32)), (0.0, 0.0, 1.0));
        assert!(exp_below(f32::NAN).is_nan());
    }
}
