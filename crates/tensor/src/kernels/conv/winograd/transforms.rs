//! The transforms of F(4×4, 3×3) along one axis; see the module above for the formulae.
//!
//! Each is written for registers, a channel per lane, and applied along columns and then along rows. Types rather than
//! closures name them: a closure would be compiled without the instruction set of its surroundings.

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
unsafe fn image<V: Vector<Scalar = f32>>(d: [V; 6]) -> [V; 6] {
    // SAFETY: the caller runs on the instruction set of `V`.
    unsafe {
        let first = fma(d[0], A2B2, fma(d[2], MINUS_A2_B2, d[4]));
        let last = fma(d[1], A2B2, fma(d[3], MINUS_A2_B2, d[5]));
        let (even_a, odd_a) = (fma(d[2], -B2, d[4]), fma(d[1], -B2, d[3]));
        let (even_b, odd_b) = (fma(d[2], -A2, d[4]), fma(d[1], -A2, d[3]));
        [first, fma(odd_a, A, even_a), fma(odd_a, -A, even_a), fma(odd_b, B, even_b), fma(odd_b, -B, even_b), last]
    }
}

/// Aᵀ m: products at six points into four results.
#[inline(always)]
unsafe fn result<V: Vector<Scalar = f32>>(m: [V; 6]) -> [V; 4] {
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
unsafe fn gradient<V: Vector<Scalar = f32>>(y: [V; 4]) -> [V; 6] {
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
unsafe fn filter<V: Vector<Scalar = f32>>(g: [V; 3]) -> [V; 6] {
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
unsafe fn filter_gradient<V: Vector<Scalar = f32>>(m: [V; 6]) -> [V; 3] {
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

/// A transform of `N` numbers into `M`.
pub(super) trait Transform<const N: usize, const M: usize> {
    /// # Safety
    /// Must be called from code compiled for the instruction set of `V`.
    unsafe fn apply<V: Vector<Scalar = f32>>(x: [V; N]) -> [V; M];
}

macro_rules! transform {
    ($name:ident, $function:ident, $n:literal, $m:literal) => {
        pub(super) struct $name;

        impl Transform<$n, $m> for $name {
            #[inline(always)]
            unsafe fn apply<V: Vector<Scalar = f32>>(x: [V; $n]) -> [V; $m] {
                // SAFETY: passed on to the caller.
                unsafe { $function(x) }
            }
        }
    };
}
transform!(Image, image, 6, 6);
transform!(Result, result, 6, 4);
transform!(Gradient, gradient, 4, 6);
transform!(Filter, filter, 3, 6);
transform!(FilterGradient, filter_gradient, 6, 3);

/// Registers in memory: distances between rows and between columns.
#[derive(Clone, Copy)]
pub(super) struct Square<P> {
    pub start: P,
    pub row: usize,
    pub column: usize,
}

/// Applies a transform to the columns and then to the rows of a square.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn both<V: Vector<Scalar = f32>, T: Transform<N, M>, const N: usize, const M: usize>(
    from: Square<*const f32>,
    to: Square<*mut f32>,
) {
    // SAFETY: the caller guarantees both squares and the instruction set of `V`.
    unsafe {
        let mut half = [[V::zero(); N]; M];
        for column in 0..N {
            let mut x = [V::zero(); N];
            for row in 0..N {
                x[row] = V::load(from.start.add(row * from.row + column * from.column));
            }
            let turned = T::apply(x);
            for row in 0..M {
                half[row][column] = turned[row];
            }
        }
        for row in 0..M {
            let values = T::apply(half[row]);
            for column in 0..M {
                values[column].store(to.start.add(row * to.row + column * to.column));
            }
        }
    }
}
