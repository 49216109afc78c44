//! The fully-connected layer: y = x Wᵀ + b with x (…, in), W (out, in), b (out): (in + 1) · out parameters.

use tove_tensor::{Activation, DType, Tensor, TryOps};

use super::{Layer, parameter};
use crate::error::OrPanic;
use crate::{Init, LayerReport, Module, Pass, Result, Rng};

/// A fully-connected layer. First values are PyTorch's: uniform on ±1/√in.
#[derive(Clone, Debug, Module)]
pub struct Linear {
    /// W, (out, in).
    pub weight: Tensor,
    /// b, (out).
    pub bias: Option<Tensor>,
}

impl Linear {
    /// A layer with bias.
    ///
    /// ```
    /// use tove_nn::{Linear, ModuleExt, Rng};
    /// assert_eq!(Linear::new(3, 4, &mut Rng::new(0)).count_parameters(), 16);
    /// ```
    ///
    /// # Panics
    /// If the weights do not fit into memory; see [`Linear::try_new`].
    #[track_caller]
    pub fn new(inputs: usize, outputs: usize, rng: &mut Rng) -> Linear {
        Linear::try_new(inputs, outputs, rng).or_panic()
    }

    /// As [`Linear::new`], with the error returned.
    ///
    /// ```
    /// use tove_nn::{Linear, Rng};
    /// assert!(Linear::try_new(1 << 62, 8, &mut Rng::new(0)).is_err());
    /// ```
    pub fn try_new(inputs: usize, outputs: usize, rng: &mut Rng) -> Result<Linear> {
        let bias = draw(Init::Uniform(1.0 / (inputs.max(1) as f64).sqrt()), &[outputs], rng)?;
        Ok(Linear { bias: Some(bias), ..Linear::weight_only(inputs, outputs, rng)? })
    }

    /// As `new` and `without_bias`, but with one draw only.
    pub(crate) fn weight_only(inputs: usize, outputs: usize, rng: &mut Rng) -> Result<Linear> {
        Ok(Linear { weight: draw(Init::InverseRoot, &[outputs, inputs], rng)?, bias: None })
    }

    /// The same layer without its bias.
    ///
    /// ```
    /// use tove_nn::{Linear, ModuleExt, Rng};
    /// assert_eq!(Linear::new(3, 4, &mut Rng::new(0)).without_bias().count_parameters(), 12);
    /// ```
    pub fn without_bias(self) -> Linear {
        Linear { bias: None, ..self }
    }

    /// The same layer with weights drawn by another rule and the bias, if any, 0.
    pub fn init(self, rule: Init, rng: &mut Rng) -> Result<Linear> {
        let (shape, dtype) = (self.weight.shape().clone(), self.weight.dtype());
        let bias = self.bias.map(|bias| parameter(bias.detach().zeros_like()));
        Ok(Linear { weight: parameter(rule.draw(shape, rng.key(), dtype)?), bias })
    }

    /// Number of features taken.
    pub fn inputs(&self) -> usize {
        self.weight.dims()[1]
    }

    /// Number of features given.
    pub fn outputs(&self) -> usize {
        self.weight.dims()[0]
    }

    fn apply(&self, x: &Tensor, activation: Activation, pass: &Pass) -> Result<Tensor> {
        let y = x.try_linear(&self.weight, self.bias.as_ref(), activation)?;
        pass.tell(self, x, &y, || {
            let per_output = 2 * self.inputs() as u64; // with the bias taken as the last addition
            LayerReport { flops: y.numel() as u64 * per_output, ..LayerReport::default() }
        });
        Ok(y)
    }
}

/// A fresh f32 parameter; an error if there is no memory for it, or its size is beyond all numbers.
pub(super) fn draw(rule: Init, dims: &[usize], rng: &mut Rng) -> Result<Tensor> {
    Ok(rule.draw(dims, rng.key(), DType::F32)?.try_requires_grad()?)
}

impl Layer for Linear {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.apply(x, Activation::Identity, pass)
    }

    fn forward_relu(&self, x: &Tensor, pass: &Pass) -> Option<Result<Tensor>> {
        (!pass.is_recording()).then(|| self.apply(x, Activation::Relu, pass))
    }
}
