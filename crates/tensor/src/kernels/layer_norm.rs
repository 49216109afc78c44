//! Layer normalisation of rows: ŷ = (x − mean) / √(var + ε), then times weight plus bias.
//!
//! The mean is kept in two parts, a rounded first estimate and the correction that a second pass finds, so that rows far
//! from zero lose nothing: with m₀ the estimate, d = x − m₀ is exact where it matters, mean = m₀ + Σd/n and
//! var = Σd²/n − (Σd/n)².

use super::math::Float;
use super::rows::{Shared, TASK, add_halves, for_runs, get, sum, sums};
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
        let n = self.length;
        let over_n = T::ONE / T::from_f64(n as f64);
        // SAFETY: both have one number per position of a row.
        let (weight, bias) = unsafe { (self.weight.slice(0, n), self.bias.slice(0, n)) };
        for row in self.first..self.first + self.count {
            // SAFETY: the row exists and belongs to this task.
            let (x, out, kept) = unsafe {
                let kept = self.statistics.slice_mut(row * STATISTICS, STATISTICS);
                (self.x.slice(row * n, n), self.out.slice_mut(row * n, n), kept)
            };
            // SAFETY: sums ask for positions below the length alone.
            let estimate = sum(n, |i| unsafe { get(x, i) }) * over_n;
            let (d, square) = sums(n, |i| {
                // SAFETY: as above.
                let d = unsafe { get(x, i) } - estimate;
                (d, d * d)
            });
            let correction = d * over_n;
            let variance = (square * over_n - correction * correction).maximum(T::ZERO);
            let r = T::ONE / (variance + self.eps).sqrt();
            let c = -correction * r;
            (kept[0], kept[1], kept[2]) = (estimate, c, r);
            for i in 0..n {
                out[i] = (x[i] - estimate).mul_add(r, c).mul_add(weight[i], bias[i]);
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
        let n = self.length;
        let over_n = T::ONE / T::from_f64(n as f64);
        // SAFETY: one number per position of a row; the sums are this task's own.
        let (weight, dw, db) =
            unsafe { (self.weight.slice(0, n), self.sums.slice_mut(0, n), self.sums.slice_mut(n, n)) };
        for row in self.first..self.first + self.count {
            // SAFETY: the row exists and belongs to this task.
            let (x, g, dx, kept) = unsafe {
                let kept = self.statistics.slice(row * STATISTICS, STATISTICS);
                (self.x.slice(row * n, n), self.g.slice(row * n, n), self.dx.slice_mut(row * n, n), kept)
            };
            let (estimate, c, r) = (kept[0], kept[1], kept[2]);
            let (plain, along) = sums(n, |i| {
                // SAFETY: sums ask for positions below the length alone.
                let (x, g, weight) = unsafe { (get(x, i), get(g, i), get(weight, i)) };
                let h = g * weight;
                (h, h * (x - estimate).mul_add(r, c))
            });
            let (plain, along) = (plain * over_n, along * over_n);
            for i in 0..n {
                let y = (x[i] - estimate).mul_add(r, c);
                let h = g[i] * weight[i];
                dx[i] = r * (h - y.mul_add(along, plain));
                dw[i] = g[i].mul_add(y, dw[i]);
                db[i] += g[i];
            }
        }
    }
}
