//! Products of a block of dense rows with a few weight vectors, forward (scores) and backward (gradient).
//!
//! The block is read into the cache once for both directions. A tile of two rows times five vectors keeps ten sums in
//! registers, so the processor multiplies in every cycle even with few classes; a general matrix product would spend
//! its time packing. Sums use fixed lanes in a fixed order: a row's scores have the same bits alone or in a block.

// Loops over lanes and registers index several arrays with one counter; iterators would be harder to read.
#![allow(clippy::needless_range_loop)]

use tove_tensor::kernels::math::Float;

/// Size of a block of rows, which fits in the second-level cache.
const BLOCK_BYTES: usize = 384 * 1024;

/// Rows in a block with `d` columns.
pub(super) fn block_rows<T>(d: usize) -> usize {
    (BLOCK_BYTES / (d.max(1) * size_of::<T>())).clamp(8, 256) / 8 * 8
}

/// Memory layout of the scores: the score of row i and output k is at `i * row + k * output`.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) row: usize,
    pub(crate) output: usize,
}

/// Rows (n, d), weights (k, d) and intercepts (k).
#[derive(Clone, Copy)]
pub(crate) struct Block<'a, T> {
    pub(crate) x: &'a [T],
    pub(crate) d: usize,
    pub(crate) w: &'a [T],
    pub(crate) bias: &'a [T],
}

impl<T: Float> Block<'_, T> {
    /// z ← X Wᵀ + b.
    #[inline(always)]
    pub(crate) fn scores<const L: usize>(self, z: &mut [T], at: Layout) {
        let (k, mut first) = (self.bias.len(), 0);
        while first + 5 <= k {
            self.some::<L, 2, 5>(first, z, at);
            first += 5;
        }
        match k - first {
            4 => self.some::<L, 2, 4>(first, z, at),
            3 => self.some::<L, 2, 3>(first, z, at),
            2 => self.some::<L, 4, 2>(first, z, at),
            1 => self.some::<L, 4, 1>(first, z, at),
            _ => {}
        }
    }

    /// Computes the scores of K outputs, R rows at a time.
    #[inline(always)]
    fn some<const L: usize, const R: usize, const K: usize>(self, first: usize, z: &mut [T], at: Layout) {
        let d = self.d;
        let n = self.x.len().checked_div(d).unwrap_or(0);
        let w: [&[T]; K] = std::array::from_fn(|k| &self.w[(first + k) * d..][..d]);
        let mut row = 0;
        while row + R <= n {
            let x: [&[T]; R] = std::array::from_fn(|r| &self.x[(row + r) * d..][..d]);
            let sums = dots::<T, L, R, K>(x, w);
            for (r, sums) in sums.iter().enumerate() {
                for (k, &sum) in sums.iter().enumerate() {
                    z[(row + r) * at.row + (first + k) * at.output] = sum + self.bias[first + k];
                }
            }
            row += R;
        }
        while row < n {
            let sums = dots::<T, L, 1, K>([&self.x[row * d..][..d]], w);
            for (k, &sum) in sums[0].iter().enumerate() {
                z[row * at.row + (first + k) * at.output] = sum + self.bias[first + k];
            }
            row += 1;
        }
    }
}

/// All dot products of R vectors with K vectors of the same length.
#[inline(always)]
fn dots<T: Float, const L: usize, const R: usize, const K: usize>(x: [&[T]; R], w: [&[T]; K]) -> [[T; K]; R] {
    let d = x[0].len();
    let chunks = d / L;
    let mut sums = [[[T::ZERO; L]; K]; R];
    let mut xs: [&[[T; L]]; R] = [&[]; R];
    let mut ws: [&[[T; L]]; K] = [&[]; K];
    for r in 0..R {
        xs[r] = &x[r].as_chunks::<L>().0[..chunks];
    }
    for k in 0..K {
        ws[k] = &w[k].as_chunks::<L>().0[..chunks];
    }
    for step in 0..chunks {
        for k in 0..K {
            let weights = ws[k][step];
            for r in 0..R {
                let row = xs[r][step];
                for lane in 0..L {
                    sums[r][k][lane] = row[lane].mul_add(weights[lane], sums[r][k][lane]);
                }
            }
        }
    }
    let mut out = [[T::ZERO; K]; R];
    for r in 0..R {
        for k in 0..K {
            let mut width = L / 2;
            let mut lanes = sums[r][k];
            while width > 0 {
                for lane in 0..width {
                    lanes[lane] += lanes[lane + width];
                }
                width /= 2;
            }
            let mut sum = lanes[0];
            for index in chunks * L..d {
                sum = x[r][index].mul_add(w[k][index], sum);
            }
            out[r][k] = sum;
        }
    }
    out
}

/// G += Rᵀ X for residuals r (k, `stride`) in output-major order, added to sums (k, `width`) in double precision.
#[derive(Clone, Copy)]
pub(super) struct Back<'a, T> {
    pub(super) x: &'a [T],
    pub(super) d: usize,
    pub(super) r: &'a [T],
    pub(super) stride: usize,
    pub(super) outputs: usize,
}

impl<T: Float> Back<'_, T> {
    /// Adds the products of all outputs.
    #[inline(always)]
    pub(super) fn add<const W: usize>(self, sums: &mut [f64], width: usize) {
        let mut first = 0;
        while first + 5 <= self.outputs {
            self.some::<W, 5>(first, sums, width);
            first += 5;
        }
        match self.outputs - first {
            4 => self.some::<W, 4>(first, sums, width),
            3 => self.some::<W, 3>(first, sums, width),
            2 => self.some::<W, 2>(first, sums, width),
            1 => self.some::<W, 1>(first, sums, width),
            _ => {}
        }
    }

    #[inline(always)]
    fn some<const W: usize, const K: usize>(self, first: usize, sums: &mut [f64], width: usize) {
        let mut column = 0;
        while column + W <= self.d {
            self.strip::<W, K>(first, column, sums, width);
            column += W;
        }
        while column + 4 <= self.d {
            self.strip::<4, K>(first, column, sums, width);
            column += 4;
        }
        while column < self.d {
            self.strip::<1, K>(first, column, sums, width);
            column += 1;
        }
    }

    /// W columns of K outputs.
    #[inline(always)]
    fn strip<const W: usize, const K: usize>(self, first: usize, column: usize, sums: &mut [f64], width: usize) {
        let rows = self.x.len() / self.d;
        let mut part = [[T::ZERO; W]; K];
        let mut r: [&[T]; K] = [&[]; K];
        for k in 0..K {
            r[k] = &self.r[(first + k) * self.stride..][..rows];
        }
        for (row, x) in self.x.chunks_exact(self.d).enumerate() {
            let Some(x) = x[column..].first_chunk::<W>() else { return };
            for k in 0..K {
                let factor = r[k][row];
                for lane in 0..W {
                    part[k][lane] = factor.mul_add(x[lane], part[k][lane]);
                }
            }
        }
        for k in 0..K {
            let index = (first + k) * width + column;
            for (sum, part) in sums[index..index + W].iter_mut().zip(part[k]) {
                *sum += part.wide();
            }
        }
    }
}

/// Conversions whose names do not clash with those of [`Float`] and [`tove_tensor::Element`].
pub(crate) trait Wide: Float {
    /// Converts to double precision.
    #[inline(always)]
    fn wide(self) -> f64 {
        self.to_f64()
    }

    /// Rounds to the nearest value.
    #[inline(always)]
    fn narrow(x: f64) -> Self {
        Self::from_f64(x)
    }
}

impl<T: Float> Wide for T {}
