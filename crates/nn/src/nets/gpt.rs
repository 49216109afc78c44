//! The decoder-only transformer: p(x₁ … x_T) = Π p(x_{t+1} | x₁ … x_t), each factor a softmax over the vocabulary of what
//! a causal transformer gives at position t (Radford et al. 2019; the sizes and first values follow nanoGPT).
//!
//! Parameters: `wte.weight` (vocabulary, width), `wpe.weight` (context, width), `h.N.…` as in [`TransformerBlock`],
//! `ln_f.weight`, `ln_f.bias`, and `lm_head.weight` unless the head is tied to `wte`.

use tove_tensor::{Activation, CrossEntropy, DType, Tensor, TryNorm, TryOps};

use crate::layers::{
    BlockConfig, Dropout, Embedding, Layer, LayerNorm, LearnedPosition, Linear, Nonlinearity, TransformerBlock,
};
use crate::{Error, Init, Module, ModuleExt, Pass, Result, Rng};

/// Sizes and settings of a [`Gpt`].
///
/// ```
/// use tove_nn::GptConfig;
/// let config = GptConfig { layers: 2, ..GptConfig::default() };
/// assert_eq!((config.vocabulary, config.context, config.width), (65, 64, 128));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GptConfig {
    /// Number of tokens there are.
    pub vocabulary: usize,
    /// Number of tokens the net can look back on, the newest included.
    pub context: usize,
    /// Number of blocks.
    pub layers: usize,
    /// Heads of each attention.
    pub heads: usize,
    /// Features of a token.
    pub width: usize,
    /// Hidden units of each MLP.
    pub hidden: usize,
    /// Whether linear maps and norms have biases.
    pub bias: bool,
    /// Dropout behind the embedding, of attention weights and at the end of each branch.
    pub dropout: f64,
    /// Whether the head's matrix is that of the token embedding.
    pub tied: bool,
    /// Non-linearity of the MLPs.
    pub activation: Nonlinearity,
}

impl Default for GptConfig {
    /// A small character model: 4 layers, 4 heads, width 128, context 64, 65 characters, no biases, no dropout, tied.
    fn default() -> GptConfig {
        GptConfig {
            vocabulary: 65,
            context: 64,
            layers: 4,
            heads: 4,
            width: 128,
            hidden: 512,
            bias: false,
            dropout: 0.0,
            tied: true,
            activation: Nonlinearity::Gelu,
        }
    }
}

impl GptConfig {
    /// Settings of the blocks.
    pub(crate) fn block(&self) -> BlockConfig {
        let &GptConfig { width, heads, hidden, activation, dropout, bias, .. } = self;
        BlockConfig { width, heads, hidden, activation, dropout, bias, eps: 1e-5, norm_first: true }
    }

    fn check(&self) -> Result<()> {
        for (name, size) in [("vocabulary", self.vocabulary), ("context", self.context), ("layers", self.layers)] {
            if size == 0 {
                return Err(Error::setting("Gpt", name, "is 0; it must be at least 1"));
            }
        }
        Ok(())
    }
}

/// A decoder-only transformer.
///
/// ```
/// use tove_nn::{Gpt, GptConfig, Layer, ModuleExt, Pass, Rng};
/// use tove_tensor::Tensor;
/// let net = Gpt::new(&GptConfig::default(), &mut Rng::new(0))?;
/// assert_eq!(net.count_parameters(), 65 * 128 + 64 * 128 + 4 * (12 * 128 * 128 + 2 * 128) + 128);
/// let logits = net.forward(&Tensor::from([[1i64, 2, 3]]), &Pass::eval())?;
/// assert_eq!(logits.shape(), &[1, 3, 65]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Gpt {
    /// Vectors of tokens.
    pub wte: Embedding,
    /// Vectors of positions.
    pub wpe: LearnedPosition,
    /// The blocks.
    #[module(name = "h")]
    pub blocks: Vec<TransformerBlock>,
    /// The norm behind them.
    pub ln_f: LayerNorm,
    /// The head, unless it is tied to `wte`.
    pub lm_head: Option<Linear>,
    #[module(skip)]
    config: GptConfig,
    #[module(skip)]
    dropout: Dropout,
}

impl Gpt {
    /// A net with fresh weights: normal with deviation 0.02, those at the end of a branch with 0.02 / √(2 · layers).
    pub fn new(config: &GptConfig, rng: &mut Rng) -> Result<Gpt> {
        config.check()?;
        let block = config.block();
        let last = 0.02 / (2.0 * config.layers as f64).sqrt();
        let make = |_| TransformerBlock::new(&block, rng)?.init_normal(0.02, last, rng);
        let blocks = (0..config.layers).map(make).collect::<Result<Vec<_>>>()?;
        let table = Init::Normal(0.02).draw([config.vocabulary, config.width], rng.key(), DType::F32)?;
        let mut head = || Linear::weight_only(config.width, config.vocabulary, rng)?.init(Init::Normal(0.02), rng);
        let lm_head = if config.tied { None } else { Some(head()?) };
        Ok(Gpt {
            wte: Embedding { weight: table.try_requires_grad()? },
            wpe: LearnedPosition::try_new(config.context, config.width, rng)?,
            blocks,
            ln_f: block.norm(),
            lm_head,
            config: config.clone(),
            dropout: Dropout::new(config.dropout),
        })
    }

    /// Sizes and settings.
    pub fn config(&self) -> &GptConfig {
        &self.config
    }

    /// Number of parameters without the position vectors, by which such nets are usually named.
    pub fn size(&self) -> usize {
        self.count_parameters() - self.wpe.weight.numel()
    }

    /// Token vectors with their positions, (…, tokens, width).
    fn embed(&self, tokens: &Tensor, pass: &Pass) -> Result<Tensor> {
        let count = tokens.dims().last().copied().unwrap_or(0);
        if count == 0 || tokens.rank() > 2 {
            let problem = format!("have shape {:?}; (tokens) or (batch, tokens) is needed, not empty", tokens.dims());
            return Err(Error::setting("Gpt", "tokens", problem));
        }
        if count > self.config.context {
            let problem = format!("are {count}, and the context holds {}; give the last of them", self.config.context);
            return Err(Error::setting("Gpt", "tokens", problem));
        }
        let x = self.wpe.forward(&self.wte.forward(tokens, pass)?, pass)?;
        if self.dropout.p > 0.0 { self.dropout.forward(&x, pass) } else { Ok(x) }
    }

    /// As `embed`, for tokens with `read` others before them, when nothing is dropped out.
    pub(crate) fn embed_at(&self, tokens: &Tensor, read: usize, pass: &Pass) -> Result<Tensor> {
        if read == 0 {
            return self.embed(tokens, pass);
        }
        let positions = self.wpe.weight.try_narrow(0, read, tokens.dims()[1])?;
        Ok(self.wte.forward(tokens, pass)?.try_add(&positions)?)
    }

    /// Logits of the next token for what the last block gave.
    pub(crate) fn head(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        let x = self.ln_f.forward(x, pass)?;
        match &self.lm_head {
            Some(head) => head.forward(&x, pass),
            None => Ok(x.try_linear(&self.wte.weight, None, Activation::Identity)?),
        }
    }

    /// Mean cross-entropy of all positions: `targets` holds, for each token, the one that follows it.
    ///
    /// ```
    /// use tove_nn::{Gpt, GptConfig, Pass, Rng};
    /// use tove_tensor::Tensor;
    /// let net = Gpt::new(&GptConfig::default(), &mut Rng::new(0))?;
    /// let loss = net.loss(&Tensor::from([[1i64, 2, 3]]), &Tensor::from([[2i64, 3, 4]]), &Pass::eval())?;
    /// assert!((loss.item::<f32>() - 65f32.ln()).abs() < 0.3); // knows nothing yet
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    pub fn loss(&self, tokens: &Tensor, targets: &Tensor, pass: &Pass) -> Result<Tensor> {
        Ok(self.forward(tokens, pass)?.try_cross_entropy(targets, &CrossEntropy::default())?)
    }

    /// The attention's weights of every block, each (…, heads, tokens, tokens).
    pub fn attention_maps(&self, tokens: &Tensor) -> Result<Vec<Tensor>> {
        let pass = Pass::eval();
        let mut x = self.embed(tokens, &pass)?;
        let mut maps = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            maps.push(block.probabilities(&x, true, None)?);
            x = block.attend(&x, true, None, &pass)?;
        }
        Ok(maps)
    }
}

impl Layer for Gpt {
    /// Logits (…, tokens, vocabulary) for token numbers (tokens) or (batch, tokens): those at t speak of token t + 1.
    fn forward(&self, tokens: &Tensor, pass: &Pass) -> Result<Tensor> {
        let x = self.embed(tokens, pass)?;
        let x = self.blocks.iter().try_fold(x, |x, block| block.attend(&x, true, None, pass))?;
        self.head(&x, pass)
    }
}
