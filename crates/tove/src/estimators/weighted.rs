//! Losses in which samples count by their weights.
//!
//! The targets have two columns: the value (or the number of the class) and the weight, scaled to mean 1 over all samples. The
//! loss of a batch of B samples is Σ w l / B, whose expectation over batches is the weighted mean loss Σ w l / Σ w of all samples:
//! a weight of 2 is two copies, up to which samples share a batch.

use std::borrow::Cow;

use tove_data::Batch;
use tove_learn::{Result as LearnResult, Samples};
use tove_nn::{Layer, Pass, Result, Scored, TrainingTask};
use tove_tensor::{CrossEntropy, DType, Reduction, Tensor, TryNorm, TryOps, TryReduce};

/// Samples that count, and their weights scaled to mean 1: those of weight 0 are left out, and equal weights have no effect.
pub(super) fn counting(samples: &Samples) -> LearnResult<(Cow<'_, Samples>, Option<Vec<f64>>)> {
    let Some(weights) = samples.weights() else { return Ok((Cow::Borrowed(samples), None)) };
    let weights = weights.to_f64_vec();
    let rows: Vec<usize> = (0..weights.len()).filter(|&row| weights[row] > 0.0).collect();
    let kept: Vec<f64> = rows.iter().map(|&row| weights[row]).collect();
    let samples = if rows.len() < weights.len() { Cow::Owned(samples.take(&rows)?) } else { Cow::Borrowed(samples) };
    if kept.iter().all(|weight| *weight == kept[0]) {
        return Ok((samples, None));
    }
    // Divided by the largest first: the sum of large weights may overflow.
    let largest = kept.iter().copied().fold(0.0, f64::max);
    let mean = kept.iter().map(|weight| weight / largest).sum::<f64>() / kept.len() as f64;
    Ok((samples, Some(kept.iter().map(|weight| weight / largest / mean).collect())))
}

/// Targets (n) and weights (n) side by side, (n, 2).
pub(super) fn side_by_side(y: &[f64], weights: &[f64], dtype: DType) -> LearnResult<Tensor> {
    let both: Vec<f64> = y.iter().zip(weights).flat_map(|(&y, &weight)| [y, weight]).collect();
    Ok(Tensor::try_from_vec(both, [y.len(), 2])?.to_dtype(dtype))
}

/// Σ w l / B, and Σ w.
fn weighed(losses: &Tensor, weights: &Tensor) -> Result<(Tensor, f64)> {
    let total = weights.try_sum()?.to_f64_vec().first().copied().unwrap_or(0.0);
    Ok((losses.try_mul(weights)?.try_mean()?, total))
}

/// The weighted mean loss of a batch as a score that counts by the batch's weights.
fn scored((loss, total): (Tensor, f64), batch: &Batch) -> Vec<Scored> {
    let sum = loss.to_f64_vec().first().copied().unwrap_or(f64::NAN) * batch.len() as f64;
    vec![Scored::lower("loss", if total > 0.0 { sum / total } else { 0.0 }).over(total)]
}

/// Squared errors, weighted.
pub(super) struct WeightedRegression;

impl WeightedRegression {
    fn judge(net: &(impl Layer + ?Sized), batch: &Batch, pass: &Pass) -> Result<(Tensor, f64)> {
        let residual = net.forward(&batch.x, pass)?.try_residual(&batch.y.try_narrow(1, 0, 1)?)?;
        weighed(&residual.try_mul(&residual)?, &batch.y.try_narrow(1, 1, 1)?)
    }
}

impl<M: Layer + ?Sized> TrainingTask<M> for WeightedRegression {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        Ok(WeightedRegression::judge(net, batch, pass)?.0)
    }

    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Vec<Scored>> {
        Ok(scored(WeightedRegression::judge(net, batch, pass)?, batch))
    }
}

/// Softmax cross-entropy, weighted.
pub(super) struct WeightedClassification;

impl WeightedClassification {
    fn judge(net: &(impl Layer + ?Sized), batch: &Batch, pass: &Pass) -> Result<(Tensor, f64)> {
        let column = |place: usize| batch.y.try_narrow(1, place, 1)?.try_reshape([batch.len()]);
        let options = CrossEntropy { reduction: Reduction::None, ..CrossEntropy::default() };
        let classes = column(0)?.try_to_dtype(DType::I64)?;
        weighed(&net.forward(&batch.x, pass)?.try_cross_entropy(&classes, &options)?, &column(1)?)
    }
}

impl<M: Layer + ?Sized> TrainingTask<M> for WeightedClassification {
    fn loss(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Tensor> {
        Ok(WeightedClassification::judge(net, batch, pass)?.0)
    }

    fn scores(&self, net: &M, batch: &Batch, pass: &Pass) -> Result<Vec<Scored>> {
        Ok(scored(WeightedClassification::judge(net, batch, pass)?, batch))
    }
}
