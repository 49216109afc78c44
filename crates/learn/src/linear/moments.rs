//! One pass over the samples: weighted means, centered Gram matrix XᵀWX, XᵀWY and the squares of Y.
//!
//! Rows are copied block by block to an augmented matrix √w (x − c, y − c', 1), whose Gram matrix contains all of
//! these. The provisional center c is the mean of a few rows spread over the data. It is close to the mean, so
//! subtracting n (x̄ − c)(x̄ − c)ᵀ at the end loses no accuracy. (Without a shift, a column with mean 10⁸ and standard
//! deviation 1 would lose all its digits.) All sums are in double precision, whatever the type of the features; X
//! itself is never copied.

use std::borrow::Cow;
use std::sync::{Mutex, PoisonError};

use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;
use tove_tensor::{DType, Tensor};

use super::blocks::{add_gram, mirror, padded, pairwise, project};
use super::gram_panels::{MIN_PANEL_COLUMNS, add_products, chunk_rows};
use super::sparse_gram;
use crate::features::by_rows;
use crate::{LearnError, Real, Result, Rows, Samples, memory, with_real};

/// Values in a block, which stays in the second-level cache.
const BLOCK: usize = 8192;
/// Maximum number of parts of the rows; each has its own sums.
const MAX_PARTS: usize = 64;
const PART_ROWS: usize = 1024; // minimum rows per part
const SPREAD_ROWS: usize = 256; // rows used for the provisional center

/// Samples prepared for linear algebra in double precision.
pub(super) struct Data<'a> {
    pub(super) x: &'a Rows,
    /// Targets (n, m), row-major.
    pub(super) y: Vec<f64>,
    pub(super) outputs: usize,
    pub(super) weights: Option<Vec<f64>>,
    /// Whether the features have not been checked for finite values yet.
    pub(super) unchecked: bool,
}

impl<'a> Data<'a> {
    /// Prepares the samples of an estimator with multiple outputs.
    pub(super) fn several(samples: &'a Samples) -> Result<Data<'a>> {
        let y = samples.y()?;
        let outputs = y.dims().get(1).copied().unwrap_or(1);
        let weights = samples.weights().map(Tensor::to_f64_vec);
        Ok(Data { x: samples.x(), y: y.to_f64_vec(), outputs, weights, unchecked: samples.may_miss() })
    }

    /// Prepares the samples of an estimator with one output.
    pub(super) fn single(who: &'static str, samples: &'a Samples) -> Result<Data<'a>> {
        let weights = samples.weights().map(Tensor::to_f64_vec);
        Ok(Data { x: samples.x(), y: samples.single_target(who)?, outputs: 1, weights, unchecked: samples.may_miss() })
    }

    pub(super) fn len(&self) -> usize {
        self.x.len()
    }

    pub(super) fn width(&self) -> usize {
        self.x.width()
    }

    /// Checks that the features are finite, for methods that would not detect it.
    pub(super) fn check_finite(&self) -> Result<()> {
        if self.unchecked { self.x.checked().map(drop) } else { Ok(()) }
    }

    /// Σ w.
    pub(super) fn total_weight(&self) -> f64 {
        self.weights.as_ref().map_or(self.len() as f64, |weights| weights.iter().sum())
    }

    /// The weights, or ones if there are none.
    pub(super) fn weights_or_ones(&self) -> Cow<'_, [f64]> {
        self.weights.as_ref().map_or_else(|| Cow::Owned(vec![1.0; self.len()]), |weights| Cow::Borrowed(&weights[..]))
    }
}

/// Means and centered second moments.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    pub(crate) width: usize,
    pub(crate) outputs: usize,
    /// Σ w.
    pub(crate) weight: f64,
    /// Weighted means, or zeros if not centered.
    pub(crate) mean_x: Vec<f64>,
    pub(crate) mean_y: Vec<f64>,
    /// XᵀWX (d, d) of the centered columns.
    pub(crate) gram: Vec<f64>,
    /// XᵀWY (d, m).
    pub(crate) cross: Vec<f64>,
    /// Σ w y² (m) of each centered output.
    pub(crate) squares: Vec<f64>,
}

/// A change of basis of the columns: rows become (x − c) B.
pub(super) struct Basis<'a> {
    /// (d, d), row-major.
    pub(super) matrix: &'a [f64],
    pub(super) mean_x: &'a [f64],
    pub(super) mean_y: &'a [f64],
}

impl Moments {
    /// Computes the moments, centered if `centered`.
    pub(super) fn of(data: &Data, centered: bool) -> Result<Moments> {
        let (d, m) = (data.width(), data.outputs);
        if !centered {
            let moments = Pass { data, shift_x: &vec![0.0; d], shift_y: &vec![0.0; m], basis: None }.run(false)?;
            return moments.finite(data).map(|()| moments);
        }
        let (mut shift_x, shift_y) = provisional(data)?;
        let pass = Pass { data, shift_x: &shift_x, shift_y: &shift_y, basis: None };
        let first = pass.run(true)?;
        first.finite(data)?;
        // A provisional center far from the mean would cost accuracy. Then a second pass uses the exact mean.
        let far = |j: &usize| {
            let distance = first.mean_x[*j] - shift_x[*j];
            distance * distance * first.weight > 1e4 * first.gram[j * d + j]
        };
        let far: Vec<usize> = (0..d).filter(far).collect();
        if far.is_empty() {
            return Ok(first);
        }
        // Columns with a good center keep it; a center of zero keeps sparse rows sparse.
        far.into_iter().for_each(|j| shift_x[j] = first.mean_x[j]);
        Pass { data, shift_x: &shift_x, shift_y: &first.mean_y, basis: None }.run(true)
    }

    /// Checks that the features and their squares are finite: a non-finite value makes the sum of squares of its column
    /// non-finite.
    fn finite(&self, data: &Data) -> Result<()> {
        let d = self.width;
        let Some(column) = (0..d).find(|j| !self.gram[j * d + j].is_finite()) else { return Ok(()) };
        data.check_finite()?;
        let problem = format!("the squares of column {column} overflow");
        Err(LearnError::data("linear model", problem, "scale the features, for example with `StandardScaler`"))
    }

    /// Computes the moments in another basis.
    pub(super) fn in_basis(data: &Data, centered: bool, basis: &Basis) -> Result<Moments> {
        let pass = Pass { data, shift_x: basis.mean_x, shift_y: basis.mean_y, basis: Some(basis.matrix) };
        pass.run(centered)
    }

    /// Sums of products around given centers of the features; targets are not shifted.
    pub(super) fn shifted(data: &Data, shift_x: &[f64]) -> Result<Moments> {
        Pass { data, shift_x, shift_y: &vec![0.0; data.outputs], basis: None }.run(false)
    }

    /// The Gram matrix as a tensor.
    pub(super) fn gram_tensor(&self) -> Result<Tensor> {
        Ok(Tensor::try_from_vec(self.gram.clone(), [self.width, self.width])?)
    }

    /// ȳ − x̄ᵀ w of each output, for coefficients (d, m).
    pub(super) fn intercepts(&self, coefficients: &[f64]) -> Vec<f64> {
        let m = self.outputs;
        let mut intercepts = self.mean_y.clone();
        for (j, mean) in self.mean_x.iter().enumerate() {
            for (k, intercept) in intercepts.iter_mut().enumerate() {
                *intercept -= mean * coefficients[j * m + k];
            }
        }
        intercepts
    }
}

/// Means over rows spread over the data; for a column that is constant there, exactly its value.
fn provisional(data: &Data) -> Result<(Vec<f64>, Vec<f64>)> {
    let (n, d, m) = (data.len(), data.width(), data.outputs);
    let count = n.min(SPREAD_ROWS);
    let rows: Vec<usize> = (0..count).map(|i| i * n / count).collect();
    let mut columns = vec![Spread::default(); d + m];
    let mut row_numbers = vec![0.0; d];
    for &row in &rows {
        read_row(data.x, row, &mut row_numbers)?;
        let targets = &data.y[row * m..(row + 1) * m];
        for (column, &value) in columns.iter_mut().zip(row_numbers.iter().chain(targets)) {
            column.add(value);
        }
    }
    let mut centers: Vec<f64> = columns.iter().map(Spread::center).collect();
    if let Rows::Sparse(x) = data.x {
        let filled = sparse_gram::filled(x);
        if sparse_gram::is_cheaper(x, filled.iter().filter(|filled| **filled).count(), m) {
            centers.iter_mut().zip(filled).filter(|(_, filled)| !filled).for_each(|(center, _)| *center = 0.0);
        }
    }
    Ok((centers[..d].to_vec(), centers[d..].to_vec()))
}

#[derive(Clone)]
struct Spread {
    low: f64,
    high: f64,
    mean: f64,
    count: f64,
}

impl Default for Spread {
    fn default() -> Spread {
        Spread { low: f64::INFINITY, high: f64::NEG_INFINITY, mean: 0.0, count: 0.0 }
    }
}

impl Spread {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.mean += (value - self.mean) / self.count;
        (self.low, self.high) = (self.low.min(value), self.high.max(value));
    }

    fn center(&self) -> f64 {
        if self.low == self.high { self.low } else { self.mean }
    }
}

/// Reads a row in double precision.
pub(super) fn read_row(x: &Rows, row: usize, out: &mut [f64]) -> Result<()> {
    let d = out.len();
    match x {
        Rows::Dense(x) => with_real!(x.dtype(), T => {
            let values = x.as_slice::<T>()?;
            out.iter_mut().zip(&values[row * d..(row + 1) * d]).for_each(|(out, x)| *out = x.f64());
        }),
        Rows::Sparse(x) => with_real!(x.dtype(), T => {
            let values = x.values().as_slice::<T>()?;
            out.fill(0.0);
            for index in x.indptr()[row]..x.indptr()[row + 1] {
                out[x.indices()[index] as usize] = values[index].f64();
            }
        }),
    }
    Ok(())
}

/// One pass over the rows with given shifts.
struct Pass<'a> {
    data: &'a Data<'a>,
    shift_x: &'a [f64],
    shift_y: &'a [f64],
    basis: Option<&'a [f64]>,
}

/// Features of one type, dense or sparse, for the inner loop.
enum Source<'a, T> {
    Dense(&'a [T]),
    Sparse { indptr: &'a [usize], indices: &'a [u32], values: &'a [T] },
}

impl Pass<'_> {
    fn run(&self, centered: bool) -> Result<Moments> {
        let (d, m) = (self.data.width(), self.data.outputs);
        let sums = match self.data.x.dtype() {
            DType::F32 | DType::F64 => with_real!(self.data.x.dtype(), T => self.sums(&source::<T>(self.data.x)?)?),
            other => return Err(LearnError::parameter("Moments", format!("features of type {other}"))),
        };
        let stride = padded(d + m + 1);
        let one = d + m;
        let weight = sums[one * stride + one];
        let entry = |i: usize, j: usize| {
            let offset = if centered { sums[i * stride + one] * sums[j * stride + one] / weight } else { 0.0 };
            sums[i * stride + j] - offset
        };
        let mean =
            |column: usize, shift: f64| if centered { shift + sums[column * stride + one] / weight } else { 0.0 };
        Ok(Moments {
            width: d,
            outputs: m,
            weight,
            mean_x: (0..d).map(|j| mean(j, self.shift_x[j])).collect(),
            mean_y: (0..m).map(|k| mean(d + k, self.shift_y[k])).collect(),
            gram: (0..d * d).map(|index| entry(index / d, index % d)).collect(),
            cross: (0..d * m).map(|index| entry(index / m, d + index % m)).collect(),
            squares: (0..m).map(|k| entry(d + k, d + k).max(0.0)).collect(),
        })
    }

    /// The full Gram matrix of the augmented rows.
    fn sums<T: Real>(&self, source: &Source<T>) -> Result<Vec<f64>> {
        let n = self.data.len();
        let stride = padded(self.data.width() + self.data.outputs + 1);
        if let (Rows::Sparse(x), None) = (self.data.x, self.basis) {
            let shifted = self.shift_x.iter().filter(|&&shift| shift != 0.0).count();
            if sparse_gram::is_cheaper(x, shifted, self.data.outputs) {
                return sparse_gram::sums::<T>(self.data, x, self.shift_x, self.shift_y);
            }
        }
        if stride >= MIN_PANEL_COLUMNS && self.basis.is_none() {
            return self.wide_sums(source, stride);
        }
        // The sums of all parts together are smaller than the features.
        let parts = (n / (4 * stride)).clamp(1, MAX_PARTS);
        let bytes = memory::matrix(stride, stride.saturating_mul(parts + 2), 8);
        memory::require("linear model", format!("a Gram matrix of {stride} columns"), bytes, "choose features first")?;
        let rows = n.div_ceil(parts).max(PART_ROWS.min(n));
        let parts: Vec<Mutex<Vec<f64>>> = (0..n.div_ceil(rows)).map(|_| Mutex::new(Vec::new())).collect();
        let basis = self.basis.map(|basis| self.augmented_basis(basis, stride));
        parallel_for(parts.len(), &|part| {
            let range = part * rows..((part + 1) * rows).min(n);
            let sums = self.part(source, range, stride, basis.as_deref());
            *parts[part].lock().unwrap_or_else(PoisonError::into_inner) = sums;
        });
        let parts = parts.into_iter().map(|part| part.into_inner().unwrap_or_else(PoisonError::into_inner));
        let mut sums = pairwise(parts.collect());
        mirror(&mut sums, stride);
        Ok(sums)
    }

    /// Like `sums`, for many columns, by products of panels.
    fn wide_sums<T: Real>(&self, source: &Source<T>, stride: usize) -> Result<Vec<f64>> {
        let n = self.data.len();
        let rows = chunk_rows(stride, n);
        // The sums, the moments computed from them, and a chunk of the rows.
        let bytes = memory::matrix(stride, stride.saturating_mul(2).saturating_add(rows), 8);
        memory::require("linear model", format!("a Gram matrix of {stride} columns"), bytes, "choose features first")?;
        let mut sums = vec![0.0; stride * stride];
        for start in (0..n).step_by(rows) {
            let mut block = Tensor::try_zeros([rows.min(n - start), stride], DType::F64)?;
            by_rows(block.as_mut_slice::<f64>()?, stride, |first, block| {
                dispatch(Fill { pass: self, source, start: start + first, block, stride });
            });
            add_products(&block, &mut sums)?;
        }
        mirror(&mut sums, stride);
        Ok(sums)
    }

    fn part<T: Real>(
        &self,
        source: &Source<T>,
        range: std::ops::Range<usize>,
        stride: usize,
        basis: Option<&[f64]>,
    ) -> Vec<f64> {
        let rows = (BLOCK / stride).max(16);
        let mut sums = vec![0.0; stride * stride];
        let mut block = vec![0.0; rows.min(range.len()) * stride];
        let mut projected = vec![0.0; if basis.is_some() { block.len() } else { 0 }];
        let mut start = range.start;
        while start < range.end {
            let end = (start + rows).min(range.end);
            let filled = (end - start) * stride;
            dispatch(Fill { pass: self, source, start, block: &mut block[..filled], stride });
            match basis {
                None => add_gram(&block[..filled], stride, &mut sums),
                Some(basis) => {
                    project(&block[..filled], stride, basis, &mut projected[..filled]);
                    add_gram(&projected[..filled], stride, &mut sums);
                }
            }
            start = end;
        }
        sums
    }

    /// Augmented rows √w (x − c, y − c', 1, 0 …).
    #[inline(always)]
    fn fill<T: Real>(&self, source: &Source<T>, start: usize, block: &mut [f64], stride: usize) {
        let (d, m) = (self.data.width(), self.data.outputs);
        for (offset, out) in block.chunks_exact_mut(stride).enumerate() {
            let row = start + offset;
            let (features, rest) = out.split_at_mut(d);
            match source {
                Source::Dense(x) => {
                    for ((out, x), shift) in features.iter_mut().zip(&x[row * d..(row + 1) * d]).zip(self.shift_x) {
                        *out = x.f64() - shift;
                    }
                }
                Source::Sparse { indptr, indices, values } => {
                    features.iter_mut().zip(self.shift_x).for_each(|(out, shift)| *out = -shift);
                    for index in indptr[row]..indptr[row + 1] {
                        features[indices[index] as usize] += values[index].f64();
                    }
                }
            }
            let targets = self.data.y[row * m..(row + 1) * m].iter().zip(self.shift_y);
            rest.iter_mut().zip(targets).for_each(|(out, (y, shift))| *out = y - shift);
            rest[m] = 1.0;
            if let Some(weights) = &self.data.weights {
                let factor = weights[row].sqrt();
                out[..d + m + 1].iter_mut().for_each(|out| *out *= factor);
            }
        }
    }

    /// The basis for the features, the identity for the targets and the constant.
    fn augmented_basis(&self, basis: &[f64], stride: usize) -> Vec<f64> {
        let d = self.data.width();
        let mut augmented = vec![0.0; stride * stride];
        for i in 0..stride {
            if i < d {
                augmented[i * stride..i * stride + d].copy_from_slice(&basis[i * d..(i + 1) * d]);
            } else {
                augmented[i * stride + i] = 1.0;
            }
        }
        augmented
    }
}

struct Fill<'a, T> {
    pass: &'a Pass<'a>,
    source: &'a Source<'a, T>,
    start: usize,
    block: &'a mut [f64],
    stride: usize,
}

impl<T: Real> Kernel for Fill<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.pass.fill(self.source, self.start, self.block, self.stride);
    }
}

fn source<T: Real>(x: &Rows) -> Result<Source<'_, T>> {
    Ok(match x {
        Rows::Dense(x) => Source::Dense(x.as_slice::<T>()?),
        Rows::Sparse(x) => {
            Source::Sparse { indptr: x.indptr(), indices: x.indices(), values: x.values().as_slice::<T>()? }
        }
    })
}
