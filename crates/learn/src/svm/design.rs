//! Rows of a linear model, dense or sparse, with a constant feature for the intercept.

use tove_tensor::kernels::simd::{Kernel, dispatch};

use crate::{Real, Result, Rows, with_real};

/// Row operations of the linear solvers. The weights are f64; the last one belongs to the constant feature.
pub(super) trait Design: Sync {
    /// Number of rows.
    fn len(&self) -> usize;
    /// Number of weights, including that of the constant feature.
    fn width(&self) -> usize;
    /// xᵢᵀw.
    fn dot(&self, row: usize, w: &[f64]) -> f64;
    /// w += a xᵢ.
    fn add(&self, row: usize, a: f64, w: &mut [f64]);
    /// ‖xᵢ‖².
    fn square(&self, row: usize) -> f64;
    /// Writes the row times `scale` to a dense block; returns false if rows are sparse.
    fn write(&self, row: usize, scale: f64, out: &mut [f64]) -> bool;
}

/// A dense matrix in row-major order.
pub(super) struct Dense<'a, T> {
    x: &'a [T],
    width: usize,
    constant: f64,
}

/// A sparse matrix (CSR).
pub(super) struct Sparse<'a, T> {
    indptr: &'a [usize],
    indices: &'a [u32],
    values: &'a [T],
    width: usize,
    constant: f64,
}

impl<T: Real> Design for Dense<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.x.len() / self.width
    }

    #[inline(always)]
    fn width(&self) -> usize {
        self.width + 1
    }

    #[inline(always)]
    fn dot(&self, row: usize, w: &[f64]) -> f64 {
        let x = &self.x[row * self.width..(row + 1) * self.width];
        let mut lanes = [0.0; 8];
        let (chunks, rest) = x.as_chunks::<8>();
        let (weights, last) = w[..self.width].as_chunks::<8>();
        for (x, w) in chunks.iter().zip(weights) {
            for lane in 0..8 {
                lanes[lane] = x[lane].f64().mul_add(w[lane], lanes[lane]);
            }
        }
        let rest: f64 = rest.iter().zip(last).map(|(x, w)| x.f64() * w).sum();
        let four = [lanes[0] + lanes[4], lanes[1] + lanes[5], lanes[2] + lanes[6], lanes[3] + lanes[7]];
        (four[0] + four[2]) + (four[1] + four[3]) + rest + self.constant * w[self.width]
    }

    #[inline(always)]
    fn add(&self, row: usize, a: f64, w: &mut [f64]) {
        let x = &self.x[row * self.width..(row + 1) * self.width];
        let (weights, last) = w.split_at_mut(self.width);
        for (w, x) in weights.iter_mut().zip(x) {
            *w = x.f64().mul_add(a, *w);
        }
        last[0] += a * self.constant;
    }

    #[inline(always)]
    fn square(&self, row: usize) -> f64 {
        let x = &self.x[row * self.width..(row + 1) * self.width];
        x.iter().map(|x| x.f64() * x.f64()).sum::<f64>() + self.constant * self.constant
    }

    #[inline(always)]
    fn write(&self, row: usize, scale: f64, out: &mut [f64]) -> bool {
        let x = &self.x[row * self.width..(row + 1) * self.width];
        out.iter_mut().zip(x).for_each(|(out, x)| *out = x.f64() * scale);
        out[self.width] = self.constant * scale;
        true
    }
}

impl<T: Real> Design for Sparse<'_, T> {
    #[inline(always)]
    fn len(&self) -> usize {
        self.indptr.len() - 1
    }

    #[inline(always)]
    fn width(&self) -> usize {
        self.width + 1
    }

    #[inline(always)]
    fn dot(&self, row: usize, w: &[f64]) -> f64 {
        let range = self.indptr[row]..self.indptr[row + 1];
        let pairs = self.indices[range.clone()].iter().zip(&self.values[range]);
        pairs.map(|(&column, x)| x.f64() * w[column as usize]).sum::<f64>() + self.constant * w[self.width]
    }

    #[inline(always)]
    fn add(&self, row: usize, a: f64, w: &mut [f64]) {
        let range = self.indptr[row]..self.indptr[row + 1];
        for (&column, x) in self.indices[range.clone()].iter().zip(&self.values[range]) {
            w[column as usize] += x.f64() * a;
        }
        w[self.width] += a * self.constant;
    }

    #[inline(always)]
    fn square(&self, row: usize) -> f64 {
        let range = self.indptr[row]..self.indptr[row + 1];
        self.values[range].iter().map(|x| x.f64() * x.f64()).sum::<f64>() + self.constant * self.constant
    }

    #[inline(always)]
    fn write(&self, _row: usize, _scale: f64, _out: &mut [f64]) -> bool {
        false
    }
}

/// A computation over rows of either kind.
pub(super) trait Task {
    /// The result.
    type Output;
    /// Runs the computation.
    fn run<D: Design>(self, design: &D) -> Self::Output;
}

/// Runs a computation over rows with a constant feature of this value (0 for none).
pub(super) fn with_design<W: Task>(rows: &Rows, constant: f64, task: W) -> Result<W::Output> {
    Ok(match rows {
        Rows::Dense(x) => with_real!(x.dtype(), T => {
            task.run(&Dense { x: x.as_slice::<T>()?, width: x.dims()[1].max(1), constant })
        }),
        Rows::Sparse(x) => with_real!(x.dtype(), T => {
            let values = x.values().as_slice::<T>()?;
            let (indptr, indices) = (x.indptr(), x.indices());
            task.run(&Sparse { indptr, indices, values, width: x.columns(), constant })
        }),
    })
}

/// Rows per task of a parallel pass.
const ROWS: usize = 2048;
/// Number of partial sums of a pass that adds rows.
const SUMS: usize = 16;

/// Xw.
pub(super) fn times<D: Design>(design: &D, w: &[f64]) -> Result<Vec<f64>> {
    let n = design.len();
    let parts = super::parallel(n.div_ceil(ROWS), |task| {
        Ok(dispatch(Times { design, w, rows: task * ROWS..n.min((task + 1) * ROWS) }))
    })?;
    Ok(parts.concat())
}

struct Times<'a, D> {
    design: &'a D,
    w: &'a [f64],
    rows: std::ops::Range<usize>,
}

impl<D: Design> Kernel for Times<'_, D> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.rows.len());
        for row in self.rows {
            out.push(self.design.dot(row, self.w));
        }
        out
    }
}

/// Xᵀr, skipping rows where r is 0. Partial sums only depend on the number of rows, so the result is reproducible.
pub(super) fn transposed_times<D: Design>(design: &D, r: &[f64]) -> Result<Vec<f64>> {
    let parts = super::parallel(SUMS, |task| Ok(dispatch(Sums { design, r, rows: share(design.len(), task) })))?;
    let mut sum = vec![0.0; design.width()];
    parts.iter().for_each(|part| sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part));
    Ok(sum)
}

/// The range of rows of a partial sum.
pub(super) fn share(n: usize, task: usize) -> std::ops::Range<usize> {
    task * n / SUMS..(task + 1) * n / SUMS
}

/// Number of partial sums.
pub(super) const SHARES: usize = SUMS;

struct Sums<'a, D> {
    design: &'a D,
    r: &'a [f64],
    rows: std::ops::Range<usize>,
}

impl<D: Design> Kernel for Sums<'_, D> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run(self) -> Vec<f64> {
        let mut sum = vec![0.0; self.design.width()];
        for row in self.rows {
            if self.r[row] != 0.0 {
                self.design.add(row, self.r[row], &mut sum);
            }
        }
        sum
    }
}
