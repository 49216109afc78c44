//! The likelihood of a data set, and the maximum-likelihood model among several.
//!
//! For independent samples p(S | f) = Πᵢ p(yᵢ | f(xᵢ)). The product of many factors underflows; its logarithm, the sum
//! of log-factors, does not. argmax Π p = argmin Σ −log p.
//!
//! ```
//! use tove_lessons::probability::data_likelihood;
//! use tove_tensor::Tensor;
//! let factors = Tensor::full([1000], 0.1, tove_tensor::DType::F64).ln();
//! let likelihood = data_likelihood(&factors)?;
//! assert_eq!(likelihood.product, 0.0); // underflow
//! assert!((likelihood.logarithm + 2302.585).abs() < 1e-3);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::Tensor;

use super::distribution::Distribution;
use tove_learn::{LearnError, Result};

/// The likelihood of a data set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataLikelihood {
    /// The product of the factors, which may underflow or overflow.
    pub product: f64,
    /// Its logarithm, from the sum of the log-factors.
    pub logarithm: f64,
}

impl DataLikelihood {
    /// −log p, the quantity to minimize.
    pub fn negative_log(&self) -> f64 {
        -self.logarithm
    }
}

/// The likelihood of independent samples, given the log-probability of each.
pub fn data_likelihood(log_probabilities: &Tensor) -> Result<DataLikelihood> {
    let logs = log_probabilities.to_f64_vec();
    if let Some(row) = logs.iter().position(|log| log.is_nan()) {
        let fix = "check the prediction for that sample";
        return Err(LearnError::data("data_likelihood", format!("the log-probability of sample {row} is NaN"), fix));
    }
    Ok(DataLikelihood { product: logs.iter().map(|log| log.exp()).product(), logarithm: logs.iter().sum() })
}

/// The maximum-likelihood model: its index and its likelihood. Ties go to the first.
///
/// ```
/// use tove_lessons::probability::{Bernoulli, most_likely};
/// use tove_tensor::Tensor;
/// let coins = [0.2, 0.5, 0.8].map(|q| Bernoulli::new(q).unwrap());
/// let (best, _) = most_likely(coins.iter(), &Tensor::from([1.0, 1.0, 0.0, 1.0]))?;
/// assert_eq!(best, 2);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
pub fn most_likely<'a, D: Distribution + 'a>(
    models: impl IntoIterator<Item = &'a D>,
    y: &Tensor,
) -> Result<(usize, DataLikelihood)> {
    let mut best: Option<(usize, DataLikelihood)> = None;
    for (index, model) in models.into_iter().enumerate() {
        let likelihood = data_likelihood(&model.log_prob(y)?)?;
        if best.is_none_or(|(_, known)| likelihood.logarithm > known.logarithm) {
            best = Some((index, likelihood));
        }
    }
    best.ok_or_else(|| LearnError::parameter("most_likely", "no models to choose from; give at least one"))
}
