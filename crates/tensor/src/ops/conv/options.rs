//! Settings of convolutions and pooling, with the names and defaults of PyTorch.

use crate::{Activation, Error, Result};

/// Stride, padding, dilation and groups of a convolution; pairs are (rows, columns), and one-dimensional operations use
/// the second entry.
///
/// ```
/// use tove_tensor::ConvOptions;
/// let options = ConvOptions::new().stride(2).padding(1);
/// assert_eq!((options.stride, options.padding, options.groups), ([2, 2], [1, 1], 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConvOptions {
    /// Distance between neighbouring windows.
    pub stride: [usize; 2],
    /// Zeros added on each side.
    pub padding: [usize; 2],
    /// Distance between neighbouring taps.
    pub dilation: [usize; 2],
    /// Number of groups that channels are cut into; each group's outputs see its inputs only.
    pub groups: usize,
    /// Rows and columns added at the end of the result of a transposed convolution; below the stride or the dilation.
    pub output_padding: [usize; 2],
    /// What follows a convolution, in the same pass.
    pub activation: Activation,
}

impl Default for ConvOptions {
    fn default() -> Self {
        ConvOptions {
            stride: [1; 2],
            padding: [0; 2],
            dilation: [1; 2],
            groups: 1,
            output_padding: [0; 2],
            activation: Activation::Identity,
        }
    }
}

impl ConvOptions {
    /// Stride 1, no padding, dilation 1, one group.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same stride for rows and columns.
    pub fn stride(self, stride: usize) -> Self {
        ConvOptions { stride: [stride; 2], ..self }
    }

    /// The same padding for rows and columns.
    pub fn padding(self, padding: usize) -> Self {
        ConvOptions { padding: [padding; 2], ..self }
    }

    /// The same dilation for rows and columns.
    pub fn dilation(self, dilation: usize) -> Self {
        ConvOptions { dilation: [dilation; 2], ..self }
    }

    /// The number of groups.
    pub fn groups(self, groups: usize) -> Self {
        ConvOptions { groups, ..self }
    }

    /// The same output padding for rows and columns.
    pub fn output_padding(self, output_padding: usize) -> Self {
        ConvOptions { output_padding: [output_padding; 2], ..self }
    }

    /// What follows the convolution.
    pub fn activation(self, activation: Activation) -> Self {
        ConvOptions { activation, ..self }
    }

    /// Refuses zeros where something must be there.
    pub(super) fn check(&self, op: &'static str) -> Result<()> {
        if self.stride.contains(&0) {
            return Err(Error::parameter(op, "stride", "must be at least 1"));
        }
        if self.dilation.contains(&0) {
            return Err(Error::parameter(op, "dilation", "must be at least 1"));
        }
        // Positions are counted in signed numbers, with room for sums of a few of these.
        let largest =
            [self.stride, self.padding, self.dilation, self.output_padding].as_flattened().iter().max().copied();
        if largest > Some(isize::MAX as usize / 8) {
            return Err(Error::parameter(op, "options", "hold a number too large for the position of a pixel"));
        }
        if self.groups == 0 {
            return Err(Error::parameter(op, "groups", "must be at least 1"));
        }
        Ok(())
    }

    /// Number of windows along an axis of `size`: ⌊(size + 2 padding − dilation (kernel − 1) − 1) / stride⌋ + 1.
    pub(super) fn windows(&self, axis: usize, size: usize, kernel: usize) -> Option<usize> {
        let reach = kernel.checked_sub(1)?.checked_mul(self.dilation[axis])?.checked_add(1)?;
        let padded = self.padding[axis].checked_mul(2)?.checked_add(size)?;
        Some(padded.checked_sub(reach)? / self.stride[axis] + 1)
    }

    /// The same settings for one-dimensional data seen as images of height 1.
    pub(super) fn one_dimensional(&self) -> Self {
        let last = |pair: [usize; 2], other: usize| [other, pair[1]];
        ConvOptions {
            stride: last(self.stride, 1),
            padding: last(self.padding, 0),
            dilation: last(self.dilation, 1),
            output_padding: last(self.output_padding, 0),
            ..*self
        }
    }
}

/// Window, stride and padding of pooling; pairs are (rows, columns), and one-dimensional operations use the second entry.
///
/// ```
/// use tove_tensor::PoolOptions;
/// let options = PoolOptions::new(3).stride(2).padding(1);
/// assert_eq!((options.kernel, options.stride, options.padding), ([3, 3], [2, 2], [1, 1]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PoolOptions {
    /// Size of the window.
    pub kernel: [usize; 2],
    /// Distance between neighbouring windows; initially the window's size.
    pub stride: [usize; 2],
    /// Rows and columns added on each side, at most half the window: minus infinity for maxima, zero for means.
    pub padding: [usize; 2],
    /// Whether means count the padding; initially they do.
    pub count_include_pad: bool,
}

impl PoolOptions {
    /// Windows of `kernel` rows and columns, side by side, without padding.
    pub fn new(kernel: usize) -> Self {
        PoolOptions { kernel: [kernel; 2], stride: [kernel; 2], padding: [0; 2], count_include_pad: true }
    }

    /// The same stride for rows and columns.
    pub fn stride(self, stride: usize) -> Self {
        PoolOptions { stride: [stride; 2], ..self }
    }

    /// The same padding for rows and columns.
    pub fn padding(self, padding: usize) -> Self {
        PoolOptions { padding: [padding; 2], ..self }
    }

    /// Whether means count the padding.
    pub fn count_include_pad(self, count_include_pad: bool) -> Self {
        PoolOptions { count_include_pad, ..self }
    }

    /// The same settings for one-dimensional data seen as images of height 1.
    pub(super) fn one_dimensional(&self) -> Self {
        let last = |pair: [usize; 2], other: usize| [other, pair[1]];
        PoolOptions {
            kernel: last(self.kernel, 1),
            stride: last(self.stride, 1),
            padding: last(self.padding, 0),
            count_include_pad: self.count_include_pad,
        }
    }
}
