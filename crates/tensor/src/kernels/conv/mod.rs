//! Convolutions of images without unfolding them.
//!
//! y[n, o, i, j] = Σ_{c, s, t} w[o, c, s, t] · x[n, c, i·stride + s·dilation − padding, …] and the two maps that belong to
//! the same trilinear form ⟨g, y⟩: its gradient by x (the transposed convolution) and by w. Every image is copied once
//! into a padded scratch area in which the taps of a filter become fixed distances (`plan`); register tiles then run over
//! output channels and pixels (`tiles`, compiled per instruction set in `table`). Filters of 3×3 in single precision
//! take a third of the multiplications by another method where that pays (`winograd`).
//!
//! Tasks are images, or fixed runs of images whose partial sums are added up in order, so that results are bit-identical
//! for any number of threads.

mod correlate;
mod gradient;
mod halves;
mod layout;
mod plan;
pub(crate) mod pool;
mod table;
mod tiles;
pub(crate) mod unfold;
mod winograd;

use correlate::{Correlation, Filters};
use gradient::FilterGradient;
use layout::Finish;
use plan::{Axis, Span};
pub(crate) use table::ConvScalar;

pub(crate) use super::gemm::scratch::guarded;
use super::simd::{Kernel, isa};

/// Sizes of a convolution from `image` to `result` positions; channels are counted per group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    pub images: usize,
    pub groups: usize,
    pub inputs: usize,
    pub outputs: usize,
    pub image: [usize; 2],
    pub result: [usize; 2],
    pub kernel: [usize; 2],
    pub stride: [usize; 2],
    pub padding: [usize; 2],
    pub dilation: [usize; 2],
}

impl Sizes {
    fn axes(&self, make: impl Fn(Span) -> Axis) -> [Axis; 2] {
        [0, 1].map(|a| {
            make(Span {
                input: self.image[a],
                output: self.result[a],
                kernel: self.kernel[a],
                stride: self.stride[a],
                padding: self.padding[a],
                dilation: self.dilation[a],
            })
        })
    }

    fn taps(&self) -> usize {
        self.kernel[0] * self.kernel[1]
    }

    /// Whether the kernels below serve these sizes: nothing is empty, and the padded copies of an image and of a gradient
    /// are in proportion to the tensors themselves. They are not where strides, paddings or dilations are far larger than
    /// the images; such convolutions are computed by patches. All scratch sizes of the kernels are small multiples of what
    /// is bounded here, so that none of them overflows.
    pub(crate) fn suit_tiles(&self) -> bool {
        self.padded_in_proportion() == Some(true)
    }

    /// `None` where a size overflows.
    fn padded_in_proportion(&self) -> Option<bool> {
        let product = |factors: [usize; 4]| factors.iter().try_fold(1usize, |product, &x| product.checked_mul(x));
        let image = product([self.inputs, self.image[0], self.image[1], 1])?;
        let result = product([self.outputs, self.result[0], self.result[1], 1])?;
        let filters = product([self.inputs, self.outputs, self.kernel[0], self.kernel[1]])?;
        if [image, result, filters, self.images, self.groups].contains(&0) {
            return Some(false);
        }
        let (mut forward, mut backward) = (self.inputs, self.outputs);
        for a in 0..2 {
            // As `Axis` lays them out: phases of the image, and the gradient with zeros around it.
            let reach = (self.kernel[a] - 1).checked_mul(self.dilation[a])? / self.stride[a];
            let phases = reach.checked_add(self.result[a])?.checked_mul(self.stride[a])?;
            let around = (self.image[a].checked_add(self.padding[a])? / self.stride[a]).checked_add(reach)?;
            forward = forward.checked_mul(phases)?;
            backward = backward.checked_mul(around.checked_add(3)?)?;
        }
        let tensors = image.checked_add(result)?.checked_add(filters)?;
        let most = tensors.checked_mul(PROPORTION)?.checked_add(SMALL)?;
        Some(forward <= most && backward <= most && most <= isize::MAX as usize / 1024)
    }
}

/// How many times the size of the tensors of one image its padded copy may have, beside [`SMALL`] numbers that it may have
/// in any case.
const PROPORTION: usize = 16;
const SMALL: usize = 1 << 20;

/// A pointer that tasks may share; they touch disjoint outputs.
#[derive(Clone, Copy)]
struct Shared<T>(*mut T);
// SAFETY: see above.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: see above.
unsafe impl<T> Sync for Shared<T> {}
impl<T: Copy> Shared<T> {
    #[inline(always)]
    fn get(self) -> *mut T {
        self.0
    }
}

/// The convolution `y` of `x` (images, groups · inputs, …) with `w` (groups · outputs, inputs, …); then the bias (null for
/// none) and the rectifier.
///
/// # Safety
/// All tensors are row-major of these sizes, which [suit tiles](Sizes::suit_tiles), and `y` overlaps none of the others.
pub(crate) unsafe fn convolve<T: ConvScalar>(
    s: &Sizes,
    x: *const T,
    w: *const T,
    bias: *const T,
    relu: bool,
    y: *mut T,
) {
    // SAFETY: by the caller's promise, and `T` is `f32` where it is taken for that.
    unsafe {
        if T::SINGLE && winograd::pays(s) {
            winograd::convolve(s, x.cast(), w.cast(), bias.cast(), relu, y.cast());
        } else {
            direct(s, x, w, bias, relu, y);
        }
    }
}

/// The transposed convolution: `x` collects what `g` (images, groups · outputs, result) sends back through `w`.
/// Where `gate` (null for none, else of the size of `g`) is not positive, `g` counts as zero.
///
/// # Safety
/// As for [`convolve`], with `x` written.
pub(crate) unsafe fn convolve_transposed<T: ConvScalar>(
    s: &Sizes,
    g: *const T,
    gate: *const T,
    w: *const T,
    x: *mut T,
) {
    // SAFETY: as above.
    unsafe {
        if T::SINGLE && winograd::pays(s) {
            winograd::convolve_transposed(s, g.cast(), gate.cast(), w.cast(), x.cast());
        } else {
            direct_transposed(s, g, gate, w, x);
        }
    }
}

/// The gradient by the filters, `w`[o, c, s, t] = Σ g[n, o, i, j] · x[n, c, …], and by the bias (null for none), the sum of
/// `g` per channel; `gate` as for [`convolve_transposed`].
///
/// # Safety
/// As for [`convolve`], with `w` and `bias` written.
pub(crate) unsafe fn filter_gradient<T: ConvScalar>(
    s: &Sizes,
    x: *const T,
    g: *const T,
    gate: *const T,
    w: *mut T,
    bias: *mut T,
) {
    // SAFETY: as above.
    unsafe {
        if T::SINGLE && winograd::pays(s) {
            winograd::filter_gradient(s, x.cast(), g.cast(), gate.cast(), w.cast(), bias.cast());
        } else {
            direct_filter_gradient(s, x, g, gate, w, bias);
        }
    }
}

/// [`convolve`] by tiles of the padded image.
unsafe fn direct<T: ConvScalar>(s: &Sizes, x: *const T, w: *const T, bias: *const T, relu: bool, y: *mut T) {
    let taps = s.taps();
    let filters = Filters {
        pointer: w,
        group: s.outputs * s.inputs * taps,
        output: s.inputs * taps,
        input: taps,
        row: s.kernel[1],
    };
    let job = Correlation {
        routines: T::routines(isa()),
        images: s.images,
        groups: s.groups,
        inputs: s.inputs,
        outputs: s.outputs,
        source: x,
        source_size: s.image,
        axes: s.axes(Axis::forward),
        result: Shared(y),
        result_size: s.result,
        filters,
        finish: Finish { bias, relu },
        gate: std::ptr::null(),
    };
    // SAFETY: by the caller's promise.
    unsafe { job.run() }
}

/// [`convolve_transposed`] by tiles of the padded gradient.
unsafe fn direct_transposed<T: ConvScalar>(s: &Sizes, g: *const T, gate: *const T, w: *const T, x: *mut T) {
    let taps = s.taps();
    let filters = Filters {
        pointer: w,
        group: s.outputs * s.inputs * taps,
        output: taps,
        input: s.inputs * taps,
        row: s.kernel[1],
    };
    let job = Correlation {
        routines: T::routines(isa()),
        images: s.images,
        groups: s.groups,
        inputs: s.outputs,
        outputs: s.inputs,
        source: g,
        source_size: s.result,
        axes: s.axes(Axis::backward),
        result: Shared(x),
        result_size: s.image,
        filters,
        finish: Finish { bias: std::ptr::null(), relu: false },
        gate,
    };
    // SAFETY: by the caller's promise.
    unsafe { job.run() }
}

/// [`filter_gradient`] by tiles of (channel, tap) pairs.
unsafe fn direct_filter_gradient<T: ConvScalar>(
    s: &Sizes,
    x: *const T,
    g: *const T,
    gate: *const T,
    w: *mut T,
    bias: *mut T,
) {
    let job = FilterGradient {
        routines: T::routines(isa()),
        sizes: s,
        axes: s.axes(Axis::forward),
        x,
        g,
        gate,
        w: Shared(w),
        bias: Shared(bias),
    };
    // SAFETY: by the caller's promise.
    unsafe { job.run() }
}

/// `to = g` where `gate` is positive, zero elsewhere.
struct Gate<T> {
    g: *const T,
    gate: *const T,
    to: *mut T,
    count: usize,
}

impl<T: ConvScalar> Kernel for Gate<T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let zero = T::from(0);
        for i in 0..self.count {
            // SAFETY: whoever makes the kernel guarantees `count` numbers behind each pointer.
            unsafe { *self.to.add(i) = if *self.gate.add(i) > zero { *self.g.add(i) } else { zero } };
        }
    }
}

/// A run of output channels that fills registers: `used` of `width` columns of packed filters.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ChannelBlock {
    first: usize,
    used: usize,
    width: usize,
    /// Sum of the widths before it.
    before: usize,
}

/// Cuts channels into blocks of so many registers, the last of fewer if that is enough.
fn channel_blocks(channels: usize, lanes: usize, registers: usize) -> Vec<ChannelBlock> {
    let starts = (0..channels).step_by(registers * lanes);
    starts
        .map(|first| {
            let used = (channels - first).min(registers * lanes);
            ChannelBlock { first, used, width: used.next_multiple_of(lanes), before: first }
        })
        .collect()
}

/// Cuts `total` into nearly equal pieces of at most `most`; gives the bounds of piece `index`.
#[inline]
fn piece(total: usize, pieces: usize, index: usize) -> (usize, usize) {
    (index * total / pieces, (index + 1) * total / pieces)
}
