//! Gaussian blur that keeps the mean.
//!
//! The kernel is k(d) ∝ exp(−d²/2σ²) for |d| ≤ r = ⌊4σ + ½⌋, divided by its sum, first along rows, then along columns. The
//! image is continued by its mirror image (… b a | a b … y z | z y …). Then the matrix that a line is multiplied with has
//! entries A_ij = Σ k(i − j') over the mirror images j' of j. It is symmetric, because k is, and its rows sum to 1; so do
//! its columns: every pixel hands out exactly its own value, and the total stays. A border of zeros would lose light, a
//! repeated edge pixel would count some pixels twice.

use super::image::{Image, Real, real};

/// The widest Gaussian, in pixels: its kernel still fits memory and time.
pub(super) const WIDEST: f64 = 1000.0;

/// Where a line of length `n`, continued by mirror images, has place `i`.
fn mirrored(i: isize, n: usize) -> usize {
    let place = i.rem_euclid(2 * n as isize) as usize;
    if place < n { place } else { 2 * n - 1 - place }
}

/// The kernel from −r to r.
fn kernel<T: Real>(sigma: f64) -> Vec<T> {
    let radius = (4.0 * sigma + 0.5).floor() as isize;
    let weights: Vec<f64> = (-radius..=radius).map(|d| (-0.5 * (d * d) as f64 / (sigma * sigma)).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| real(weight / total)).collect()
}

/// Blurs by a Gaussian of standard deviation `sigma` pixels.
pub(super) fn blur<T: Real>(image: &mut Image<T>, sigma: f64) {
    // Below an eighth the kernel has one pixel.
    if sigma < 0.125 {
        return;
    }
    let weights = kernel::<T>(sigma);
    let (radius, size) = ((weights.len() / 2) as isize, image.size);
    let (height, width) = (size.height, size.width);
    image.remake(size, |old, new| {
        let mut line = vec![T::default(); width + weights.len() - 1];
        for (old, new) in old.chunks_exact(width).zip(new.chunks_exact_mut(width)) {
            line.iter_mut().zip(-radius..).for_each(|(x, place)| *x = old[mirrored(place, width)]);
            // One weight at a time over the whole line: the inner loop runs on neighbors, and so in vectors.
            for (&weight, start) in weights.iter().zip(0..) {
                new.iter_mut().zip(&line[start..start + width]).for_each(|(x, &y)| *x += weight * y);
            }
        }
    });
    image.remake(size, |old, new| {
        for (row, new) in new.chunks_exact_mut(width).enumerate() {
            for (&weight, offset) in weights.iter().zip(-radius..) {
                let from = mirrored(row as isize + offset, height) * width;
                new.iter_mut().zip(&old[from..from + width]).for_each(|(x, &y)| *x += weight * y);
            }
        }
    });
}
