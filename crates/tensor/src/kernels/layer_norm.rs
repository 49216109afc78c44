//! Layer normalisation of rows: ŷ = (x − mean) / √(var + ε), then times weight plus bias.
//!
//! The mean is kept in two parts, a first estimate m₀ from some of the row and the correction that a pass over all of it
//! finds, so that rows far from zero lose nothing: d = x − m₀ is exact where it matters, mean = m₀ + Σd/n and
//! var = Σd²/n − (Σd/n)².
//!
//! Rows are taken four at a time, side by side: what one row waits for, the others fill.

use super::lanes::{Lanes, WIDTH, prefetch, sums};
use super::math::Float;
use super::rows::{BLOCK, Shared, TASK, add_halves, for_runs, near_part};
use super::simd::{Kernel, dispatch};

/// Numbers kept for each row: m₀, the shift c and the factor r of ŷ = (x − m₀) r + c.
pub(crate) const STATISTICS: usize = 3;

/// Most runs that rows are cut into; each has its own sums of the gradients by weight and bias.
const RUNS: usize = 64;

fn rows_per_run(rows: usize, length: usize) -> usize {
    (TASK / 2).div_ceil(length.max(1)).max(rows.div_ceil(RUNS))
}

/// The rows and what belongs to them.
#[derive(Clone, Copy)]
pub(crate) struct Rows<T> {
    pub(crate) x: *const T,
    pub(crate) weight: *const T,
    pub(crate) bias: *const T,
    pub(crate) rows: usize,
    pub(crate) length: usize,
}

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
    fn run(self) {
        let (end, mut row) = (self.first + self.count, self.first);
        // SAFETY: the rows exist and belong to this task.
        unsafe {
            while row + 4 <= end {
                self.rows::<4>(row);
                row += 4;
            }
            while row < end {
                self.rows::<1>(row);
                row += 1;
            }
        }
    }
}

impl<T: Float> Forward<T> {
    /// # Safety
    /// The `N` rows from `first` on exist and belong to this task.
    #[inline(always)]
    unsafe fn rows<const N: usize>(&self, first: usize) {
        let n = self.length;
        let part = near_part(n);
        let over_part = T::ONE / T::from_f64(part.max(1) as f64);
        let over_n = T::ONE / T::from_f64(n as f64);
        // SAFETY: by the caller's promise.
        unsafe {
            let estimate = self.distances::<N, false>(first, part, [T::ZERO; N])[0].map(|sum| sum * over_part);
            let [plain, square] = self.distances::<N, true>(first, n, estimate);
            let mut kept = [[T::ZERO; STATISTICS]; N];
            for k in 0..N {
                let correction = plain[k] * over_n;
                let variance = (square[k] * over_n - correction * correction).maximum(T::ZERO);
                let r = T::ONE / (variance + self.eps).sqrt();
                kept[k] = [estimate[k], -correction * r, r];
            }
            self.write(first, kept);
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

    /// Writes rows side by side: weight and bias are loaded once for all of them.
    ///
    /// # Safety
    /// The `N` rows from `first` on exist and belong to this task.
    #[inline(always)]
    unsafe fn write<const N: usize>(&self, first: usize, kept: [[T; STATISTICS]; N]) {
        let n = self.length;
        let mut i = 0;
        // SAFETY: by the caller's promise; all positions are below n, and weight and bias have n numbers.
        unsafe {
            for (k, kept) in kept.iter().enumerate() {
                self.statistics.slice_mut((first + k) * STATISTICS, STATISTICS).copy_from_slice(kept);
            }
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
}

/// Where the gradients go.
#[derive(Clone, Copy)]
pub(crate) struct Gradients<T> {
    pub(crate) x: *mut T,
    pub(crate) weight: *mut T,
    pub(crate) bias: *mut T,
}

/// Writes the gradients by rows, weight and bias: with h = g · weight,
/// ∂x = r (h − mean h − ŷ mean(h ŷ)), ∂weight = Σ g ŷ, ∂bias = Σ g.
///
/// # Safety
/// As for [`forward`]; `g` and the gradients have the sizes of what they belong to.
pub(crate) unsafe fn backward<T: Float>(input: Rows<T>, statistics: *const T, g: *const T, to: Gradients<T>) {
    let Rows { x, weight, rows, length, .. } = input;
    let (x, weight) = (Shared::new(x.cast_mut()), Shared::new(weight.cast_mut()));
    let (statistics, g, dx) = (Shared::new(statistics.cast_mut()), Shared::new(g.cast_mut()), Shared::new(to.x));
    let per_run = rows_per_run(rows, length);
    let runs = rows.div_ceil(per_run).max(1);
    let mut partial = vec![T::ZERO; runs * 2 * length];
    let sums = Shared::new(partial.as_mut_ptr());
    for_runs(rows, per_run, |first, count| {
        let sums = Shared::new(sums.at(first / per_run * 2 * length));
        dispatch(Backward { x, weight, statistics, g, dx, sums, first, count, length });
    });
    add_halves(&mut partial, runs, 2 * length);
    // SAFETY: both gradients have `length` elements.
    unsafe {
        std::ptr::copy_nonoverlapping(partial.as_ptr(), to.weight, length);
        std::ptr::copy_nonoverlapping(partial.as_ptr().add(length), to.bias, length);
    }
}

struct Backward<T> {
    x: Shared<T>,
    weight: Shared<T>,
    statistics: Shared<T>,
    g: Shared<T>,
    dx: Shared<T>,
    /// This run's sums by weight, then by bias.
    sums: Shared<T>,
    first: usize,
    count: usize,
    length: usize,
}

impl<T: Float> Kernel for Backward<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (end, mut row) = (self.first + self.count, self.first);
        // SAFETY: the rows exist and belong to this task.
        unsafe {
            while row + 4 <= end {
                self.rows::<4>(row);
                row += 4;
            }
            while row < end {
                self.rows::<1>(row);
                row += 1;
            }
        }
    }
}

/// What a row's gradient is made of: ŷ = (x − m₀) r + c and ∂x = h r + ŷ a + b.
#[derive(Clone, Copy)]
struct Line<T> {
    estimate: T,
    c: T,
    r: T,
    a: T,
    b: T,
}

impl<T: Float> Backward<T> {
    /// # Safety
    /// The `N` rows from `first` on exist and belong to this task.
    #[inline(always)]
    unsafe fn rows<const N: usize>(&self, first: usize) {
        let n = self.length;
        // SAFETY: by the caller's promise, and all indices are below n.
        unsafe {
            let lines = self.lines::<N>(first);
            let mut i = 0;
            while i + WIDTH <= n {
                let weight = Lanes::load(self.weight.at(i));
                let (mut dw, mut db) = (Lanes::load(self.sums.at(i)), Lanes::load(self.sums.at(n + i)));
                for (k, line) in lines.iter().enumerate() {
                    let at = (first + k) * n + i;
                    prefetch(self.x.at(at + N * n));
                    prefetch(self.g.at(at + N * n));
                    let (x, g) = (Lanes::load(self.x.at(at)), Lanes::load(self.g.at(at)));
                    let r = Lanes::splat(line.r);
                    let y = x.sub(Lanes::splat(line.estimate)).mul_add(r, Lanes::splat(line.c));
                    let rest = y.mul_add(Lanes::splat(line.a), Lanes::splat(line.b));
                    g.mul(weight).mul_add(r, rest).store(self.dx.at(at));
                    dw = g.mul_add(y, dw);
                    db = db.add(g);
                }
                dw.store(self.sums.at(i));
                db.store(self.sums.at(n + i));
                i += WIDTH;
            }
            while i < n {
                for (k, line) in lines.iter().enumerate() {
                    let at = (first + k) * n + i;
                    let (x, g) = (*self.x.at(at), *self.g.at(at));
                    let y = (x - line.estimate).mul_add(line.r, line.c);
                    *self.dx.at(at) = (g * *self.weight.at(i)).mul_add(line.r, y.mul_add(line.a, line.b));
                    *self.sums.at(i) = g.mul_add(y, *self.sums.at(i));
                    *self.sums.at(n + i) += g;
                }
                i += 1;
            }
        }
    }

    /// Finds mean h and mean(h ŷ) of each row.
    ///
    /// # Safety
    /// The `N` rows from `first` on exist.
    #[inline(always)]
    unsafe fn lines<const N: usize>(&self, first: usize) -> [Line<T>; N] {
        let n = self.length;
        let mut lines = [Line { estimate: T::ZERO, c: T::ZERO, r: T::ZERO, a: T::ZERO, b: T::ZERO }; N];
        for (k, line) in lines.iter_mut().enumerate() {
            // SAFETY: the row exists.
            let kept = unsafe { self.statistics.slice((first + k) * STATISTICS, STATISTICS) };
            (line.estimate, line.c, line.r) = (kept[0], kept[1], kept[2]);
        }
        // SAFETY: by the caller's promise.
        let [plain, along] = unsafe { self.products(first, &lines) };
        let over_n = T::ONE / T::from_f64(n as f64);
        for k in 0..N {
            // Σ h ŷ = r Σ h (x − m₀) + c Σ h.
            let Line { c, r, .. } = lines[k];
            let scale = -r * over_n;
            (lines[k].a, lines[k].b) = (scale * along[k].mul_add(r, c * plain[k]), scale * plain[k]);
        }
        lines
    }

    /// Σ h and Σ h (x − m₀) of each row, for h = g · weight.
    ///
    /// # Safety
    /// The `N` rows from `first` on exist.
    #[inline(always)]
    unsafe fn products<const N: usize>(&self, first: usize, lines: &[Line<T>; N]) -> [[T; N]; 2] {
        let n = self.length;
        let zero = Lanes::splat(T::ZERO);
        let (mut total, mut total_along) = ([T::ZERO; N], [T::ZERO; N]);
        let whole = n - n % WIDTH;
        // SAFETY: by the caller's promise, and all positions are below the length.
        unsafe {
            for start in (0..whole).step_by(BLOCK) {
                let (mut plain, mut along) = ([zero; N], [zero; N]);
                let (mut i, end) = (start, whole.min(start + BLOCK));
                while i < end {
                    let weight = Lanes::load(self.weight.at(i));
                    for k in 0..N {
                        let at = (first + k) * n + i;
                        let h = Lanes::load(self.g.at(at)).mul(weight);
                        plain[k] = plain[k].add(h);
                        let d = Lanes::load(self.x.at(at)).sub(Lanes::splat(lines[k].estimate));
                        along[k] = h.mul_add(d, along[k]);
                    }
                    i += WIDTH;
                }
                let (plain, along) = (sums(&plain), sums(&along));
                for k in 0..N {
                    total[k] += plain[k];
                    total_along[k] += along[k];
                }
            }
            for i in whole..n {
                for k in 0..N {
                    let at = (first + k) * n + i;
                    let h = *self.g.at(at) * *self.weight.at(i);
                    total[k] += h;
                    total_along[k] = h.mul_add(*self.x.at(at) - lines[k].estimate, total_along[k]);
                }
            }
        }
        [total, total_along]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_rows_far_from_zero() {
        for length in (1..70).chain([255, 256, 1000, 5000]) {
            const ROWS: usize = 6;
            // Steps of 1/64 are exact next to 10000 in single precision.
            let x: Vec<f32> = (0..ROWS * length).map(|i| 1e4 + (i * 37 % 101) as f32 / 64.0).collect();
            let (weight, bias) = (vec![1.0; length], vec![0.0; length]);
            let (mut out, mut kept) = (vec![0.0f32; x.len()], vec![0.0f32; ROWS * STATISTICS]);
            let rows = Rows { x: x.as_ptr(), weight: weight.as_ptr(), bias: bias.as_ptr(), rows: ROWS, length };
            // SAFETY: everything has the size that the rows say.
            unsafe { forward(rows, 1e-5, out.as_mut_ptr(), kept.as_mut_ptr()) };
            for (row, kept) in x.chunks(length).zip(kept.chunks(STATISTICS)) {
                let n = length as f64;
                let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
                let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
                let [estimate, c, r] = [0, 1, 2].map(|i| f64::from(kept[i]));
                assert!((estimate - c / r - mean).abs() < 1e-6, "length {length}: mean");
                let found = 1.0 / (r * r) - 1e-5;
                assert!(
                    (found - variance).abs() <= 4e-6 * (variance + 1e-5),
                    "length {length}: {found} is not {variance}"
                );
            }
        }
    }
}
