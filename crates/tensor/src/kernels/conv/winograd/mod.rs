//! Convolutions with 3×3 filters by Winograd's method F(4×4, 3×3), for single precision.
//!
//! Four neighbouring results of a filter g of three taps are a product of polynomials modulo one of degree six, which six
//! points determine. With d the six numbers of the image they read,
//!
//! ```text
//! y = Aᵀ [(G g) ⊙ (Bᵀ d)]        and in two dimensions        Y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A
//! ```
//!
//! so that 4×4 results cost 36 multiplications in place of 144. Summed over channels, each of the 36 positions becomes a
//! matrix product (tiles × inputs) · (inputs × outputs). The gradient by the image is the same convolution with the
//! filters turned round and their roles exchanged; the gradient by the filters is the transpose of the formula above,
//!
//! ```text
//! Σ_tiles  Gᵀ [(Bᵀ d B) ⊙ (A y Aᵀ)] G,
//! ```
//!
//! again a matrix product per position, (inputs × tiles) · (tiles × outputs).
//!
//! The points are 0, ±3/4, ±3/2 and ∞. The row of Bᵀ for a point p holds the coefficients of Π (x − q) over the other
//! points q, that of Aᵀ the powers of p, and that of G (1, p, p²) / Π (p − q). All entries of A and B are exact in single
//! precision, and the error is half of that of the usual points 0, ±1, ±2: for 32 channels of random numbers about 7e-7
//! of the norm, where the direct sum has 2e-7.
//!
//! As with every such method an infinite pixel makes all results of its tile NaN.
//!
//! Sources: S. Winograd, *Arithmetic Complexity of Computations* (1980); A. Lavin and S. Gray, *Fast Algorithms for
//! Convolutional Neural Networks* (2016); on the choice of points B. Barabasz et al., *Error Analysis and Improving the
//! Accuracy of Winograd Convolution for Deep Neural Networks* (2020).

mod filters;
mod grid;
mod images;
mod products;
mod routines;
#[cfg(test)]
mod tests;
mod transforms;

use super::layout::Finish;
use super::{Shared, Sizes};
use filters::FilterGradient;
use images::{Convolution, Taps};

/// Results of a tile along an axis.
const SIDE: usize = 4;
/// Points, or numbers of the image that a tile reads along an axis.
const POINTS: usize = 6;
/// Positions of a transformed tile.
const POSITIONS: usize = POINTS * POINTS;
/// Channels on the results' side that are worked on at once.
const BLOCK: usize = 64;

/// Whether the method serves these sizes and saves time: a rough count of multiply-adds of both ways, in which a number
/// that is transformed or copied counts as several. Transforming the filters, whose 36 positions may well go to memory
/// and back, weighs most when there are few tiles.
pub(super) fn pays(s: &Sizes) -> bool {
    if s.kernel != [3, 3] || s.stride != [1, 1] || s.dilation != [1, 1] || s.groups != 1 {
        return false;
    }
    if s.padding.iter().any(|&padding| padding > 2) || s.inputs < 8 || s.outputs < 8 || s.images == 0 {
        return false;
    }
    let tiles = s.images * s.result[0].div_ceil(SIDE) * s.result[1].div_ceil(SIDE);
    let pairs = s.inputs * s.outputs;
    let transformed = tiles * (POSITIONS * pairs + 400 * (s.inputs + s.outputs)) + 800 * pairs;
    let direct = s.images * s.result[0] * s.result[1] * (9 * pairs + 20 * (s.inputs + s.outputs));
    10 * transformed < 9 * direct
}

/// [`convolve`](super::convolve) by this method.
///
/// # Safety
/// As there, for filters of 3×3, stride and dilation 1, one group and a padding of at most 2.
pub(super) unsafe fn convolve(s: &Sizes, x: *const f32, w: *const f32, bias: *const f32, relu: bool, y: *mut f32) {
    let job = Convolution {
        images: s.images,
        inputs: s.inputs,
        outputs: s.outputs,
        source: x,
        source_size: s.image,
        padding: s.padding,
        gate: std::ptr::null(),
        taps: Taps { pointer: w, output: 9 * s.inputs, input: 9, flipped: false },
        finish: Finish { bias, relu },
        result: Shared(y),
        result_size: s.result,
    };
    // SAFETY: by the caller's promise.
    unsafe { job.run() }
}

/// [`convolve_transposed`](super::convolve_transposed) by this method.
///
/// # Safety
/// As for [`convolve`].
pub(super) unsafe fn convolve_transposed(s: &Sizes, g: *const f32, gate: *const f32, w: *const f32, x: *mut f32) {
    let job = Convolution {
        images: s.images,
        inputs: s.outputs,
        outputs: s.inputs,
        source: g,
        source_size: s.result,
        // A filter of three taps that is turned round begins that much further in front.
        padding: s.padding.map(|padding| 2 - padding),
        gate,
        taps: Taps { pointer: w, output: 9, input: 9 * s.inputs, flipped: true },
        finish: Finish { bias: std::ptr::null(), relu: false },
        result: Shared(x),
        result_size: s.image,
    };
    // SAFETY: by the caller's promise.
    unsafe { job.run() }
}

/// [`filter_gradient`](super::filter_gradient) by this method.
///
/// # Safety
/// As for [`convolve`].
pub(super) unsafe fn filter_gradient(
    s: &Sizes,
    x: *const f32,
    g: *const f32,
    gate: *const f32,
    w: *mut f32,
    bias: *mut f32,
) {
    let job = FilterGradient { sizes: s, x, g, gate, w: Shared(w), bias: Shared(bias) };
    // SAFETY: by the caller's promise.
    unsafe { job.run() }
}
