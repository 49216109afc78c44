//! Batch norm with its backward pass spelled out.
//!
//! Forward, per unit over a batch of m: μ = Σ x / m, s² = Σ (x − μ)² / m, x̂ = (x − μ) / √(s² + ε), y = γ x̂ + β.
//! Backward, with all sums over the batch:
//!
//! - dβ = Σ dy, dγ = Σ dy x̂, dx̂ = γ dy,
//! - ds² = −½ (s² + ε)^(−3/2) Σ (x − μ) dx̂,
//! - dμ = −(s² + ε)^(−1/2) Σ dx̂ − ds² (2/m) Σ (x − μ), whose last sum is 0,
//! - dx = dx̂ / √(s² + ε) + ds² 2 (x − μ) / m + dμ / m.
//!
//! ```
//! use tove_lessons::batch_norm::{backward, forward};
//! use tove_tensor::Tensor;
//! let (x, dy) = (Tensor::from([[1.0], [3.0], [8.0]]), Tensor::from([[1.0], [0.0], [0.0]]));
//! let seen = forward(&x, 1e-5)?;
//! assert!(seen.normalised.sum().item::<f64>().abs() < 1e-12);
//! let gradients = backward(&seen, &Tensor::from([2.0]), &dy)?;
//! assert!(gradients.x.sum().item::<f64>().abs() < 1e-12); // a shift of the batch changes nothing
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_tensor::{Result, Tensor, TryOps, TryUnary};

/// What the backward pass needs of the forward pass.
#[derive(Clone, Debug)]
pub struct Forward {
    /// x − μ, (batch, units).
    pub centred: Tensor,
    /// 1 / √(s² + ε), (units).
    pub inverse_deviation: Tensor,
    /// x̂, (batch, units).
    pub normalised: Tensor,
}

/// Gradients of a loss by everything that goes into batch norm.
#[derive(Clone, Debug)]
pub struct Gradients {
    /// By the input.
    pub x: Tensor,
    /// By γ.
    pub scale: Tensor,
    /// By β.
    pub shift: Tensor,
}

/// x̂ and what leads to it, for x (batch, units).
pub fn forward(x: &Tensor, eps: f64) -> Result<Forward> {
    let centred = x.try_sub(&x.try_mean_axes(&[0], true)?)?;
    let variance = centred.try_square()?.try_mean_axes(&[0], false)?;
    let inverse_deviation = (variance + eps).try_rsqrt()?;
    let normalised = centred.try_mul(&inverse_deviation)?;
    Ok(Forward { centred, inverse_deviation, normalised })
}

/// The gradients, from the upstream gradient `dy` (batch, units).
pub fn backward(seen: &Forward, scale: &Tensor, dy: &Tensor) -> Result<Gradients> {
    let Forward { centred, inverse_deviation, normalised } = seen;
    let m = centred.dims()[0] as f64;
    let sum = |x: &Tensor| x.try_sum_axes(&[0], false);
    let d_normalised = dy.try_mul(scale)?;
    let cube = inverse_deviation.try_powf(3.0)?;
    let d_variance = cube.try_mul(&sum(&centred.try_mul(&d_normalised)?)?)? * -0.5;
    let d_mean = inverse_deviation.try_mul(&sum(&d_normalised)?)? * -1.0;
    let d_mean = d_mean.try_sub(&(d_variance.try_mul(&sum(centred)?)? * (2.0 / m)))?;
    let direct = d_normalised.try_mul(inverse_deviation)?;
    let by_variance = centred.try_mul(&d_variance)? * (2.0 / m);
    let x = direct.try_add(&by_variance)?.try_add(&(d_mean / m))?;
    Ok(Gradients { x, scale: sum(&dy.try_mul(normalised)?)?, shift: sum(dy)? })
}
