//! Normalisation of each sample for itself, over groups of its channels: x̂ = (x − μ) / √(s² + ε) and y = γ x̂ + β.
//!
//! Group norm (Wu and He 2018) takes μ and s² (with 1/m) over the channels of a group and all places of the image; instance
//! norm (Ulyanov et al. 2016) over the places of each channel. Neither looks at other samples, so both do the same in
//! training and evaluation, for batches of any size, and keep no running statistics.

use tove_tensor::{DType, Tensor, TryNorm};

use super::{Layer, parameter};
use crate::{Error, LayerReport, Module, Pass, Result};

/// γ = 1 or β = 0 for every channel.
fn per_channel(channels: usize, value: f64) -> Tensor {
    parameter(Tensor::full([channels], value, DType::F32))
}

/// Refuses an image with another number of channels than the layer was made for.
fn check_channels(layer: &'static str, x: &Tensor, channels: usize) -> Result<()> {
    if x.dims().get(1) == Some(&channels) {
        return Ok(());
    }
    let problem = format!("has shape {:?}, but (batch, {channels}, …) is needed: {channels} channels", x.dims());
    Err(Error::setting(layer, "input", problem))
}

/// Group norm of (batch, channels, …).
///
/// ```
/// use tove_nn::{GroupNorm, Layer, Pass};
/// use tove_tensor::Tensor;
/// let x = Tensor::from([[1.0f32, 3.0, 50.0, 90.0]]);
/// let y = GroupNorm::new(2, 4)?.forward(&x, &Pass::eval())?;
/// assert!((y.to_vec::<f32>()[2] + 1.0).abs() < 1e-4);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct GroupNorm {
    /// γ, one per channel.
    pub weight: Tensor,
    /// β, one per channel.
    pub bias: Tensor,
    /// Number of groups; it divides the number of channels.
    pub groups: usize,
    /// Added to the variance.
    pub eps: f64,
}

impl GroupNorm {
    /// γ = 1, β = 0, ε = 1e-5. An error if the channels cannot be dealt out evenly to the groups.
    pub fn new(groups: usize, channels: usize) -> Result<GroupNorm> {
        if groups == 0 || channels == 0 || !channels.is_multiple_of(groups) {
            let problem = format!("is {groups}, which does not divide {channels} channels");
            return Err(Error::setting("GroupNorm", "groups", problem));
        }
        Ok(GroupNorm { weight: per_channel(channels, 1.0), bias: per_channel(channels, 0.0), groups, eps: 1e-5 })
    }
}

impl Layer for GroupNorm {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        check_channels("GroupNorm", x, self.weight.numel())?;
        let y = x.try_group_norm(self.groups, Some(&self.weight), Some(&self.bias), self.eps)?;
        pass.tell(self, x, &y, || LayerReport { flops: 8 * y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }
}

/// Instance norm of images (batch, channels, height, width): each channel of each image for itself. As in PyTorch it has
/// no parameters unless made by [`InstanceNorm2d::affine`].
///
/// ```
/// use tove_nn::{InstanceNorm2d, Layer, Pass};
/// use tove_tensor::Tensor;
/// let x = Tensor::from([1.0f32, 3.0, 50.0, 90.0]).reshape([1, 2, 1, 2]);
/// let y = InstanceNorm2d::new(2).forward(&x, &Pass::eval())?;
/// assert!((y.to_vec::<f32>()[3] - 1.0).abs() < 1e-4);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct InstanceNorm2d {
    /// γ, one per channel, if there is one.
    pub weight: Option<Tensor>,
    /// β, one per channel, if there is one.
    pub bias: Option<Tensor>,
    /// Number of channels.
    pub channels: usize,
    /// Added to the variance.
    pub eps: f64,
}

impl InstanceNorm2d {
    /// Without γ and β; ε = 1e-5.
    pub fn new(channels: usize) -> InstanceNorm2d {
        InstanceNorm2d { weight: None, bias: None, channels, eps: 1e-5 }
    }

    /// With γ = 1 and β = 0 to be learned; ε = 1e-5.
    pub fn affine(channels: usize) -> InstanceNorm2d {
        let (weight, bias) = (Some(per_channel(channels, 1.0)), Some(per_channel(channels, 0.0)));
        InstanceNorm2d { weight, bias, ..InstanceNorm2d::new(channels) }
    }
}

impl Layer for InstanceNorm2d {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        check_channels("InstanceNorm2d", x, self.channels)?;
        if x.rank() != 4 || x.dims()[2..].iter().product::<usize>() < 2 {
            let problem = format!(
                "has shape {:?}, but (batch, channels, height, width) with two pixels or more is needed: one alone has no \
                 variance",
                x.dims()
            );
            return Err(Error::setting("InstanceNorm2d", "input", problem));
        }
        let y = x.try_instance_norm(self.weight.as_ref(), self.bias.as_ref(), self.eps)?;
        pass.tell(self, x, &y, || LayerReport { flops: 8 * y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }
}
