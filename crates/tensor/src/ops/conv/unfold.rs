//! Patches of images as columns (im2col), and the transpose, which adds columns back into images.

use super::ConvOptions;
use super::bilinear::spatial;
use crate::dtype::match_number;
use crate::kernels::conv::unfold::{self as kernel, Patches};
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

/// (…, C, height, width) to (…, C · rows · columns, windows).
#[derive(Clone, Copy)]
struct Unfold(Patches);

/// The transpose of [`Unfold`].
#[derive(Clone, Copy)]
struct Fold(Patches);

impl LinearMap for Unfold {
    const NAME: &'static str = "unfold";

    #[allow(unsafe_code)]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (p, rank) = (&self.0, x.rank());
        let x = x.contiguous_data()?;
        let (lead, channels) = (&x.dims()[..rank - 3], x.dims()[rank - 3]);
        // Products that overflow stand at the largest number, which no tensor holds.
        let taps = channels.saturating_mul(p.kernel[0]).saturating_mul(p.kernel[1]);
        let windows = p.result[0].saturating_mul(p.result[1]);
        let mut out = Fresh::new(Shape::new(lead).joined(&[taps, windows]), x.dtype())?;
        let planes: usize = x.dims()[..rank - 2].iter().product();
        match_number!(Self::NAME, x.dtype(), T => {
            // SAFETY: `x` is row-major with these planes, and `out` was made for their patches.
            unsafe { kernel::unfold::<T>(p, planes, x.pointer(), out.pointer()) }
        });
        Ok(out.finish())
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(Fold(self.0), grad)
    }

    fn attributes(&self) -> String {
        attributes(&self.0)
    }
}

impl LinearMap for Fold {
    const NAME: &'static str = "fold";

    #[allow(unsafe_code)]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let (p, rank) = (&self.0, x.rank());
        let x = x.contiguous_data()?;
        let (lead, channels) = (&x.dims()[..rank - 2], x.dims()[rank - 2] / (p.kernel[0] * p.kernel[1]));
        let shape = Shape::new(lead).joined(&[channels, p.image[0], p.image[1]]);
        let planes = lead.iter().product::<usize>() * channels;
        let mut out = Fresh::new(shape, x.dtype())?;
        match_number!(Self::NAME, x.dtype(), T => {
            // SAFETY: `x` is row-major with the patches of these planes, and `out` was made for them.
            unsafe { kernel::fold::<T>(p, planes, x.pointer(), out.pointer()) }
        });
        Ok(out.finish())
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(Unfold(self.0), grad)
    }

    fn flops(&self, x: &Tensor) -> u64 {
        x.numel() as u64
    }

    fn attributes(&self) -> String {
        attributes(&self.0)
    }
}

fn attributes(p: &Patches) -> String {
    format!("kernel={:?}, stride={:?}, padding={:?}, dilation={:?}", p.kernel, p.stride, p.padding, p.dilation)
}

fn patches(op: &'static str, shape: &Shape, image: [usize; 2], kernel: [usize; 2], o: &ConvOptions) -> Result<Patches> {
    o.check(op)?;
    let windows = |axis: usize| o.windows(axis, image[axis], kernel[axis]);
    let Some(result) = windows(0).zip(windows(1)).map(|(rows, columns)| [rows, columns]) else {
        return Err(Error::shape(
            op,
            shape,
            format!("a window of {kernel:?} does not fit into the padded image {image:?}"),
        ));
    };
    Ok(Patches { image, result, kernel, stride: o.stride, padding: o.padding, dilation: o.dilation })
}

/// Every window of (…, C, height, width) as a column of (…, C · rows · columns, windows).
pub(crate) fn unfold(x: &Tensor, kernel: [usize; 2], o: &ConvOptions) -> Result<Tensor> {
    if x.rank() < 3 {
        return Err(Error::shape("unfold", x.shape(), "needs (…, channels, height, width)"));
    }
    linear_map(Unfold(patches("unfold", x.shape(), spatial(x.shape()), kernel, o)?), x)
}

/// The transpose: columns of (…, C · rows · columns, windows) added into images (…, C, height, width) of a given size.
pub(crate) fn fold(x: &Tensor, image: [usize; 2], kernel: [usize; 2], o: &ConvOptions) -> Result<Tensor> {
    let p = patches("fold", x.shape(), image, kernel, o)?;
    let (taps, windows) = (kernel[0].saturating_mul(kernel[1]), p.result[0].saturating_mul(p.result[1]));
    let fits =
        x.rank() >= 2 && x.shape().size_from_end(0) == windows && x.shape().size_from_end(1).is_multiple_of(taps);
    if !fits {
        let problem = format!(
            "an image of {image:?} has {windows} windows of {taps} positions; (…, channels · {taps}, {windows}) is needed"
        );
        return Err(Error::shape("fold", x.shape(), problem));
    }
    linear_map(Fold(p), x)
}
