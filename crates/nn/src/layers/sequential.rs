//! Layers one after another, and layers with a way around them.

use tove_tensor::{Tensor, TryOps};

use super::Layer;
use crate::{LayerReport, Module, Name, Part, Pass, Result, Walk, WalkMut};

/// Layers one after another, named by position. A rectifier behind a linear or convolutional layer is worked out
/// together with it, unless the pass is recorded.
///
/// ```
/// use tove_nn::{Linear, ModuleExt, Nonlinearity, Rng, Sequential};
/// let mut rng = Rng::new(0);
/// let net = Sequential::new().add(Linear::new(8, 4, &mut rng)).add(Nonlinearity::Relu).add(Linear::new(4, 2, &mut rng));
/// let names: Vec<String> = net.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["0.weight", "0.bias", "2.weight", "2.bias"]);
/// ```
#[derive(Default)]
pub struct Sequential {
    layers: Vec<Box<dyn Layer>>,
}

impl Sequential {
    /// No layers: the identity.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// The same with one more layer at the end.
    // A chain of layers reads as a sum of them, but this is no arithmetic.
    #[allow(clippy::should_implement_trait)]
    pub fn add(mut self, layer: impl Layer + 'static) -> Sequential {
        self.layers.push(Box::new(layer));
        self
    }

    /// Appends a layer.
    pub fn push(&mut self, layer: impl Layer + 'static) {
        self.layers.push(Box::new(layer));
    }

    /// Number of layers.
    pub fn len(&self) -> usize {
        self.layers.len()
    }

    /// Whether there are no layers.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty()
    }

    /// The result after the first `count` layers: features for another model.
    pub fn forward_until(&self, count: usize, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let layers = &self.layers[..count.min(self.layers.len())];
        let (mut x, mut index) = (x.clone(), 0);
        while let Some(layer) = layers.get(index) {
            let fusible = layers.get(index + 1).is_some_and(|next| next.is_relu());
            match fusible.then(|| layer.forward_relu(&x, pass)).flatten() {
                Some(y) => {
                    x = y?;
                    index += 2;
                }
                None => {
                    x = layer.forward(&x, pass)?;
                    index += 1;
                }
            }
        }
        Ok(x)
    }
}

impl Module for Sequential {
    fn kind(&self) -> &'static str {
        "Sequential"
    }

    // Without a level of its own for the list: layers are `0`, `1`, … as in PyTorch.
    fn parts<'m>(&'m self, walk: &mut dyn Walk<'m>) {
        self.layers.iter().enumerate().for_each(|(index, layer)| layer.show(Name::Index(index), walk));
    }

    fn parts_mut<'m>(&'m mut self, walk: &mut dyn WalkMut<'m>) {
        self.layers.iter_mut().enumerate().for_each(|(index, layer)| layer.show_mut(Name::Index(index), walk));
    }
}

impl Layer for Sequential {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.forward_until(self.layers.len(), x, pass)
    }
}

/// A layer with a way around it: x + f(x).
///
/// ```
/// use tove_nn::{Layer, Nonlinearity, Pass, Residual};
/// use tove_tensor::Tensor;
/// let y = Residual::new(Nonlinearity::Relu).forward(&Tensor::from([-1.0, 2.0]), &Pass::eval())?;
/// assert_eq!(y.to_vec::<f64>(), [-1.0, 4.0]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Residual<L> {
    /// f.
    pub inner: L,
}

impl<L: Layer> Residual<L> {
    /// x + inner(x).
    pub fn new(inner: L) -> Residual<L> {
        Residual { inner }
    }
}

impl<L: Layer> Layer for Residual<L> {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = x.try_add(&self.inner.forward(x, pass)?)?;
        pass.tell(self, x, &y, || LayerReport { flops: y.numel() as u64, ..LayerReport::default() });
        Ok(y)
    }
}

/// A layer that evaluates even while the rest of the net trains: no dropout, running statistics that stay as they are. Its
/// parameters are trained unless they are frozen. For a frozen pretrained part of a [`Sequential`]; in a net of your own use
/// [`Pass::as_eval`].
///
/// ```
/// use tove_nn::{Dropout, EvalMode, Layer, Pass};
/// use tove_tensor::{DType, Key, Tensor};
/// let (x, train) = (Tensor::ones([8], DType::F32), Pass::train(Key::new(1)));
/// let y = EvalMode::new(Dropout::new(0.5)).forward(&x, &train)?;
/// assert_eq!(y.to_vec::<f32>(), [1.0; 8]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct EvalMode<L> {
    /// The layer.
    pub inner: L,
}

impl<L: Layer> EvalMode<L> {
    /// The same layer, always in evaluation.
    pub fn new(inner: L) -> EvalMode<L> {
        EvalMode { inner }
    }
}

impl<L: Layer> Layer for EvalMode<L> {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = pass.as_eval(|pass| self.inner.forward(x, pass))?;
        pass.tell(self, x, &y, LayerReport::default);
        Ok(y)
    }
}
