//! Layer normalisation of rows: ŷ = (x − mean) / √(var + ε), then times weight plus bias.
//!
//! The mean is kept in two parts, a first estimate m₀ from some of the row and the correction that a pass over all of it
//! finds, so that rows far from zero lose nothing: d = x − m₀ is exact where it matters, mean = m₀ + Σd/n and
//! var = Σd²/n − (Σd/n)².
//!
//! Rows are taken a few at a time, step by step: what one row waits for, the next rows fill.

use super::lanes::{Lanes, WIDTH};
use super::math::Float;
use super::rows::{BLOCK, Shared, TASK, add_halves, distances, for_runs, near_mean};
use super::simd::{Kernel, dispatch};

/// Numbers kept for each row: m₀, the shift c and the factor r of ŷ = (x − m₀) r + c.
pub(crate) const STATISTICS: usize = 3;

/// Most runs that rows are cut into; each has its own sums of the gradients by weight and bias.
const RUNS: usize = 64;

/// Rows taken step by step together.
const TOGETHER: usize = 8;

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
        let (n, end) = (self.length, self.first + self.count);
        let over_n = T::ONE / T::from_f64(n as f64);
        let mut first = self.first;
        while first < end {
            let count = TOGETHER.min(end - first);
            let (mut estimate, mut c, mut r) = ([T::ZERO; TOGETHER], [T::ZERO; TOGETHER], [T::ZERO; TOGETHER]);
            for row in 0..count {
                // SAFETY: the row exists.
                estimate[row] = near_mean(unsafe { self.x.slice((first + row) * n, n) });
            }
            for row in 0..count {
                // SAFETY: as above.
                let x = unsafe { self.x.slice((first + row) * n, n) };
                (c[row], r[row]) = distances(x, estimate[row]);
            }
            for row in 0..TOGETHER {
                let correction = c[row] * over_n;
                let variance = (r[row] * over_n - correction * correction).maximum(T::ZERO);
                r[row] = T::ONE / (variance + self.eps).sqrt();
                c[row] = -correction * r[row];
            }
            for row in 0..count {
                // SAFETY: the row belongs to this task.
                unsafe { self.write(first + row, [estimate[row], c[row], r[row]]) };
            }
            first += count;
        }
    }
}

impl<T: Float> Forward<T> {
    /// # Safety
    /// The row exists and belongs to this task.
    #[inline(always)]
    unsafe fn write(&self, row: usize, kept: [T; STATISTICS]) {
        let n = self.length;
        // SAFETY: by the caller's promise; weight and bias have one number per position of a row.
        let (x, out, weight, bias) = unsafe {
            self.statistics.slice_mut(row * STATISTICS, STATISTICS).copy_from_slice(&kept);
            (self.x.slice(row * n, n), self.out.slice_mut(row * n, n), self.weight.slice(0, n), self.bias.slice(0, n))
        };
        let [estimate, c, r] = kept;
        for i in 0..n {
            out[i] = (x[i] - estimate).mul_add(r, c).mul_add(weight[i], bias[i]);
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
            let mut lines = [Line { estimate: T::ZERO, c: T::ZERO, r: T::ZERO, a: T::ZERO, b: T::ZERO }; N];
            for (k, line) in lines.iter_mut().enumerate() {
                *line = self.line(first + k);
            }
            let mut i = 0;
            while i + WIDTH <= n {
                let weight = Lanes::load(self.weight.at(i));
                let (mut dw, mut db) = (Lanes::load(self.sums.at(i)), Lanes::load(self.sums.at(n + i)));
                for (k, line) in lines.iter().enumerate() {
                    let at = (first + k) * n + i;
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

    /// Finds mean h and mean(h ŷ) of a row.
    ///
    /// # Safety
    /// The row exists.
    #[inline(always)]
    unsafe fn line(&self, row: usize) -> Line<T> {
        let n = self.length;
        // SAFETY: by the caller's promise.
        let (x, g, weight, kept) = unsafe {
            let kept = self.statistics.slice(row * STATISTICS, STATISTICS);
            (self.x.slice(row * n, n), self.g.slice(row * n, n), self.weight.slice(0, n), kept)
        };
        let (estimate, c, r) = (kept[0], kept[1], kept[2]);
        let (mut plain, mut along) = (T::ZERO, T::ZERO);
        for start in (0..n).step_by(BLOCK) {
            let end = n.min(start + BLOCK);
            let (p, q) = products(&x[start..end], &g[start..end], &weight[start..end], estimate);
            (plain, along) = (plain + p, along + q);
        }
        // Σ h ŷ = r Σ h (x − m₀) + c Σ h.
        let scale = -r / T::from_f64(n as f64);
        Line { estimate, c, r, a: scale * along.mul_add(r, c * plain), b: scale * plain }
    }
}

/// Σ h and Σ h (x − estimate) for h = g · weight.
#[inline(always)]
fn products<T: Float>(x: &[T], g: &[T], weight: &[T], estimate: T) -> (T, T) {
    let zero = Lanes::splat(T::ZERO);
    let middle = Lanes::splat(estimate);
    let ((x, x_tail), (g, g_tail), (w, w_tail)) = (x.as_chunks(), g.as_chunks(), weight.as_chunks());
    let ((x, x_rest), (g, g_rest), (w, w_rest)) = (x.as_chunks::<2>(), g.as_chunks::<2>(), w.as_chunks::<2>());
    let (mut plain_a, mut plain_b, mut along_a, mut along_b) = (zero, zero, zero, zero);
    for ((x, g), w) in x.iter().zip(g).zip(w) {
        let (h, k) = (Lanes(g[0]).mul(Lanes(w[0])), Lanes(g[1]).mul(Lanes(w[1])));
        plain_a = plain_a.add(h);
        plain_b = plain_b.add(k);
        along_a = h.mul_add(Lanes(x[0]).sub(middle), along_a);
        along_b = k.mul_add(Lanes(x[1]).sub(middle), along_b);
    }
    for ((x, g), w) in x_rest.iter().zip(g_rest).zip(w_rest) {
        let h = Lanes(*g).mul(Lanes(*w));
        plain_a = plain_a.add(h);
        along_a = h.mul_add(Lanes(*x).sub(middle), along_a);
    }
    let (mut plain, mut along) = (T::ZERO, T::ZERO);
    for ((&x, &g), &w) in x_tail.iter().zip(g_tail).zip(w_tail) {
        let h = g * w;
        plain += h;
        along = h.mul_add(x - estimate, along);
    }
    (plain_a.add(plain_b).sum() + plain, along_a.add(along_b).sum() + along)
}
