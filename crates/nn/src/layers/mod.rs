//! Layers: modules from one tensor to one tensor.

mod activation;
mod attention;
mod conv;
mod dropout;
mod embedding;
mod group_norm;
mod linear;
mod norm;
mod pad;
mod pool;
mod position;
mod sequential;
mod transformer;

use tove_tensor::{Tensor, TryUnary};

use crate::{Module, Pass, Result};

pub use activation::{Nonlinearity, PRelu};
pub(crate) use attention::merge_heads;
pub use attention::{MultiHeadAttention, padding_mask};
pub use conv::{Conv1d, Conv2d, ConvTranspose2d, output_size, unreached};
pub use dropout::{Dropout, DropoutScaling};
pub use embedding::Embedding;
pub use group_norm::{GroupNorm, InstanceNorm2d};
pub use linear::Linear;
pub use norm::{BatchNorm, LayerNorm};
pub use pad::CircularPad2d;
pub use pool::{AvgPool1d, AvgPool2d, Flatten, GlobalAvgPool2d, MaxPool1d, MaxPool2d};
pub(crate) use position::small_normal;
pub use position::{LearnedPosition, SinusoidalPosition};
pub use sequential::{EvalMode, Residual, Sequential};
pub use transformer::{BlockConfig, TransformerBlock, TransformerEncoder};

/// A module from one tensor to one tensor.
pub trait Layer: Module {
    /// The result for `x`.
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor>;

    /// The result with a rectifier behind it, if this layer can do both in one pass over memory. `None` in a recorded pass: the
    /// record of a layer is what it gives itself. Callers then apply both one after the other.
    fn forward_relu(&self, _x: &Tensor, _pass: &Pass) -> Option<Result<Tensor>> {
        None
    }

    /// Whether this layer is a rectifier, so that the one before it may take its work over.
    fn is_relu(&self) -> bool {
        false
    }
}

impl<L: Layer + ?Sized> Layer for Box<L> {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        (**self).forward(x, pass)
    }

    fn forward_relu(&self, x: &Tensor, pass: &Pass) -> Option<Result<Tensor>> {
        (**self).forward_relu(x, pass)
    }

    fn is_relu(&self) -> bool {
        (**self).is_relu()
    }
}

/// The result of a layer with a rectifier behind it, in one pass over memory where that can be done.
pub(crate) fn rectified(layer: &impl Layer, x: &Tensor, pass: &Pass) -> Result<Tensor> {
    match layer.forward_relu(x, pass) {
        Some(y) => y,
        None => Ok(layer.forward(x, pass)?.try_relu()?),
    }
}

/// A leaf of the tape for a fresh parameter.
pub(crate) fn parameter(value: Tensor) -> Tensor {
    value.requires_grad()
}
