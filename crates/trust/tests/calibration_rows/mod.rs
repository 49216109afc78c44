//! Rows to calibrate with.
#![allow(dead_code, clippy::unwrap_used)]

use tove_tensor::random::fill_uniform;
use tove_tensor::{Key, Tensor};
use tove_trust::conformal::SetScore;

/// A vector.
pub fn vector(values: &[f64]) -> Tensor {
    Tensor::from_slice(values)
}

/// Every number of a tensor changed.
pub fn mapped(tensor: &Tensor, change: impl Fn(f64) -> f64) -> Tensor {
    Tensor::from_vec(tensor.to_f64_vec().into_iter().map(change).collect::<Vec<f64>>(), tensor.shape().clone())
}

/// The scores, with and without random numbers.
pub const SCORES: [SetScore; 5] = [
    SetScore::Lac,
    SetScore::Aps { randomized: false },
    SetScore::Aps { randomized: true },
    SetScore::Raps { lambda: 0.1, k_reg: 1, randomized: false },
    SetScore::Raps { lambda: 0.03, k_reg: 2, randomized: true },
];

/// Probabilities (n, 4) of a model that is too sure, the true classes, and a group per row, of which group 1 is harder.
pub fn rows(n: usize, key: Key) -> (Tensor, Tensor, Tensor) {
    let mut u = vec![0.0f64; 6 * n];
    fill_uniform(key, &mut u);
    let (mut p, mut y, mut groups) = (Vec::new(), Vec::new(), Vec::new());
    for u in u.chunks_exact(6) {
        let group = i64::from(u[5] < 0.3);
        let sharp = if group == 1 { 1.0 } else { 4.0 };
        let weights: Vec<f64> = u[..4].iter().map(|u| (-(1.0 - u).ln()).powf(sharp)).collect();
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let truth = weights.iter().position(|weight| {
            sum += weight / total;
            u[4] < sum
        });
        y.push(truth.unwrap_or(3) as i64);
        let sure: Vec<f64> = weights.iter().map(|weight| weight.powi(2)).collect();
        let total: f64 = sure.iter().sum();
        p.extend(sure.into_iter().map(|weight| weight / total));
        groups.push(group);
    }
    (Tensor::from_vec(p, [n, 4]), Tensor::from_slice(&y), Tensor::from_slice(&groups))
}
