//! Scores of a net on a set.

use tove_data::Dataset;
use tove_tensor::{Key, no_grad};

use super::loader::{Flow, for_each_batch};
use super::task::{Scored, TrainingTask};
use crate::{Error, Pass, Result};

/// Means of a task's scores over a set, in evaluation; the size of the batches changes nothing but the speed.
///
/// ```
/// use tove_data::TensorDataset;
/// use tove_nn::{Classification, Linear, Rng, evaluate};
/// use tove_tensor::{DType, Tensor};
/// let set = TensorDataset::new(Tensor::ones([10, 2], DType::F32), Tensor::zeros([10], DType::I64))?;
/// let scores = evaluate(&Linear::new(2, 3, &mut Rng::new(0)), &Classification::new(), &set, 4)?;
/// assert_eq!((scores[0].name, scores[1].name), ("loss", "accuracy"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate<M, D: Dataset + ?Sized>(
    net: &M,
    task: &impl TrainingTask<M>,
    set: &D,
    batch_size: usize,
) -> Result<Vec<Scored>> {
    if set.is_empty() {
        return Err(Error::setting("evaluate", "set", "is empty; there is nothing to judge by"));
    }
    let indices: Vec<usize> = (0..set.len()).collect();
    let batches: Vec<&[usize]> = indices.chunks(batch_size.max(1)).collect();
    let mut sums: Vec<(Scored, f64)> = Vec::new();
    for_each_batch(set, &batches, Key::new(0), &mut |batch| {
        let scores = no_grad(|| task.scores(net, &batch, &Pass::eval()))?;
        if sums.is_empty() {
            sums = scores.iter().map(|score| (Scored { value: 0.0, ..*score }, 0.0)).collect();
        }
        for ((sum, total), score) in sums.iter_mut().zip(&scores) {
            let count = score.count.unwrap_or(batch.len() as f64);
            // What does not count must not spoil the mean with its NaN.
            if count > 0.0 {
                (sum.value, *total) = (sum.value + count * score.value, *total + count);
            }
        }
        Ok(Flow::Continue)
    })?;
    Ok(sums.into_iter().map(|(sum, total)| Scored { value: sum.value / total, count: Some(total), ..sum }).collect())
}
