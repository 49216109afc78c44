//! Losses, residuals and second derivatives from scores, for a block of samples in output-major order.

// Loops over samples and outputs index several arrays with one counter; iterators would be harder to read.
#![allow(clippy::needless_range_loop)]

use tove_tensor::kernels::math::Float;

use super::kernels::Wide;

/// The targets and weights of a block.
#[derive(Clone, Copy)]
pub(super) struct Truth<'a, T> {
    pub(super) codes: &'a [u32],
    pub(super) weights: Option<&'a [T]>,
}

impl<T: Float> Truth<'_, T> {
    #[inline(always)]
    fn weight(&self, row: usize) -> T {
        self.weights.map_or(T::ONE, |weights| weights[row])
    }
}

/// Maximum number of samples per block.
pub(super) const MAX_BLOCK_ROWS: usize = 256;

/// Replaces scores by weighted residuals and returns the weighted sum of losses. One output uses σ, several a softmax.
#[inline(always)]
pub(super) fn residuals<T: Float>(z: &mut [T], stride: usize, outputs: usize, truth: Truth<'_, T>) -> f64 {
    if outputs == 1 { binary(z, truth) } else { softmax(z, stride, outputs, truth) }
}

/// loss = ln(1 + e^t) with t = z for class 0 and −z for class 1; its derivative with respect to z is ±σ(t).
#[inline(always)]
fn binary<T: Float>(z: &mut [T], truth: Truth<'_, T>) -> f64 {
    let rows = truth.codes.len();
    let mut losses = [T::ZERO; MAX_BLOCK_ROWS];
    for row in 0..rows {
        let sign = T::ONE - T::TWO * T::narrow(f64::from(truth.codes[row]));
        let t = sign * z[row];
        let e = (-t.abs()).exp();
        losses[row] = t.maximum(T::ZERO) + e.log1p();
        let large = T::ONE / (T::ONE + e);
        z[row] = sign * if t > T::ZERO { large } else { e * large };
    }
    let mut sum = 0.0;
    for row in 0..rows {
        let weight = truth.weight(row);
        z[row] *= weight;
        sum += (losses[row] * weight).wide();
    }
    sum
}

#[inline(always)]
fn softmax<T: Float>(z: &mut [T], stride: usize, outputs: usize, truth: Truth<'_, T>) -> f64 {
    let rows = truth.codes.len();
    let mut own = [T::ZERO; MAX_BLOCK_ROWS];
    for row in 0..rows {
        own[row] = z[truth.codes[row] as usize * stride + row];
    }
    let norms = normalize(z, stride, outputs, rows);
    let mut sum = 0.0;
    for row in 0..rows {
        sum += ((norms[row] - own[row]) * truth.weight(row)).wide();
    }
    if let Some(weights) = truth.weights {
        for output in z.chunks_mut(stride).take(outputs) {
            for (p, &weight) in output.iter_mut().zip(weights) {
                *p *= weight;
            }
        }
    }
    for row in 0..rows {
        z[truth.codes[row] as usize * stride + row] -= truth.weight(row);
    }
    sum
}

/// Replaces scores by probabilities and returns the log-sum-exp of each sample.
#[inline(always)]
pub(super) fn normalize<T: Float>(z: &mut [T], stride: usize, outputs: usize, rows: usize) -> [T; MAX_BLOCK_ROWS] {
    let mut max = [T::NEG_INFINITY; MAX_BLOCK_ROWS];
    let mut total = [T::ZERO; MAX_BLOCK_ROWS];
    for output in z.chunks(stride).take(outputs) {
        for (max, &z) in max[..rows].iter_mut().zip(output) {
            *max = if z > *max { z } else { *max };
        }
    }
    for output in z.chunks_mut(stride).take(outputs) {
        for ((z, &max), total) in output.iter_mut().zip(&max[..rows]).zip(&mut total[..rows]) {
            *z = (*z - max).exp();
            *total += *z;
        }
    }
    for output in z.chunks_mut(stride).take(outputs) {
        for (z, &total) in output.iter_mut().zip(&total[..rows]) {
            *z /= total;
        }
    }
    for (max, &total) in max[..rows].iter_mut().zip(&total[..rows]) {
        *max += total.ln();
    }
    max
}

/// Replaces the scores of a block by probabilities: σ(z) for one output, a softmax for several.
#[inline(always)]
pub(super) fn probabilities<T: Float>(z: &mut [T], stride: usize, outputs: usize, rows: usize) {
    if outputs == 1 {
        for z in &mut z[..rows] {
            let e = (-z.abs()).exp();
            let large = T::ONE / (T::ONE + e);
            *z = if *z > T::ZERO { large } else { e * large };
        }
    } else {
        normalize(z, stride, outputs, rows);
    }
}
