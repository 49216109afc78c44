//! From scores to losses, residuals and curvature, for a block of samples stored output after output.

// Loops over samples and outputs index several arrays with one counter; iterators would hide which.
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

/// Room for one number per sample of a block.
pub(super) const MOST: usize = 256;

/// Scores become weighted residuals; returns the weighted sum of losses. One output is σ of two classes, several are a softmax.
#[inline(always)]
pub(super) fn residuals<T: Float>(z: &mut [T], stride: usize, outputs: usize, truth: Truth<'_, T>) -> f64 {
    if outputs == 1 { binary(z, truth) } else { softmax(z, stride, outputs, truth) }
}

/// loss = ln(1 + e^t) with t = z for class 0 and −z for class 1; its slope by z is ±σ(t).
#[inline(always)]
fn binary<T: Float>(z: &mut [T], truth: Truth<'_, T>) -> f64 {
    let rows = truth.codes.len();
    let mut losses = [T::ZERO; MOST];
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
    let mut own = [T::ZERO; MOST];
    for row in 0..rows {
        own[row] = z[truth.codes[row] as usize * stride + row];
    }
    let norms = normalise(z, stride, outputs, rows);
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

/// Scores become probabilities; returns log-sum-exp of each sample.
#[inline(always)]
pub(super) fn normalise<T: Float>(z: &mut [T], stride: usize, outputs: usize, rows: usize) -> [T; MOST] {
    let mut most = [T::NEG_INFINITY; MOST];
    let mut total = [T::ZERO; MOST];
    for output in z.chunks(stride).take(outputs) {
        for (most, &z) in most[..rows].iter_mut().zip(output) {
            *most = if z > *most { z } else { *most };
        }
    }
    for output in z.chunks_mut(stride).take(outputs) {
        for ((z, &most), total) in output.iter_mut().zip(&most[..rows]).zip(&mut total[..rows]) {
            *z = (*z - most).exp();
            *total += *z;
        }
    }
    for output in z.chunks_mut(stride).take(outputs) {
        for (z, &total) in output.iter_mut().zip(&total[..rows]) {
            *z /= total;
        }
    }
    for (most, &total) in most[..rows].iter_mut().zip(&total[..rows]) {
        *most += total.ln();
    }
    most
}

/// Probabilities of a block in place of its scores: σ(z) for one output, a softmax for several.
#[inline(always)]
pub(super) fn probabilities<T: Float>(z: &mut [T], stride: usize, outputs: usize, rows: usize) {
    if outputs == 1 {
        for z in &mut z[..rows] {
            let e = (-z.abs()).exp();
            let large = T::ONE / (T::ONE + e);
            *z = if *z > T::ZERO { large } else { e * large };
        }
    } else {
        normalise(z, stride, outputs, rows);
    }
}
