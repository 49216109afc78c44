//! Normalisation of activations.
//!
//! Both compute x̂ = (x − μ) / √(s² + ε) and y = γ x̂ + β. Batch norm (Ioffe and Szegedy 2015) takes μ and s² (with 1/m)
//! of each channel over the batch while it trains, and running means of them when it evaluates:
//! running ← (1 − momentum) running + momentum · new, with the unbiased variance (1/(m − 1)), as in PyTorch, or with the
//! 1/m one by option. Layer norm (Ba et al. 2016) takes them over the features of each sample, training or not.

use tove_tensor::{DType, Shape, Tensor, TryNorm, no_grad};

use super::{Layer, parameter};
use crate::{Buffer, Error, LayerReport, Module, Pass, Result};

/// Batch norm of (batch, channels, …), per channel.
///
/// Running statistics move in every pass that trains, except where the norm is frozen (weight and bias both, see
/// [`ModuleExt::freeze`](crate::ModuleExt::freeze)) or the pass is [`keeping_buffers`](Pass::keeping_buffers). A frozen norm
/// still takes the statistics of the batch while it trains; to use the running ones run it with [`Pass::as_eval`] or inside
/// [`EvalMode`](super::EvalMode).
///
/// Inside `vmap` a training pass would give every sample running statistics of its own, which is an error; evaluate, or keep
/// the buffers.
///
/// ```
/// use tove_nn::{BatchNorm, Layer, Pass};
/// use tove_tensor::{Key, Tensor};
/// let (norm, x) = (BatchNorm::new(1), Tensor::from([[1.0f32], [3.0]]));
/// let y = norm.forward(&x, &Pass::train(Key::new(0)))?;
/// assert!((y.to_vec::<f32>()[1] - 1.0).abs() < 1e-4);
/// // running mean 0.9 · 0 + 0.1 · 2, running variance 0.9 · 1 + 0.1 · 2
/// assert!((norm.running_mean.get().item::<f32>() - 0.2).abs() < 1e-6);
/// assert!((norm.running_var.get().item::<f32>() - 1.1).abs() < 1e-6);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct BatchNorm {
    /// γ, one per channel.
    pub weight: Tensor,
    /// β, one per channel.
    pub bias: Tensor,
    /// Running mean of each channel.
    pub running_mean: Buffer,
    /// Running variance of each channel.
    pub running_var: Buffer,
    /// Added to the variance.
    pub eps: f64,
    /// Share of the newest batch in the running statistics.
    pub momentum: f64,
    /// Whether the running variance takes the unbiased estimate of each batch, as PyTorch's does.
    pub unbiased: bool,
}

impl BatchNorm {
    /// γ = 1, β = 0, ε = 1e-5, momentum 0.1.
    pub fn new(channels: usize) -> BatchNorm {
        let (ones, zeros) = (Tensor::ones([channels], DType::F32), Tensor::zeros([channels], DType::F32));
        BatchNorm {
            weight: parameter(ones.clone()),
            bias: parameter(zeros.clone()),
            running_mean: Buffer::new(zeros),
            running_var: Buffer::new(ones),
            eps: 1e-5,
            momentum: 0.1,
            unbiased: true,
        }
    }

    /// Whether neither weight nor bias is trained.
    fn is_frozen(&self) -> bool {
        !self.weight.is_tracked() && !self.bias.is_tracked()
    }

    fn train(&self, x: &Tensor, update: bool) -> Result<Tensor> {
        let per_channel = x.numel() / x.dims().get(1).copied().unwrap_or(1).max(1);
        if per_channel < 2 {
            let problem = format!(
                "has shape {:?}: one value per channel has no variance; train with batches of two or more \
                 (drop a last batch of one)",
                x.dims()
            );
            return Err(Error::setting("BatchNorm", "input", problem));
        }
        let (y, statistics) = x.try_batch_norm(Some(&self.weight), Some(&self.bias), self.eps)?;
        if !update {
            return Ok(y);
        }
        // What is left of the tracks of a detached tensor are those of `vmap`.
        if statistics.mean.detach().is_tracked() {
            let problem = "would differ between the samples of `vmap`; evaluate with `Pass::eval()` or `as_eval`, freeze the \
                           norm, or run it with `keeping_buffers`";
            return Err(Error::setting("BatchNorm", "running statistics", problem));
        }
        let count = statistics.count as f64;
        let scale = if self.unbiased { count / (count - 1.0) } else { 1.0 };
        no_grad(|| {
            let mix = |buffer: &Buffer, new: &Tensor, scale: f64| {
                let new = new.detach().to_dtype(buffer.get().dtype()) * (self.momentum * scale);
                buffer.set(buffer.get() * (1.0 - self.momentum) + new);
            };
            mix(&self.running_mean, &statistics.mean, 1.0);
            mix(&self.running_var, &statistics.variance, scale);
        });
        Ok(y)
    }
}

impl Layer for BatchNorm {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = if pass.is_training() {
            self.train(x, pass.updates_buffers() && !self.is_frozen())?
        } else {
            let (mean, variance) = (self.running_mean.get(), self.running_var.get());
            x.try_batch_norm_with(&mean, &variance, Some(&self.weight), Some(&self.bias), self.eps)?
        };
        pass.tell(self, x, &y, || LayerReport { flops: 8 * y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }
}

/// Layer norm over the last axis, or the last axes.
///
/// ```
/// use tove_nn::{Layer, LayerNorm, Pass};
/// use tove_tensor::Tensor;
/// let y = LayerNorm::new(2).forward(&Tensor::from([[1.0f32, 3.0]]), &Pass::eval())?;
/// assert!((y.to_vec::<f32>()[0] + 1.0).abs() < 1e-4);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct LayerNorm {
    /// γ, one per feature.
    pub weight: Tensor,
    /// β, one per feature.
    pub bias: Option<Tensor>,
    /// Added to the variance.
    pub eps: f64,
}

impl LayerNorm {
    /// γ = 1, β = 0, ε = 1e-5.
    pub fn new(features: usize) -> LayerNorm {
        LayerNorm::over([features])
    }

    /// Over all of the last axes, which have this shape.
    pub fn over(shape: impl Into<Shape>) -> LayerNorm {
        let shape = shape.into();
        let bias = Some(parameter(Tensor::zeros(shape.clone(), DType::F32)));
        LayerNorm { weight: parameter(Tensor::ones(shape, DType::F32)), bias, eps: 1e-5 }
    }

    /// The same without β.
    pub fn without_bias(self) -> LayerNorm {
        LayerNorm { bias: None, ..self }
    }
}

impl Layer for LayerNorm {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = x.try_layer_norm(self.weight.dims(), Some(&self.weight), self.bias.as_ref(), self.eps)?;
        pass.tell(self, x, &y, || LayerReport { flops: 8 * y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }
}
