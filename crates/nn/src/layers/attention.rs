//! Multi-head self-attention (Vaswani et al. 2017): tokens exchange what they know.
//!
//! With X (tokens, width), each of H heads takes Q = X W_Q, K = X W_K, V = X W_V of width d = width / H and gives
//! Z = P V with P = softmax(Q Kᵀ / √d) row by row: a weighted average of the values, whose weights are not negative and
//! sum to 1. For factors of unit variance the products q·k have variance d, hence the root. The heads side by side go
//! through W_O: Y = [Z₁ … Z_H] W_O.
//!
//! The three projections are one product with `in_proj_weight` (3 · width, width), and the heads are
//! read where they lie in its result.

use tove_tensor::{Activation, DType, Tensor, TryIndex, TryNorm, TryOps};

use super::linear::draw;
use super::{Layer, Linear, parameter};
use crate::{Error, Init, LayerReport, Module, Pass, Result, Rng};

/// Self-attention with several heads. Names and first values are those of `torch.nn.MultiheadAttention`.
///
/// ```
/// use tove_nn::{Layer, MultiHeadAttention, Pass, Rng};
/// use tove_tensor::{DType, Key};
/// let attention = MultiHeadAttention::new(8, 2, &mut Rng::new(0))?;
/// let x = Key::new(1).normal([3, 5, 8], DType::F32); // (batch, tokens, width)
/// assert_eq!(attention.forward(&x, &Pass::eval())?.shape(), &[3, 5, 8]);
/// assert_eq!(attention.probabilities(&x, false, None)?.shape(), &[3, 2, 5, 5]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct MultiHeadAttention {
    /// W_Q, W_K and W_V above each other, (3 · width, width).
    pub in_proj_weight: Tensor,
    /// Their biases, (3 · width).
    pub in_proj_bias: Option<Tensor>,
    /// W_O.
    pub out_proj: Linear,
    pub(crate) heads: usize,
    /// Probability of an attention weight to be dropped while training.
    pub dropout: f64,
}

/// Queries, keys and values, each (…, heads, tokens, width of a head).
pub(crate) struct Projected {
    pub(crate) q: Tensor,
    pub(crate) k: Tensor,
    pub(crate) v: Tensor,
}

impl MultiHeadAttention {
    /// Attention with biases.
    pub fn new(width: usize, heads: usize, rng: &mut Rng) -> Result<MultiHeadAttention> {
        if heads == 0 || width == 0 || !width.is_multiple_of(heads) {
            let problem = format!("is {heads}: the width {width} must be a positive multiple of it");
            return Err(Error::setting("MultiHeadAttention", "heads", problem));
        }
        let zeros = |count: usize| Some(parameter(Tensor::zeros([count], DType::F32)));
        Ok(MultiHeadAttention {
            in_proj_weight: draw(Init::XavierUniform(1.0), &[width.saturating_mul(3), width], rng)?,
            in_proj_bias: zeros(3 * width),
            out_proj: Linear { bias: zeros(width), ..Linear::weight_only(width, width, rng)? },
            heads,
            dropout: 0.0,
        })
    }

    /// The same attention without its biases.
    pub fn without_bias(self) -> MultiHeadAttention {
        MultiHeadAttention { in_proj_bias: None, out_proj: self.out_proj.without_bias(), ..self }
    }

    /// Number of heads.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Number of features of a token.
    pub fn width(&self) -> usize {
        self.in_proj_weight.dims()[1]
    }

    /// Self-attention of x (…, tokens, width). With `causal` a token sees itself and those before it; the mask is added to
    /// the scores (−∞ hides) and broadcasts to (…, heads, tokens, tokens). See [`padding_mask`].
    pub fn attend(&self, x: &Tensor, causal: bool, mask: Option<&Tensor>, pass: &Pass) -> Result<Tensor> {
        let projected = self.project(x)?;
        let dropped = pass.is_training() && self.dropout > 0.0;
        let mixed = if dropped {
            let Projected { q, k, v } = self.split_heads(&projected)?;
            merge_heads(&weights(&q, &k, causal, mask)?.try_dropout(self.dropout, pass.next_key())?.try_matmul(&v)?)?
        } else {
            projected.try_packed_attention(self.heads, causal, mask, None)?
        };
        let y = self.out_proj.forward(&mixed, pass)?;
        pass.tell(self, x, &y, || self.report(x));
        Ok(y)
    }

    /// The scores Q Kᵀ / √d of each head before masks and softmax, (…, heads, tokens, tokens).
    ///
    /// With queries and keys of unit variance they have variance 1 for any d. The weights drawn by
    /// [`MultiHeadAttention::new`], PyTorch's, give queries and keys of variance 1/2 and scores of variance 1/4 for tokens
    /// of unit variance.
    ///
    /// ```
    /// use tove_nn::{MultiHeadAttention, Rng};
    /// use tove_tensor::{DType, Key};
    /// let attention = MultiHeadAttention::new(8, 2, &mut Rng::new(0))?;
    /// let x = Key::new(1).normal([5, 8], DType::F32);
    /// let (scores, weights) = (attention.scores(&x)?, attention.probabilities(&x, false, None)?);
    /// assert_eq!(scores.shape(), &[2, 5, 5]);
    /// assert_eq!(scores.softmax(-1).to_vec::<f32>(), weights.to_vec::<f32>());
    /// # Ok::<(), tove_nn::Error>(())
    /// ```
    pub fn scores(&self, x: &Tensor) -> Result<Tensor> {
        let Projected { q, k, .. } = self.split_heads(&self.project(x)?)?;
        scores(&q, &k)
    }

    /// The weights P of each head, (…, heads, tokens, tokens): row i says how much token i takes from every token.
    pub fn probabilities(&self, x: &Tensor, causal: bool, mask: Option<&Tensor>) -> Result<Tensor> {
        let Projected { q, k, .. } = self.split_heads(&self.project(x)?)?;
        weights(&q, &k, causal, mask)
    }

    /// Queries, keys and values of all tokens side by side, (…, tokens, 3 · width).
    pub(crate) fn project(&self, x: &Tensor) -> Result<Tensor> {
        if x.rank() < 2 {
            return Err(tove_tensor::Error::shape("attention", x.shape(), "needs shape (…, tokens, width)").into());
        }
        Ok(x.try_linear(&self.in_proj_weight, self.in_proj_bias.as_ref(), Activation::Identity)?)
    }

    /// Views of the projections, one matrix per head.
    pub(crate) fn split_heads(&self, projected: &Tensor) -> Result<Projected> {
        let width = self.width();
        let lead = &projected.dims()[..projected.rank() - 1];
        let shape: Vec<usize> = lead.iter().copied().chain([3 * self.heads, width / self.heads]).collect();
        let apart = projected.try_reshape(shape)?.try_swap_axes(-2, -3)?; // (…, 3 · heads, tokens, width of a head)
        let part = |index: usize| apart.try_narrow(-3, index * self.heads, self.heads);
        Ok(Projected { q: part(0)?, k: part(1)?, v: part(2)? })
    }

    /// What the projection and the attention cost; the output projection reports for itself.
    fn report(&self, x: &Tensor) -> LayerReport {
        let (tokens, width) = (x.dims()[x.rank() - 2] as u64, self.width() as u64);
        let rows = x.numel() as u64 / width;
        LayerReport { flops: rows * width * (6 * width + 4 * tokens), sees_all: true, ..LayerReport::default() }
    }
}

/// Q Kᵀ / √d.
fn scores(q: &Tensor, k: &Tensor) -> Result<Tensor> {
    let width = q.dims()[q.rank() - 1] as f64;
    Ok(q.try_matmul(&k.try_t()?)? * (1.0 / width.sqrt()))
}

/// softmax(Q Kᵀ / √d + mask), with what lies after a token hidden from it if `causal`.
fn weights(q: &Tensor, k: &Tensor, causal: bool, mask: Option<&Tensor>) -> Result<Tensor> {
    let mut scores = scores(q, k)?;
    if let Some(mask) = mask {
        scores = scores.try_add(mask)?;
    }
    if causal {
        let tokens = scores.dims()[scores.rank() - 1];
        let after = Tensor::ones([tokens, tokens], DType::F32).try_triu(1)?.try_gt_scalar(0.5)?;
        scores = scores.try_masked_fill(&after, f64::NEG_INFINITY)?;
    }
    Ok(scores.try_softmax(-1)?)
}

/// (…, heads, tokens, width of a head) to (…, tokens, width).
pub(crate) fn merge_heads(mixed: &Tensor) -> Result<Tensor> {
    let rank = mixed.rank();
    let (heads, tokens, width) = (mixed.dims()[rank - 3], mixed.dims()[rank - 2], mixed.dims()[rank - 1]);
    let shape: Vec<usize> = mixed.dims()[..rank - 3].iter().copied().chain([tokens, heads * width]).collect();
    Ok(mixed.try_swap_axes(-2, -3)?.try_reshape(shape)?)
}

impl Layer for MultiHeadAttention {
    fn forward(&self, x: &Tensor, pass: &Pass) -> Result<Tensor> {
        self.attend(x, false, None, pass)
    }
}

/// The mask that hides padding: for truth values (batch, tokens), true where there is a token, the terms 0 or −∞ of shape
/// (batch, 1, 1, tokens) that are added to the scores.
///
/// ```
/// use tove_nn::padding_mask;
/// use tove_tensor::{DType, Tensor};
/// let mask = padding_mask(&Tensor::from([[true, true, false]]), DType::F32)?;
/// assert_eq!(mask.shape(), &[1, 1, 1, 3]);
/// assert_eq!(mask.to_vec::<f32>(), [0.0, 0.0, f32::NEG_INFINITY]);
/// # Ok::<(), tove_nn::Error>(())
/// ```
pub fn padding_mask(present: &Tensor, dtype: DType) -> Result<Tensor> {
    let &[batch, tokens] = present.dims() else {
        let problem = "needs shape (batch, tokens), true where there is a token";
        return Err(tove_tensor::Error::shape("padding_mask", present.shape(), problem).into());
    };
    let (seen, hidden) = (Tensor::full([1], 0.0, dtype), Tensor::full([1], f64::NEG_INFINITY, dtype));
    Ok(present.try_select(&seen, &hidden)?.try_reshape([batch, 1, 1, tokens])?)
}
