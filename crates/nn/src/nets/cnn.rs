//! A small convolutional net: blocks of convolution, rectifier and pooling, then fully-connected layers.

use tove_tensor::{ConvOptions, PoolOptions, Tensor, TryConv, TryOps, TryUnary};

use crate::layers::{BatchNorm, Conv2d, Dropout, Layer, Linear, rectified};
use crate::{Error, Module, Pass, Result, Rng};

/// The shape of a [`Cnn`].
#[derive(Clone, Debug, PartialEq)]
pub struct CnnConfig {
    /// Channels, height and width of the images.
    pub input: [usize; 3],
    /// Filters of each block; every block halves height and width.
    pub widths: Vec<usize>,
    /// Units of the hidden layer.
    pub hidden: usize,
    /// Classes told apart.
    pub classes: usize,
    /// Whether a batch norm stands between convolution and rectifier.
    pub batch_norm: bool,
    /// Dropout before both fully-connected layers.
    pub dropout: f64,
}

impl CnnConfig {
    /// Two blocks of 32 and 64 filters and 128 hidden units, without batch norm and dropout.
    pub fn new(input: [usize; 3], classes: usize) -> CnnConfig {
        CnnConfig { input, widths: vec![32, 64], hidden: 128, classes, batch_norm: false, dropout: 0.0 }
    }
}

/// Blocks of 3×3 convolution (padding 1), rectifier and 2×2 max pooling, then two fully-connected layers.
///
/// ```
/// use tove_nn::{Cnn, CnnConfig, Layer, ModuleExt, Pass, Rng};
/// use tove_tensor::{DType, Tensor};
/// let net = Cnn::new(&CnnConfig::new([1, 28, 28], 10), &mut Rng::new(0))?;
/// assert_eq!(net.forward(&Tensor::zeros([2, 1, 28, 28], DType::F32), &Pass::eval())?.shape(), &[2, 10]);
/// assert_eq!(net.count_parameters(), 10 * 32 + (9 * 32 + 1) * 64 + (7 * 7 * 64 + 1) * 128 + 129 * 10);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Cnn {
    /// The convolutions.
    pub convs: Vec<Conv2d>,
    /// The batch norms behind them, or none.
    pub norms: Vec<BatchNorm>,
    /// The hidden layer.
    pub fc1: Linear,
    /// The logits.
    pub fc2: Linear,
    dropout: Dropout,
}

impl Cnn {
    /// A net with random weights.
    ///
    /// # Errors
    /// If there is a width of 0, or the image is too small for so many halvings.
    pub fn new(config: &CnnConfig, rng: &mut Rng) -> Result<Cnn> {
        let CnnConfig { input: [mut channels, height, width], ref widths, hidden, classes, .. } = *config;
        let halved = |size: usize| size.checked_shr(widths.len() as u32).unwrap_or(0);
        let flat = widths.last().copied().unwrap_or(channels);
        let flat = flat.saturating_mul(halved(height)).saturating_mul(halved(width));
        if flat == 0 || hidden == 0 || classes == 0 || widths.contains(&0) {
            let problem = format!("{config:?} leaves a layer without units; use fewer blocks or larger images");
            return Err(Error::setting("Cnn", "config", problem));
        }
        let (mut convs, mut norms) = (Vec::new(), Vec::new());
        for &filters in widths {
            convs.push(Conv2d::try_windows(channels, filters, [3, 3], ConvOptions::new().padding(1), rng)?);
            norms.extend(config.batch_norm.then(|| BatchNorm::new(filters)));
            channels = filters;
        }
        let (fc1, fc2) = (Linear::try_new(flat, hidden, rng)?, Linear::try_new(hidden, classes, rng)?);
        Ok(Cnn { convs, norms, fc1, fc2, dropout: Dropout::new(config.dropout) })
    }

    /// The output of the hidden layer: features for another classifier.
    pub fn features(&self, images: &Tensor, pass: &Pass) -> Result<Tensor> {
        let mut x = images.clone();
        for (index, conv) in self.convs.iter().enumerate() {
            x = match self.norms.get(index) {
                Some(norm) => norm.forward(&conv.forward(&x, pass)?, pass)?.try_relu()?,
                None => rectified(conv, &x, pass)?,
            };
            x = x.try_max_pool2d(&PoolOptions::new(2))?;
        }
        let x = self.dropped(x.try_flatten(1)?, pass)?;
        self.dropped(rectified(&self.fc1, &x, pass)?, pass)
    }

    fn dropped(&self, x: Tensor, pass: &Pass) -> Result<Tensor> {
        if self.dropout.p > 0.0 { self.dropout.forward(&x, pass) } else { Ok(x) }
    }
}

impl Layer for Cnn {
    fn forward(&self, images: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.fc2.forward(&self.features(images, pass)?, pass)
    }
}
