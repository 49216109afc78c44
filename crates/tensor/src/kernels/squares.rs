//! Sum of squared differences in one pass over both operands, in a fixed order for any number of threads.

use super::math::Float;
use super::reduce::{CHUNK, Fold, halves};
use super::simd::{Kernel, dispatch};
use crate::pool::parallel_for;

const LANES: usize = 64;

struct Distance<'a, T> {
    a: &'a [T],
    b: &'a [T],
}

impl<T: Float> Kernel for Distance<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        let mut lanes = [T::ZERO; LANES];
        let (a_body, a_tail) = self.a.as_chunks::<LANES>();
        let (b_body, b_tail) = self.b.as_chunks::<LANES>();
        for (a, b) in a_body.iter().zip(b_body) {
            for lane in 0..LANES {
                let difference = a[lane] - b[lane];
                lanes[lane] = difference.mul_add(difference, lanes[lane]);
            }
        }
        let mut width = LANES / 2;
        while width > 0 {
            for lane in 0..width {
                lanes[lane] += lanes[lane + width];
            }
            width /= 2;
        }
        a_tail.iter().zip(b_tail).fold(lanes[0], |sum, (&a, &b)| (a - b).mul_add(a - b, sum))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Add;

impl<T: Float> Fold<T> for Add {
    #[inline(always)]
    fn neutral(self) -> T {
        T::ZERO
    }
    #[inline(always)]
    fn combine(self, a: T, b: T) -> T {
        a + b
    }
}

/// Σ (a - b)².
pub(crate) fn squared_distance<T: Float>(a: &[T], b: &[T]) -> T {
    let chunks = a.len().div_ceil(CHUNK);
    if chunks <= 1 {
        return dispatch(Distance { a, b });
    }
    let partials: Vec<std::sync::Mutex<T>> = (0..chunks).map(|_| std::sync::Mutex::new(T::ZERO)).collect();
    parallel_for(chunks, &|chunk| {
        let range = chunk * CHUNK..((chunk + 1) * CHUNK).min(a.len());
        let part = dispatch(Distance { a: &a[range.clone()], b: &b[range] });
        *partials[chunk].lock().unwrap_or_else(std::sync::PoisonError::into_inner) = part;
    });
    let partials: Vec<T> =
        partials.into_iter().map(|part| part.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)).collect();
    halves(Add, &partials)
}
