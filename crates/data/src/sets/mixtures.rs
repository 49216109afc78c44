//! Clouds of normal points.

use tove_tensor::random::{fill_normal, fill_uniform};
use tove_tensor::{Key, Tensor};

use super::synthetic::finish;
use crate::{DataError, Result, TensorDataset};

/// `n` points in the plane, as many around each center (one more or less), of deviation `std`; the class is the center.
///
/// ```
/// use tove_data::{Key, sets};
/// let data = sets::blobs(90, &[[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], 0.5, Key::new(1))?;
/// assert_eq!(data.y().eq_scalar(2.0).count_nonzero().item::<i64>(), 30);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// If there are no centers, one is not finite, or `std` is negative or not finite.
pub fn blobs(n: usize, centres: &[[f64; 2]], std: f64, key: Key) -> Result<TensorDataset> {
    if centres.is_empty() || centres.as_flattened().iter().any(|x| !x.is_finite()) {
        return Err(DataError::parameter("blobs", "give at least one center, all finite"));
    }
    let points = (0..n).map(|i| (centres[i % centres.len()], (i % centres.len()) as i64)).collect();
    finish("blobs", points, std, key)
}

/// `n` numbers (n, 1) from a mixture: component k with probability `weights[k]`, then normal with mean `means[k]` and
/// deviation `stds[k]`. The target is the component.
///
/// # Errors
/// If the lists are empty or of different lengths, weights are negative or do not sum to 1, or a number is not finite.
pub fn gaussian_mixture_1d(n: usize, weights: &[f64], means: &[f64], stds: &[f64], key: Key) -> Result<TensorDataset> {
    const WHAT: &str = "gaussian_mixture_1d";
    check(WHAT, weights, means.len(), means)?;
    if stds.len() != weights.len() || stds.iter().any(|std| !(*std >= 0.0 && std.is_finite())) {
        return Err(DataError::parameter(WHAT, "give one deviation per component, finite and not negative"));
    }
    let components = draw(n, weights, key.fold(0));
    let mut z = vec![0f64; n];
    fill_normal(key.fold(1), &mut z);
    let x = components.iter().zip(&z).map(|(&k, z)| (means[k] + stds[k] * z) as f32).collect::<Vec<_>>();
    TensorDataset::new(Tensor::try_from_vec(x, [n, 1])?, classes(&components))
}

/// `n` points (n, 2) from a mixture: component k with probability `weights[k]`, then normal with mean `means[k]` and
/// covariance `covariances[k]` = L Lᵀ, as mean + L z. The target is the component.
///
/// ```
/// use tove_data::{Key, sets};
/// let (means, round, long) = ([[0.0, 0.0], [4.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.9], [0.9, 0.5]]);
/// let data = sets::gaussian_mixture_2d(500, &[0.3, 0.7], &means, &[round, long], Key::new(1))?;
/// assert_eq!(data.x().dims(), [500, 2]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// As [`gaussian_mixture_1d`], or if a covariance is not symmetric and positive semi-definite.
pub fn gaussian_mixture_2d(
    n: usize,
    weights: &[f64],
    means: &[[f64; 2]],
    covariances: &[[[f64; 2]; 2]],
    key: Key,
) -> Result<TensorDataset> {
    const WHAT: &str = "gaussian_mixture_2d";
    check(WHAT, weights, means.len(), means.as_flattened())?;
    if covariances.len() != weights.len() {
        return Err(DataError::parameter(WHAT, "give one covariance per component"));
    }
    let factors = covariances.iter().enumerate().map(|(k, covariance)| {
        let problem = || format!("covariance {k} is {covariance:?}; it must be symmetric and positive semi-definite");
        factor(covariance).ok_or_else(|| DataError::parameter(WHAT, problem()))
    });
    let factors = factors.collect::<Result<Vec<_>>>()?;
    let components = draw(n, weights, key.fold(0));
    let mut z = vec![0f64; 2 * n];
    fill_normal(key.fold(1), &mut z);
    let mut x = Vec::with_capacity(2 * n);
    for (&k, z) in components.iter().zip(z.as_chunks::<2>().0) {
        let ([a, b, c], mean) = (factors[k], means[k]);
        x.extend([(mean[0] + a * z[0]) as f32, (mean[1] + b * z[0] + c * z[1]) as f32]);
    }
    TensorDataset::new(Tensor::try_from_vec(x, [n, 2])?, classes(&components))
}

/// Entries a, b, c of the lower triangle [[a, 0], [b, c]] with L Lᵀ the covariance.
fn factor(covariance: &[[f64; 2]; 2]) -> Option<[f64; 3]> {
    let [[p, q], [r, s]] = *covariance;
    let a = p.sqrt();
    let b = if a > 0.0 { q / a } else { 0.0 };
    let rest = s - b * b;
    let sound = q == r && p >= 0.0 && p.is_finite() && s.is_finite() && rest >= -1e-12 * s && (p > 0.0 || q == 0.0);
    sound.then(|| [a, b, rest.max(0.0).sqrt()])
}

fn check(what: &'static str, weights: &[f64], means: usize, numbers: &[f64]) -> Result<()> {
    if weights.is_empty() || means != weights.len() || numbers.iter().any(|x| !x.is_finite()) {
        return Err(DataError::parameter(what, "give at least one component, with a weight and a finite mean each"));
    }
    let total: f64 = weights.iter().sum();
    if weights.iter().all(|&weight| weight >= 0.0) && (total - 1.0).abs() < 1e-9 {
        return Ok(());
    }
    Err(DataError::parameter(what, format!("weights {weights:?}; they must not be negative and must sum to 1")))
}

/// A component for each point, by the inverse of the cumulative weights.
fn draw(n: usize, weights: &[f64], key: Key) -> Vec<usize> {
    let mut uniform = vec![0f64; n];
    fill_uniform(key, &mut uniform);
    let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
    let pick = |mut u: f64| {
        for (k, &weight) in weights.iter().enumerate() {
            if u < weight {
                return k;
            }
            u -= weight;
        }
        last
    };
    uniform.into_iter().map(pick).collect()
}

fn classes(components: &[usize]) -> Tensor {
    Tensor::from(components.iter().map(|&k| k as i64).collect::<Vec<_>>())
}
