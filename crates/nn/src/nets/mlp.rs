//! The multi-layer perceptron: affine maps with a non-linearity between them, none on the logits.

use tove_tensor::Tensor;

use crate::error::OrPanic;
use crate::layers::{Dropout, Layer, Linear, Nonlinearity};
use crate::{Init, Module, Pass, Result, Rng};

/// A multi-layer perceptron.
///
/// ```
/// use tove_nn::{Layer, Mlp, Nonlinearity, Pass, Rng};
/// use tove_tensor::{DType, Tensor};
/// let net = Mlp::new(&[8, 64, 64, 1], &mut Rng::new(0)).activation(Nonlinearity::Tanh).dropout(0.1);
/// assert_eq!(net.forward(&Tensor::ones([5, 8], DType::F32), &Pass::eval())?.shape(), &[5, 1]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Mlp {
    /// The affine maps.
    pub layers: Vec<Linear>,
    /// What follows each of them but the last.
    pub activations: Vec<Nonlinearity>,
    dropout: Dropout,
}

impl Mlp {
    /// Widths from input to output, with rectifiers between.
    ///
    /// # Panics
    /// If the weights do not fit into memory; see [`Mlp::try_new`].
    #[track_caller]
    pub fn new(sizes: &[usize], rng: &mut Rng) -> Mlp {
        Mlp::try_new(sizes, rng).or_panic()
    }

    /// As [`Mlp::new`], with the error returned.
    pub fn try_new(sizes: &[usize], rng: &mut Rng) -> Result<Mlp> {
        let layers = sizes.windows(2).map(|pair| Linear::try_new(pair[0], pair[1], rng)).collect::<Result<Vec<_>>>()?;
        let activations = vec![Nonlinearity::Relu; layers.len().saturating_sub(1)];
        Ok(Mlp { layers, activations, dropout: Dropout::new(0.0) })
    }

    /// The same net with another non-linearity.
    pub fn activation(self, activation: Nonlinearity) -> Mlp {
        Mlp { activations: vec![activation; self.activations.len()], ..self }
    }

    /// The same net with dropout behind every hidden layer.
    pub fn dropout(self, p: f64) -> Mlp {
        Mlp { dropout: Dropout::new(p), ..self }
    }

    /// The same net with weights drawn by another rule and zero biases.
    pub fn init(self, rule: Init, rng: &mut Rng) -> Result<Mlp> {
        let layers = self.layers.into_iter().map(|layer| layer.init(rule, rng)).collect::<Result<_>>()?;
        Ok(Mlp { layers, ..self })
    }

    /// The representation before the last layer.
    pub fn features(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.layers.iter().zip(&self.activations).try_fold(x.clone(), |x, (layer, activation)| {
            let y = match activation.is_relu().then(|| layer.forward_relu(&x, pass)).flatten() {
                Some(y) => y?,
                None => activation.forward(&layer.forward(&x, pass)?, pass)?,
            };
            if self.dropout.p > 0.0 { self.dropout.forward(&y, pass) } else { Ok(y) }
        })
    }
}

impl Layer for Mlp {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let features = self.features(x, pass)?;
        self.layers.last().map_or(Ok(features.clone()), |last| last.forward(&features, pass))
    }
}
