//! The three maps of the trilinear form ⟨g, x ∗ w⟩, each linear in both of its inputs.

use smallvec::smallvec;

use super::options::ConvOptions;
use super::unfold::{fold, unfold};
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_float;
use crate::kernels::conv::{Sizes, convolve, convolve_transposed, filter_gradient, guarded};
use crate::ops::matmul::matmul;
use crate::ops::{Op, shape, sum_terms};
use crate::tensor::{Fresh, checked_numel};
use crate::{Error, Result, Shape, Tensor};

/// Which of the three is computed from the other two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// x (images, groups · inputs, height, width) and w (groups · outputs, inputs, rows, columns) give x ∗ w.
    Forward,
    /// g, of the shape of x ∗ w, and w give the gradient by x, whose height and width are `extent`.
    Transposed,
    /// x and g give the gradient by w, whose rows and columns are `extent`.
    Filters,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bilinear {
    pub side: Side,
    pub options: ConvOptions,
    pub extent: [usize; 2],
}

/// The last two sizes.
pub(super) fn spatial(shape: &Shape) -> [usize; 2] {
    [shape.size_from_end(1), shape.size_from_end(0)]
}

impl Bilinear {
    fn with(self, side: Side, extent: [usize; 2]) -> Bilinear {
        Bilinear { side, extent, ..self }
    }

    /// The sizes of the convolution, once everything fits.
    pub fn sizes(&self, a: &Tensor, b: &Tensor) -> Result<Sizes> {
        let (op, o) = (self.name(), &self.options);
        let fail = |problem: String| Err(Error::shapes(op, a.shape(), b.shape(), problem));
        o.check(op)?;
        if a.rank() != 4 || b.rank() != 4 {
            return fail(
                "images need shape (images, channels, height, width), filters (out, in / groups, rows, columns)".into(),
            );
        }
        if a.dtype() != b.dtype() {
            return Err(Error::DTypePair { op, left: a.dtype(), right: b.dtype() });
        }
        let (da, db) = (a.dims(), b.dims());
        let (image, kernel) = match self.side {
            Side::Forward => ([da[2], da[3]], [db[2], db[3]]),
            Side::Transposed => (self.extent, [db[2], db[3]]),
            Side::Filters => ([da[2], da[3]], self.extent),
        };
        let windows = |axis: usize| o.windows(axis, image[axis], kernel[axis]);
        let Some(result) = windows(0).zip(windows(1)).map(|(rows, columns)| [rows, columns]) else {
            return fail(format!(
                "a filter of {kernel:?} with dilation {:?} is larger than the padded image",
                o.dilation
            ));
        };
        // Channels of x, of g, and of one filter.
        let (inputs, outputs, depth) = match self.side {
            Side::Forward => (da[1], db[0], db[1]),
            Side::Transposed => (db[1].saturating_mul(o.groups), da[1], db[1]),
            Side::Filters => (da[1], db[1], da[1] / o.groups),
        };
        if inputs % o.groups != 0 || outputs % o.groups != 0 || depth.checked_mul(o.groups) != Some(inputs) {
            return fail(format!(
                "{inputs} channels in {} groups need filters of depth {}, and the number of filters a multiple of the groups",
                o.groups,
                inputs / o.groups
            ));
        }
        if self.side == Side::Transposed && da[1] != db[0] {
            return fail(format!("{} channels meet {} filters", da[1], db[0]));
        }
        let given = match self.side {
            Side::Forward => result,
            Side::Transposed => [da[2], da[3]],
            Side::Filters => [db[2], db[3]],
        };
        if given != result || (self.side == Side::Filters && da[0] != db[0]) {
            return fail(format!("an image of {image:?} and filters of {kernel:?} give {result:?}"));
        }
        Ok(Sizes {
            images: da[0],
            groups: o.groups,
            inputs: inputs / o.groups,
            outputs: outputs / o.groups,
            image,
            result,
            kernel,
            stride: o.stride,
            padding: o.padding,
            dilation: o.dilation,
        })
    }

    fn shape(&self, s: &Sizes) -> Shape {
        match self.side {
            Side::Forward => Shape::from([s.images, s.groups * s.outputs, s.result[0], s.result[1]]),
            Side::Transposed => Shape::from([s.images, s.groups * s.inputs, s.image[0], s.image[1]]),
            Side::Filters => Shape::from([s.groups * s.outputs, s.inputs, s.kernel[0], s.kernel[1]]),
        }
    }

    /// The map and extent that give the derivative by input `index` from the other input and the gradient.
    pub fn adjoint(&self, index: usize, shape: &Shape) -> Bilinear {
        match (self.side, index) {
            (Side::Forward, 0) | (Side::Filters, 0) => self.with(Side::Transposed, spatial(shape)),
            (Side::Forward, _) | (Side::Transposed, 1) => self.with(Side::Filters, spatial(shape)),
            (Side::Transposed, _) | (Side::Filters, _) => self.with(Side::Forward, [0; 2]),
        }
    }
}

/// Applies one of the maps.
pub(super) fn bilinear(map: Bilinear, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    apply(map, &[a, b])
}

impl Op for Bilinear {
    fn name(&self) -> &'static str {
        match self.side {
            Side::Forward => "conv2d",
            Side::Transposed => "conv_transpose2d",
            Side::Filters => "conv2d_weight",
        }
    }

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let sizes = self.sizes(inputs[0], inputs[1])?;
        if !sizes.suit_tiles() {
            return self.without_tiles(&sizes, inputs[0], inputs[1]);
        }
        let (a, b) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        let mut out = Fresh::new(self.shape(&sizes), a.dtype())?;
        match_float!(self.name(), a.dtype(), T => {
            let (a, b, out, none) = (a.pointer::<T>(), b.pointer::<T>(), out.pointer::<T>(), std::ptr::null());
            // SAFETY: row-major tensors of these sizes, which suit tiles, as checked, and `out` is new.
            guarded(self.name(), || unsafe {
                match self.side {
                    Side::Forward => convolve(&sizes, a, b, none, false, out),
                    Side::Transposed => convolve_transposed(&sizes, a, none, b, out),
                    Side::Filters => filter_gradient(&sizes, a, b, none, out, std::ptr::null_mut()),
                }
            })?;
        });
        Ok(out.finish())
    }

    fn saves(&self, needs: &[bool]) -> Saves {
        Saves::nothing().input_if(1, needs[0]).input_if(0, needs[1])
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        let left = tangents[0].map(|t| bilinear(*self, t, at.input(1))).transpose();
        let right = tangents[1].map(|t| bilinear(*self, at.input(0), t)).transpose();
        sum_terms([left, right])
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let mut grads: Grads = smallvec![None, None];
        for index in (0..2).filter(|&index| needs[index]) {
            let map = self.adjoint(index, at.shape(index));
            let other = at.input(1 - index);
            // The order is (x, w), (g, w) or (x, g), whichever the map takes.
            let grad_first = matches!((self.side, index), (Side::Forward, 0) | (Side::Transposed, _));
            grads[index] = Some(if grad_first { bilinear(map, grad, other)? } else { bilinear(map, other, grad)? });
        }
        Ok(grads)
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let images_only = batched[0] && !batched[1] && self.side != Side::Filters;
        if images_only { self.merge_images(inputs, size) } else { self.merge_groups(inputs, batched, size) }.map(Some)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Option<Result<Tensor>> {
        Some(self.by_patches(inputs[0], inputs[1]))
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        let flops = |s: Sizes| {
            let sizes = [s.images, s.groups, s.outputs, s.result[0], s.result[1], s.inputs, s.kernel[0], s.kernel[1]];
            sizes.iter().fold(2, |product: u64, &size| product.saturating_mul(size as u64))
        };
        self.sizes(inputs[0], inputs[1]).map_or(0, flops)
    }

    fn attributes(&self) -> String {
        let o = &self.options;
        format!("stride={:?}, padding={:?}, dilation={:?}, groups={}", o.stride, o.padding, o.dilation, o.groups)
    }
}

impl Bilinear {
    /// Under `vmap` with common filters: the further axis joins the images.
    fn merge_images(&self, inputs: &[&Tensor], size: usize) -> Result<Tensor> {
        let dims = inputs[0].dims();
        let images = dims[1];
        let merged = shape::reshape(inputs[0], Shape::new(&[size * images]).joined(&dims[2..]))?;
        let y = bilinear(*self, &merged, inputs[1])?;
        shape::reshape(&y, Shape::new(&[size, images]).joined(&y.dims()[1..]))
    }

    /// Under `vmap` otherwise: the further axis joins the groups, so that every slice meets its own filters.
    fn merge_groups(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Tensor> {
        let mut sides: smallvec::SmallVec<[Tensor; 2]> = smallvec![];
        for (index, (&x, &is_batched)) in inputs.iter().zip(batched).enumerate() {
            let logical = &x.dims()[usize::from(is_batched)..];
            let full = Shape::new(&[size]).joined(logical);
            let x = if is_batched { x.clone() } else { shape::broadcast_to(x, full)? };
            let is_filters = index == 1 && self.side != Side::Filters;
            let d = x.dims();
            // Filters: (size · out, in, …). Images: (images, size · channels, …).
            sides.push(if is_filters {
                shape::reshape(&x, Shape::from([d[0] * d[1], d[2], d[3], d[4]]))?
            } else {
                let turned = shape::swap_axes(&x, 0, 1)?;
                shape::reshape(&turned, Shape::from([d[1], d[0] * d[2], d[3], d[4]]))?
            });
        }
        let options = self.options.groups(self.options.groups * size);
        let y = bilinear(Bilinear { options, ..*self }, &sides[0], &sides[1])?;
        let d = y.dims();
        if self.side == Side::Filters {
            return shape::reshape(&y, Shape::from([size, d[0] / size.max(1), d[1], d[2], d[3]]));
        }
        let split = shape::reshape(&y, Shape::from([d[0], size, d[1] / size.max(1), d[2], d[3]]))?;
        shape::swap_axes(&split, 0, 1)
    }

    /// What the kernels do not serve: sums of nothing, and strides or paddings beyond all proportion.
    fn without_tiles(&self, sizes: &Sizes, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        if a.numel() == 0 || b.numel() == 0 || self.shape(sizes).contains(&0) {
            return Tensor::try_zeros(self.shape(sizes), a.dtype());
        }
        match_float!(self.name(), a.dtype(), _T => self.by_patches(a, b))
    }

    /// The definition: products of the matrix of filters, the matrix of patches and their transposes, group by group.
    fn by_patches(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let s = self.sizes(a, b)?;
        // From here on no product of sizes overflows.
        checked_numel(self.name(), &self.shape(&s))?;
        let taps = s.inputs * s.kernel[0] * s.kernel[1];
        let pixels = s.result[0] * s.result[1];
        let patches = |x: &Tensor| {
            let columns = unfold(x, s.kernel, &self.options)?;
            shape::reshape(&columns, Shape::from([s.images, s.groups, taps, pixels]))
        };
        let filters = |w: &Tensor| shape::reshape(w, Shape::from([s.groups, s.outputs, taps]));
        let gradient = |g: &Tensor| shape::reshape(g, Shape::from([s.images, s.groups, s.outputs, pixels]));
        let result = match self.side {
            Side::Forward => matmul(&filters(b)?, &patches(a)?)?,
            Side::Transposed => {
                let columns = matmul(&shape::transpose(&filters(b)?)?, &gradient(a)?)?;
                let columns = shape::reshape(&columns, Shape::from([s.images, s.groups * taps, pixels]))?;
                fold(&columns, s.image, s.kernel, &self.options)?
            }
            Side::Filters => {
                let products = matmul(&gradient(b)?, &shape::transpose(&patches(a)?)?)?;
                crate::ops::reduce::sum(&products, &[0], false)?
            }
        };
        shape::reshape(&result, self.shape(&s))
    }
}
