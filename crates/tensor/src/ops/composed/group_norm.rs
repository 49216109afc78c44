//! Normalisation of each sample's channels in groups: x̂ = (x − μ) / √(s² + ε), with mean and variance (1/m) over the
//! channels of a group and all places behind them (Wu and He 2018), then y = γ x̂ + β per channel. One group takes in all
//! channels; a group for each channel is instance norm (Ulyanov et al. 2016).
//!
//! A group's numbers lie side by side in memory, so that this is layer norm of rows, by its kernels.

use crate::ops::fused::layer_norm;
use crate::ops::reduce::require_float;
use crate::ops::{binary, shape};
use crate::{Error, Result, Shape, Tensor};

/// Group norm of (batch, channels, …).
pub(crate) fn group_norm(
    x: &Tensor,
    groups: usize,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    let (_, channels) = sizes("group_norm", x)?;
    if groups == 0 || channels % groups != 0 {
        let problem = format!("is {groups}, which does not divide {channels} channels");
        return Err(Error::parameter("group_norm", "groups", problem));
    }
    normalised("group_norm", x, groups, [weight, bias], eps)
}

/// Instance norm of (batch, channels, …): each channel of each sample for itself.
pub(crate) fn instance_norm(x: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    let (_, channels) = sizes("instance_norm", x)?;
    normalised("instance_norm", x, channels, [weight, bias], eps)
}

/// Numbers of samples and channels.
fn sizes(op: &'static str, x: &Tensor) -> Result<(usize, usize)> {
    match x.dims() {
        &[samples, channels, ..] => Ok((samples, channels)),
        _ => Err(Error::shape(op, x.shape(), "needs axes (batch, channels, …)")),
    }
}

fn normalised(op: &'static str, x: &Tensor, groups: usize, affine: [Option<&Tensor>; 2], eps: f64) -> Result<Tensor> {
    require_float(op, x)?;
    if !(eps >= 0.0 && eps.is_finite()) {
        return Err(Error::parameter(op, "eps", format!("must not be negative, and finite; it is {eps}")));
    }
    let (samples, channels) = sizes(op, x)?;
    let per_channel: usize = x.dims()[2..].iter().product();
    let length = channels.checked_div(groups).unwrap_or(0) * per_channel;
    let rows = shape::reshape(x, Shape::from([samples, groups, length]))?;
    let mut y = shape::reshape(&layer_norm(&rows, &[length], None, None, eps)?, x.shape().clone())?;
    let [weight, bias] = affine.map(|given| given.map(|given| spread(op, x, given)));
    if let Some(weight) = weight {
        y = binary::mul(&y, &weight?)?;
    }
    match bias {
        Some(bias) => binary::add(&y, &bias?),
        None => Ok(y),
    }
}

/// One number per channel, with axes of size 1 for the places behind.
fn spread(op: &'static str, x: &Tensor, given: &Tensor) -> Result<Tensor> {
    let channels = x.dims()[1];
    if given.dims() != [channels] {
        let problem = format!("weight and bias need shape {}, one number per channel", Shape::from(channels));
        return Err(Error::shapes(op, x.shape(), given.shape(), problem));
    }
    if given.dtype() != x.dtype() {
        return Err(Error::DTypePair { op, left: x.dtype(), right: given.dtype() });
    }
    shape::reshape(given, Shape::from(channels).joined(&vec![1; x.rank() - 2]))
}
