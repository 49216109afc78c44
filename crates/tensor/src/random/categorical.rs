//! Draws from a finite set, by the inverse of the cumulated weights.
use super::fill::{fill_uniform, for_chunks};
use super::{Key, RandomError};
use crate::kernels::math::Float;

/// Draws class indices with probabilities proportional to `weights`.
///
/// `weights` holds rows of `classes` numbers, `out` the same number of draws for every row, row after row. A class of weight
/// zero is never drawn.
///
/// ```
/// # use tove_tensor::random::{Key, fill_categorical};
/// let mut draws = [0; 50];
/// fill_categorical(Key::new(1), &[0.0f32, 1.0, 3.0], 3, &mut draws)?;
/// assert!(draws.iter().all(|&class| class == 1 || class == 2));
/// # Ok::<(), tove_tensor::random::RandomError>(())
/// ```
///
/// # Errors
/// If a row has a negative, infinite or NaN weight or only zeros, or the lengths do not fit.
pub fn fill_categorical<T: Float>(key: Key, weights: &[T], classes: usize, out: &mut [i64]) -> Result<(), RandomError> {
    draw(key, weights, classes, out, |row, sums| {
        let mut total = 0.0;
        for (&weight, sum) in row.iter().zip(sums.iter_mut()) {
            let weight = weight.to_f64();
            if !(0.0..f64::INFINITY).contains(&weight) {
                return false;
            }
            total += weight;
            *sum = total;
        }
        total > 0.0 && total < f64::INFINITY
    })
}

/// Draws class indices with probabilities softmax(`logits`), row by row as in [`fill_categorical`]. A logit of −∞ excludes
/// its class.
///
/// # Errors
/// If a row has a NaN or +∞, or only −∞, or the lengths do not fit.
pub fn fill_categorical_logits<T: Float>(
    key: Key,
    logits: &[T],
    classes: usize,
    out: &mut [i64],
) -> Result<(), RandomError> {
    draw(key, logits, classes, out, |row, sums| {
        let largest = row.iter().fold(T::NEG_INFINITY, |a, &b| a.maximum(b));
        let mut total = 0.0;
        for (&logit, sum) in row.iter().zip(sums.iter_mut()) {
            total += <f64 as Float>::exp(logit.to_f64() - largest.to_f64());
            *sum = total;
        }
        largest.is_finite()
    })
}

/// Rows whose cumulated weights are held at once.
const BLOCK: usize = 1 << 16;

fn draw<T: Float>(
    key: Key,
    rows: &[T],
    classes: usize,
    out: &mut [i64],
    cumulate: impl Fn(&[T], &mut [f64]) -> bool + Sync,
) -> Result<(), RandomError> {
    let misfit = RandomError::Length { given: rows.len(), wanted: out.len() };
    if classes == 0 || !rows.len().is_multiple_of(classes) {
        return Err(misfit);
    }
    let count = rows.len() / classes;
    if count == 0 || !out.len().is_multiple_of(count) {
        return if out.is_empty() { Ok(()) } else { Err(misfit) };
    }
    let draws = out.len() / count;
    let mut sums = vec![0.0; rows.len()];
    for (row, (weights, sums)) in rows.chunks_exact(classes).zip(sums.chunks_exact_mut(classes)).enumerate() {
        if !cumulate(weights, sums) {
            return Err(RandomError::Weights(row));
        }
    }
    let mut uniform = vec![0.0; out.len()];
    fill_uniform::<f64>(key, &mut uniform);
    for_chunks(out, BLOCK, |start, out| {
        for (i, out) in out.iter_mut().enumerate() {
            let row = (start + i) / draws;
            let sums = &sums[row * classes..(row + 1) * classes];
            let total = sums[classes - 1];
            let target = uniform[start + i] * total;
            // The first sum above the target; rounding may push the target to the total, hence the last rise instead.
            let class = sums.partition_point(|&sum| sum <= target);
            let last = sums.partition_point(|&sum| sum < total);
            *out = class.min(last) as i64;
        }
    });
    Ok(())
}
