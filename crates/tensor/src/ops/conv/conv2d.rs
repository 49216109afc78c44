//! Convolution with bias and activation in one pass: act(x ∗ w + b).

use smallvec::smallvec;

use super::bilinear::{Bilinear, Side, bilinear};
use super::{ConvOptions, as_images};
use crate::autodiff::Grads;
use crate::dtype::match_float;
use crate::kernels::conv::{Sizes, convolve, convolve_transposed, filter_gradient, guarded};
use crate::ops::fused::{Fused, Saved, fused};
use crate::ops::{Activation, Aux, binary, reduce, shape, unary};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

/// Inputs x, w and optionally b (out).
#[derive(Clone, Copy)]
struct Conv2d {
    options: ConvOptions,
}

impl Conv2d {
    fn map(&self) -> Bilinear {
        Bilinear { side: Side::Forward, options: self.options, extent: [0; 2] }
    }

    fn check(&self, inputs: &[&Tensor]) -> Result<Sizes> {
        let sizes = self.map().sizes(inputs[0], inputs[1])?;
        if let Some(bias) = inputs.get(2) {
            if bias.dims() != &inputs[1].dims()[..1] {
                let problem = "the bias needs one number per filter";
                return Err(Error::shapes("conv2d", inputs[1].shape(), bias.shape(), problem));
            }
            if bias.dtype() != inputs[0].dtype() {
                return Err(Error::DTypePair { op: "conv2d", left: inputs[0].dtype(), right: bias.dtype() });
            }
        }
        Ok(sizes)
    }
}

impl Conv2d {
    /// The gradients in tensor operations, where the kernels do not serve.
    fn backward_by_maps(&self, at: &Saved<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let (x, w, map) = (at.inputs[0], at.inputs[1], self.map());
        let g = match at.output {
            Some(y) if self.options.activation == Activation::Relu => binary::mul(grad, &unary::positive(y)?)?,
            _ => grad.clone(),
        };
        let mut grads: Grads = smallvec![None; needs.len()];
        if needs[0] {
            grads[0] = Some(bilinear(map.adjoint(0, x.shape()), &g, w)?);
        }
        if needs[1] {
            grads[1] = Some(bilinear(map.adjoint(1, w.shape()), x, &g)?);
        }
        if needs.get(2) == Some(&true) {
            grads[2] = Some(reduce::sum(&g, &[0, 2, 3], false)?);
        }
        Ok(grads)
    }
}

impl Fused for Conv2d {
    const NAME: &'static str = "conv2d";
    const NEEDS_OUTPUT: bool = true;

    #[allow(unsafe_code)]
    fn forward(&self, inputs: &[&Tensor]) -> Result<(Tensor, Aux)> {
        let s = self.check(inputs)?;
        // The kernels do not serve every size; the composition finds its own way.
        if !s.suit_tiles() {
            return Ok((self.definition(inputs)?, Aux::new()));
        }
        let (x, w) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        let bias = inputs.get(2).map(|bias| bias.contiguous_data()).transpose()?;
        let shape = Shape::from([s.images, s.groups * s.outputs, s.result[0], s.result[1]]);
        let mut out = Fresh::new(shape, x.dtype())?;
        match_float!("conv2d", x.dtype(), T => {
            let bias = bias.as_ref().map_or(std::ptr::null(), |bias| bias.pointer::<T>());
            let relu = self.options.activation == Activation::Relu;
            // SAFETY: row-major tensors of these sizes, which suit tiles, as checked, and `out` is new.
            guarded(Self::NAME, || unsafe { convolve(&s, x.pointer::<T>(), w.pointer(), bias, relu, out.pointer()) })?;
        });
        Ok((out.finish(), Aux::new()))
    }

    #[allow(unsafe_code)]
    fn backward(&self, at: &Saved<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let s = self.check(&at.inputs)?;
        if !s.suit_tiles() {
            return self.backward_by_maps(at, grad, needs);
        }
        let (x, w, g) = (at.inputs[0].contiguous_data()?, at.inputs[1].contiguous_data()?, grad.contiguous_data()?);
        // Where the rectifier has given zero, nothing goes back.
        let gated = at.output.filter(|_| self.options.activation == Activation::Relu);
        let gate = gated.map(|y| y.contiguous_data()).transpose()?;
        let needs_bias = needs.get(2) == Some(&true);
        let mut grads: Grads = smallvec![None; needs.len()];
        match_float!("conv2d", x.dtype(), T => {
            let gate = gate.as_ref().map_or(std::ptr::null(), |y| y.pointer::<T>());
            if needs[0] {
                let mut out = Fresh::new(x.shape().clone(), x.dtype())?;
                // SAFETY: row-major tensors of these sizes, which suit tiles, as checked, and `out` is new.
                guarded(Self::NAME, || unsafe {
                    convolve_transposed(&s, g.pointer::<T>(), gate, w.pointer(), out.pointer())
                })?;
                grads[0] = Some(out.finish());
            }
            if needs[1] || needs_bias {
                let mut filters = Fresh::new(w.shape().clone(), x.dtype())?;
                let mut bias = needs_bias.then(|| Fresh::new(Shape::from([w.dims()[0]]), x.dtype())).transpose()?;
                let sums = bias.as_mut().map_or(std::ptr::null_mut(), |bias| bias.pointer::<T>());
                // SAFETY: as above.
                guarded(Self::NAME, || unsafe {
                    filter_gradient(&s, x.pointer::<T>(), g.pointer(), gate, filters.pointer(), sums)
                })?;
                grads[1] = needs[1].then(|| filters.finish());
                if let Some(bias) = bias {
                    grads[2] = Some(bias.finish());
                }
            }
        });
        Ok(grads)
    }

    fn definition(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        self.check(inputs)?;
        let product = bilinear(self.map(), inputs[0], inputs[1])?;
        let sum = match inputs.get(2) {
            Some(bias) => add_bias(&product, bias)?,
            None => product,
        };
        match self.options.activation {
            Activation::Identity => Ok(sum),
            Activation::Relu => unary::relu(&sum),
        }
    }

    fn flops(&self, inputs: &[&Tensor], output: &Tensor) -> u64 {
        2 * output.numel() as u64 * inputs[1].dims()[1..].iter().product::<usize>() as u64
    }

    fn attributes(&self) -> String {
        let o = &self.options;
        format!(
            "stride={:?}, padding={:?}, dilation={:?}, groups={}, activation={:?}",
            o.stride, o.padding, o.dilation, o.groups, o.activation
        )
        .to_lowercase()
    }
}

/// One number per channel added to images.
pub(super) fn add_bias(y: &Tensor, bias: &Tensor) -> Result<Tensor> {
    binary::add(y, &shape::reshape(bias, Shape::from([bias.dims()[0], 1, 1]))?)
}

/// act(x ∗ w + b) for x (images, in, height, width), w (out, in / groups, rows, columns) and b (out).
pub(crate) fn conv2d(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Result<Tensor> {
    let conv = Conv2d { options: *options };
    match bias {
        Some(bias) => fused(conv, &[x, w, bias]),
        None if options.activation == Activation::Identity => bilinear(conv.map(), x, w),
        None => fused(conv, &[x, w]),
    }
}

/// The same for x (images, in, length) and w (out, in / groups, columns).
pub(crate) fn conv1d(x: &Tensor, w: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Result<Tensor> {
    if x.rank() != 3 || w.rank() != 3 {
        let problem = "the input needs shape (images, channels, length), the filters (out, in / groups, length)";
        return Err(Error::shapes("conv1d", x.shape(), w.shape(), problem));
    }
    as_images(x, |x| conv2d(x, &shape::unsqueeze(w, -2)?, bias, &options.one_dimensional()))
}
