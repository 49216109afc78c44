//! The likelihood of a linear classifier: value, gradient and Hessian-vector products in one blocked pass over the
//! rows.
//!
//! Parameters are a matrix (k, p) of f64: k is 1 for two classes and the number of classes otherwise, p is the number
//! of columns plus one for the intercept, which is last. The loss is the weighted mean of the sample losses. X is read
//! in place: each block of rows goes through the cache once for scores, residuals and gradient.

// Loops over samples and outputs index several arrays with one counter; iterators would be harder to read.
#![allow(clippy::needless_range_loop)]

use std::sync::{Mutex, MutexGuard, PoisonError};

use tove_tensor::Element;
use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::{Kernel, dispatch};
use tove_tensor::pool::parallel_for;

use super::kernels::{Back, Block, Layout, Wide, block_rows};
use super::links::{Truth, probabilities, residuals};
use crate::{Result, Rows};

/// Maximum number of chunks of the samples; each has its own gradient.
const MAX_CHUNKS: usize = 32;
/// Maximum number of values in the gradients of all chunks.
const MAX_GRADIENT_VALUES: usize = 4 << 20;

/// The rows as slices.
#[derive(Clone, Copy)]
pub(crate) enum Data<'a, T> {
    /// A dense matrix in row-major order.
    Dense(&'a [T]),
    /// `indptr`, `indices` and values of a sparse matrix.
    Sparse(&'a [usize], &'a [u32], &'a [T]),
}

impl<'a, T: Element> Data<'a, T> {
    pub(crate) fn of(rows: &'a Rows) -> Result<Data<'a, T>> {
        Ok(match rows {
            Rows::Dense(x) => Data::Dense(x.as_slice::<T>()?),
            Rows::Sparse(x) => Data::Sparse(x.indptr(), x.indices(), x.values().as_slice::<T>()?),
        })
    }
}

/// What a pass computes.
#[derive(Clone, Copy)]
pub(super) enum Pass<'a> {
    /// The loss, and its gradient in the sums.
    Gradient,
    /// The Hessian times a direction (k, p), in the sums.
    Curvature(&'a [f64]),
}

/// Scratch space of one chunk.
struct Scratch<T> {
    z: Vec<T>,
    u: Vec<T>,
    sums: Vec<f64>,
    loss: f64,
}

/// The data of a likelihood evaluation.
pub(crate) struct Problem<'a, T> {
    pub(super) data: Data<'a, T>,
    pub(super) n: usize,
    pub(super) d: usize,
    pub(super) outputs: usize,
    pub(super) intercept: bool,
    pub(super) codes: Vec<u32>,
    pub(super) weights: Option<Vec<T>>,
    /// Sum of the weights.
    pub(super) total: f64,
    block: usize,
    /// Rows per chunk.
    part: usize,
    scratch: Vec<Mutex<Scratch<T>>>,
}

/// Weights (k, d) or, for sparse rows, (d, k), and intercepts (k), in the precision of the rows.
struct Weights<T> {
    w: Vec<T>,
    bias: Vec<T>,
}

fn lock<S>(mutex: &Mutex<S>) -> MutexGuard<'_, S> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a, T: Float + Element> Problem<'a, T> {
    /// Creates a problem with `classes` classes, one code per sample and optional weights.
    pub(crate) fn new(
        rows: &'a Rows,
        codes: &[usize],
        classes: usize,
        weights: Option<&[f64]>,
        intercept: bool,
    ) -> Result<Problem<'a, T>> {
        let (n, d) = (rows.len(), rows.width());
        let outputs = if classes == 2 { 1 } else { classes };
        let block = match rows {
            Rows::Dense(_) => block_rows::<T>(d),
            Rows::Sparse(_) => block_rows::<T>(1), // only stored values occupy the cache
        };
        let width = outputs * (d + usize::from(intercept));
        let max_values = match rows {
            Rows::Dense(_) => MAX_GRADIENT_VALUES,
            // Adding up the gradients must not dominate the cost.
            Rows::Sparse(x) => MAX_GRADIENT_VALUES.min(x.indices().len() / 4),
        };
        let parts = n.div_ceil(block).min(MAX_CHUNKS).min((max_values / width.max(1)).max(1));
        let part = n.div_ceil(block).div_ceil(parts) * block;
        let scratch = || {
            let z = vec![T::ZERO; outputs * block];
            Mutex::new(Scratch { u: Vec::new(), z, sums: vec![0.0; width], loss: 0.0 })
        };
        Ok(Problem {
            data: Data::of(rows)?,
            n,
            d,
            outputs,
            intercept,
            codes: codes.iter().map(|&code| code as u32).collect(),
            weights: weights.map(|weights| weights.iter().map(|&weight| T::narrow(weight)).collect()),
            total: weights.map_or(n as f64, |weights| weights.iter().sum()),
            block,
            part,
            scratch: (0..n.div_ceil(part)).map(|_| scratch()).collect(),
        })
    }

    /// Parameters per output.
    pub(crate) fn width(&self) -> usize {
        self.d + usize::from(self.intercept)
    }

    /// Sum of the sample weights.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// Number of parameters.
    pub(crate) fn size(&self) -> usize {
        self.outputs * self.width()
    }

    /// Number of stored values of the rows.
    pub(crate) fn stored(&self) -> usize {
        match self.data {
            Data::Dense(x) => x.len(),
            Data::Sparse(_, columns, _) => columns.len(),
        }
    }

    fn weights_of(&self, parameters: &[f64]) -> Weights<T> {
        let (d, k, p) = (self.d, self.outputs, self.width());
        let rows = || parameters.chunks(p);
        let bias = rows().map(|row| if self.intercept { T::narrow(row[d]) } else { T::ZERO }).collect();
        let mut w = vec![T::ZERO; k * d];
        for (output, row) in rows().enumerate() {
            for (column, &value) in row[..d].iter().enumerate() {
                let index = if let Data::Dense(_) = self.data { output * d + column } else { column * k + output };
                w[index] = T::narrow(value);
            }
        }
        Weights { w, bias }
    }

    /// Returns the mean loss and writes its gradient.
    pub(crate) fn evaluate(&self, parameters: &[f64], gradient: &mut [f64]) -> f64 {
        self.pass(parameters, Pass::Gradient, gradient)
    }

    /// The Hessian of the mean loss times a direction.
    pub(crate) fn curvature(&self, parameters: &[f64], direction: &[f64], out: &mut [f64]) {
        self.pass(parameters, Pass::Curvature(direction), out);
    }

    fn pass(&self, parameters: &[f64], pass: Pass<'_>, out: &mut [f64]) -> f64 {
        let weights = self.weights_of(parameters);
        let direction = if let Pass::Curvature(direction) = pass { Some(self.weights_of(direction)) } else { None };
        parallel_for(self.scratch.len(), &|task| {
            let mut scratch = lock(&self.scratch[task]);
            let scratch = &mut *scratch;
            if direction.is_some() && scratch.u.is_empty() {
                scratch.u = vec![T::ZERO; self.outputs * self.block];
            }
            dispatch(Part { problem: self, weights: &weights, direction: direction.as_ref(), task, scratch });
        });
        let (mut loss, scale) = (0.0, 1.0 / self.total);
        out.fill(0.0);
        for scratch in &self.scratch {
            let scratch = lock(scratch);
            loss += scratch.loss;
            for (out, sum) in out.iter_mut().zip(&scratch.sums) {
                *out += sum;
            }
        }
        out.iter_mut().for_each(|out| *out *= scale);
        loss * scale
    }

    /// Calls `body` with each block of rows and their probabilities (k, rows), in order, on one thread.
    pub(super) fn each_block(&self, parameters: &[f64], mut body: impl FnMut(std::ops::Range<usize>, &[T])) {
        let weights = self.weights_of(parameters);
        let mut z = vec![T::ZERO; self.outputs * self.block];
        for first in (0..self.n).step_by(self.block) {
            let rows = first..(first + self.block).min(self.n);
            let count = rows.len();
            dispatch(Scores { problem: self, weights: &weights, rows: rows.clone(), z: &mut z, soft: true });
            body(rows, &z[..self.outputs * count]);
        }
    }

    /// The smallest margin z_y − max of the others (or ±z for two classes), and the largest absolute score.
    pub(crate) fn margins(&self, parameters: &[f64]) -> (f64, f64) {
        let weights = self.weights_of(parameters);
        let mut z = vec![T::ZERO; self.outputs * self.block];
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
        for first in (0..self.n).step_by(self.block) {
            let rows = first..(first + self.block).min(self.n);
            let count = rows.len();
            dispatch(Scores { problem: self, weights: &weights, rows: rows.clone(), z: &mut z, soft: false });
            for row in 0..count {
                if self.weights.as_ref().is_some_and(|weights| weights[first + row] == T::ZERO) {
                    continue;
                }
                let code = self.codes[first + row] as usize;
                let score = |output: usize| z[output * count + row].wide();
                let margin = match self.outputs {
                    1 => score(0) * (2.0 * code as f64 - 1.0),
                    k => {
                        let others = (0..k).filter(|&output| output != code).map(score);
                        score(code) - others.fold(f64::NEG_INFINITY, f64::max)
                    }
                };
                smallest = smallest.min(margin);
                largest = largest.max(margin.abs());
            }
        }
        (smallest, largest)
    }

    #[inline(always)]
    fn scores(&self, rows: std::ops::Range<usize>, weights: &Weights<T>, z: &mut [T]) {
        let (d, k, count) = (self.d, self.outputs, rows.len());
        match self.data {
            Data::Dense(x) => {
                let block = Block { x: &x[rows.start * d..rows.end * d], d, w: &weights.w, bias: &weights.bias };
                let at = Layout { row: 1, output: count };
                if size_of::<T>() == 4 { block.scores::<8>(z, at) } else { block.scores::<4>(z, at) }
            }
            Data::Sparse(starts, columns, values) if k == 1 => {
                for (z, row) in z.iter_mut().zip(rows) {
                    let range = starts[row]..starts[row + 1];
                    let mut sum = weights.bias[0];
                    for (&column, &value) in columns[range.clone()].iter().zip(&values[range]) {
                        sum = value.mul_add(weights.w[column as usize], sum);
                    }
                    *z = sum;
                }
            }
            Data::Sparse(starts, columns, values) => {
                for (offset, row) in rows.enumerate() {
                    for output in 0..k {
                        z[output * count + offset] = weights.bias[output];
                    }
                    for index in starts[row]..starts[row + 1] {
                        let (value, w) = (values[index], &weights.w[columns[index] as usize * k..][..k]);
                        for (output, &w) in w.iter().enumerate() {
                            z[output * count + offset] = value.mul_add(w, z[output * count + offset]);
                        }
                    }
                }
            }
        }
    }

    /// sums += Rᵀ X, including the constant feature of the intercept.
    #[inline(always)]
    fn back(&self, rows: std::ops::Range<usize>, r: &[T], sums: &mut [f64]) {
        let (d, k, p, count) = (self.d, self.outputs, self.width(), rows.len());
        match self.data {
            Data::Dense(x) => {
                let x = &x[rows.start * d..rows.end * d];
                let back = Back { x, d, r, stride: count, outputs: k };
                if size_of::<T>() == 4 { back.add::<16>(sums, p) } else { back.add::<8>(sums, p) }
            }
            Data::Sparse(starts, columns, values) if k == 1 => {
                for (&r, row) in r.iter().zip(rows) {
                    let (r, range) = (r.wide(), starts[row]..starts[row + 1]);
                    for (&column, value) in columns[range.clone()].iter().zip(&values[range]) {
                        sums[column as usize] += value.wide() * r;
                    }
                }
            }
            Data::Sparse(starts, columns, values) => {
                for (offset, row) in rows.enumerate() {
                    for index in starts[row]..starts[row + 1] {
                        let (value, column) = (values[index].wide(), columns[index] as usize);
                        for output in 0..k {
                            sums[output * p + column] += value * r[output * count + offset].wide();
                        }
                    }
                }
            }
        }
        if self.intercept {
            for output in 0..k {
                sums[output * p + d] += r[output * count..][..count].iter().map(|r| r.wide()).sum::<f64>();
            }
        }
    }

    #[inline(always)]
    fn truth(&self, rows: std::ops::Range<usize>) -> Truth<'_, T> {
        Truth { codes: &self.codes[rows.clone()], weights: self.weights.as_ref().map(|weights| &weights[rows]) }
    }
}

/// One chunk of a pass.
struct Part<'a, 'b, T> {
    problem: &'a Problem<'b, T>,
    weights: &'a Weights<T>,
    direction: Option<&'a Weights<T>>,
    task: usize,
    scratch: &'a mut Scratch<T>,
}

impl<T: Float + Element> Kernel for Part<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (problem, scratch) = (self.problem, self.scratch);
        let k = problem.outputs;
        scratch.sums.fill(0.0);
        scratch.loss = 0.0;
        let (mut first, end) = (self.task * problem.part, ((self.task + 1) * problem.part).min(problem.n));
        while first < end {
            let rows = first..(first + problem.block).min(end);
            let count = rows.len();
            let z = &mut scratch.z[..k * count];
            problem.scores(rows.clone(), self.weights, z);
            let truth = problem.truth(rows.clone());
            match self.direction {
                None => {
                    scratch.loss += residuals(z, count, k, truth);
                    problem.back(rows.clone(), z, &mut scratch.sums);
                }
                Some(direction) => {
                    let u = &mut scratch.u[..k * count];
                    problem.scores(rows.clone(), direction, u);
                    probabilities(z, count, k, count);
                    curve(z, u, count, k, truth.weights);
                    problem.back(rows.clone(), u, &mut scratch.sums);
                }
            }
            first = rows.end;
        }
    }
}

/// u ← (diag(p) − p pᵀ) u for each sample, times its weight; p (1 − p) u for one output.
#[inline(always)]
fn curve<T: Float>(p: &[T], u: &mut [T], count: usize, k: usize, weights: Option<&[T]>) {
    for row in 0..count {
        let weight = weights.map_or(T::ONE, |weights| weights[row]);
        if k == 1 {
            u[row] *= weight * p[row] * (T::ONE - p[row]);
            continue;
        }
        let mut mean = T::ZERO;
        for output in 0..k {
            mean += p[output * count + row] * u[output * count + row];
        }
        for output in 0..k {
            let index = output * count + row;
            u[index] = weight * p[index] * (u[index] - mean);
        }
    }
}

/// Computes the scores of a block, or its probabilities.
struct Scores<'a, 'b, T> {
    problem: &'a Problem<'b, T>,
    weights: &'a Weights<T>,
    rows: std::ops::Range<usize>,
    z: &'a mut [T],
    soft: bool,
}

impl<T: Float + Element> Kernel for Scores<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (count, k) = (self.rows.len(), self.problem.outputs);
        let z = &mut self.z[..k * count];
        self.problem.scores(self.rows, self.weights, z);
        if self.soft {
            probabilities(z, count, k, count);
        }
    }
}
