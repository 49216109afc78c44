//! Elementwise non-linearities.
//!
//! | name | φ(s) | derivative |
//! |---|---|---|
//! | sigmoid | σ(s) = 1 / (1 + e⁻ˢ) | σ (1 − σ), at most 1/4 |
//! | tanh | 2 σ(2s) − 1 | 1 − tanh² |
//! | ReLU | max(0, s) | 1 for s > 0, else 0 |
//! | leaky ReLU | s, or a s for s < 0 | 1 or a |
//! | PReLU | the same with a learned | by a: min(s, 0) |
//! | softplus | ln(1 + eˢ) | σ |
//! | ELU | s, or a (eˢ − 1) for s < 0 | 1 or a eˢ |
//! | GELU | s Φ(s) | Φ + s φ |
//! | SiLU | s σ(s) | σ (1 + s (1 − σ)) |
//! | slope sigmoid | σ(a s), towards a step as a grows | a σ (1 − σ) |
//! | power | sᵖ | p sᵖ⁻¹: explodes for large s, vanishes near 0 |
//! | square root | √s, for s ≥ 0 only | 1 / (2 √s) |
//!
//! Sigmoid and tanh saturate on both sides, the rectifier on the negative one. The step 1{s ≥ 0} has derivative 0
//! wherever it has one: it serves for evaluation and refuses to train.

use tove_tensor::{Tensor, TryOps, TryUnary};

use super::{Layer, parameter};
use crate::{Error, LayerReport, Module, Pass, Result, Walk, WalkMut};

/// A non-linearity without parameters.
///
/// ```
/// use tove_nn::{Layer, Nonlinearity, Pass};
/// use tove_tensor::Tensor;
/// let y = Nonlinearity::Elu(1.0).forward(&Tensor::from([-1.0, 2.0]), &Pass::eval())?;
/// assert_eq!(y.to_vec::<f64>(), [(-1f64).exp_m1(), 2.0]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Nonlinearity {
    /// Nothing.
    Identity,
    /// max(0, s).
    Relu,
    /// s, or this slope times s below 0.
    LeakyRelu(f64),
    /// s, or this times (eˢ − 1) below 0.
    Elu(f64),
    /// ln(1 + eˢ).
    Softplus,
    /// s Φ(s).
    Gelu,
    /// The tanh approximation of GELU, as GPT-2 uses it.
    GeluTanh,
    /// s σ(s).
    Silu,
    /// 1 / (1 + e⁻ˢ).
    Sigmoid,
    /// Hyperbolic tangent.
    Tanh,
    /// σ(a s) with this a.
    SlopeSigmoid(f64),
    /// s to this power.
    Power(f64),
    /// √s; an error for negative s.
    SquareRoot,
    /// 1 for s ≥ 0, else 0; an error when a derivative is asked for.
    Step,
}

impl Nonlinearity {
    /// The function itself, on any tensor.
    pub fn apply(self, s: &Tensor) -> Result<Tensor> {
        use Nonlinearity as N;
        Ok(match self {
            N::Identity => s.clone(),
            N::Relu => s.try_relu()?,
            N::LeakyRelu(slope) => s.try_leaky_relu(slope)?,
            N::Elu(alpha) => s.try_elu(alpha)?,
            N::Softplus => s.try_softplus()?,
            N::Gelu => s.try_gelu()?,
            N::GeluTanh => s.try_gelu_tanh()?,
            N::Silu => s.try_silu()?,
            N::Sigmoid => s.try_sigmoid()?,
            N::Tanh => s.try_tanh()?,
            N::SlopeSigmoid(slope) => (s * slope).try_sigmoid()?,
            N::Power(exponent) => s.try_powf(exponent)?,
            N::SquareRoot => square_root(s)?,
            N::Step => step(s)?,
        })
    }

    /// The name, as summaries print it.
    pub fn name(self) -> &'static str {
        use Nonlinearity as N;
        match self {
            N::Identity => "Identity",
            N::Relu => "ReLU",
            N::LeakyRelu(_) => "LeakyReLU",
            N::Elu(_) => "ELU",
            N::Softplus => "Softplus",
            N::Gelu => "GELU",
            N::GeluTanh => "GELUTanh",
            N::Silu => "SiLU",
            N::Sigmoid => "Sigmoid",
            N::Tanh => "Tanh",
            N::SlopeSigmoid(_) => "SlopeSigmoid",
            N::Power(_) => "Power",
            N::SquareRoot => "SquareRoot",
            N::Step => "Step",
        }
    }
}

fn square_root(s: &Tensor) -> Result<Tensor> {
    if s.try_lt_scalar(0.0)?.any().item::<bool>() {
        let smallest = s.detach().min().to_f64_vec()[0];
        let problem =
            format!("is {smallest} somewhere, and the root needs numbers of at least 0; put a ReLU before it");
        return Err(Error::setting("SquareRoot", "input", problem));
    }
    Ok(s.try_sqrt()?)
}

fn step(s: &Tensor) -> Result<Tensor> {
    if s.is_tracked() {
        let problem = "has derivative 0 wherever it has one, so nothing can be learned through it; \
                       train with SlopeSigmoid and put the step in afterwards, or detach its input";
        return Err(Error::setting("Step", "derivative", problem));
    }
    Ok(s.try_ge_scalar(0.0)?.to_dtype(s.dtype()))
}

impl Module for Nonlinearity {
    fn kind(&self) -> &'static str {
        self.name()
    }

    fn parts<'m>(&'m self, _: &mut dyn Walk<'m>) {}

    fn parts_mut<'m>(&'m mut self, _: &mut dyn WalkMut<'m>) {}
}

impl Layer for Nonlinearity {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = self.apply(x)?;
        pass.tell(self, x, &y, || LayerReport { flops: y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }

    fn is_relu(&self) -> bool {
        *self == Nonlinearity::Relu
    }
}

/// A rectifier with learned slopes below 0: one for all, one per channel (axis 1), as in PyTorch.
///
/// ```
/// use tove_nn::{Layer, PRelu, Pass};
/// use tove_tensor::Tensor;
/// let y = PRelu::new(1).forward(&Tensor::from([[-4.0f32, 4.0]]), &Pass::eval())?;
/// assert_eq!(y.to_vec::<f32>(), [-1.0, 4.0]); // the first slope is 1/4
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct PRelu {
    /// The slopes, (1) or (channels).
    pub weight: Tensor,
}

impl PRelu {
    /// `count` slopes of 1/4: one for all, or one per channel.
    pub fn new(count: usize) -> PRelu {
        PRelu { weight: parameter(Tensor::full([count], 0.25, tove_tensor::DType::F32)) }
    }
}

impl Layer for PRelu {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let mut shape = vec![1; x.rank().max(1)];
        let count = self.weight.numel();
        if count > 1 {
            let axis = usize::from(x.rank() > 1);
            if x.dims().get(axis) != Some(&count) {
                let problem = format!("has {count} slopes, the input {:?} has other channels", x.dims());
                return Err(Error::setting("PReLU", "weight", problem));
            }
            shape[axis] = count;
        }
        let slope = self.weight.try_reshape(shape)?;
        let y = x.try_relu()?.try_sub(&slope.try_mul(&(-x).try_relu()?)?)?;
        pass.tell(self, x, &y, || LayerReport { flops: 2 * y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }
}
