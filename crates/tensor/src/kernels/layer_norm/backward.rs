//! Gradients by rows, weight and bias.

use super::super::lanes::{Lanes, WIDTH, prefetch, sums};
use super::super::math::Float;
use super::super::rows::{BLOCK, Groups, Shared, add_halves, for_runs, in_groups};
use super::super::simd::{Kernel, dispatch};
use super::{Rows, STATISTICS, rows_per_run};

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
/// As for [`forward`](super::forward); `g` and the gradients have the sizes of what they belong to.
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
    fn run(mut self) {
        let (first, count) = (self.first, self.count);
        // SAFETY: the rows exist and belong to this task.
        unsafe { in_groups::<4>(&mut self, first, count) }
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

impl<T: Float> Groups for Backward<T> {
    #[inline(always)]
    unsafe fn rows<const N: usize>(&mut self, first: usize) {
        // SAFETY: by the caller's promise.
        unsafe { self.write(first, &self.find::<N>(first)) }
    }
}

impl<T: Float> Backward<T> {
    /// Finds mean h and mean(h ŷ) of each row.
    ///
    /// # Safety
    /// The `N` rows from `first` on exist.
    #[inline(always)]
    unsafe fn find<const N: usize>(&self, first: usize) -> [Line<T>; N] {
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

    /// Writes the gradients by rows and adds to those by weight and bias.
    ///
    /// # Safety
    /// The `N` rows from `first` on exist and belong to this task.
    #[inline(always)]
    unsafe fn write<const N: usize>(&self, first: usize, lines: &[Line<T>; N]) {
        let n = self.length;
        // SAFETY: by the caller's promise, and all indices are below n.
        unsafe {
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
