//! Pooling and flattening: layers without parameters.

use tove_tensor::{PoolOptions, Tensor, TryConv, TryOps};

use super::Layer;
use crate::{LayerReport, Module, Pass, Result, Window};

/// Declares a pooling layer.
macro_rules! pooling {
    ($(#[$doc:meta])* $name:ident, $operation:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Module)]
        pub struct $name {
            options: PoolOptions,
        }

        impl $name {
            /// Windows of `kernel` positions along each axis, side by side.
            pub fn new(kernel: usize) -> $name {
                $name { options: PoolOptions::new(kernel) }
            }

            /// With stride and padding.
            pub fn with(options: PoolOptions) -> $name {
                $name { options }
            }
        }

        impl Layer for $name {
            fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
                let y = x.$operation(&self.options)?;
                pass.tell(self, x, &y, || {
                    let window = Window { kernel: self.options.kernel[1], stride: self.options.stride[1], dilation: 1 };
                    LayerReport { window: Some(window), ..LayerReport::default() }
                });
                Ok(y)
            }
        }
    };
}

pooling! {
    /// Largest element of every window of (…, height, width).
    ///
    /// ```
    /// use tove_nn::{Layer, MaxPool2d, Pass};
    /// use tove_tensor::Tensor;
    /// let y = MaxPool2d::new(2).forward(&Tensor::from([[1.0, 2.0], [4.0, 3.0]]), &Pass::eval())?;
    /// assert_eq!(y.item::<f64>(), 4.0);
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    MaxPool2d, try_max_pool2d
}

pooling! {
    /// Largest element of every window of (…, length).
    MaxPool1d, try_max_pool1d
}

pooling! {
    /// Mean of every window of (…, height, width).
    AvgPool2d, try_avg_pool2d
}

/// Mean over height and width: (images, channels, height, width) to (images, channels).
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct GlobalAvgPool2d {
    // A field, so that layers of this kind in one struct have addresses of their own.
    #[module(skip)]
    _place: u8,
}

impl GlobalAvgPool2d {
    /// The layer.
    pub fn new() -> GlobalAvgPool2d {
        GlobalAvgPool2d::default()
    }
}

impl Layer for GlobalAvgPool2d {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = x.try_mean_axes(&[-2, -1], false)?;
        pass.tell(self, x, &y, || LayerReport { flops: x.numel() as u64, sees_all: true, ..LayerReport::default() });
        Ok(y)
    }
}

/// All axes but the first merged into one.
///
/// ```
/// use tove_nn::{Flatten, Layer, Pass};
/// use tove_tensor::{DType, Tensor};
/// let y = Flatten::new().forward(&Tensor::zeros([5, 2, 3, 4], DType::F32), &Pass::eval())?;
/// assert_eq!(y.shape(), &[5, 24]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, Module)]
pub struct Flatten {
    #[module(skip)]
    _place: u8,
}

impl Flatten {
    /// The layer.
    pub fn new() -> Flatten {
        Flatten::default()
    }
}

impl Layer for Flatten {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = x.try_flatten(1)?;
        pass.tell(self, x, &y, LayerReport::default);
        Ok(y)
    }
}
