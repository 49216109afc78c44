//! The transforms of F(4×4, 3×3) along one axis; see the module above for the formulae.
//!
//! Each is written for registers, a channel per lane, and applied along columns and then along rows.

use crate::kernels::gemm::vector::Vector;

/// Squares of the points a = 3/4 and b = 3/2.
const A2: f32 = 0.5625;
const B2: f32 = 2.25;
/// a² b² and −(a² + b²), the coefficients of (x² − a²)(x² − b²).
const A2B2: f32 = 1.265_625;
const MINUS_A2_B2: f32 = -2.8125;
const A: f32 = 0.75;
const B: f32 = 1.5;
/// a³ and b³.
const A3: f32 = 0.421_875;
const B3: f32 = 3.375;
/// 1 / (a² b²), 1 / (2 a² (a² − b²)) and 1 / (2 b² (b² − a²)): what the filters' values are divided by.
const N0: f32 = 64.0 / 81.0;
const NA: f32 = -128.0 / 243.0;
const NB: f32 = 32.0 / 243.0;

/// `x · factor + term`.
#[inline(always)]
unsafe fn fma<V: Vector<Scalar = f32>>(x: V, factor: f32, term: V) -> V {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe { x.mul_add(V::splat(factor), term) }
}

/// The sum and the difference.
#[inline(always)]
unsafe fn butterfly<V: Vector<Scalar = f32>>(x: V, y: V) -> (V, V) {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe { (x.add(y), fma(y, -1.0, x)) }
}

/// Bᵀ d: six neighbours of an image.
#[inline(always)]
pub(super) unsafe fn image<V: Vector<Scalar = f32>>(d: [V; 6]) -> [V; 6] {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe {
        let first = fma(d[0], A2B2, fma(d[2], MINUS_A2_B2, d[4]));
        let last = fma(d[1], A2B2, fma(d[3], MINUS_A2_B2, d[5]));
        let (even_a, odd_a) = (fma(d[2], -B2, d[4]), fma(d[1], -B2, d[3]));
        let (even_b, odd_b) = (fma(d[2], -A2, d[4]), fma(d[1], -A2, d[3]));
        [
            first,
            fma(odd_a, A, even_a),
            fma(odd_a, -A, even_a),
            fma(odd_b, B, even_b),
            fma(odd_b, -B, even_b),
            last,
        ]
    }
}

/// Aᵀ m: products at six points into four results.
#[inline(always)]
pub(super) unsafe fn result<V: Vector<Scalar = f32>>(m: [V; 6]) -> [V; 4] {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe {
        let ((even_a, odd_a), (even_b, odd_b)) = (butterfly(m[1], m[2]), butterfly(m[3], m[4]));
        [
            m[0].add(even_a).add(even_b),
            fma(odd_b, B, odd_a.mul(V::splat(A))),
            fma(even_b, B2, even_a.mul(V::splat(A2))),
            fma(odd_b, B3, fma(odd_a, A3, m[5])),
        ]
    }
}

/// A y: the transpose of [`result`].
#[inline(always)]
pub(super) unsafe fn gradient<V: Vector<Scalar = f32>>(y: [V; 4]) -> [V; 6] {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe {
        let (even_a, odd_a) = (fma(y[2], A2, y[0]), fma(y[3], A3, y[1].mul(V::splat(A))));
        let (even_b, odd_b) = (fma(y[2], B2, y[0]), fma(y[3], B3, y[1].mul(V::splat(B))));
        let ((a, minus_a), (b, minus_b)) = (butterfly(even_a, odd_a), butterfly(even_b, odd_b));
        [y[0], a, minus_a, b, minus_b, y[3]]
    }
}

/// G g: three values of a filter at six points.
#[inline(always)]
pub(super) unsafe fn filter<V: Vector<Scalar = f32>>(g: [V; 3]) -> [V; 6] {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe {
        let (even_a, odd_a) = (fma(g[2], NA * A2, g[0].mul(V::splat(NA))), g[1].mul(V::splat(NA * A)));
        let (even_b, odd_b) = (fma(g[2], NB * B2, g[0].mul(V::splat(NB))), g[1].mul(V::splat(NB * B)));
        let ((a, minus_a), (b, minus_b)) = (butterfly(even_a, odd_a), butterfly(even_b, odd_b));
        [g[0].mul(V::splat(N0)), a, minus_a, b, minus_b, g[2]]
    }
}

/// Gᵀ m: the transpose of [`filter`].
#[inline(always)]
pub(super) unsafe fn filter_gradient<V: Vector<Scalar = f32>>(m: [V; 6]) -> [V; 3] {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe {
        let ((even_a, odd_a), (even_b, odd_b)) = (butterfly(m[1], m[2]), butterfly(m[3], m[4]));
        [
            fma(m[0], N0, fma(even_a, NA, even_b.mul(V::splat(NB)))),
            fma(odd_a, NA * A, odd_b.mul(V::splat(NB * B))),
            fma(even_a, NA * A2, fma(even_b, NB * B2, m[5])),
        ]
    }
}

/// Applies a transform to the columns and then to the rows of what `load(row, column)` gives.
#[inline(always)]
pub(super) unsafe fn both<V: Vector, const N: usize, const M: usize>(
    load: impl Fn(usize, usize) -> V,
    transform: impl Fn([V; N]) -> [V; M],
    mut store: impl FnMut(usize, usize, V),
) {
    // SAFETY: the caller runs on the instruction set of `V`.
    let mut half = unsafe { [[V::zero(); N]; M] };
    for column in 0..N {
        let turned = transform(std::array::from_fn(|row| load(row, column)));
        for row in 0..M {
            half[row][column] = turned[row];
        }
    }
    for (row, half) in half.into_iter().enumerate() {
        for (column, value) in transform(half).into_iter().enumerate() {
            store(row, column, value);
        }
    }
}
