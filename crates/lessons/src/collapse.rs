//! Affine maps one after another are one affine map, so that depth gains nothing without a non-linearity.
//!
//! With h_i = W_i h_{i-1} + b_i for i = 1 … N, h_N = W̃ h_0 + b̃ where
//! W̃ = W_N … W_1 and b̃ = b_N + Σ_{i=1}^{N-1} (W_N … W_{i+1}) b_i.
//! For N = 2 this is A = W_2 W_1 and c = W_2 b_1 + b_2.
//!
//! ```
//! use tove_lessons::collapse::collapse;
//! use tove_nn::Linear;
//! use tove_tensor::Tensor;
//! let layer = |w: f64, b: f64| Linear { weight: Tensor::from([[w]]), bias: Some(Tensor::from([b])) };
//! let one = collapse(&[layer(2.0, 1.0), layer(3.0, 5.0)])?.unwrap(); // 3 (2 x + 1) + 5
//! assert_eq!(one.weight.item::<f64>(), 6.0);
//! assert_eq!(one.bias.unwrap().item::<f64>(), 8.0);
//! # Ok::<(), tove_tensor::Error>(())
//! ```

use tove_nn::Linear;
use tove_tensor::{Result, Tensor, TryOps};

/// The one layer that does what `layers` do one after another; `None` if there are none.
///
/// From the last layer to the first, with the product of the weights behind the present one at hand.
pub fn collapse(layers: &[Linear]) -> Result<Option<Linear>> {
    let mut behind: Option<Tensor> = None;
    let mut bias: Option<Tensor> = None;
    for layer in layers.iter().rev() {
        let carried = match (&behind, &layer.bias) {
            (Some(behind), Some(own)) => Some(behind.try_matmul(own)?),
            (None, Some(own)) => Some(own.clone()),
            (_, None) => None,
        };
        bias = match (bias, carried) {
            (Some(sum), Some(carried)) => Some(sum.try_add(&carried)?),
            (sum, carried) => sum.or(carried),
        };
        behind = Some(match behind {
            Some(behind) => behind.try_matmul(&layer.weight)?,
            None => layer.weight.clone(),
        });
    }
    Ok(behind.map(|weight| Linear { weight, bias }))
}
