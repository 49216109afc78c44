//! Naive Bayes: the features of a sample are independent given its class.
//!
//! log P(c | x) = log π_c + Σⱼ log p(xⱼ | c) + constant. The methods differ in p(xⱼ | c): normal ([`GaussianNb`]), multinomial over the
//! features, for counts ([`MultinomialNb`]), or Bernoulli, for features that are present or absent ([`BernoulliNb`]).
//! [`ComplementNb`] counts the features of all other classes. All of them learn from batches
//! ([`PartialFit`](crate::PartialFit)) and then give the model of all samples together.

mod bernoulli;
mod complement;
mod counts;
mod gaussian;
mod multinomial;
mod partial;

pub use bernoulli::{BernoulliNb, FittedBernoulliNb};
pub use complement::{ComplementNb, FittedComplementNb};
pub use gaussian::{FittedGaussianNb, GaussianNb};
pub use multinomial::{FittedMultinomialNb, MultinomialNb};
pub use partial::NaiveBayesLearner;

use tove_tensor::{DType, Tensor, TryNorm, TryOps};

use crate::{Labels, LearnError, Result};

/// That every class has samples, by the sums of their weights.
fn require_weight(who: &'static str, classes: &[i64], totals: &[f64]) -> Result<()> {
    match totals.iter().position(|&total| total <= 0.0) {
        None => Ok(()),
        Some(class) => {
            let problem = format!("class {} has no samples with a positive weight", classes[class]);
            Err(LearnError::data(who, problem, "give it samples with a weight, or leave the class out"))
        }
    }
}

/// The class of the first largest probability of each row. By the probabilities, so that both answers agree where rounding makes
/// two of them equal.
fn most_probable(classes: &[i64], probabilities: &Tensor) -> Result<Tensor> {
    let best = probabilities.try_argmax(-1)?.to_vec::<i64>();
    Ok(Labels::decode(classes, best.into_iter().map(|code| code as usize)))
}

/// The probabilities of classes from log π_c + log p(x | c), (n, m).
fn normalized(who: &'static str, joint: &Tensor, dtype: DType) -> Result<Tensor> {
    if joint.to_f64_vec().iter().any(|value| !value.is_finite()) {
        return Err(crate::model::overflow(who, "the log-likelihood of a row is not finite"));
    }
    Ok(joint.try_softmax(-1)?.to_dtype(dtype))
}
