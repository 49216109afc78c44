//! Learning without labels: some tokens of a text are hidden, and the net is asked what they were (Devlin et al. 2019).
//!
//! Each token is chosen with a probability, 15 % by default. Of the chosen ones most are replaced by the mask token, some
//! by a random one and some stay, so that the net cannot trust what it sees. The targets are the chosen tokens' own numbers;
//! all others are [`IGNORED`]. No label is needed: the text is its own.

use tove_tensor::{CrossEntropy, DType, Key, Tensor, TryNorm, TryOps};

use crate::{Error, Result};

/// The target of a position that is not asked about, as in PyTorch.
pub const IGNORED: i64 = -100;

/// How tokens are hidden.
///
/// ```
/// use tove_nn::{IGNORED, Masking};
/// use tove_tensor::{Key, Tensor};
/// let tokens = Tensor::from([[1i64, 2, 3, 4, 5, 6, 7, 8]]);
/// let hidden = Masking { rate: 0.5, ..Masking::new(0, 9) }.hide(&tokens, Key::new(3))?;
/// let (inputs, targets) = (hidden.inputs.to_vec::<i64>(), hidden.targets.to_vec::<i64>());
/// for (i, token) in tokens.to_vec::<i64>().into_iter().enumerate() {
///     assert!(targets[i] == token || (targets[i] == IGNORED && inputs[i] == token));
/// }
/// # Ok::<(), tove_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Masking {
    /// Probability of a token to be asked about.
    pub rate: f64,
    /// Share of those that become the mask token.
    pub masked: f64,
    /// Share of those that become a random token; the rest stay as they are.
    pub random: f64,
    /// The mask token.
    pub mask_token: i64,
    /// Random tokens are below this.
    pub vocabulary: usize,
}

/// Texts with hidden tokens, and what was there.
#[derive(Clone, Debug)]
pub struct Hidden {
    /// The texts as the net sees them.
    pub inputs: Tensor,
    /// The tokens asked about, [`IGNORED`] elsewhere.
    pub targets: Tensor,
}

impl Masking {
    /// 15 % of the tokens; of those 80 % masked, 10 % random, 10 % as they are.
    pub fn new(mask_token: i64, vocabulary: usize) -> Masking {
        Masking { rate: 0.15, masked: 0.8, random: 0.1, mask_token, vocabulary }
    }

    /// Hides tokens of texts of any shape; the key decides which.
    pub fn hide(&self, tokens: &Tensor, key: Key) -> Result<Hidden> {
        self.check()?;
        let shape = tokens.shape().clone();
        let uniform = |stream: u64| key.fold(stream).try_uniform(shape.clone(), DType::F64);
        let asked = uniform(0)?.try_lt_scalar(self.rate)?;
        let fate = uniform(1)?;
        let masked = asked.try_logical_and(&fate.try_lt_scalar(self.masked)?)?;
        let replaced = asked.try_logical_and(&fate.try_lt_scalar(self.masked + self.random)?)?;
        let random = key.fold(2).try_integers(0, self.vocabulary as i64, shape.clone())?;
        let mask_token = Tensor::scalar(self.mask_token);
        let inputs = masked.try_select(&mask_token, &replaced.try_select(&random, tokens)?)?;
        let targets = asked.try_select(tokens, &Tensor::scalar(IGNORED))?;
        Ok(Hidden { inputs, targets })
    }

    fn check(&self) -> Result<()> {
        if !(self.rate > 0.0 && self.rate <= 1.0) {
            let problem = format!("is {}; it must lie in (0, 1], or nothing is asked", self.rate);
            return Err(Error::setting("Masking", "rate", problem));
        }
        if self.masked < 0.0 || self.random < 0.0 || self.masked + self.random > 1.0 + 1e-12 {
            let problem = format!("is {} and the random share {}; together at most 1", self.masked, self.random);
            return Err(Error::setting("Masking", "masked", problem));
        }
        if self.vocabulary == 0 {
            return Err(Error::setting("Masking", "vocabulary", "is 0; it must be at least 1"));
        }
        Ok(())
    }
}

/// Mean cross-entropy of the tokens asked about, for logits (…, tokens, vocabulary).
///
/// ```
/// use tove_nn::{IGNORED, masked_token_loss};
/// use tove_tensor::{DType, Tensor};
/// let loss = masked_token_loss(&Tensor::zeros([1, 2, 4], DType::F64), &Tensor::from([[IGNORED, 3]]))?;
/// assert!((loss.item::<f64>() - 4f64.ln()).abs() < 1e-12);
/// # Ok::<(), tove_nn::Error>(())
/// ```
pub fn masked_token_loss(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    let options = CrossEntropy { ignore_index: Some(IGNORED), ..CrossEntropy::default() };
    Ok(logits.try_cross_entropy(targets, &options)?)
}
