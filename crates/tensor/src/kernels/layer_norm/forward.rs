//! Normalised rows and their statistics.

use super::super::lanes::{Lanes, WIDTH, prefetch, sums};
use super::super::math::Float;
use super::super::rows::{BLOCK, Groups, Shared, for_runs, in_groups, near_part};
use super::super::simd::{Kernel, dispatch};
use super::{Rows, STATISTICS, rows_per_run};

/// Writes the normalised rows and their statistics.
///
/// # Safety
/// `x` and `out` have rows · length elements, weight and bias `length`, `statistics` rows · 3; no overlap with outputs.
pub(crate) unsafe fn forward<T: Float>(input: Rows<T>, eps: f64, out: *mut T, statistics: *mut T) {
    let Rows { x, weight, bias, rows, length } = input;
    let (x, weight, bias) = (Shared::new(x.cast_mut()), Shared::new(weight.cast_mut()), Shared::new(bias.cast_mut()));
    let (out, statistics) = (Shared::new(out), Shared::new(statistics));
    let eps = T::from_f64(eps);
    for_runs(rows, rows_per_run(rows, length), |first, count| {
        dispatch(Forward { x, weight, bias, out, statistics, eps, first, count, length });
    });
}

struct Forward<T> {
    x: Shared<T>,
    weight: Shared<T>,
    bias: Shared<T>,
    out: Shared<T>,
    statistics: Shared<T>,
    eps: T,
    first: usize,
    count: usize,
    length: usize,
}

impl<T: Float> Kernel for Forward<T> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let (first, count) = (self.first, self.count);
        // SAFETY: the rows exist and belong to this task.
        unsafe { in_groups::<4>(&mut self, first, count) }
    }
}

impl<T: Float> Groups for Forward<T> {
    #[inline(always)]
    unsafe fn rows<const N: usize>(&mut self, first: usize) {
        // SAFETY: by the caller's promise.
        unsafe { self.write(first, &self.find::<N>(first)) }
    }
}

impl<T: Float> Forward<T> {
    /// Finds the statistics of rows.
    ///
    /// # Safety
    /// The `N` rows from `first` on exist and belong to this task.
    #[inline(always)]
    unsafe fn find<const N: usize>(&self, first: usize) -> [[T; STATISTICS]; N] {
        let n = self.length;
        let part = near_part(n);
        let over_part = T::ONE / T::from_f64(part.max(1) as f64);
        let over_n = T::ONE / T::from_f64(n as f64);
        let mut kept = [[T::ZERO; STATISTICS]; N];
        // SAFETY: by the caller's promise.
        unsafe {
            let estimate = self.distances::<N, false>(first, part, [T::ZERO; N])[0].map(|sum| sum * over_part);
            let [plain, square] = self.distances::<N, true>(first, n, estimate);
            for k in 0..N {
                let correction = plain[k] * over_n;
                let variance = (square[k] * over_n - correction * correction).maximum(T::ZERO);
                let r = T::ONE / (variance + self.eps).sqrt();
                kept[k] = [estimate[k], -correction * r, r];
                self.statistics.slice_mut((first + k) * STATISTICS, STATISTICS).copy_from_slice(&kept[k]);
            }
        }
        kept
    }

    /// Writes rows side by side: weight and bias are loaded once for all of them.
    ///
    /// # Safety
    /// As for [`find`](Self::find).
    #[inline(always)]
    unsafe fn write<const N: usize>(&self, first: usize, kept: &[[T; STATISTICS]; N]) {
        let n = self.length;
        let mut i = 0;
        // SAFETY: by the caller's promise; all positions are below n, and weight and bias have n numbers.
        unsafe {
            while i + WIDTH <= n {
                let (weight, bias) = (Lanes::load(self.weight.at(i)), Lanes::load(self.bias.at(i)));
                for (k, [estimate, c, r]) in kept.iter().enumerate() {
                    let at = (first + k) * n + i;
                    // The rows that follow these; also, a loop without it would be taken apart.
                    prefetch(self.x.at(at + N * n));
                    let y = Lanes::load(self.x.at(at)).sub(Lanes::splat(*estimate));
                    let y = y.mul_add(Lanes::splat(*r), Lanes::splat(*c));
                    y.mul_add(weight, bias).store(self.out.at(at));
                }
                i += WIDTH;
            }
            while i < n {
                for (k, [estimate, c, r]) in kept.iter().enumerate() {
                    let at = (first + k) * n + i;
                    let y = (*self.x.at(at) - *estimate).mul_add(*r, *c);
                    *self.out.at(at) = y.mul_add(*self.weight.at(i), *self.bias.at(i));
                }
                i += 1;
            }
        }
    }
    /// Σ(x − centre), and Σ(x − centre)² if asked for, over the first `length` elements of each row.
    ///
    /// # Safety
    /// The `N` rows from `first` on exist.
    #[inline(always)]
    unsafe fn distances<const N: usize, const SQUARES: bool>(
        &self,
        first: usize,
        length: usize,
        centre: [T; N],
    ) -> [[T; N]; 2] {
        let zero = Lanes::splat(T::ZERO);
        let (mut total, mut total_square) = ([T::ZERO; N], [T::ZERO; N]);
        let whole = length - length % WIDTH;
        // SAFETY: by the caller's promise, and all positions are below the length.
        unsafe {
            for start in (0..whole).step_by(BLOCK) {
                let (mut plain, mut square) = ([zero; N], [zero; N]);
                let (mut i, end) = (start, whole.min(start + BLOCK));
                while i < end {
                    for k in 0..N {
                        let x = Lanes::load(self.x.at((first + k) * self.length + i));
                        let d = x.sub(Lanes::splat(centre[k]));
                        plain[k] = plain[k].add(d);
                        if SQUARES {
                            square[k] = d.mul_add(d, square[k]);
                        }
                    }
                    i += WIDTH;
                }
                let (plain, square) = (sums(&plain), if SQUARES { sums(&square) } else { [T::ZERO; N] });
                for k in 0..N {
                    total[k] += plain[k];
                    total_square[k] += square[k];
                }
            }
            for i in whole..length {
                for k in 0..N {
                    let d = *self.x.at((first + k) * self.length + i) - centre[k];
                    total[k] += d;
                    total_square[k] = d.mul_add(d, total_square[k]);
                }
            }
        }
        [total, total_square]
    }
}
