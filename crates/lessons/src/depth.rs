//! What happens to gradients on their way through many layers.
//!
//! Through h_t = W h_{t-1} the gradient is multiplied by Wᵀ at every step, hence along an eigenvector of Wᵀ with eigenvalue
//! λ by λᵗ: it vanishes for |λ| < 1 and explodes for |λ| > 1. Through a non-linearity it is multiplied by the slope as
//! well: sᵖ has the slope p sᵖ⁻¹, which is huge for large |s| and tiny near 0, and each layer makes the next |s| larger or
//! smaller still. A rectifier has the slopes 0 and 1.
//!
//! ```
//! use tove_lessons::depth::recurrence_gradient;
//! use tove_tensor::Tensor;
//! let w = Tensor::from([[0.5, 0.0], [0.0, 2.0]]);
//! let gradient = recurrence_gradient(&w, &Tensor::from([1.0, 1.0]), 10)?;
//! assert_eq!(gradient.to_vec::<f64>(), [0.5f64.powi(10), 1024.0]);
//! # Ok::<(), tove_nn::Error>(())
//! ```

use tove_nn::{Init, Layer, Mlp, ModuleExt, Nonlinearity, Pass, Result, Rng, gradient_norms};
use tove_tensor::{DType, Key, Tensor, TryOps};

/// The gradient of vᵀ h_t by h_0, where h_t = W h_{t-1} for `steps` steps, taken by automatic differentiation.
pub fn recurrence_gradient(weight: &Tensor, v: &Tensor, steps: usize) -> Result<Tensor> {
    let start = v.detach().zeros_like().try_requires_grad()?;
    let mut state = start.clone();
    for _ in 0..steps {
        state = weight.try_matmul(&state)?;
    }
    state.try_mul(v)?.try_sum()?.try_backward()?;
    Ok(start.grad().unwrap_or_else(|| start.detach()))
}

/// Norms of the gradient by the first layer's weights, for nets of the given depths.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    /// Number of affine layers.
    pub depth: usize,
    /// The norm; infinite or NaN once numbers left the range of f64.
    pub norm: f64,
}

/// Nets of one width with He's first values, in f64, on normal inputs times `scale`: the gradient of the mean output.
pub fn sweep(phi: Nonlinearity, depths: &[usize], width: usize, scale: f64, seed: u64) -> Result<Vec<Sweep>> {
    let x = Key::new(seed).try_normal([8, width], DType::F64)? * scale;
    let norm = |&depth: &usize| {
        let mut rng = Rng::new(seed);
        let mut net = Mlp::new(&vec![width; depth + 1], &mut rng).activation(phi).init(Init::HeNormal, &mut rng)?;
        net.to_dtype(DType::F64)?;
        net.forward(&x, &Pass::eval())?.try_mean()?.try_backward()?;
        let first = gradient_norms(&net).into_iter().find(|(name, _)| name == "layers.0.weight");
        Ok(Sweep { depth, norm: first.map_or(0.0, |(_, norm)| norm) })
    };
    depths.iter().map(norm).collect()
}
