//! Convolutional layers: n_f filters that each span the depth of the input, moved over all positions.
//!
//! Along an axis of size w, ⌊(w + 2 padding − dilation (kernel − 1) − 1) / stride⌋ + 1 positions come out. A layer has
//! (h_f w_f d / groups + 1) n_f parameters. Nets compute a cross-correlation; flip the filters for the convolution of
//! mathematics.

use tove_tensor::{Activation, ConvOptions, Tensor, TryConv};

use super::linear::draw;
use super::{Layer, parameter};
use crate::error::OrPanic;
use crate::{Init, LayerReport, Module, Pass, Result, Rng, Window};

/// Number of positions a window takes along an axis; 0 if it does not fit at all.
///
/// ```
/// use tove_nn::output_size;
/// assert_eq!((output_size(32, 5, 2, 1, 1), output_size(32, 3, 0, 2, 1)), (32, 15));
/// ```
pub fn output_size(size: usize, kernel: usize, padding: usize, stride: usize, dilation: usize) -> usize {
    let reach = dilation * kernel.saturating_sub(1) + 1;
    (size + 2 * padding).checked_sub(reach).map_or(0, |room| room / stride.max(1) + 1)
}

/// Positions at the end of the padded input that no window reaches, because the stride does not divide the way.
///
/// ```
/// use tove_nn::unreached;
/// assert_eq!((unreached(33, 3, 0, 2, 1), unreached(32, 3, 0, 2, 1)), (0, 1));
/// ```
pub fn unreached(size: usize, kernel: usize, padding: usize, stride: usize, dilation: usize) -> usize {
    let reach = dilation * kernel.saturating_sub(1) + 1;
    (size + 2 * padding).checked_sub(reach).map_or(0, |room| room % stride.max(1))
}

/// Declares a convolutional layer: its documentation, the axes of its window, how weights are laid out, the operation.
macro_rules! convolution {
    (
        $(#[$doc:meta])* $name:ident, axes $dims:literal,
        weight |$inputs:ident, $outputs:ident, $groups:ident| $weight:expr, fused $fused:literal, $operation:ident
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Module)]
        pub struct $name {
            /// The filters.
            pub weight: Tensor,
            /// One number per filter.
            pub bias: Option<Tensor>,
            options: ConvOptions,
        }

        impl $name {
            /// Square windows of `kernel` taps along each axis, without padding, with stride 1. First values are PyTorch's.
            ///
            /// # Panics
            /// If the weights do not fit into memory, as [`Self::with`] and [`Self::windows`] do; see [`Self::try_windows`].
            #[track_caller]
            pub fn new(inputs: usize, outputs: usize, kernel: usize, rng: &mut Rng) -> $name {
                $name::with(inputs, outputs, kernel, ConvOptions::new(), rng)
            }

            /// With stride, padding, dilation and groups.
            #[track_caller]
            pub fn with(inputs: usize, outputs: usize, kernel: usize, options: ConvOptions, rng: &mut Rng) -> $name {
                $name::windows(inputs, outputs, [kernel; $dims], options, rng)
            }

            /// With so many taps along each axis.
            #[track_caller]
            pub fn windows(
                inputs: usize,
                outputs: usize,
                kernel: [usize; $dims],
                options: ConvOptions,
                rng: &mut Rng,
            ) -> $name {
                $name::try_windows(inputs, outputs, kernel, options, rng).or_panic()
            }

            /// As [`Self::windows`], with the error returned.
            pub fn try_windows(
                $inputs: usize,
                $outputs: usize,
                kernel: [usize; $dims],
                options: ConvOptions,
                rng: &mut Rng,
            ) -> Result<$name> {
                let $groups = options.groups.max(1);
                let channels: [usize; 2] = $weight;
                let dims = [&channels[..], &kernel[..]].concat();
                let weight = draw(Init::InverseRoot, &dims, rng)?;
                let fan_in = dims[1..].iter().product::<usize>().max(1) as f64;
                let bias = draw(Init::Uniform(1.0 / fan_in.sqrt()), &[$outputs], rng)?;
                let options = options.activation(Activation::Identity);
                Ok($name { weight, bias: Some(bias), options })
            }

            /// The same layer without its bias.
            pub fn without_bias(self) -> $name {
                $name { bias: None, ..self }
            }

            /// The same layer with filters drawn by another rule and the bias, if any, 0.
            pub fn init(self, rule: Init, rng: &mut Rng) -> Result<$name> {
                let (shape, dtype) = (self.weight.shape().clone(), self.weight.dtype());
                let bias = self.bias.map(|bias| parameter(bias.detach().zeros_like()));
                Ok($name { weight: parameter(rule.draw(shape, rng.key(), dtype)?), bias, ..self })
            }

            /// Stride, padding, dilation and groups.
            pub fn options(&self) -> &ConvOptions {
                &self.options
            }

            fn apply(&self, x: &Tensor, activation: Activation, pass: &Pass) -> Result<Tensor> {
                let options = self.options.activation(activation);
                let y = x.$operation(&self.weight, self.bias.as_ref(), &options)?;
                pass.tell(self, x, &y, || self.report(x, &y));
                Ok(y)
            }
        }

        impl Layer for $name {
            fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
                self.apply(x, Activation::Identity, pass)
            }

            fn forward_relu(&self, x: &Tensor, pass: &Pass) -> Option<Result<Tensor>> {
                ($fused && !pass.is_recording()).then(|| self.apply(x, Activation::Relu, pass))
            }
        }
    };
}

convolution! {
    /// Convolution of images (images, in, height, width); filters (out, in / groups, rows, columns).
    ///
    /// ```
    /// use tove_nn::{Conv2d, Layer, ModuleExt, Pass, Rng};
    /// use tove_tensor::{ConvOptions, DType, Tensor};
    /// let layer = Conv2d::with(3, 10, 5, ConvOptions::new().padding(2), &mut Rng::new(0));
    /// assert_eq!(layer.count_parameters(), (5 * 5 * 3 + 1) * 10);
    /// let y = layer.forward(&Tensor::zeros([1, 3, 32, 32], DType::F32), &Pass::eval())?;
    /// assert_eq!(y.shape(), &[1, 10, 32, 32]);
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    Conv2d, axes 2, weight |inputs, outputs, groups| [outputs, inputs / groups], fused true, try_conv2d
}

convolution! {
    /// Convolution of sequences (images, in, length); filters (out, in / groups, taps).
    ///
    /// ```
    /// use tove_nn::{Conv1d, Layer, Pass, Rng};
    /// use tove_tensor::{DType, Tensor};
    /// let y = Conv1d::new(2, 4, 3, &mut Rng::new(0)).forward(&Tensor::zeros([1, 2, 9], DType::F32), &Pass::eval())?;
    /// assert_eq!(y.shape(), &[1, 4, 7]);
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    Conv1d, axes 1, weight |inputs, outputs, groups| [outputs, inputs / groups], fused true, try_conv1d
}

convolution! {
    /// Transposed convolution of images (images, in, height, width), which enlarges them; filters
    /// (in, out / groups, rows, columns).
    ///
    /// ```
    /// use tove_nn::{ConvTranspose2d, Layer, Pass, Rng};
    /// use tove_tensor::{ConvOptions, DType, Tensor};
    /// let layer = ConvTranspose2d::with(8, 4, 2, ConvOptions::new().stride(2), &mut Rng::new(0));
    /// let y = layer.forward(&Tensor::zeros([1, 8, 7, 7], DType::F32), &Pass::eval())?;
    /// assert_eq!(y.shape(), &[1, 4, 14, 14]);
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    ConvTranspose2d, axes 2, weight |inputs, outputs, groups| [inputs, outputs / groups],
    fused false, try_conv_transpose2d
}

impl Conv2d {
    fn report(&self, x: &Tensor, y: &Tensor) -> LayerReport {
        window_report(&self.weight, &self.options, x, y)
    }
}

impl Conv1d {
    fn report(&self, x: &Tensor, y: &Tensor) -> LayerReport {
        window_report(&self.weight, &self.options, x, y)
    }
}

impl ConvTranspose2d {
    /// Every input meets every tap of its filters once.
    fn report(&self, x: &Tensor, _: &Tensor) -> LayerReport {
        let per_input: usize = self.weight.dims()[1..].iter().product();
        LayerReport { flops: 2 * (x.numel() * per_input) as u64, resamples: true, ..LayerReport::default() }
    }
}

/// Every output is a product with one filter.
fn window_report(weight: &Tensor, options: &ConvOptions, x: &Tensor, y: &Tensor) -> LayerReport {
    let (filter, dims) = (weight.dims(), x.dims());
    let per_output: usize = filter[1..].iter().product();
    let window = Window { kernel: filter[filter.len() - 1], stride: options.stride[1], dilation: options.dilation[1] };
    let ConvOptions { stride, padding, dilation, .. } = *options;
    let rest = |axis: usize, size, kernel| unreached(size, kernel, padding[axis], stride[axis], dilation[axis]);
    let unreached = match (dims, filter) {
        (&[.., height, width], &[_, _, rows, columns]) => [rest(0, height, rows), rest(1, width, columns)],
        (&[.., length], &[.., taps]) => [0, rest(1, length, taps)],
        _ => [0, 0],
    };
    LayerReport {
        flops: 2 * (y.numel() * per_output) as u64,
        window: Some(window),
        unreached,
        ..LayerReport::default()
    }
}
