//! The vision transformer (Dosovitskiy et al. 2021): an image is cut into patches, each patch is a token.
//!
//! An image (channels, height, width) with patches of p × p gives n = (height / p)(width / p) tokens, each a linear map of
//! its channels · p² numbers; a special token is put in front, a learned position is added, and the encoder's result for the
//! special token is classified. Every token sees every other in the first layer, so the receptive field is the whole image;
//! that neighbours belong together, which a convolution is built on, must be learned.

use tove_tensor::{Activation, ConvOptions, Tensor, TryOps};

use crate::layers::{BlockConfig, Conv2d, Dropout, Layer, Linear, TransformerEncoder, small_normal};
use crate::{Error, Init, Module, Pass, Result, Rng};

/// Sizes and settings of a [`VisionTransformer`].
#[derive(Clone, Debug, PartialEq)]
pub struct VitConfig {
    /// Channels, height and width of the images.
    pub image: [usize; 3],
    /// Height and width of a patch.
    pub patch: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Settings of the blocks; `width` is that of the tokens.
    pub block: BlockConfig,
    /// Number of classes.
    pub classes: usize,
}

impl VitConfig {
    /// For grey images of 28 × 28 and ten classes: patches of 4 × 4, width 64, 4 layers of 4 heads.
    pub fn digits() -> VitConfig {
        VitConfig { image: [1, 28, 28], patch: 4, layers: 4, block: BlockConfig::new(64, 4), classes: 10 }
    }

    /// Number of patches.
    ///
    /// ```
    /// assert_eq!(tove_nn::VitConfig::digits().patches(), 49);
    /// ```
    pub fn patches(&self) -> usize {
        let side = |size: usize| size.checked_div(self.patch).unwrap_or(0);
        side(self.image[1]) * side(self.image[2])
    }

    fn check(&self) -> Result<()> {
        let [channels, height, width] = self.image;
        let fits = |size: usize| size > 0 && size.is_multiple_of(self.patch);
        if self.patch == 0 || channels == 0 || !fits(height) || !fits(width) {
            let problem =
                format!("is {}: height and width of the image {:?} must be multiples", self.patch, self.image);
            return Err(Error::setting("VisionTransformer", "patch", problem));
        }
        if self.classes == 0 {
            return Err(Error::setting("VisionTransformer", "classes", "is 0; there must be at least one"));
        }
        Ok(())
    }
}

/// A vision transformer that classifies images.
///
/// ```
/// use tove_nn::{Layer, Pass, Rng, VisionTransformer, VitConfig};
/// use tove_tensor::{DType, Tensor};
/// let net = VisionTransformer::new(&VitConfig::digits(), &mut Rng::new(0))?;
/// let images = Tensor::zeros([2, 1, 28, 28], DType::F32);
/// assert_eq!(net.forward(&images, &Pass::eval())?.shape(), &[2, 10]);
/// assert_eq!(net.attention_maps(&images)?[0].shape(), &[2, 4, 50, 50]); // (batch, heads, tokens, tokens)
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct VisionTransformer {
    /// The linear map of a patch, stored as a convolution whose stride is its size.
    pub projection: Conv2d,
    /// The special token, (1, 1, width).
    pub cls_token: Tensor,
    /// Vectors of positions, (1, patches + 1, width); the special token's comes first.
    pub position_embeddings: Tensor,
    /// The blocks and the norm behind them.
    pub encoder: TransformerEncoder,
    /// From the special token to logits.
    pub classifier: Linear,
    #[module(skip)]
    config: VitConfig,
    #[module(skip)]
    dropout: Dropout,
}

impl VisionTransformer {
    /// A net with fresh weights: patches, positions and classifier normal with deviation 0.02.
    pub fn new(config: &VitConfig, rng: &mut Rng) -> Result<VisionTransformer> {
        config.check()?;
        let width = config.block.width;
        let projection = Conv2d::try_windows(
            config.image[0],
            width,
            [config.patch; 2],
            ConvOptions::new().stride(config.patch),
            rng,
        )?;
        Ok(VisionTransformer {
            projection,
            cls_token: small_normal(&[1, 1, width], rng)?,
            position_embeddings: small_normal(&[1, config.patches() + 1, width], rng)?,
            encoder: TransformerEncoder::new(config.layers, &config.block, rng)?,
            classifier: Linear::try_new(width, config.classes, rng)?.init(Init::Normal(0.02), rng)?,
            config: config.clone(),
            dropout: Dropout::new(config.block.dropout),
        })
    }

    /// Sizes and settings.
    pub fn config(&self) -> &VitConfig {
        &self.config
    }

    /// The encoder's results for images (batch, channels, height, width): the special token, then the patches row by row.
    pub fn features(&self, images: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.encoder.forward(&self.embed(images, pass)?, pass)
    }

    /// The attention's weights of every block, each (batch, heads, patches + 1, patches + 1).
    pub fn attention_maps(&self, images: &Tensor) -> Result<Vec<Tensor>> {
        self.encoder.attention_maps(&self.embed(images, &Pass::eval())?, false, None)
    }

    /// Tokens of images, (batch, patches + 1, width).
    fn embed(&self, images: &Tensor, pass: &Pass) -> Result<Tensor> {
        if images.rank() != 4 || images.dims()[1..] != self.config.image {
            let problem = format!("needs shape (batch, {:?})", self.config.image);
            return Err(tove_tensor::Error::shape("VisionTransformer", images.shape(), problem).into());
        }
        let patches = patches(images, self.config.patch)?;
        let width = self.config.block.width;
        let weight = self.projection.weight.try_reshape([width, patches.dims()[2]])?;
        let tokens = patches.try_linear(&weight, self.projection.bias.as_ref(), Activation::Identity)?;
        let special = self.cls_token.try_broadcast_to([images.dims()[0], 1, width])?;
        let x = Tensor::try_concat(&[&special, &tokens], 1)?.try_add(&self.position_embeddings)?;
        if self.dropout.p > 0.0 { self.dropout.forward(&x, pass) } else { Ok(x) }
    }
}

impl Layer for VisionTransformer {
    fn forward(&self, images: &Tensor, pass: &Pass) -> Result<Tensor> {
        let features = self.features(images, pass)?;
        self.classifier.forward(&features.try_select_index(1, 0)?, pass)
    }
}

/// Images (batch, channels, height, width) cut into patches, (batch, patches, channels · patch²), row by row.
///
/// ```
/// use tove_tensor::Tensor;
/// let image = Tensor::arange(0, 16).reshape([1, 1, 4, 4]);
/// let patches = tove_nn::patches(&image, 2)?;
/// assert_eq!(patches.get(0).get(1).to_vec::<i64>(), [2, 3, 6, 7]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
pub fn patches(images: &Tensor, patch: usize) -> Result<Tensor> {
    let &[batch, channels, height, width] = images.dims() else {
        let problem = "needs shape (batch, channels, height, width)";
        return Err(tove_tensor::Error::shape("patches", images.shape(), problem).into());
    };
    if patch == 0 || !height.is_multiple_of(patch) || !width.is_multiple_of(patch) {
        let problem = format!("is {patch}: height {height} and width {width} of the images must be multiples");
        return Err(Error::setting("patches", "patch", problem));
    }
    let (rows, columns) = (height / patch, width / patch);
    let apart = images.try_reshape([batch, channels, rows, patch, columns, patch])?;
    Ok(apart.try_permute(&[0, 2, 4, 1, 3, 5])?.try_reshape([batch, rows * columns, channels * patch * patch])?)
}
