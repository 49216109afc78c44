//! Softmax cross-entropy of rows of logits: ln Σ e^x − x_t, without the probabilities being stored.

use super::math::Float;
use super::rows::{Shared, for_runs, get, largest, rows_per_task, sum};
use super::simd::{Kernel, dispatch};
use super::softmax::{positive_sum, shift_of};

/// What each row is compared with.
#[derive(Clone, Copy)]
pub(crate) enum Target<'a, T> {
    /// A class number, checked before.
    Class(&'a [i64]),
    /// A distribution, in rows like the logits.
    Soft(&'a [T]),
}

/// Rows and settings.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a, T> {
    pub(crate) x: &'a [T],
    pub(crate) target: Target<'a, T>,
    pub(crate) classes: usize,
    /// Share of the target that is spread evenly over the classes.
    pub(crate) smoothing: f64,
    pub(crate) ignored: Option<i64>,
}

impl<T: Float> Rows<'_, T> {
    #[inline(always)]
    fn counts(&self, row: usize) -> bool {
        match self.target {
            Target::Class(classes) => Some(classes[row]) != self.ignored,
            Target::Soft(_) => true,
        }
    }
}

/// Writes each row's loss, and for the backward pass its shift m and ln Σ e^(x − m), kept apart to lose nothing.
pub(crate) fn forward<T: Float>(rows: Rows<'_, T>, loss: &mut [T], log_sum: &mut [T]) {
    let count = loss.len();
    assert!(log_sum.len() == 2 * count);
    let (loss, log_sum) = (Shared::new(loss.as_mut_ptr()), Shared::new(log_sum.as_mut_ptr()));
    for_runs(count, rows_per_task(rows.classes, 4), |first, count| {
        dispatch(Forward { rows, loss, log_sum, first, count });
    });
}

struct Forward<'a, T> {
    rows: Rows<'a, T>,
    loss: Shared<T>,
    log_sum: Shared<T>,
    first: usize,
    count: usize,
}

impl<T: Float> Kernel for Forward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.rows.classes;
        let smoothing = T::from_f64(self.rows.smoothing);
        let share = T::from_f64(self.rows.smoothing / n as f64);
        let keep = T::ONE - smoothing;
        for row in self.first..self.first + self.count {
            let x = &self.rows.x[row * n..(row + 1) * n];
            let shift = shift_of(largest(x));
            // SAFETY: sums ask for positions below the length alone.
            let log = positive_sum(sum(n, |i| (unsafe { get(x, i) } - shift).exp())).ln();
            let spread = if self.rows.smoothing == 0.0 { T::ZERO } else { share * sum(n, |i| log - (x[i] - shift)) };
            let loss = match self.rows.target {
                Target::Class(classes) if self.rows.counts(row) => {
                    keep * (log - (x[classes[row] as usize] - shift)) + spread
                }
                Target::Class(_) => T::ZERO,
                Target::Soft(target) => {
                    let t = &target[row * n..(row + 1) * n];
                    // A class of probability 0 adds nothing, even at a logit of −∞.
                    keep * sum(n, |i| T::select(t[i] == T::ZERO, T::ZERO, t[i] * (log - (x[i] - shift)))) + spread
                }
            };
            // SAFETY: the row belongs to this task.
            unsafe {
                *self.loss.at(row) = loss;
                (*self.log_sum.at(2 * row), *self.log_sum.at(2 * row + 1)) = (shift, log);
            }
        }
    }
}

/// Writes the gradient by the logits, given that of each row's loss: g (softmax(x) Σt − t).
pub(crate) fn backward<T: Float>(rows: Rows<'_, T>, log_sum: &[T], grad: &(dyn Fn(usize) -> T + Sync), out: &mut [T]) {
    let count = log_sum.len() / 2;
    assert!(Some(out.len()) == count.checked_mul(rows.classes));
    let out = Shared::new(out.as_mut_ptr());
    for_runs(count, rows_per_task(rows.classes, 4), |first, count| {
        dispatch(Backward { rows, log_sum, grad, out, first, count });
    });
}

struct Backward<'a, T> {
    rows: Rows<'a, T>,
    log_sum: &'a [T],
    grad: &'a (dyn Fn(usize) -> T + Sync),
    out: Shared<T>,
    first: usize,
    count: usize,
}

impl<T: Float> Kernel for Backward<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let n = self.rows.classes;
        let keep = T::ONE - T::from_f64(self.rows.smoothing);
        let share = T::from_f64(self.rows.smoothing / n as f64);
        for row in self.first..self.first + self.count {
            // SAFETY: the row belongs to this task.
            let out = unsafe { self.out.slice_mut(row * n, n) };
            if !self.rows.counts(row) {
                out.fill(T::ZERO);
                continue;
            }
            let x = &self.rows.x[row * n..(row + 1) * n];
            let (g, shift, log) = ((self.grad)(row), self.log_sum[2 * row], self.log_sum[2 * row + 1]);
            match self.rows.target {
                Target::Class(classes) => {
                    for i in 0..n {
                        out[i] = g * (((x[i] - shift) - log).exp() - share);
                    }
                    out[classes[row] as usize] -= g * keep;
                }
                Target::Soft(target) => {
                    let t = &target[row * n..(row + 1) * n];
                    let total = keep * sum(n, |i| t[i]) + share * T::from_f64(n as f64);
                    for i in 0..n {
                        out[i] = g * (total * ((x[i] - shift) - log).exp() - keep * t[i] - share);
                    }
                }
            }
        }
    }
}
