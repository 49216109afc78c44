//! The register tiles of convolutions.
//!
//! [`channels`]: `MR` neighbouring pixels by `NV` registers of output channels; per (channel, tap) a row of filters is
//! loaded once and multiplied by `MR` broadcast pixels. The tile of choice when there are channels enough to fill
//! registers.
//! [`pixels`]: `MR` output channels by `NV` registers of pixels, with broadcast filters; for few output channels.
//! [`filters`]: the gradient by filters, `MR` (channel, tap) pairs by `NV` registers of output channels, summed over the
//! pixels of an image.

use crate::kernels::gemm::vector::Vector;

/// One call of [`channels`] or [`pixels`].
pub(super) struct Tile<T> {
    /// Number of (channel, tap) pairs, and the distance each reads at.
    pub k: usize,
    pub distances: *const usize,
    /// The first pixel in the padded image.
    pub image: *const T,
    /// Filters: `filter_stride` numbers per pair.
    pub filters: *const T,
    pub filter_stride: usize,
    /// The result: per pixel (`channels`) or per output channel (`pixels`) a row.
    pub out: *mut T,
    pub out_stride: usize,
}

/// `out[i][·] = Σ_p filters[p][·] · image[distance_p + i]`.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn channels<V: Vector, const MR: usize, const NV: usize>(t: &Tile<V::Scalar>) {
    // SAFETY: the caller guarantees the filters, `MR` pixels at each distance, and `MR` rows of the result.
    unsafe {
        let mut sums = [[V::zero(); NV]; MR];
        let mut filters = t.filters;
        for p in 0..t.k {
            let image = t.image.add(*t.distances.add(p));
            let row: [V; NV] = std::array::from_fn(|v| V::load(filters.add(v * V::LANES)));
            for (i, sum) in sums.iter_mut().enumerate() {
                let factor = V::splat(*image.add(i));
                for v in 0..NV {
                    sum[v] = factor.mul_add(row[v], sum[v]);
                }
            }
            filters = filters.add(t.filter_stride);
        }
        for i in 0..MR {
            for v in 0..NV {
                sums[i][v].store(t.out.add(i * t.out_stride + v * V::LANES));
            }
        }
    }
}

/// `out[r][·] = Σ_p filters[p][r] · image[distance_p + ·]`.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn pixels<V: Vector, const MR: usize, const NV: usize>(t: &Tile<V::Scalar>) {
    // SAFETY: the caller guarantees the filters, `NV` registers of pixels at each distance, and of the result.
    unsafe {
        let mut sums = [[V::zero(); NV]; MR];
        let mut filters = t.filters;
        for p in 0..t.k {
            let image = t.image.add(*t.distances.add(p));
            let row: [V; NV] = std::array::from_fn(|v| V::load(image.add(v * V::LANES)));
            for (r, sum) in sums.iter_mut().enumerate() {
                let factor = V::splat(*filters.add(r));
                for v in 0..NV {
                    sum[v] = factor.mul_add(row[v], sum[v]);
                }
            }
            filters = filters.add(t.filter_stride);
        }
        for r in 0..MR {
            for v in 0..NV {
                sums[r][v].store(t.out.add(r * t.out_stride + v * V::LANES));
            }
        }
    }
}

/// One call of [`filters`].
pub(super) struct FilterTile<T> {
    /// Distances of the `MR` (channel, tap) pairs.
    pub distances: *const usize,
    /// The padded image, and the distance between its rows.
    pub image: *const T,
    pub pitch: usize,
    pub rows: usize,
    pub columns: usize,
    /// The gradient, pixel by pixel: `grad_stride` numbers each.
    pub grad: *const T,
    pub grad_stride: usize,
    /// The sums, `sum_stride` numbers per pair; added to.
    pub sums: *mut T,
    pub sum_stride: usize,
}

/// `sums[r][·] += Σ_pixels image[distance_r + pixel] · grad[pixel][·]`.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn filters<V: Vector, const MR: usize, const NV: usize>(t: &FilterTile<V::Scalar>) {
    // SAFETY: the caller guarantees the image at each distance, the gradient of every pixel, and the sums.
    unsafe {
        let mut sums: [[V; NV]; MR] =
            std::array::from_fn(|r| std::array::from_fn(|v| V::load(t.sums.add(r * t.sum_stride + v * V::LANES))));
        let mut places: [*const V::Scalar; MR] = std::array::from_fn(|r| t.image.add(*t.distances.add(r)));
        let mut grad = t.grad;
        for _ in 0..t.rows {
            for x in 0..t.columns {
                let row: [V; NV] = std::array::from_fn(|v| V::load(grad.add(v * V::LANES)));
                for (r, sum) in sums.iter_mut().enumerate() {
                    let factor = V::splat(*places[r].add(x));
                    for v in 0..NV {
                        sum[v] = factor.mul_add(row[v], sum[v]);
                    }
                }
                grad = grad.add(t.grad_stride);
            }
            for place in &mut places {
                *place = place.wrapping_add(t.pitch);
            }
        }
        for r in 0..MR {
            for v in 0..NV {
                sums[r][v].store(t.sums.add(r * t.sum_stride + v * V::LANES));
            }
        }
    }
}
