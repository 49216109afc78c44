//! The sequence encoder: all tokens at once, each result informed by every token, and three ways to an answer.
//!
//! One answer per text comes from a special token put in front, y = head(z₀), or from the average of the tokens' results,
//! y = head(Σ zₜ / T); one answer per token from each result by itself, yₜ = head(zₜ). Padding is hidden from the attention
//! and left out of the average, so that a padded batch gives what its texts give one by one.

use tove_tensor::{DType, Tensor, TryOps};

use crate::layers::{
    BlockConfig, Embedding, Layer, LearnedPosition, Linear, TransformerEncoder, padding_mask, small_normal,
};
use crate::{Error, Module, Pass, Result, Rng};

/// Where the answer is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readout {
    /// From a special token in front: one answer (K).
    Special,
    /// From the average of all tokens: one answer (K).
    Average,
    /// From each token: answers (T, K).
    PerToken,
}

/// Sizes and settings of a [`SequenceEncoder`].
#[derive(Clone, Debug, PartialEq)]
pub struct EncoderConfig {
    /// Number of tokens there are.
    pub vocabulary: usize,
    /// Length of the longest text.
    pub context: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Settings of the blocks.
    pub block: BlockConfig,
    /// Where the answer is taken from.
    pub readout: Readout,
    /// Numbers in an answer, K.
    pub outputs: usize,
    /// Whether tokens know their position.
    pub positions: bool,
}

impl EncoderConfig {
    /// Two blocks of width 32 with 4 heads, with positions.
    pub fn new(vocabulary: usize, context: usize, readout: Readout, outputs: usize) -> EncoderConfig {
        let block = BlockConfig::new(32, 4);
        EncoderConfig { vocabulary, context, layers: 2, block, readout, outputs, positions: true }
    }
}

/// A transformer encoder from token numbers to answers.
///
/// ```
/// use tove_nn::{EncoderConfig, Layer, Pass, Readout, Rng, SequenceEncoder};
/// use tove_tensor::Tensor;
/// let tokens = Tensor::from([[1i64, 2, 3], [4, 5, 0]]);
/// let shape = |readout| {
///     let net = SequenceEncoder::new(&EncoderConfig::new(6, 8, readout, 2), &mut Rng::new(0))?;
///     Ok::<_, tove_nn::Error>(net.forward(&tokens, &Pass::eval())?.dims().to_vec())
/// };
/// assert_eq!(shape(Readout::Special)?, [2, 2]);
/// assert_eq!(shape(Readout::PerToken)?, [2, 3, 2]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct SequenceEncoder {
    /// Vectors of tokens.
    pub embedding: Embedding,
    /// Vectors of positions.
    pub position: Option<LearnedPosition>,
    /// The special token, (1, 1, width).
    pub special: Option<Tensor>,
    /// The blocks and the norm behind them.
    pub encoder: TransformerEncoder,
    /// From a token's result to the answer.
    pub head: Linear,
    #[module(skip)]
    readout: Readout,
}

impl SequenceEncoder {
    /// A net with fresh weights.
    pub fn new(config: &EncoderConfig, rng: &mut Rng) -> Result<SequenceEncoder> {
        for (name, size) in [("vocabulary", config.vocabulary), ("outputs", config.outputs)] {
            if size == 0 {
                return Err(Error::setting("SequenceEncoder", name, "is 0; it must be at least 1"));
            }
        }
        let width = config.block.width;
        let special = config.readout == Readout::Special;
        let position = config.positions.then(|| LearnedPosition::try_new(config.context, width, rng)).transpose()?;
        Ok(SequenceEncoder {
            embedding: Embedding::try_new(config.vocabulary, width, rng)?,
            position,
            special: special.then(|| small_normal(&[1, 1, width], rng)).transpose()?,
            encoder: TransformerEncoder::new(config.layers, &config.block, rng)?,
            head: Linear::try_new(width, config.outputs, rng)?,
            readout: config.readout,
        })
    }

    /// Where the answer is taken from.
    pub fn readout(&self) -> Readout {
        self.readout
    }

    /// Answers for texts (batch, tokens) of which `present` says, in the same shape, where there is a token.
    pub fn forward_padded(&self, tokens: &Tensor, present: Option<&Tensor>, pass: &Pass) -> Result<Tensor> {
        let encoded = self.features(tokens, present, pass)?;
        let z = match self.readout {
            Readout::Special => encoded.try_select_index(-2, 0)?,
            Readout::Average => average(&encoded, present)?,
            Readout::PerToken => encoded,
        };
        self.head.forward(&z, pass)
    }

    /// The encoder's results, (batch, tokens, width), the special token's first if there is one.
    pub fn features(&self, tokens: &Tensor, present: Option<&Tensor>, pass: &Pass) -> Result<Tensor> {
        if present.is_some_and(|present| present.shape() != tokens.shape() || tokens.rank() != 2) {
            let problem = "`present` goes with tokens of shape (batch, tokens) and has the same";
            return Err(tove_tensor::Error::shape("SequenceEncoder", tokens.shape(), problem).into());
        }
        let x = self.embed(tokens, pass)?;
        let mask = present.map(|present| self.mask(present, x.dtype())).transpose()?;
        self.encoder.attend(&x, false, mask.as_ref(), pass)
    }

    /// The attention's weights of every block, each (batch, heads, tokens, tokens).
    pub fn attention_maps(&self, tokens: &Tensor, present: Option<&Tensor>) -> Result<Vec<Tensor>> {
        let x = self.embed(tokens, &Pass::eval())?;
        let mask = present.map(|present| self.mask(present, x.dtype())).transpose()?;
        self.encoder.attention_maps(&x, false, mask.as_ref())
    }

    fn embed(&self, tokens: &Tensor, pass: &Pass) -> Result<Tensor> {
        if tokens.dims().last().is_none_or(|&count| count == 0) {
            return Err(Error::setting("SequenceEncoder", "tokens", "are empty; a text has at least one token"));
        }
        let mut x = self.embedding.forward(tokens, pass)?;
        if let Some(position) = &self.position {
            x = position.forward(&x, pass)?;
        }
        let Some(special) = &self.special else { return Ok(x) };
        let mut shape = x.dims().to_vec();
        let axis = shape.len() - 2;
        shape[axis] = 1;
        let width = shape[axis + 1];
        let special = special.try_reshape([1, width])?.try_broadcast_to(shape)?;
        Ok(Tensor::try_concat(&[&special, &x], -2)?)
    }

    /// The mask that hides padding; the special token is always there.
    fn mask(&self, present: &Tensor, dtype: DType) -> Result<Tensor> {
        if self.special.is_none() {
            return padding_mask(present, dtype);
        }
        let always = Tensor::full([present.dims()[0], 1], 1.0, DType::Bool);
        padding_mask(&Tensor::try_concat(&[&always, present], 1)?, dtype)
    }
}

/// The mean over the tokens that are there.
fn average(encoded: &Tensor, present: Option<&Tensor>) -> Result<Tensor> {
    let Some(present) = present else { return Ok(encoded.try_mean_axes(&[-2], false)?) };
    let weights = present.try_to_dtype(encoded.dtype())?.try_unsqueeze(-1)?; // (batch, tokens, 1)
    let counts = weights.try_sum_axes(&[-2], false)?.try_maximum(&Tensor::full([1], 1.0, encoded.dtype()))?;
    Ok(encoded.try_mul(&weights)?.try_sum_axes(&[-2], false)?.try_div(&counts)?)
}

impl Layer for SequenceEncoder {
    /// Answers for texts of equal length, (tokens) or (batch, tokens).
    fn forward(&self, tokens: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.forward_padded(tokens, None, pass)
    }
}
