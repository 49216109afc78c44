//! Combining predictions: means of numbers, means of probabilities, votes.
//!
//! ```
//! use tove_learn::ensemble::{average_probabilities, ensemble_error, vote};
//! use tove_tensor::Tensor;
//! let (a, b) = (Tensor::from([[0.9, 0.1]]), Tensor::from([[0.3, 0.7]]));
//! assert!((average_probabilities(&[a, b], None)?.at::<f64>(&[0, 1]) - 0.4).abs() < 1e-15);
//! let labels = [Tensor::from([3i64, 5]), Tensor::from([3i64, 3]), Tensor::from([5i64, 3])];
//! assert_eq!(vote(&labels, None)?.to_vec::<i64>(), [3, 3]);
//! assert_eq!(ensemble_error(4, 1.0, 0.0), 0.25);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::collections::BTreeMap;

use tove_tensor::{DType, Tensor, TryOps};

use crate::{LearnError, Result};

/// The mean squared error of the average of k models: (1/k) E e² + ((k − 1)/k) E eᵢeⱼ, given the mean squared error of
/// one model and the mean product of the errors of two.
pub fn ensemble_error(k: usize, square: f64, product: f64) -> f64 {
    let k = k as f64;
    square / k + (k - 1.0) / k * product
}

/// Normalized weights of the predictions, or equal ones.
fn shares(count: usize, weights: Option<&[f64]>) -> Result<Vec<f64>> {
    if count == 0 {
        return Err(LearnError::parameter("ensemble", "no predictions to combine; give at least one"));
    }
    let weights = weights.map_or(vec![1.0; count], <[f64]>::to_vec);
    let total: f64 = weights.iter().sum();
    if weights.len() != count || weights.iter().any(|w| !(*w >= 0.0 && w.is_finite())) || total <= 0.0 {
        let problem = format!("weights {weights:?} for {count} models; give non-negative weights, not all 0");
        return Err(LearnError::parameter("ensemble", problem));
    }
    Ok(weights.iter().map(|weight| weight / total).collect())
}

/// The (weighted) mean of predictions of equal shape.
pub fn average(answers: &[Tensor], weights: Option<&[f64]>) -> Result<Tensor> {
    let shares = shares(answers.len(), weights)?;
    let mut sum: Option<Tensor> = None;
    for (answer, share) in answers.iter().zip(shares) {
        let part = answer.try_mul(&Tensor::scalar(share).to_dtype(answer.dtype()))?;
        sum = Some(match sum {
            Some(sum) if sum.dims() == part.dims() => sum.try_add(&part)?,
            Some(sum) => {
                let problem = format!("predictions of shapes {} and {}; all must be equal", sum.shape(), part.shape());
                return Err(LearnError::parameter("ensemble", problem));
            }
            None => part,
        });
    }
    sum.ok_or_else(|| LearnError::parameter("ensemble", "no predictions to combine; give at least one"))
}

/// The (weighted) mean of probabilities (n, m), renormalized to sum to 1.
pub fn average_probabilities(answers: &[Tensor], weights: Option<&[f64]>) -> Result<Tensor> {
    let mean = average(answers, weights)?;
    if mean.rank() != 2 {
        let problem = format!("probabilities of shape {}; give a row per sample, a column per class", mean.shape());
        return Err(LearnError::parameter("ensemble", problem));
    }
    let total = mean.try_sum_axes(&[1], true)?;
    Ok(mean.try_div(&total)?)
}

/// The label with the most (weighted) votes; ties go to the smallest.
pub fn vote(answers: &[Tensor], weights: Option<&[f64]>) -> Result<Tensor> {
    let shares = shares(answers.len(), weights)?;
    let labels: Vec<Vec<i64>> =
        answers.iter().map(|answer| Ok(answer.to_dtype(DType::I64).try_to_vec::<i64>()?)).collect::<Result<_>>()?;
    let n = labels[0].len();
    if labels.iter().any(|list| list.len() != n) {
        return Err(LearnError::parameter("ensemble", "votes of different lengths; give one label per sample"));
    }
    let winner = |sample: usize| {
        let mut votes: BTreeMap<i64, f64> = BTreeMap::new();
        labels.iter().zip(&shares).for_each(|(list, share)| *votes.entry(list[sample]).or_default() += share);
        let mut best = (i64::MIN, f64::NEG_INFINITY);
        for (label, votes) in votes {
            if votes > best.1 + 1e-12 {
                best = (label, votes);
            }
        }
        best.0
    };
    Ok(Tensor::from_slice(&(0..n).map(winner).collect::<Vec<i64>>()))
}
