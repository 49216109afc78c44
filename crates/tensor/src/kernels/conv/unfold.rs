//! Patches of images as columns of a matrix (im2col), and the transpose, which adds columns back into images.

use super::Shared;
use crate::kernels::elementwise::GRAIN;
use crate::pool::parallel_for;

/// Sizes of one plane (a channel of an image) and of its patches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Patches {
    pub image: [usize; 2],
    pub result: [usize; 2],
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
}

impl Patches {
    /// Where tap `t` of output `o` lies along an axis, if inside the image.
    #[inline(always)]
    fn position(&self, axis: usize, o: usize, t: usize) -> Option<usize> {
        let position = (o * self.stride[axis] + t * self.dilation[axis]).wrapping_sub(self.padding[axis]);
        (position < self.image[axis]).then_some(position)
    }

    fn pixels(&self) -> usize {
        self.image[0] * self.image[1]
    }

    fn entries(&self) -> usize {
        self.kernel[0] * self.kernel[1] * self.result[0] * self.result[1]
    }

    /// Calls `visit` with every entry of a plane's matrix and its pixel, in the order of the matrix.
    #[inline(always)]
    fn walk(&self, mut visit: impl FnMut(usize, Option<usize>)) {
        let mut entry = 0;
        for s in 0..self.kernel[0] {
            for t in 0..self.kernel[1] {
                for i in 0..self.result[0] {
                    let row = self.position(0, i, s);
                    for j in 0..self.result[1] {
                        let pixel = row.zip(self.position(1, j, t)).map(|(y, x)| y * self.image[1] + x);
                        visit(entry, pixel);
                        entry += 1;
                    }
                }
            }
        }
    }

    fn over_planes(&self, planes: usize, body: impl Fn(usize) + Sync) {
        let group = GRAIN.div_ceil(self.entries().max(1)).clamp(1, planes.max(1));
        parallel_for(planes.div_ceil(group), &|task| {
            (task * group..((task + 1) * group).min(planes)).for_each(&body);
        });
    }
}

/// `out[plane][tap][pixel of the result] = x[plane][position]`, zero in the padding.
///
/// # Safety
/// `x` and `out` are row-major with `planes` planes of these sizes and do not overlap.
pub(crate) unsafe fn unfold<T: Copy + Default>(p: &Patches, planes: usize, x: *const T, out: *mut T) {
    let (x, out) = (Shared(x.cast_mut()), Shared(out));
    p.over_planes(planes, |plane| {
        // SAFETY: each plane has its own matrix; `walk` stays inside both.
        unsafe {
            let (x, out) = (x.get().add(plane * p.pixels()), out.get().add(plane * p.entries()));
            p.walk(|entry, pixel| *out.add(entry) = pixel.map_or(T::default(), |pixel| *x.add(pixel)));
        }
    });
}

/// `out[plane][position] = Σ x[plane][tap][pixel of the result]` over all entries that lie there.
///
/// # Safety
/// As for [`unfold`].
pub(crate) unsafe fn fold<T: Copy + Default + std::ops::Add<Output = T>>(
    p: &Patches,
    planes: usize,
    x: *const T,
    out: *mut T,
) {
    let (x, out) = (Shared(x.cast_mut()), Shared(out));
    p.over_planes(planes, |plane| {
        // SAFETY: each plane has its own image; `walk` stays inside both.
        unsafe {
            let (x, out) = (x.get().add(plane * p.entries()), out.get().add(plane * p.pixels()));
            (0..p.pixels()).for_each(|pixel| *out.add(pixel) = T::default());
            p.walk(|entry, pixel| {
                if let Some(pixel) = pixel {
                    *out.add(pixel) = *out.add(pixel) + *x.add(entry);
                }
            });
        }
    });
}
