//! Embeddings: a learned vector per token, W eᵢ = wᵢ.

use tove_tensor::{Tensor, TryIndex};

use super::Layer;
use super::linear::draw;
use crate::error::OrPanic;
use crate::{Error, Init, LayerReport, Module, Pass, Result, Rng};

/// A table of vectors, chosen by number. First values are standard normal, as in PyTorch.
///
/// ```
/// use tove_nn::{Embedding, Layer, Pass, Rng};
/// use tove_tensor::Tensor;
/// let table = Embedding::new(10, 4, &mut Rng::new(0));
/// let y = table.forward(&Tensor::from([[3i64, 3, 7]]), &Pass::eval())?;
/// assert_eq!(y.shape(), &[1, 3, 4]);
/// let error = table.forward(&Tensor::from([10i64]), &Pass::eval()).unwrap_err();
/// assert!(error.to_string().contains("token 10"), "{error}");
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, Module)]
pub struct Embedding {
    /// (tokens, width).
    pub weight: Tensor,
}

impl Embedding {
    /// A table for `tokens` tokens of vectors of `width` numbers.
    ///
    /// # Panics
    /// If it does not fit into memory; see [`Embedding::try_new`].
    #[track_caller]
    pub fn new(tokens: usize, width: usize, rng: &mut Rng) -> Embedding {
        Embedding::try_new(tokens, width, rng).or_panic()
    }

    /// As [`Embedding::new`], with the error returned.
    pub fn try_new(tokens: usize, width: usize, rng: &mut Rng) -> Result<Embedding> {
        Ok(Embedding { weight: draw(Init::Normal(1.0), &[tokens, width], rng)? })
    }
}

impl Layer for Embedding {
    fn forward(&self, tokens: &Tensor, pass: &Pass) -> Result<Tensor> {
        let y = self.weight.try_embedding(tokens).map_err(|error| match error {
            tove_tensor::Error::Index { index, size, .. } => {
                let problem = format!("has token {index}, but the table has rows for 0 to {}", size.saturating_sub(1));
                Error::setting("Embedding", "input", problem)
            }
            other => other.into(),
        })?;
        pass.tell(self, tokens, &y, LayerReport::default);
        Ok(y)
    }
}
