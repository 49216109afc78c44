//! Transposed convolution: the adjoint of a convolution as a layer of its own, to enlarge images.

use super::bilinear::{Bilinear, Side, bilinear};
use super::conv2d::add_bias;
use super::{ConvOptions, as_images};
use crate::ops::shape;
use crate::{Error, Result, Tensor};

/// For x (images, in, height, width), w (in, out / groups, rows, columns) and b (out); the result has
/// (height − 1) stride − 2 padding + dilation (rows − 1) + output padding + 1 rows.
pub(crate) fn conv_transpose2d(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, o: &ConvOptions) -> Result<Tensor> {
    const OP: &str = "conv_transpose2d";
    o.check(OP)?;
    if x.rank() != 4 || w.rank() != 4 {
        let problem =
            "the input needs shape (images, in, height, width), the filters (in, out / groups, rows, columns)";
        return Err(Error::shapes(OP, x.shape(), w.shape(), problem));
    }
    let (mut extent, mut further) = ([0; 2], [0; 2]);
    for (axis, length) in extent.iter_mut().enumerate() {
        if o.output_padding[axis] >= o.stride[axis].max(o.dilation[axis]) {
            return Err(Error::parameter(OP, "output_padding", "must be smaller than the stride or the dilation"));
        }
        // So wide an output padding that a convolution of the result would have more windows than there are pixels: the
        // further ones hold zeros.
        further[axis] = o.output_padding[axis] / o.stride[axis];
        let (size, kernel) = (x.dims()[2 + axis], w.dims()[2 + axis]);
        let full = (size.saturating_sub(1).saturating_mul(o.stride[axis]))
            .saturating_add(o.dilation[axis].saturating_mul(kernel.saturating_sub(1)))
            .saturating_add(o.output_padding[axis] + 1);
        match full.checked_sub(2 * o.padding[axis]) {
            Some(rest) if size > 0 && kernel > 0 && rest > 0 => *length = rest,
            _ => return Err(Error::shapes(OP, x.shape(), w.shape(), "nothing is left of the image after the padding")),
        }
    }
    if let Some(bias) = bias
        && (bias.rank() != 1 || bias.dims()[0] != w.dims()[1].saturating_mul(o.groups))
    {
        return Err(Error::shapes(OP, w.shape(), bias.shape(), "the bias needs one number per channel of the result"));
    }
    let map = Bilinear { side: Side::Transposed, options: *o, extent };
    let y = if further == [0; 2] {
        bilinear(map, x, w)?
    } else {
        bilinear(map, &shape::pad(x, &[(0, 0), (0, 0), (0, further[0]), (0, further[1])], 0.0)?, w)?
    };
    bias.map_or(Ok(y.clone()), |bias| add_bias(&y, bias))
}

/// The same for x (images, in, length) and w (in, out / groups, columns).
pub(crate) fn conv_transpose1d(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, o: &ConvOptions) -> Result<Tensor> {
    if x.rank() != 3 || w.rank() != 3 {
        let problem = "the input needs shape (images, channels, length), the filters (in, out / groups, length)";
        return Err(Error::shapes("conv_transpose1d", x.shape(), w.shape(), problem));
    }
    as_images(x, |x| conv_transpose2d(x, &shape::unsqueeze(w, -2)?, bias, &o.one_dimensional()))
}
