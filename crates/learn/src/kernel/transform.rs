//! Converts inner products to kernel values, one row at a time, with SIMD.

use tove_tensor::kernels::math::Float;
use tove_tensor::kernels::simd::{Kernel, dispatch};

/// Values processed at once.
const LANES: usize = 16;

/// Replaces the products dⱼ by exp(−γ max(0, a + bⱼ − 2 dⱼ)). Returns whether a distance was small compared with the
/// norms, so that it is inaccurate.
pub(super) fn rbf<T: Float>(row: &mut [T], norm: T, norms: &[T], gamma: T, doubt: T) -> bool {
    dispatch(Rbf { row, norm, norms, gamma, doubt })
}

struct Rbf<'a, T> {
    row: &'a mut [T],
    norm: T,
    norms: &'a [T],
    gamma: T,
    doubt: T,
}

impl<T: Float> Kernel for Rbf<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Rbf { row, norm, norms, gamma, doubt } = self;
        let mut least = [T::INFINITY; LANES];
        let (chunks, rest) = row.as_chunks_mut::<LANES>();
        let (others, last) = norms.as_chunks::<LANES>();
        for (values, others) in chunks.iter_mut().zip(others) {
            for lane in 0..LANES {
                let spare;
                (values[lane], spare) = value(values[lane], norm + others[lane], gamma, doubt);
                least[lane] = T::select(spare < least[lane], spare, least[lane]);
            }
        }
        for (product, &other) in rest.iter_mut().zip(last) {
            let spare;
            (*product, spare) = value(*product, norm + other, gamma, doubt);
            least[0] = T::select(spare < least[0], spare, least[0]);
        }
        least.iter().any(|&least| least < T::ZERO)
    }
}

/// The kernel value, and the margin of the distance above the inaccurate range.
#[inline(always)]
fn value<T: Float>(product: T, size: T, gamma: T, doubt: T) -> (T, T) {
    let raw = size - T::TWO * product;
    let square = T::select(raw > T::ZERO, raw, T::ZERO);
    ((-gamma * square).exp(), square - doubt * size)
}

/// Replaces the products d by (γ d + c)^degree.
pub(super) fn poly<T: Float>(row: &mut [T], gamma: T, coef0: T, degree: usize) {
    dispatch(Poly { row, gamma, coef0, degree });
}

struct Poly<'a, T> {
    row: &'a mut [T],
    gamma: T,
    coef0: T,
    degree: usize,
}

impl<T: Float> Kernel for Poly<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Poly { row, gamma, coef0, degree } = self;
        for values in row.chunks_mut(LANES) {
            let (mut base, mut power) = ([T::ZERO; LANES], [T::ONE; LANES]);
            base.iter_mut().zip(values.iter()).for_each(|(base, &value)| *base = gamma * value + coef0);
            let mut left = degree;
            while left > 0 {
                for lane in 0..LANES {
                    power[lane] = T::select(left & 1 == 1, power[lane] * base[lane], power[lane]);
                    base[lane] = base[lane] * base[lane];
                }
                left >>= 1;
            }
            values.iter_mut().zip(power).for_each(|(value, power)| *value = power);
        }
    }
}

/// Replaces the products d by tanh(γ d + c).
pub(super) fn sigmoid<T: Float>(row: &mut [T], gamma: T, coef0: T) {
    dispatch(Sigmoid { row, gamma, coef0 });
}

struct Sigmoid<'a, T> {
    row: &'a mut [T],
    gamma: T,
    coef0: T,
}

impl<T: Float> Kernel for Sigmoid<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for value in self.row.iter_mut() {
            *value = (self.gamma * *value + self.coef0).tanh();
        }
    }
}
