//! The transformer's block and a stack of them (Vaswani et al. 2017), with the norm at the start of each branch (Xiong et
//! al. 2020): x ← x + attention(norm₁(x)), then x ← x + MLP(norm₂(x)) with MLP(x) = φ(x W₁ᵀ + b₁) W₂ᵀ + b₂. With
//! `norm_first: false` the norm stands behind the sum, as in the first paper and in BERT: x ← norm₁(x + attention(x)), then
//! x ← norm₂(x + MLP(x)).
//!
//! Attention mixes between tokens, the MLP works within each. Parameter names are those of PyTorch's
//! `TransformerEncoderLayer` and `TransformerEncoder`. Both kinds of blocks have the same names and shapes, so weights do not
//! say which kind they are for: **set `norm_first` as the net was trained** before loading them. PyTorch's default is
//! `norm_first=False`, this crate's is `true`, as in GPT and ViT.

use tove_tensor::{Tensor, TryOps};

use super::{Dropout, Layer, LayerNorm, Linear, MultiHeadAttention, Nonlinearity, rectified};
use crate::{Error, Init, Module, Pass, Result, Rng};

/// Sizes and settings of a [`TransformerBlock`].
#[derive(Clone, Debug, PartialEq)]
pub struct BlockConfig {
    /// Features of a token.
    pub width: usize,
    /// Heads of the attention.
    pub heads: usize,
    /// Hidden units of the MLP.
    pub hidden: usize,
    /// Non-linearity of the MLP.
    pub activation: Nonlinearity,
    /// Dropout of attention weights and at the end of each branch.
    pub dropout: f64,
    /// Whether linear maps and norms have biases.
    pub bias: bool,
    /// ε of the norms.
    pub eps: f64,
    /// Whether norms stand at the start of each branch (pre-norm) or behind the sum (post-norm), as in PyTorch, whose default
    /// is `false`. Weights do not tell which: set it as the net was trained.
    pub norm_first: bool,
}

impl BlockConfig {
    /// Four hidden units per feature, GELU, biases, no dropout, norms first.
    pub fn new(width: usize, heads: usize) -> BlockConfig {
        let (hidden, activation) = (4 * width, Nonlinearity::Gelu);
        BlockConfig { width, heads, hidden, activation, dropout: 0.0, bias: true, eps: 1e-5, norm_first: true }
    }

    /// A linear map with or without bias, as set.
    fn linear(&self, inputs: usize, outputs: usize, rng: &mut Rng) -> Result<Linear> {
        if self.bias { Linear::try_new(inputs, outputs, rng) } else { Linear::weight_only(inputs, outputs, rng) }
    }

    /// A norm of tokens.
    pub(crate) fn norm(&self) -> LayerNorm {
        let norm = LayerNorm { eps: self.eps, ..LayerNorm::new(self.width) };
        if self.bias { norm } else { norm.without_bias() }
    }
}

/// One block: attention between tokens, then an MLP within each, both added to what came in.
///
/// ```
/// use tove_nn::{BlockConfig, Layer, Pass, Rng, TransformerBlock};
/// use tove_tensor::{DType, Key};
/// let block = TransformerBlock::new(&BlockConfig::new(8, 2), &mut Rng::new(0))?;
/// let x = Key::new(1).normal([3, 5, 8], DType::F32); // (batch, tokens, width)
/// assert_eq!(block.forward(&x, &Pass::eval())?.shape(), x.shape());
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerBlock {
    /// Attention between tokens.
    pub self_attn: MultiHeadAttention,
    /// First map of the MLP.
    pub linear1: Linear,
    /// Second map of the MLP.
    pub linear2: Linear,
    /// Norm of the attention's branch.
    pub norm1: LayerNorm,
    /// Norm of the MLP's branch.
    pub norm2: LayerNorm,
    /// Non-linearity of the MLP.
    #[module(skip)]
    pub activation: Nonlinearity,
    /// Whether norms stand at the start of each branch, or behind the sum.
    #[module(skip)]
    pub norm_first: bool,
    #[module(skip)]
    dropout: Dropout,
}

impl TransformerBlock {
    /// A block with fresh weights.
    pub fn new(config: &BlockConfig, rng: &mut Rng) -> Result<TransformerBlock> {
        if config.hidden == 0 {
            return Err(Error::setting("TransformerBlock", "hidden", "is 0; the MLP needs hidden units"));
        }
        if !(0.0..1.0).contains(&config.dropout) {
            let problem = format!("is {}; it must lie in [0, 1)", config.dropout);
            return Err(Error::setting("TransformerBlock", "dropout", problem));
        }
        let self_attn = MultiHeadAttention::new(config.width, config.heads, rng)?;
        let self_attn = if config.bias { self_attn } else { self_attn.without_bias() };
        Ok(TransformerBlock {
            self_attn: MultiHeadAttention { dropout: config.dropout, ..self_attn },
            linear1: config.linear(config.width, config.hidden, rng)?,
            linear2: config.linear(config.hidden, config.width, rng)?,
            norm1: config.norm(),
            norm2: config.norm(),
            activation: config.activation,
            norm_first: config.norm_first,
            dropout: Dropout::new(config.dropout),
        })
    }

    /// The same block with all weights normal with this deviation, those at the end of a branch with `last`, and zero biases.
    pub fn init_normal(self, deviation: f64, last: f64, rng: &mut Rng) -> Result<TransformerBlock> {
        let attention = self.self_attn;
        let projection = Linear { weight: attention.in_proj_weight.clone(), bias: attention.in_proj_bias.clone() };
        let projection = projection.init(Init::Normal(deviation), rng)?;
        let out_proj = attention.out_proj.clone().init(Init::Normal(last), rng)?;
        let self_attn = MultiHeadAttention {
            in_proj_weight: projection.weight,
            in_proj_bias: projection.bias,
            out_proj,
            ..attention
        };
        let linear1 = self.linear1.init(Init::Normal(deviation), rng)?;
        let linear2 = self.linear2.init(Init::Normal(last), rng)?;
        Ok(TransformerBlock { self_attn, linear1, linear2, ..self })
    }

    /// The block on x (…, tokens, width); causal and mask as in [`MultiHeadAttention::attend`].
    pub fn attend(&self, x: &Tensor, causal: bool, mask: Option<&Tensor>, pass: &Pass) -> Result<Tensor> {
        let mixed = self.self_attn.attend(&self.attention_input(x, pass)?, causal, mask, pass)?;
        self.after_attention(x, mixed, pass)
    }

    /// What the attention sees: norm₁(x), or x itself where norms come last.
    pub(crate) fn attention_input(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        if self.norm_first { self.norm1.forward(x, pass) } else { Ok(x.clone()) }
    }

    /// The rest of the block, for what came in and what the attention made of it.
    pub(crate) fn after_attention(&self, x: &Tensor, mixed: Tensor, pass: &Pass) -> Result<Tensor> {
        let x = x.try_add(&self.drop(mixed, pass)?)?;
        if self.norm_first {
            let y = self.token_mlp(&self.norm2.forward(&x, pass)?, pass)?;
            return Ok(x.try_add(&self.drop(y, pass)?)?);
        }
        let x = self.norm1.forward(&x, pass)?;
        let y = self.token_mlp(&x, pass)?;
        self.norm2.forward(&x.try_add(&self.drop(y, pass)?)?, pass)
    }

    /// φ(x W₁ᵀ + b₁) W₂ᵀ + b₂, for each token by itself.
    pub fn token_mlp(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let hidden = match self.activation {
            Nonlinearity::Relu => rectified(&self.linear1, x, pass)?,
            other => other.apply(&self.linear1.forward(x, pass)?)?,
        };
        self.linear2.forward(&self.drop(hidden, pass)?, pass)
    }

    /// The attention's weights for what this block takes, (…, heads, tokens, tokens).
    pub fn probabilities(&self, x: &Tensor, causal: bool, mask: Option<&Tensor>) -> Result<Tensor> {
        self.self_attn.probabilities(&self.attention_input(x, &Pass::eval())?, causal, mask)
    }

    fn drop(&self, x: Tensor, pass: &Pass) -> Result<Tensor> {
        if self.dropout.p > 0.0 { self.dropout.forward(&x, pass) } else { Ok(x) }
    }
}

impl Layer for TransformerBlock {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.attend(x, false, None, pass)
    }
}

/// A stack of blocks with a norm behind it.
///
/// ```
/// use tove_nn::{BlockConfig, Layer, ModuleExt, Pass, Rng, TransformerEncoder};
/// let encoder = TransformerEncoder::new(2, &BlockConfig::new(8, 2), &mut Rng::new(0))?;
/// assert_eq!(encoder.named_parameters()[0].0, "layers.0.self_attn.in_proj_weight");
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct TransformerEncoder {
    /// The blocks.
    pub layers: Vec<TransformerBlock>,
    /// The norm behind them.
    pub norm: Option<LayerNorm>,
}

impl TransformerEncoder {
    /// `layers` blocks and a norm, with fresh weights.
    pub fn new(layers: usize, config: &BlockConfig, rng: &mut Rng) -> Result<TransformerEncoder> {
        let layers = (0..layers).map(|_| TransformerBlock::new(config, rng)).collect::<Result<_>>()?;
        Ok(TransformerEncoder { layers, norm: Some(config.norm()) })
    }

    /// The same stack without the norm.
    pub fn without_norm(self) -> TransformerEncoder {
        TransformerEncoder { norm: None, ..self }
    }

    /// The stack on x (…, tokens, width); causal and mask as in [`MultiHeadAttention::attend`].
    pub fn attend(&self, x: &Tensor, causal: bool, mask: Option<&Tensor>, pass: &Pass) -> Result<Tensor> {
        let x = self.layers.iter().try_fold(x.clone(), |x, block| block.attend(&x, causal, mask, pass))?;
        self.norm.as_ref().map_or(Ok(x.clone()), |norm| norm.forward(&x, pass))
    }

    /// The attention's weights of every block, each (…, heads, tokens, tokens).
    pub fn attention_maps(&self, x: &Tensor, causal: bool, mask: Option<&Tensor>) -> Result<Vec<Tensor>> {
        let (mut x, pass) = (x.clone(), Pass::eval());
        let mut maps = Vec::with_capacity(self.layers.len());
        for block in &self.layers {
            maps.push(block.probabilities(&x, causal, mask)?);
            x = block.attend(&x, causal, mask, &pass)?;
        }
        Ok(maps)
    }
}

impl Layer for TransformerEncoder {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.attend(x, false, None, pass)
    }
}
