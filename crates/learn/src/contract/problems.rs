//! Small test problems.

use tove_tensor::{DType, Key, Tensor};

use crate::{Estimator, Result, Samples, Targets};

/// 60 samples with four features: targets from a linear function with noise, or two overlapping classes.
pub(super) fn plain(estimator: &dyn Estimator) -> Result<(Tensor, Tensor)> {
    let n = 60;
    let x = Key::new(11).normal([n, 4], DType::F64);
    let noise = Key::new(12).normal([n], DType::F64).to_f64_vec();
    let rows = x.to_f64_vec();
    let rule = rows.chunks(4).zip(&noise).map(|(x, noise)| 1.5 * x[0] - 2.0 * x[1] + 0.5 * x[2] + 0.7 + 0.6 * noise);
    let capabilities = estimator.capabilities();
    let x = if capabilities.nonnegative { x.abs() } else { x };
    let y = match capabilities.classifies() || capabilities.targets == Targets::Classes {
        false if capabilities.positive_targets => Tensor::try_from_vec(rule.map(|s| (0.3 * s).exp()).collect(), [n])?,
        false => Tensor::try_from_vec(rule.collect::<Vec<f64>>(), [n])?,
        true => Tensor::try_from_vec(rule.map(|s| if s > 0.3 { 4i64 } else { -2 }).collect(), [n])?,
    };
    Ok((x, y))
}

/// Three classes around three points.
pub(super) fn three_classes(estimator: &dyn Estimator) -> Result<(Tensor, Tensor)> {
    let n = 75;
    let noise = Key::new(13).normal([n, 2], DType::F64).to_f64_vec();
    let centres = [[0.0, 0.0], [2.5, 0.5], [0.5, 2.5]];
    let x = (0..n).flat_map(|i| [centres[i % 3][0] + noise[2 * i], centres[i % 3][1] + noise[2 * i + 1]]).collect();
    let y = (0..n).map(|i| [10i64, 20, 30][i % 3]).collect();
    let x = Tensor::try_from_vec::<f64>(x, [n, 2])?;
    let x = if estimator.capabilities().nonnegative { x.abs() } else { x };
    Ok((x, Tensor::try_from_vec(y, [n])?))
}

/// Integer weights from 0 to 3, and the same samples repeated as often.
pub(super) fn weighted(x: &Tensor, y: &Tensor) -> Result<(Samples, Samples)> {
    let n = y.numel();
    let counts: Vec<usize> = (0..n).map(|i| [1, 2, 1, 3, 0, 1][i % 6]).collect();
    let weights = Tensor::try_from_vec(counts.iter().map(|&count| count as f64).collect(), [n])?;
    let copies: Vec<usize> = (0..n).flat_map(|i| std::iter::repeat_n(i, counts[i])).collect();
    let samples = Samples::new(x, y)?;
    Ok((samples.clone().weighted(&weights)?, samples.take(&copies)?))
}

/// The largest difference of two predictions, relative to the magnitude of the first. Labels are compared for equality.
pub(super) fn distance(a: &Tensor, b: &Tensor) -> f64 {
    if a.dims() != b.dims() {
        return f64::INFINITY;
    }
    let (a, b) = (a.to_f64_vec(), b.to_f64_vec());
    let size = a.iter().fold(1.0f64, |size, a| size.max(a.abs()));
    a.iter().zip(&b).fold(0.0f64, |max, (a, b)| if (a - b).is_nan() { f64::NAN } else { max.max((a - b).abs() / size) })
}
