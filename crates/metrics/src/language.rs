//! Metrics of language models.
//!
//! With L the mean of −ln p(token) in nats: perplexity = e^L, the number of equally likely tokens with the same
//! loss; bits per character = (L · tokens)/(ln 2 · characters), which compares models with different tokens.

use tove_tensor::Tensor;

use crate::classification::check_range;
use crate::read::{View, Weights, check_scores, dense};
use crate::{MetricError, Result, Score};

/// The mean of `−ln softmax(logits)[target]`, in nats: logits (n, C), targets (n) in 0 … C − 1.
///
/// ```
/// use tove_metrics::{negative_log_likelihood, perplexity};
/// use tove_tensor::{DType, Tensor};
/// let even = negative_log_likelihood(&Tensor::from([3i64, 0]), &Tensor::zeros([2, 8], DType::F32), None)?;
/// assert!((perplexity(even.value) - 8.0).abs() < 1e-12);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If there are no samples, shapes do not fit, a target is out of range, or a logit is NaN or +∞.
pub fn negative_log_likelihood(targets: &Tensor, logits: &Tensor, weights: Option<&Tensor>) -> Result<Score> {
    const WHAT: &str = "negative_log_likelihood";
    let (n, classes) = check_scores(WHAT, targets, logits, false)?;
    let weights = Weights::new(WHAT, weights, n)?;
    let (targets, logits) = (dense(targets), dense(logits));
    let (targets, logits) = (View::of(&targets)?, View::of(&logits)?);
    check_range(WHAT, &targets, n, classes)?;
    let value = weights.mean(n, |i| {
        let logit = |class: usize| logits.real(i * classes + class);
        let largest = (0..classes).map(logit).fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = (0..classes).map(|class| (logit(class) - largest).exp()).sum();
        sum.ln() + largest - logit(targets.whole(i) as usize)
    })?;
    if value.is_nan() {
        let problem = "a row of logits has no softmax: it is infinite; mask with large negative numbers instead";
        return Err(MetricError::parameter(WHAT, problem));
    }
    Ok(Score::plain(value, n))
}

/// e^L for a mean of L nats per token.
///
/// ```
/// assert!((tove_metrics::perplexity(2f64.ln()) - 2.0).abs() < 1e-15);
/// ```
pub fn perplexity(nats_per_token: f64) -> f64 {
    nats_per_token.exp()
}

/// Bits per character of a text of `characters` characters in `tokens` tokens, at a mean of L nats per token.
///
/// ```
/// let bits = tove_metrics::bits_per_character(2f64.ln(), 10, 40)?;
/// assert_eq!(bits, 0.25);
/// # Ok::<(), tove_metrics::MetricError>(())
/// ```
///
/// # Errors
/// If there are no characters.
pub fn bits_per_character(nats_per_token: f64, tokens: usize, characters: usize) -> Result<f64> {
    if characters == 0 {
        return Err(MetricError::Empty("bits_per_character"));
    }
    Ok(nats_per_token / std::f64::consts::LN_2 * (tokens as f64 / characters as f64))
}
