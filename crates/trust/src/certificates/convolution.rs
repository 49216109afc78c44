//! Convolutions and pooling as affine maps and windows on flattened images.

use tove_nn::{Conv2d, output_size};
use tove_tensor::PoolOptions;

use super::affine::Affine;
use super::network::WHAT;
use crate::{Result, TrustError};

/// Per output (channel by channel) its taps inside the image: the tap's number and the place of the input.
pub(super) type Windows = Vec<Vec<(usize, usize)>>;

/// The windows of a pooling layer, channel by channel, and the shape after it.
pub(super) fn windows(
    [channels, height, width]: [usize; 3],
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
    dilation: [usize; 2],
) -> Result<(Windows, [usize; 3])> {
    let rows = output_size(height, kernel[0], padding[0], stride[0], dilation[0]);
    let columns = output_size(width, kernel[1], padding[1], stride[1], dilation[1]);
    if rows == 0 || columns == 0 || kernel.contains(&0) || stride.contains(&0) {
        let problem = format!("a window of {kernel:?} does not fit an image of {height} by {width}");
        return Err(TrustError::data(WHAT, problem, "give larger images, or smaller windows"));
    }
    let mut all = Vec::with_capacity(channels * rows * columns);
    for channel in 0..channels {
        for row in 0..rows {
            for column in 0..columns {
                let mut taps = Vec::with_capacity(kernel[0] * kernel[1]);
                for tap in 0..kernel[0] * kernel[1] {
                    let y = (row * stride[0] + tap / kernel[1] * dilation[0]).checked_sub(padding[0]);
                    let x = (column * stride[1] + tap % kernel[1] * dilation[1]).checked_sub(padding[1]);
                    if let (Some(y), Some(x)) = (y.filter(|y| *y < height), x.filter(|x| *x < width)) {
                        taps.push((tap, (channel * height + y) * width + x));
                    }
                }
                all.push(taps);
            }
        }
    }
    if all.iter().any(Vec::is_empty) {
        return Err(TrustError::data(WHAT, "a window that sees padding only", "give smaller padding"));
    }
    Ok((all, [channels, rows, columns]))
}

/// A convolution as an affine map, and the shape after it.
pub(super) fn convolution(shape: [usize; 3], layer: &Conv2d) -> Result<(Affine, [usize; 3])> {
    let &[outputs, depth, rows, columns] = layer.weight.dims() else {
        return Err(TrustError::data(WHAT, "filters that are not four-dimensional", "give a Conv2d"));
    };
    let options = layer.options();
    let (groups, [channels, height, width]) = (options.groups.max(1), shape);
    if depth * groups != channels || outputs % groups != 0 {
        let problem = format!("a convolution of {} channels on an image of {channels}", depth * groups);
        return Err(TrustError::data(WHAT, problem, "give layers whose sizes fit"));
    }
    let weights = crate::input::reals(WHAT, "filters", &layer.weight)?;
    let bias = match &layer.bias {
        Some(bias) => crate::input::numbers(WHAT, "biases", bias, outputs)?,
        None => vec![0.0; outputs],
    };
    let (places, after) =
        windows([1, height, width], [rows, columns], options.stride, options.padding, options.dilation)?;
    let (area, taps) = (height * width, rows * columns);
    let mut affine = Affine::new(channels * area);
    for (output, bias) in bias.iter().enumerate() {
        let first = output / (outputs / groups) * depth; // first channel of the group
        for window in &places {
            let tap = |channel: usize| {
                let filter = &weights[(output * depth + channel) * taps..][..taps];
                window.iter().map(move |&(tap, place)| ((first + channel) * area + place, filter[tap]))
            };
            affine.push((0..depth).flat_map(tap), *bias);
        }
    }
    Ok((affine, [outputs, after[1], after[2]]))
}

/// Average pooling as an affine map, and the shape after it.
pub(super) fn mean_pool(shape: [usize; 3], options: &PoolOptions) -> Result<(Affine, [usize; 3])> {
    let (places, after) = windows(shape, options.kernel, options.stride, options.padding, [1, 1])?;
    let mut affine = Affine::new(shape.iter().product());
    for window in places {
        let count = if options.count_include_pad { options.kernel[0] * options.kernel[1] } else { window.len() };
        affine.push(window.iter().map(|&(_, place)| (place, 1.0 / count as f64)), 0.0);
    }
    Ok((affine, after))
}
