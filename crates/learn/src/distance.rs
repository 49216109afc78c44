//! Distances of two rows in double precision, from differences of their coordinates.
//!
//! Every method that compares distances uses these sums, so that two methods (a tree and all pairs, bounds and no bounds) come to the
//! same bits. Sums go in eight lanes and in one order, whatever the processor.

use tove_tensor::kernels::simd::{Kernel, dispatch};

use crate::Real;

/// Numbers that are added side by side.
pub(crate) const LANES: usize = 8;

struct Sum<'a, A, B, F> {
    a: &'a [A],
    b: &'a [B],
    term: F,
}

impl<A: Real, B: Real, F: Fn(f64, f64) -> f64> Kernel for Sum<'_, A, B, F> {
    type Output = f64;

    #[inline(always)]
    fn run(self) -> f64 {
        let ((a, a_rest), (b, b_rest)) = (self.a.as_chunks::<LANES>(), self.b.as_chunks::<LANES>());
        let mut lanes = [0.0; LANES];
        for (a, b) in a.iter().zip(b) {
            for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
                *lane += (self.term)(a.f64(), b.f64());
            }
        }
        let [a0, a1, a2, a3, a4, a5, a6, a7] = lanes;
        let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| (self.term)(a.f64(), b.f64())).sum();
        (((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))) + rest
    }
}

#[inline]
fn sum<A: Real, B: Real>(a: &[A], b: &[B], term: impl Fn(f64, f64) -> f64) -> f64 {
    // Short rows are not worth the call of a wider copy; the order of the sum is the same.
    if a.len() < 2 * LANES { Sum { a, b, term }.run() } else { dispatch(Sum { a, b, term }) }
}

/// Σ (a − b)².
#[inline]
pub(crate) fn squared<A: Real, B: Real>(a: &[A], b: &[B]) -> f64 {
    sum(a, b, |a, b| (a - b) * (a - b))
}

/// Σ |a − b|.
#[inline]
pub(crate) fn absolute<T: Real>(a: &[T], b: &[T]) -> f64 {
    sum(a, b, |a, b| (a - b).abs())
}

/// Σ (a / ‖a‖ − b / ‖b‖)², which is twice the cosine distance, for given 1/‖a‖ and 1/‖b‖.
#[inline]
pub(crate) fn angular<T: Real>(a: &[T], b: &[T], inverse_a: f64, inverse_b: f64) -> f64 {
    sum(a, b, |a, b| {
        let difference = a * inverse_a - b * inverse_b;
        difference * difference
    })
}

struct AddScaled<'a, T> {
    sum: &'a mut [f64],
    x: &'a [T],
    factor: f64,
}

impl<T: Real> Kernel for AddScaled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.sum.iter_mut().zip(self.x).for_each(|(sum, x)| *sum += self.factor * x.f64());
    }
}

/// sum += factor · x.
#[inline]
pub(crate) fn add_scaled<T: Real>(sum: &mut [f64], x: &[T], factor: f64) {
    let kernel = AddScaled { sum, x, factor };
    if x.len() < 2 * LANES { kernel.run() } else { dispatch(kernel) }
}

/// Σ a².
#[inline]
pub(crate) fn square_norm<T: Real>(a: &[T]) -> f64 {
    sum(a, a, |a, _| a * a)
}

/// Bound of |s − (‖x − q‖² − ‖q‖²)|, where s = ‖x‖² − 2 q·x was computed in the precision of T from rows of d numbers that were rounded
/// once, with norms up to `x` and `q`. Any order of the sum has a relative error of at most d units in the last place of half ε each.
pub(crate) fn product_error<T: Real>(d: usize, x: f64, q: f64) -> f64 {
    let size = x + q;
    T::EPSILON * (0.5 * d as f64 + 8.0) * size * size + d as f64 * 1e-40
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_have_all_terms_for_any_length() {
        for d in 0..40 {
            let a: Vec<f64> = (0..d).map(|i| i as f64).collect();
            let b = vec![1.0; d];
            let expected: f64 = a.iter().map(|a| (a - 1.0) * (a - 1.0)).sum();
            assert_eq!(squared(&a, &b), expected);
            assert_eq!(absolute(&a, &b), a.iter().map(|a| (a - 1.0).abs()).sum::<f64>());
            assert_eq!(square_norm(&a), a.iter().map(|a| a * a).sum::<f64>());
        }
    }
}
