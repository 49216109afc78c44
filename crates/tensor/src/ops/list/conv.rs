//! Methods on images and sequences: convolutions, pooling, patches.

use super::{Sealed, methods};
use crate::Tensor;
use crate::ops::conv::{self, ConvMode, ConvOptions, Interpolation, PoolOptions};
use crate::ops::reduce;

methods! {
    /// The `try_` twins of the methods on images and sequences.
    trait TryConv: Sealed;

    /// Convolution (cross-correlation, as nets use it) of images (images, in, height, width) with filters
    /// (out, in / groups, rows, columns), a bias (out) and an activation. For the convolution of mathematics see
    /// [`Tensor::convolve2d`].
    ///
    /// ```
    /// use tove_tensor::{ConvOptions, DType, Tensor};
    /// let (x, w) = (Tensor::ones([1, 1, 3, 3], DType::F32), Tensor::ones([1, 1, 2, 2], DType::F32));
    /// assert_eq!(x.conv2d(&w, None, &ConvOptions::new()).to_vec::<f32>(), [4.0; 4]);
    /// ```
    conv2d try_conv2d(weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor =
        |x| conv::conv2d(x, weight, bias, options);
    /// Convolution of sequences (images, in, length) with filters (out, in / groups, columns).
    ///
    /// ```
    /// use tove_tensor::{ConvOptions, Tensor};
    /// let (x, w) = (Tensor::from([[[1.0, 2.0, 3.0]]]), Tensor::from([[[1.0, 10.0]]]));
    /// assert_eq!(x.conv1d(&w, None, &ConvOptions::new()).to_vec::<f64>(), [21.0, 32.0]);
    /// ```
    conv1d try_conv1d(weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor =
        |x| conv::conv1d(x, weight, bias, options);
    /// Transposed convolution of images (images, in, height, width) with filters (in, out / groups, rows, columns).
    ///
    /// ```
    /// use tove_tensor::{ConvOptions, Tensor};
    /// let x = Tensor::from_vec(vec![1.0, 2.0], [1, 1, 1, 2]);
    /// let w = Tensor::from_vec(vec![1.0, 10.0], [1, 1, 1, 2]);
    /// assert_eq!(x.conv_transpose2d(&w, None, &ConvOptions::new()).to_vec::<f64>(), [1.0, 12.0, 20.0]);
    /// ```
    conv_transpose2d try_conv_transpose2d(weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor =
        |x| conv::conv_transpose2d(x, weight, bias, options);
    /// Transposed convolution of sequences (images, in, length) with filters (in, out / groups, columns).
    ///
    /// ```
    /// use tove_tensor::{ConvOptions, Tensor};
    /// let (x, w) = (Tensor::from([[[1.0, 2.0]]]), Tensor::from([[[1.0, 10.0]]]));
    /// assert_eq!(x.conv_transpose1d(&w, None, &ConvOptions::new().stride(2)).to_vec::<f64>(), [1.0, 10.0, 2.0, 20.0]);
    /// ```
    conv_transpose1d try_conv_transpose1d(weight: &Tensor, bias: Option<&Tensor>, options: &ConvOptions) -> Tensor =
        |x| conv::conv_transpose1d(x, weight, bias, options);
    /// Largest element of every window of (…, height, width); among equals the first takes the derivative.
    ///
    /// ```
    /// use tove_tensor::{PoolOptions, Tensor};
    /// assert_eq!(Tensor::from([[1.0, 2.0], [4.0, 3.0]]).max_pool2d(&PoolOptions::new(2)).item::<f64>(), 4.0);
    /// ```
    max_pool2d try_max_pool2d(options: &PoolOptions) -> Tensor = |x| conv::max_pool2d(x, options);
    /// Largest element of every window of (…, length).
    ///
    /// ```
    /// use tove_tensor::{PoolOptions, Tensor};
    /// assert_eq!(Tensor::from([1.0, 3.0, 2.0]).max_pool1d(&PoolOptions::new(2).stride(1)).to_vec::<f64>(), [3.0, 3.0]);
    /// ```
    max_pool1d try_max_pool1d(options: &PoolOptions) -> Tensor = |x| conv::max_pool1d(x, options);
    /// Mean of every window of (…, height, width).
    ///
    /// ```
    /// use tove_tensor::{PoolOptions, Tensor};
    /// assert_eq!(Tensor::from([[1.0, 2.0], [4.0, 3.0]]).avg_pool2d(&PoolOptions::new(2)).item::<f64>(), 2.5);
    /// ```
    avg_pool2d try_avg_pool2d(options: &PoolOptions) -> Tensor = |x| conv::avg_pool2d(x, options);
    /// Mean of every window of (…, length).
    ///
    /// ```
    /// use tove_tensor::{PoolOptions, Tensor};
    /// assert_eq!(Tensor::from([1.0, 3.0, 2.0]).avg_pool1d(&PoolOptions::new(2).stride(1)).to_vec::<f64>(), [2.0, 2.5]);
    /// ```
    avg_pool1d try_avg_pool1d(options: &PoolOptions) -> Tensor = |x| conv::avg_pool1d(x, options);
    /// Means over windows of (…, height, width) chosen so that the result has the size asked for.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// assert_eq!(Tensor::from([[1.0, 2.0, 6.0]]).adaptive_avg_pool2d([1, 2]).to_vec::<f64>(), [1.5, 4.0]);
    /// ```
    adaptive_avg_pool2d try_adaptive_avg_pool2d(size: [usize; 2]) -> Tensor = |x| conv::adaptive_avg_pool2d(x, size);
    /// Images (…, height, width) at another height and width, by the nearest pixel or between the four around; as PyTorch's
    /// with `align_corners=False`. Lengths of sequences change in the same way with a height of 1.
    ///
    /// ```
    /// use tove_tensor::{Interpolation, Tensor};
    /// let x = Tensor::from([[0.0, 4.0]]);
    /// assert_eq!(x.interpolate([1, 4], Interpolation::Nearest).to_vec::<f64>(), [0.0, 0.0, 4.0, 4.0]);
    /// assert_eq!(x.interpolate([1, 4], Interpolation::Bilinear).to_vec::<f64>(), [0.0, 1.0, 3.0, 4.0]);
    /// ```
    interpolate try_interpolate(size: [usize; 2], method: Interpolation) -> Tensor =
        |x| conv::interpolate(x, size, method);
    /// Mean over height and width, which stay with size 1.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [4.0, 3.0]]).global_avg_pool2d().to_vec::<f64>(), [2.5]);
    /// ```
    global_avg_pool2d try_global_avg_pool2d() -> Tensor = |x| reduce::mean(x, &[-2, -1], true);
    /// Every window of (…, channels, height, width) as a column of (…, channels · rows · columns, windows), in row order.
    /// A convolution is the matrix of filters times this.
    ///
    /// ```
    /// use tove_tensor::{ConvOptions, Tensor};
    /// let x = Tensor::from([[[1.0, 2.0, 3.0]]]);
    /// assert_eq!(x.unfold([1, 2], &ConvOptions::new()).to_vec::<f64>(), [1.0, 2.0, 2.0, 3.0]);
    /// ```
    unfold try_unfold(kernel: [usize; 2], options: &ConvOptions) -> Tensor = |x| conv::unfold(x, kernel, options);
    /// The transpose of [`Tensor::unfold`]: columns added back into images of the given size.
    ///
    /// ```
    /// use tove_tensor::{ConvOptions, Tensor};
    /// let columns = Tensor::from([[1.0, 2.0], [2.0, 3.0]]);
    /// assert_eq!(columns.fold([1, 3], [1, 2], &ConvOptions::new()).to_vec::<f64>(), [1.0, 4.0, 3.0]);
    /// ```
    fold try_fold(image: [usize; 2], kernel: [usize; 2], options: &ConvOptions) -> Tensor =
        |x| conv::fold(x, image, kernel, options);
    /// Cross-correlation of an image (height, width) with a filter (rows, columns): y(n) = Σ_m f(m) x(n + m), with zeros
    /// outside the image. This is what [`Tensor::conv2d`] computes. As `scipy.signal.correlate2d`.
    ///
    /// ```
    /// use tove_tensor::{ConvMode, Tensor};
    /// let (x, f) = (Tensor::from([[1.0, 2.0, 3.0]]), Tensor::from([[1.0, 10.0]]));
    /// assert_eq!(x.correlate2d(&f, ConvMode::Valid).to_vec::<f64>(), [21.0, 32.0]);
    /// assert_eq!(x.correlate2d(&f, ConvMode::Full).to_vec::<f64>(), [10.0, 21.0, 32.0, 3.0]);
    /// ```
    ///
    /// # Errors
    /// If image or filter does not have two axes or is empty, or the filter does not fit into the image with
    /// [`ConvMode::Valid`].
    correlate2d try_correlate2d(filter: &Tensor, mode: ConvMode) -> Tensor = |x| conv::correlate2d(x, filter, mode);
    /// Convolution of an image (height, width) with a filter (rows, columns): y(n) = Σ_k f(k) x(n − k), with zeros outside
    /// the image. It equals [`Tensor::correlate2d`] with the filter flipped along both axes, except that with
    /// [`ConvMode::Same`] and an even number of taps the two keep parts that begin one position apart. As
    /// `scipy.signal.convolve2d`.
    ///
    /// ```
    /// use tove_tensor::{ConvMode, Tensor};
    /// let (x, f) = (Tensor::from([[1.0, 2.0, 3.0]]), Tensor::from([[1.0, 10.0]]));
    /// assert_eq!(x.convolve2d(&f, ConvMode::Valid).to_vec::<f64>(), [12.0, 23.0]);
    /// assert_eq!(x.convolve2d(&f, ConvMode::Full).to_vec::<f64>(), [1.0, 12.0, 23.0, 30.0]);
    /// ```
    ///
    /// # Errors
    /// As for [`Tensor::correlate2d`].
    convolve2d try_convolve2d(filter: &Tensor, mode: ConvMode) -> Tensor = |x| conv::convolve2d(x, filter, mode);
}
