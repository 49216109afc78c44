//! X v and Xᵀ u in double precision for dense and sparse features of either type. X is centered and weighted
//! implicitly: √W (X − 1 x̄ᵀ).

use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;

use super::moments::Data;
use crate::{Real, Result, Rows, with_real};

/// Rows per task.
const ROWS: usize = 2048;
const LANES: usize = 8;

/// √W (X − 1 x̄ᵀ) as a linear operator.
pub(super) struct Operator<'a> {
    x: &'a Rows,
    mean: Vec<f64>,
    roots: Option<Vec<f64>>,
}

impl<'a> Operator<'a> {
    /// X itself, neither centered nor weighted.
    pub(super) fn plain(x: &'a Rows) -> Operator<'a> {
        Operator { x, mean: Vec::new(), roots: None }
    }

    /// X minus its weighted means if `centered`, with rows multiplied by √w.
    pub(super) fn weighted(data: &'a Data, centered: bool) -> Result<Operator<'a>> {
        let mut operator = Operator::plain(data.x);
        if centered {
            let weights = data.weights_or_ones();
            let total = data.total_weight();
            operator.mean = operator.transposed(&weights)?.iter().map(|sum| sum / total).collect();
        }
        operator.roots = data.weights.as_ref().map(|weights| weights.iter().map(|w| w.sqrt()).collect());
        Ok(operator)
    }

    pub(super) fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The product with v (d).
    pub(super) fn times(&self, v: &[f64]) -> Result<Vec<f64>> {
        let mut out = vec![0.0; self.x.len()];
        let offset: f64 = self.mean.iter().zip(v).map(|(mean, v)| mean * v).sum();
        let parts: Vec<Mutex<&mut [f64]>> = out.chunks_mut(ROWS).map(Mutex::new).collect();
        with_real!(self.x.dtype(), T => {
            let source = Source::<T>::of(self.x)?;
            parallel_for(parts.len(), &|task| {
                let mut out = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
                source.times(task * ROWS, v, &mut out);
                for (index, out) in out.iter_mut().enumerate() {
                    let root = self.roots.as_ref().map_or(1.0, |roots| roots[task * ROWS + index]);
                    *out = (*out - offset) * root;
                }
            });
        });
        drop(parts);
        Ok(out)
    }

    /// The product of the transpose with u (n).
    pub(super) fn transposed(&self, u: &[f64]) -> Result<Vec<f64>> {
        let d = self.x.width();
        let tasks = u.len().div_ceil(ROWS);
        // A few large groups of tasks, so that the partial sums take little memory for many columns.
        let group = tasks.div_ceil(16).max(1);
        let weighted: Vec<f64>;
        let u = match &self.roots {
            None => u,
            Some(roots) => {
                weighted = u.iter().zip(roots).map(|(u, root)| u * root).collect();
                &weighted[..]
            }
        };
        let parts: Vec<Mutex<Vec<f64>>> = (0..tasks.div_ceil(group)).map(|_| Mutex::new(vec![0.0; d])).collect();
        with_real!(self.x.dtype(), T => {
            let source = Source::<T>::of(self.x)?;
            parallel_for(parts.len(), &|task| {
                let mut out = parts[task].lock().unwrap_or_else(PoisonError::into_inner);
                let start = task * group * ROWS;
                let end = (start + group * ROWS).min(u.len());
                source.transposed(start, &u[start..end], &mut out);
            });
        });
        let mut out = vec![0.0; d];
        for part in parts {
            let part = part.into_inner().unwrap_or_else(PoisonError::into_inner);
            out.iter_mut().zip(&part).for_each(|(out, part)| *out += part);
        }
        if !self.mean.is_empty() {
            let total: f64 = u.iter().sum();
            out.iter_mut().zip(&self.mean).for_each(|(out, mean)| *out -= mean * total);
        }
        Ok(out)
    }
}

enum Source<'a, T> {
    Dense(&'a [T], usize),
    Sparse { indptr: &'a [usize], indices: &'a [u32], values: &'a [T] },
}

impl<'a, T: Real> Source<'a, T> {
    fn of(x: &'a Rows) -> Result<Source<'a, T>> {
        Ok(match x {
            Rows::Dense(x) => Source::Dense(x.as_slice::<T>()?, x.dims()[1]),
            Rows::Sparse(x) => {
                Source::Sparse { indptr: x.indptr(), indices: x.indices(), values: x.values().as_slice::<T>()? }
            }
        })
    }

    fn times(&self, start: usize, v: &[f64], out: &mut [f64]) {
        match self {
            Source::Dense(x, d) => dispatch(Times { x: &x[start * d..(start + out.len()) * d], v, out }),
            Source::Sparse { indptr, indices, values } => {
                for (offset, out) in out.iter_mut().enumerate() {
                    let range = indptr[start + offset]..indptr[start + offset + 1];
                    *out = range.map(|index| values[index].f64() * v[indices[index] as usize]).sum();
                }
            }
        }
    }

    fn transposed(&self, start: usize, u: &[f64], out: &mut [f64]) {
        match self {
            Source::Dense(x, d) => dispatch(Transposed { x: &x[start * d..(start + u.len()) * d], u, out }),
            Source::Sparse { indptr, indices, values } => {
                for (offset, u) in u.iter().enumerate() {
                    for index in indptr[start + offset]..indptr[start + offset + 1] {
                        out[indices[index] as usize] += values[index].f64() * u;
                    }
                }
            }
        }
    }
}

struct Times<'a, T> {
    x: &'a [T],
    v: &'a [f64],
    out: &'a mut [f64],
}

impl<T: Real> Kernel for Times<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (v_body, v_tail) = self.v.as_chunks::<LANES>();
        for (row, out) in self.x.chunks_exact(self.v.len()).zip(self.out) {
            let (body, tail) = row.as_chunks::<LANES>();
            let mut sums = [0.0; LANES];
            for (x, v) in body.iter().zip(v_body) {
                for lane in 0..LANES {
                    sums[lane] = x[lane].f64().mul_add(v[lane], sums[lane]);
                }
            }
            let rest: f64 = tail.iter().zip(v_tail).map(|(x, v)| x.f64() * v).sum();
            *out = sums.iter().sum::<f64>() + rest;
        }
    }
}

struct Transposed<'a, T> {
    x: &'a [T],
    u: &'a [f64],
    out: &'a mut [f64],
}

impl<T: Real> Kernel for Transposed<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (row, &u) in self.x.chunks_exact(self.out.len()).zip(self.u) {
            for (out, x) in self.out.iter_mut().zip(row) {
                *out = x.f64().mul_add(u, *out);
            }
        }
    }
}
