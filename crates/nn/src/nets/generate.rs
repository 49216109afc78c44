//! Writing on: x_{t+1} is chosen from softmax(f(x₁ … x_t)), appended, and the net asked again.
//!
//! Keys and values of past tokens do not change, so a [`Decoder`] keeps them in memory set aside at its start, and each
//! step computes the newest token only. Positions are absolute: once the context is full, dropping the oldest token moves
//! all others, and the last `context` tokens are read anew for every further token, as nanoGPT does.

use tove_tensor::{DType, Element, Tensor, TryNorm, TryOps, no_grad};

use super::{Gpt, Sampling};
use crate::layers::{Layer, TransformerBlock, merge_heads};
use crate::{Error, Pass, Result};

/// Keys and values of one block, each (batch, heads, context, width of a head).
#[derive(Debug)]
struct Cache {
    keys: Tensor,
    values: Tensor,
}

/// A [`Gpt`] reading texts token by token.
///
/// ```
/// use tove_nn::{Decoder, Gpt, GptConfig, Rng};
/// use tove_tensor::Tensor;
/// let net = Gpt::new(&GptConfig::default(), &mut Rng::new(0))?;
/// let mut decoder = Decoder::new(&net, 1);
/// decoder.advance(&Tensor::from([[1i64, 2]]))?;
/// let step_by_step = decoder.advance(&Tensor::from([[3i64]]))?;
/// let at_once = Decoder::new(&net, 1).advance(&Tensor::from([[1i64, 2, 3]]))?;
/// assert!((step_by_step - at_once).abs().max().item::<f32>() < 1e-5);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder<'n> {
    net: &'n Gpt,
    caches: Vec<Cache>,
    batch: usize,
    read: usize,
}

impl<'n> Decoder<'n> {
    /// A reader of `batch` texts of equal length, none of them begun.
    pub fn new(net: &'n Gpt, batch: usize) -> Decoder<'n> {
        let config = net.config();
        let shape = [batch, config.heads, config.context, config.width / config.heads];
        let room = || Tensor::zeros(shape, net.wte.weight.dtype());
        let caches = net.blocks.iter().map(|_| Cache { keys: room(), values: room() }).collect();
        Decoder { net, caches, batch, read: 0 }
    }

    /// Number of tokens read of each text.
    pub fn read(&self) -> usize {
        self.read
    }

    /// Forgets what was read.
    pub fn restart(&mut self) {
        self.read = 0;
    }

    /// Reads further tokens (batch, tokens) and gives the logits (batch, vocabulary) of the token after them.
    pub fn advance(&mut self, tokens: &Tensor) -> Result<Tensor> {
        let &[batch, count] = tokens.dims() else {
            return Err(tove_tensor::Error::shape("Decoder", tokens.shape(), "needs shape (batch, tokens)").into());
        };
        if batch != self.batch {
            let problem = format!("are for {batch} texts, and the decoder was made for {}", self.batch);
            return Err(Error::setting("Decoder", "tokens", problem));
        }
        let context = self.net.config().context;
        if self.read + count > context {
            let problem = format!("are {} in all, and the context holds {context}", self.read + count);
            return Err(Error::setting("Decoder", "tokens", problem));
        }
        no_grad(|| {
            if self.read == 0 || count == 1 {
                return self.step(tokens);
            }
            // The causal mask counts from the first key, so a text already begun goes on one token at a time.
            let mut logits = self.step(&tokens.try_narrow(1, 0, 1)?)?;
            for position in 1..count {
                logits = self.step(&tokens.try_narrow(1, position, 1)?)?;
            }
            Ok(logits)
        })
    }

    /// One token, or the first tokens of a text.
    fn step(&mut self, tokens: &Tensor) -> Result<Tensor> {
        let (pass, net) = (Pass::eval(), self.net);
        let mut x = net.embed_at(tokens, self.read, &pass)?;
        for (block, cache) in net.blocks.iter().zip(&mut self.caches) {
            x = cache.block(block, &x, self.read, &pass)?;
        }
        let count = tokens.dims()[1];
        self.read += count;
        let last = if count == 1 { x } else { x.try_narrow(1, count - 1, 1)? };
        Ok(net.head(&last, &pass)?.try_squeeze(1)?)
    }
}

impl Cache {
    /// The block on new tokens (batch, tokens, width), of which `read` have gone before.
    fn block(&mut self, block: &TransformerBlock, x: &Tensor, read: usize, pass: &Pass) -> Result<Tensor> {
        let attention = &block.self_attn;
        let projected = attention.project(&block.attention_input(x, pass)?)?;
        match projected.dtype() {
            DType::F64 => self.put::<f64>(&projected, read)?,
            _ => self.put::<f32>(&projected, read)?,
        }
        let parts = attention.split_heads(&projected)?;
        let mixed = if read == 0 {
            parts.q.try_scaled_dot_product_attention(&parts.k, &parts.v, true, None, None)?
        } else {
            let (keys, values) = (self.keys.try_narrow(2, 0, read + 1)?, self.values.try_narrow(2, 0, read + 1)?);
            parts.q.try_scaled_dot_product_attention(&keys, &values, false, None, None)?
        };
        let mixed = attention.out_proj.forward(&merge_heads(&mixed)?, pass)?;
        block.after_attention(x, mixed, pass)
    }

    /// Writes keys and values out of the projections (batch, tokens, 3 · width) behind those there are.
    fn put<T: Element>(&mut self, projected: &Tensor, read: usize) -> Result<()> {
        let &[_, heads, context, size] = self.keys.dims() else { return Ok(()) };
        let (source, tokens, width) = (projected.as_slice::<T>()?, projected.dims()[1], heads * size);
        for (part, target) in [&mut self.keys, &mut self.values].into_iter().enumerate() {
            let target = target.as_mut_slice::<T>()?;
            for (row, projections) in source.chunks_exact(3 * width).enumerate() {
                let (text, position) = (row / tokens, read + row % tokens);
                let of_heads = projections[(part + 1) * width..(part + 2) * width].chunks_exact(size);
                for (head, values) in of_heads.enumerate() {
                    let at = ((text * heads + head) * context + position) * size;
                    target[at..at + size].copy_from_slice(values);
                }
            }
        }
        Ok(())
    }
}

impl Gpt {
    /// Writes `count` tokens behind each prompt, (tokens) or (batch, tokens), and gives prompts and what follows together.
    ///
    /// Of a text longer than the context only the last `context` tokens are read, of a prompt too. The result depends on
    /// the rule and its key alone; row r of a batch draws numbers of its own.
    ///
    /// ```
    /// use tove_nn::{Gpt, GptConfig, Rng, Sampling};
    /// use tove_tensor::{Key, Tensor};
    /// let net = Gpt::new(&GptConfig::default(), &mut Rng::new(0))?;
    /// let prompt = Tensor::from([1i64, 2, 3]);
    /// let text = net.generate(&prompt, 5, &Sampling::random(Key::new(7)).temperature(0.8).top_k(10))?;
    /// assert_eq!(text.shape(), &[8]);
    /// assert!(net.generate(&Tensor::from([65i64]), 1, &Sampling::greedy()).is_err()); // tokens are 0 to 64
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    pub fn generate(&self, prompt: &Tensor, count: usize, rule: &Sampling) -> Result<Tensor> {
        self.write_on(prompt, count, rule, true)
    }

    /// As [`Gpt::generate`], reading the whole text anew for every token: the slow way, as a check on the fast one.
    pub fn generate_uncached(&self, prompt: &Tensor, count: usize, rule: &Sampling) -> Result<Tensor> {
        self.write_on(prompt, count, rule, false)
    }

    fn write_on(&self, prompt: &Tensor, count: usize, rule: &Sampling, cached: bool) -> Result<Tensor> {
        rule.check()?;
        let (batch, length) = match *prompt.dims() {
            [tokens] => (1, tokens),
            [batch, tokens] => (batch, tokens),
            _ => return Err(problem(format!("has shape {:?}; (tokens) or (batch, tokens) is needed", prompt.dims()))),
        };
        if length == 0 {
            return Err(problem("is empty; give at least one token to start from".into()));
        }
        let texts = self.checked_rows(prompt, length)?;
        let mut writer = Writer { net: self, decoder: Decoder::new(self, batch), texts, rule, cached };
        let total = length + count;
        let rows = writer.write(count)?;
        let shape = if prompt.rank() == 1 { vec![total] } else { vec![batch, total] };
        Ok(Tensor::try_from_vec(rows, shape)?)
    }

    /// The prompts as lists, all tokens in the vocabulary.
    fn checked_rows(&self, prompt: &Tensor, length: usize) -> Result<Vec<Vec<i64>>> {
        let tokens = prompt.try_to_vec::<i64>()?;
        let vocabulary = self.config().vocabulary;
        let stranger = tokens.iter().find(|token| usize::try_from(**token).map_or(true, |token| token >= vocabulary));
        if let Some(token) = stranger {
            return Err(problem(format!("has token {token}, and the vocabulary is 0 to {}", vocabulary - 1)));
        }
        Ok(tokens.chunks_exact(length).map(<[i64]>::to_vec).collect())
    }
}

fn problem(text: String) -> Error {
    Error::setting("generate", "prompt", text)
}

/// Texts being written.
struct Writer<'n> {
    net: &'n Gpt,
    decoder: Decoder<'n>,
    texts: Vec<Vec<i64>>,
    rule: &'n Sampling,
    cached: bool,
}

impl Writer<'_> {
    /// All texts with `count` more tokens each, one behind the other.
    fn write(&mut self, count: usize) -> Result<Vec<i64>> {
        let mut chosen = Vec::with_capacity(self.texts.len());
        for step in 0..count {
            let logits = self.logits()?;
            self.rule.choose(&logits, step as u64, &mut chosen)?;
            self.texts.iter_mut().zip(&chosen).for_each(|(text, &token)| text.push(token));
        }
        Ok(self.texts.concat())
    }

    /// Logits of the next token of each text.
    fn logits(&mut self) -> Result<Tensor> {
        let context = self.net.config().context;
        let length = self.texts.first().map_or(0, Vec::len);
        if !self.cached {
            let tokens = self.tokens(length - length.min(context))?;
            let logits = no_grad(|| self.net.forward(&tokens, &Pass::eval()))?;
            return Ok(logits.try_select_index(1, logits.dims()[1] - 1)?.contiguous());
        }
        let start = if length > context {
            self.decoder.restart();
            length - context
        } else {
            self.decoder.read()
        };
        self.decoder.advance(&self.tokens(start)?)
    }

    /// The tokens from a position on, (batch, tokens).
    fn tokens(&self, start: usize) -> Result<Tensor> {
        let length = self.texts.first().map_or(0, Vec::len) - start;
        let tokens: Vec<i64> = self.texts.iter().flat_map(|text| text[start..].iter().copied()).collect();
        Ok(Tensor::try_from_vec(tokens, [self.texts.len(), length])?)
    }
}
