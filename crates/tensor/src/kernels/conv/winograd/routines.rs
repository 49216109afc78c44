//! What runs on registers between memory and the matrix products.

use std::marker::PhantomData;

use super::transforms::{Filter, FilterGradient, Result, Square, Transform, both};
use super::{POINTS, SIDE};
use crate::kernels::gemm::vector::{Routine, Vector};

/// Copies planes of `count` adjacent pixels to places pixel by pixel, a row of channels each. Lanes beyond the last
/// channel repeat it.
pub(super) struct ToPixels<'a> {
    pub from: *const f32,
    /// Distance between channels.
    pub plane: usize,
    pub channels: usize,
    pub count: usize,
    /// Where each pixel goes.
    pub places: &'a [usize],
    pub to: *mut f32,
}

impl Routine for ToPixels<'_> {
    #[inline(always)]
    unsafe fn run<V: Vector<Scalar = f32>>(self) {
        // SAFETY: whoever makes the routine guarantees planes and places.
        unsafe {
            let mut block = [V::zero(); 16];
            let numbers: *mut f32 = block.as_mut_ptr().cast();
            for channel in (0..self.channels).step_by(V::LANES) {
                let used = (self.channels - channel).min(V::LANES);
                let from = self.from.add(channel * self.plane);
                let to = self.to.add(channel);
                let mut first = 0;
                while self.count >= V::LANES && first < self.count {
                    // The last block ends with the last pixel, and may repeat some.
                    first = first.min(self.count - V::LANES);
                    V::transpose(from.add(first), self.plane as isize, used, numbers, V::LANES);
                    for (lane, &value) in block.iter().enumerate().take(V::LANES) {
                        value.store(to.add(*self.places.get_unchecked(first + lane)));
                    }
                    first += V::LANES;
                }
                for pixel in first..self.count {
                    let to = to.add(*self.places.get_unchecked(pixel));
                    for lane in 0..V::LANES {
                        *to.add(lane) = *from.add(lane.min(used - 1) * self.plane + pixel);
                    }
                }
            }
        }
    }
}

/// A grid of tiles of one strip, and where their transforms lie: `position` numbers from one of the 36 positions to the
/// next, `width` from a tile to the next.
#[derive(Clone, Copy)]
pub(super) struct Strip {
    pub rows: usize,
    pub columns: usize,
    pub width: usize,
    /// Pixels between rows of the pixel side.
    pub pitch: usize,
    pub position: usize,
}

impl Strip {
    /// The pixels of a tile.
    #[inline(always)]
    fn pixels<P>(&self, start: P) -> Square<P> {
        Square { start, row: self.pitch * self.width, column: self.width }
    }
}

/// The positions of a tile, or of a filter, `position` numbers apart.
#[inline(always)]
fn points_of<P>(start: P, position: usize) -> Square<P> {
    Square { start, row: POINTS * position, column: position }
}

/// From pixels to the 36 positions of every tile. Tiles lie four pixels apart: `Points<Image, 6>` is Bᵀ d B of six by six
/// pixels, which overlap, `Points<Gradient, 4>` is A y Aᵀ of four by four side by side.
pub(super) struct Points<T, const N: usize> {
    strip: Strip,
    pixels: *const f32,
    out: *mut f32,
    transform: PhantomData<T>,
}

impl<T, const N: usize> Points<T, N> {
    pub(super) fn new(strip: Strip, pixels: *const f32, out: *mut f32) -> Points<T, N> {
        Points { strip, pixels, out, transform: PhantomData }
    }
}

impl<T: Transform<N, 6>, const N: usize> Routine for Points<T, N> {
    #[inline(always)]
    unsafe fn run<V: Vector<Scalar = f32>>(self) {
        let s = self.strip;
        // SAFETY: whoever makes the routine guarantees the pixels of all tiles and the room.
        unsafe {
            for tile in 0..s.rows * s.columns {
                let (i, j) = (tile / s.columns, tile % s.columns);
                for lane in (0..s.width).step_by(V::LANES) {
                    let from = self.pixels.add(SIDE * (i * s.pitch + j) * s.width + lane);
                    let to = self.out.add(tile * s.width + lane);
                    both::<V, T, N, 6>(s.pixels(from), points_of(to, s.position));
                }
            }
        }
    }
}

/// Aᵀ m A for every tile. Rows of pixels are as long as those of the result: what a tile at the right edge writes beyond
/// its row falls on the next one, whose own tiles come later, since tiles go from right to left and then down.
pub(super) struct Results {
    pub strip: Strip,
    pub products: *const f32,
    pub pixels: *mut f32,
}

impl Routine for Results {
    #[inline(always)]
    unsafe fn run<V: Vector<Scalar = f32>>(self) {
        let s = self.strip;
        // SAFETY: whoever makes the routine guarantees the products, and room for a tile's side beyond the last row.
        unsafe {
            for i in 0..s.rows {
                for j in (0..s.columns).rev() {
                    for lane in (0..s.width).step_by(V::LANES) {
                        let from = self.products.add((i * s.columns + j) * s.width + lane);
                        let to = self.pixels.add(SIDE * (i * s.pitch + j) * s.width + lane);
                        both::<V, Result, 6, 4>(points_of(from, s.position), s.pixels(to));
                    }
                }
            }
        }
    }
}

/// G g Gᵀ of one source channel for a block of `used` filters, `width` with the padding.
pub(super) struct Filters {
    /// The first filter's value for the first tap.
    pub from: *const f32,
    /// Distance between filters.
    pub stride: usize,
    /// Whether the taps go backwards.
    pub flipped: bool,
    pub used: usize,
    pub width: usize,
    pub out: *mut f32,
    pub position: usize,
}

impl Routine for Filters {
    #[inline(always)]
    unsafe fn run<V: Vector<Scalar = f32>>(self) {
        // SAFETY: whoever makes the routine guarantees the filters and the room.
        unsafe {
            let mut taps = [V::zero(); 9];
            let numbers: *mut f32 = taps.as_mut_ptr().cast();
            for lane in (0..self.width).step_by(V::LANES) {
                for tap in 0..9 {
                    let source = if self.flipped { 8 - tap } else { tap };
                    for l in 0..V::LANES {
                        let inside = lane + l < self.used;
                        let from = self.from.add(if inside { (lane + l) * self.stride } else { 0 } + source);
                        *numbers.add(tap * V::LANES + l) = if inside { *from } else { 0.0 };
                    }
                }
                let from = Square { start: numbers.cast_const(), row: 3 * V::LANES, column: V::LANES };
                both::<V, Filter, 3, 6>(from, points_of(self.out.add(lane), self.position));
            }
        }
    }
}

/// Gᵀ s G for every source channel: `sums` (position, channel, filter) to `out` (channel, tap, filter).
pub(super) struct FilterGradients {
    pub channels: usize,
    pub width: usize,
    pub sums: *const f32,
    pub position: usize,
    pub out: *mut f32,
}

impl Routine for FilterGradients {
    #[inline(always)]
    unsafe fn run<V: Vector<Scalar = f32>>(self) {
        // SAFETY: whoever makes the routine guarantees the sums and the room.
        unsafe {
            for channel in 0..self.channels {
                for lane in (0..self.width).step_by(V::LANES) {
                    let from = self.sums.add(channel * self.width + lane);
                    let to = self.out.add(9 * channel * self.width + lane);
                    let to = Square { start: to, row: 3 * self.width, column: self.width };
                    both::<V, FilterGradient, 6, 3>(points_of(from, self.position), to);
                }
            }
        }
    }
}
