//! Methods of normalisation, softmax, cross-entropy and attention.

use super::{Sealed, methods};
use crate::Tensor;
use crate::ops::composed;
use crate::ops::fused::{self, BatchStatistics, CrossEntropy};
use crate::random::Key;

methods! {
    /// The `try_` twins of normalisation, softmax, cross-entropy and attention.
    trait TryNorm: Sealed;

    /// `e^x / Σ e^x` along an axis; 0 where all entries are −∞.
    ///
    /// ```
    /// let p = tove_tensor::Tensor::from([1000.0, 1000.0, -1000.0]).softmax(0);
    /// assert_eq!(p.to_vec::<f64>(), [0.5, 0.5, 0.0]);
    /// ```
    softmax try_softmax(axis: isize) -> Tensor = |x| fused::softmax(x, axis);
    /// `x − ln Σ e^x` along an axis; −∞ where all entries are −∞.
    ///
    /// ```
    /// let l = tove_tensor::Tensor::from([7.0, 7.0]).log_softmax(0);
    /// assert_eq!(l.to_vec::<f64>(), [-2f64.ln(), -2f64.ln()]);
    /// ```
    log_softmax try_log_softmax(axis: isize) -> Tensor = |x| fused::log_softmax(x, axis);
    /// Cross-entropy of the distribution `softmax(x)` along the last axis, relative to `target`: class numbers (i64, the
    /// shape without the last axis) or probabilities (the shape and type of `x`).
    ///
    /// ```
    /// use tove_tensor::{CrossEntropy, Tensor};
    /// let logits = Tensor::from([[0.0, 0.0], [0.0, 0.0]]);
    /// let loss = logits.cross_entropy(&Tensor::from([0i64, 1]), &CrossEntropy::default());
    /// assert_eq!(loss.item::<f64>(), 2f64.ln());
    /// ```
    cross_entropy try_cross_entropy(target: &Tensor, options: &CrossEntropy) -> Tensor =
        |x| fused::cross_entropy(x, target, options);
    /// `(x − mean) / √(var + eps) · weight + bias` over the last axes, whose sizes are `normalized`.
    ///
    /// ```
    /// let y = tove_tensor::Tensor::from([[1.0, 3.0], [5.0, 9.0]]).layer_norm(&[2], None, None, 0.0);
    /// assert_eq!(y.to_vec::<f64>(), [-1.0, 1.0, -1.0, 1.0]);
    /// ```
    layer_norm try_layer_norm(normalized: &[usize], weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor =
        |x| fused::layer_norm(x, normalized, weight, bias, eps);
    /// `(x − mean) / √(var + eps)` of (batch, channels, …) over groups of channels of each sample, then `· weight + bias` per
    /// channel.
    ///
    /// ```
    /// let y = tove_tensor::Tensor::from([[1.0, 3.0, 5.0, 9.0]]).group_norm(2, None, None, 0.0);
    /// assert_eq!(y.to_vec::<f64>(), [-1.0, 1.0, -1.0, 1.0]);
    /// ```
    group_norm try_group_norm(groups: usize, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor =
        |x| composed::group_norm(x, groups, weight, bias, eps);
    /// `(x − mean) / √(var + eps)` of (batch, channels, …) over all places of each channel of each sample, then
    /// `· weight + bias` per channel.
    ///
    /// ```
    /// let y = tove_tensor::Tensor::from([[[1.0, 3.0], [5.0, 9.0]]]).instance_norm(None, None, 0.0);
    /// assert_eq!(y.to_vec::<f64>(), [-1.0, 1.0, -1.0, 1.0]);
    /// ```
    instance_norm try_instance_norm(weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Tensor =
        |x| composed::instance_norm(x, weight, bias, eps);
    /// `(x − mean) / √(var + eps) · weight + bias` per channel (axis 1), with the batch's own mean and variance, which
    /// are returned too.
    ///
    /// ```
    /// let (y, statistics) = tove_tensor::Tensor::from([[1.0, 5.0], [3.0, 9.0]]).batch_norm(None, None, 0.0);
    /// assert_eq!(y.to_vec::<f64>(), [-1.0, -1.0, 1.0, 1.0]);
    /// assert_eq!(statistics.mean.to_vec::<f64>(), [2.0, 7.0]);
    /// ```
    batch_norm try_batch_norm(weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> (Tensor, BatchStatistics) =
        |x| fused::batch_norm(x, weight, bias, eps);
    /// `(x − mean) / √(variance + eps) · weight + bias` per channel (axis 1), with given statistics.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (mean, variance) = (Tensor::from([1.0]), Tensor::from([4.0]));
    /// let y = Tensor::from([[5.0]]).batch_norm_with(&mean, &variance, None, None, 0.0);
    /// assert_eq!(y.item::<f64>(), 2.0);
    /// ```
    batch_norm_with try_batch_norm_with(
        mean: &Tensor, variance: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64
    ) -> Tensor = |x| fused::batch_norm_with(x, mean, variance, weight, bias, eps);
    /// Each element zero with probability `p`, the others divided by `1 − p`; which ones follows from the key and the
    /// element's index alone.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor, random::Key};
    /// let (x, key) = (Tensor::ones([1000], DType::F64), Key::new(7));
    /// let y = x.dropout(0.5, key);
    /// assert_eq!(y.to_vec::<f64>(), x.dropout(0.5, key).to_vec::<f64>());
    /// assert!((y.mean().item::<f64>() - 1.0).abs() < 0.2);
    /// ```
    dropout try_dropout(p: f64, key: Key) -> Tensor = |x| fused::dropout(x, p, key);
    /// `softmax(scale · q kᵀ + mask) v` for queries `self` (…, queries, width), keys (…, keys, width) and values
    /// (…, keys, width of the result), with memory linear in the number of keys. `causal` hides from query i the keys
    /// after i; the mask is added and broadcasts; the scale is 1/√width unless given. A query that sees no key gets 0.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (q, k) = (Tensor::from([[0.0], [0.0]]), Tensor::from([[1.0], [2.0]]));
    /// let y = q.scaled_dot_product_attention(&k, &Tensor::from([[10.0], [20.0]]), true, None, None);
    /// assert_eq!(y.to_vec::<f64>(), [10.0, 15.0]);
    /// ```
    scaled_dot_product_attention try_scaled_dot_product_attention(
        keys: &Tensor, values: &Tensor, causal: bool, mask: Option<&Tensor>, scale: Option<f64>
    ) -> Tensor = |x| fused::attention(x, keys, values, causal, mask, scale);
    /// Self-attention with several heads of queries, keys and values that lie side by side, (…, tokens, 3 · width), as one
    /// product with three matrices leaves them. The heads' results lie side by side too, (…, tokens, width). The mask
    /// broadcasts to (…, heads, tokens, tokens); the rest is as in [`Tensor::scaled_dot_product_attention`].
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let packed = Tensor::from([[0.0, 1.0, 10.0], [0.0, 2.0, 20.0]]); // a query, a key and a value per token
    /// assert_eq!(packed.packed_attention(1, true, None, None).to_vec::<f64>(), [10.0, 15.0]);
    /// ```
    packed_attention try_packed_attention(
        heads: usize, causal: bool, mask: Option<&Tensor>, scale: Option<f64>
    ) -> Tensor = |x| fused::packed_attention(x, heads, causal, mask, scale);
}
