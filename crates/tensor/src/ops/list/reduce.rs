//! Methods that fold axes, and products and losses composed of them.

use super::{Sealed, methods};
use crate::Tensor;
use crate::ops::{Reduction, composed, reduce};

methods! {
    /// The `try_` twins of reductions, and of products and losses composed of them.
    trait TryReduce: Sealed;

    /// Product of all elements; its derivative is right where elements are zero.
    ///
    /// ```
    /// use tove_tensor::{Tensor, grad};
    /// let x = Tensor::from([2.0, 0.0, 4.0]);
    /// assert_eq!(grad(|x: &Tensor| x.prod())(&x).to_vec::<f64>(), [0.0, 8.0, 0.0]);
    /// ```
    prod try_prod() -> Tensor = |x| reduce::prod(x, &reduce::every_axis(x), false);
    /// Product over axes; with `keep` they stay with size 1.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.prod_axes(&[0], false).to_vec::<f64>(), [3.0, 8.0]);
    /// ```
    prod_axes try_prod_axes(axes: &[isize], keep: bool) -> Tensor = |x| reduce::prod(x, axes, keep);
    /// Variance of all elements, `Σ (x - mean)² / (n - correction)`; 1 gives the unbiased estimate (PyTorch's default), 0
    /// the mean square (numpy's).
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!((x.var(0).item::<f64>(), x.var(1).item::<f64>()), (1.25, 5.0 / 3.0));
    /// ```
    var try_var(correction: usize) -> Tensor = |x| reduce::var(x, &reduce::every_axis(x), correction, false);
    /// Variance over axes, as [`Tensor::var`].
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, 3.0], [4.0, 4.0]]);
    /// assert_eq!(x.var_axes(&[1], 1, false).to_vec::<f64>(), [2.0, 0.0]);
    /// ```
    var_axes try_var_axes(axes: &[isize], correction: usize, keep: bool) -> Tensor =
        |x| reduce::var(x, axes, correction, keep);
    /// Standard deviation of all elements, the root of [`Tensor::var`]; derivative 0 where all are equal.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1.0, 3.0]).std(0).item::<f64>(), 1.0);
    /// ```
    std try_std(correction: usize) -> Tensor = |x| reduce::std(x, &reduce::every_axis(x), correction, false);
    /// Standard deviation over axes, as [`Tensor::std`].
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, 3.0], [4.0, 4.0]]);
    /// assert_eq!(x.std_axes(&[1], 0, false).to_vec::<f64>(), [1.0, 0.0]);
    /// ```
    std_axes try_std_axes(axes: &[isize], correction: usize, keep: bool) -> Tensor =
        |x| reduce::std(x, axes, correction, keep);
    /// Sum of all elements that are numbers: NaN are left out, and have derivative 0.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1.0, f64::NAN, 3.0]).nansum().item::<f64>(), 4.0);
    /// ```
    nansum try_nansum() -> Tensor = |x| reduce::nansum(x, &reduce::every_axis(x), false);
    /// Sum over axes of the elements that are numbers, as [`Tensor::nansum`]; 0 where there are none.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, f64::NAN], [2.0, 3.0]]);
    /// assert_eq!(x.nansum_axes(&[0], false).to_vec::<f64>(), [3.0, 3.0]);
    /// ```
    nansum_axes try_nansum_axes(axes: &[isize], keep: bool) -> Tensor = |x| reduce::nansum(x, axes, keep);
    /// Mean of all elements that are numbers: NaN are left out, and have derivative 0.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1.0, f64::NAN, 3.0]).nanmean().item::<f64>(), 2.0);
    /// ```
    nanmean try_nanmean() -> Tensor = |x| reduce::nanmean(x, &reduce::every_axis(x), false);
    /// Mean over axes of the elements that are numbers, as [`Tensor::nanmean`]; NaN where there are none.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, f64::NAN], [2.0, 3.0]]);
    /// assert_eq!(x.nanmean_axes(&[0], false).to_vec::<f64>(), [1.5, 3.0]);
    /// ```
    nanmean_axes try_nanmean_axes(axes: &[isize], keep: bool) -> Tensor = |x| reduce::nanmean(x, axes, keep);
    /// `ln Σ e^x` over axes, without overflow; its gradient is the softmax. Rows of `-inf` give `-inf`.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([1000.0, 1000.0]);
    /// assert_eq!(x.logsumexp(&[0], false).item::<f64>(), 1000.0 + 2f64.ln());
    /// ```
    logsumexp try_logsumexp(axes: &[isize], keep: bool) -> Tensor = |x| reduce::logsumexp(x, axes, keep);
    /// The p-norm of all elements, `(Σ |x|^p)^(1/p)`: 1, 2, `f64::INFINITY` (the largest |x|) or any p from 0 on. For a
    /// matrix, `norm(2.0)` is the Frobenius norm. The gradient of the 2-norm at 0 is taken to be 0, one of its
    /// subgradients.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([3.0, -4.0]);
    /// assert_eq!((x.norm(1.0).item(), x.norm(2.0).item(), x.norm(f64::INFINITY).item()), (7.0, 5.0, 4.0));
    /// ```
    norm try_norm(p: f64) -> Tensor = |x| reduce::norm(x, p, &reduce::every_axis(x), false);
    /// The p-norm over axes, as [`Tensor::norm`].
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[3.0, -4.0], [0.0, 2.0]]);
    /// assert_eq!(x.norm_axes(2.0, &[1], false).to_vec::<f64>(), [5.0, 2.0]);
    /// ```
    norm_axes try_norm_axes(p: f64, axes: &[isize], keep: bool) -> Tensor = |x| reduce::norm(x, p, axes, keep);
    /// Whether any element is true, or not zero.
    ///
    /// ```
    /// assert!(tove_tensor::Tensor::from([0.0, 2.0]).any().item::<bool>());
    /// ```
    any try_any() -> Tensor = |x| reduce::any(x, &reduce::every_axis(x), false);
    /// Whether any element along the axes is true, or not zero.
    any_axes try_any_axes(axes: &[isize], keep: bool) -> Tensor = |x| reduce::any(x, axes, keep);
    /// Whether all elements are true, or not zero.
    ///
    /// ```
    /// assert!(!tove_tensor::Tensor::from([0.0, 2.0]).all().item::<bool>());
    /// ```
    all try_all() -> Tensor = |x| reduce::all(x, &reduce::every_axis(x), false);
    /// Whether all elements along the axes are true, or not zero.
    all_axes try_all_axes(axes: &[isize], keep: bool) -> Tensor = |x| reduce::all(x, axes, keep);
    /// Number of elements that are not zero.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([0.0, 2.0, 3.0]).count_nonzero().item::<i64>(), 2);
    /// ```
    count_nonzero try_count_nonzero() -> Tensor = |x| reduce::count_nonzero(x, &reduce::every_axis(x), false);
    /// Number of elements along the axes that are not zero.
    count_nonzero_axes try_count_nonzero_axes(axes: &[isize], keep: bool) -> Tensor =
        |x| reduce::count_nonzero(x, axes, keep);
    /// Position of the largest of all elements in row-major order, the first among equals.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([[1.0, 5.0], [7.0, 7.0]]).argmax_all().item::<i64>(), 2);
    /// ```
    argmax_all try_argmax_all() -> Tensor = |x| reduce::argmax_all(x);
    /// Position of the smallest of all elements in row-major order, the first among equals.
    argmin_all try_argmin_all() -> Tensor = |x| reduce::argmin_all(x);
    /// Running sum along an axis.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1.0, 2.0, 3.0]).cumsum(0).to_vec::<f64>(), [1.0, 3.0, 6.0]);
    /// ```
    cumsum try_cumsum(axis: isize) -> Tensor = |x| reduce::cumsum(x, axis);
    /// Running product along an axis; its derivative is right where elements are zero.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([2.0, 3.0, 4.0]).cumprod(0).to_vec::<f64>(), [2.0, 6.0, 24.0]);
    /// ```
    cumprod try_cumprod(axis: isize) -> Tensor = |x| reduce::cumprod(x, axis);
    /// Largest element up to each one of an axis, with its position. Of equal elements the latest is named, and takes the
    /// derivative; a NaN wins.
    ///
    /// ```
    /// let (values, places) = tove_tensor::Tensor::from([2.0, 1.0, 3.0, 3.0]).cummax(0);
    /// assert_eq!((values.to_vec::<f64>(), places.to_vec::<i64>()), (vec![2.0, 2.0, 3.0, 3.0], vec![0, 0, 2, 3]));
    /// ```
    cummax try_cummax(axis: isize) -> (Tensor, Tensor) = |x| reduce::cummax(x, axis);
    /// Smallest element up to each one of an axis, with its position, as [`Tensor::cummax`].
    ///
    /// ```
    /// let (values, places) = tove_tensor::Tensor::from([2.0, 1.0, 3.0]).cummin(0);
    /// assert_eq!((values.to_vec::<f64>(), places.to_vec::<i64>()), (vec![2.0, 1.0, 1.0], vec![0, 1, 1]));
    /// ```
    cummin try_cummin(axis: isize) -> (Tensor, Tensor) = |x| reduce::cummin(x, axis);
    /// `ln` of the running sum of `e^x` along an axis, without overflow.
    ///
    /// ```
    /// let y = tove_tensor::Tensor::from([1000.0, 1000.0]).logcumsumexp(0);
    /// assert_eq!(y.to_vec::<f64>(), [1000.0, 1000.0 + 2f64.ln()]);
    /// ```
    logcumsumexp try_logcumsumexp(axis: isize) -> Tensor = |x| reduce::logcumsumexp(x, axis);
    /// The q-quantile of all elements, interpolated linearly between neighbours; NaN if any element is, or if there are none.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([3.0, 1.0, 2.0]).quantile(0.25).item::<f64>(), 1.5);
    /// ```
    quantile try_quantile(q: f64) -> Tensor = |x| reduce::quantile_all(x, q);
    /// The q-quantile along an axis, as [`Tensor::quantile`].
    quantile_axis try_quantile_axis(q: f64, axis: isize, keep: bool) -> Tensor = |x| reduce::quantile(x, q, axis, keep);
    /// The median of all elements; of an even number, the mean of the two in the middle; NaN of nothing (as in numpy).
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([4.0, 1.0, 2.0, 9.0]).median().item::<f64>(), 3.0);
    /// ```
    median try_median() -> Tensor = |x| reduce::quantile_all(x, 0.5);
    /// The median along an axis, as [`Tensor::median`].
    median_axis try_median_axis(axis: isize, keep: bool) -> Tensor = |x| reduce::quantile(x, 0.5, axis, keep);

    /// Inner product of two vectors.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// assert_eq!(Tensor::from([1.0, 2.0]).dot(&Tensor::from([3.0, 4.0])).item::<f64>(), 11.0);
    /// ```
    dot try_dot(other: &Tensor) -> Tensor = |x| composed::dot(x, other);
    /// The matrix of products of two vectors' elements.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// assert_eq!(Tensor::from([1.0, 2.0]).outer(&Tensor::from([3.0, 4.0])).to_vec::<f64>(), [3.0, 4.0, 6.0, 8.0]);
    /// ```
    outer try_outer(other: &Tensor) -> Tensor = |x| composed::outer(x, other);
    /// Inner products of the last axes, for every combination of the others.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let rows = Tensor::from([[1.0, 0.0], [1.0, 1.0]]);
    /// assert_eq!(rows.inner(&Tensor::from([3.0, 4.0])).to_vec::<f64>(), [3.0, 7.0]);
    /// ```
    inner try_inner(other: &Tensor) -> Tensor = |x| composed::inner(x, other);
    /// Sums of products over pairs of axes: axis `axes[i]` of this tensor with axis `others[i]` of the other. The axes left of
    /// this tensor come first in the result, then those of the other.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// let (a, b) = (Tensor::ones([2, 3, 4], DType::F64), Tensor::ones([4, 3, 5], DType::F64));
    /// let y = a.tensordot(&b, &[1, 2], &[1, 0]);
    /// assert_eq!((y.dims(), y.at::<f64>(&[0, 0])), (&[2, 5][..], 12.0));
    /// ```
    tensordot try_tensordot(other: &Tensor, axes: &[isize], others: &[isize]) -> Tensor =
        |x| composed::tensordot(x, other, axes, others);
    /// Vector product of vectors of length 3 along an axis: at right angles to both. The other axes broadcast.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let y = Tensor::from([1.0, 0.0, 0.0]).cross(&Tensor::from([0.0, 1.0, 0.0]), -1);
    /// assert_eq!(y.to_vec::<f64>(), [0.0, 0.0, 1.0]);
    /// ```
    cross try_cross(other: &Tensor, axis: isize) -> Tensor = |x| composed::cross(x, other, axis);
    /// Distances in the p-norm between all rows of (…, m, width) and of `other` (…, n, width), as (…, m, n). The derivative
    /// of a distance 0 is taken to be 0.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (a, b) = (Tensor::from([[0.0, 0.0], [3.0, 4.0]]), Tensor::from([[0.0, 0.0]]));
    /// assert_eq!(a.cdist(&b, 2.0).to_vec::<f64>(), [0.0, 5.0]);
    /// assert_eq!(a.cdist(&b, 1.0).to_vec::<f64>(), [0.0, 7.0]);
    /// ```
    cdist try_cdist(other: &Tensor, p: f64) -> Tensor = |x| composed::cdist(x, other, p);
    /// Cosine of the angle between vectors along an axis; 0 with a zero vector.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (a, b) = (Tensor::from([2.0, 0.0]), Tensor::from([0.0, 3.0]));
    /// assert_eq!((a.cosine_similarity(&b, 0).item(), a.cosine_similarity(&a, 0).item()), (0.0, 1.0));
    /// ```
    cosine_similarity try_cosine_similarity(other: &Tensor, axis: isize) -> Tensor =
        |x| composed::cosine_similarity(x, other, axis);
    /// Sum of the diagonal of the last two axes.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([[1.0, 2.0], [3.0, 4.0]]).trace().item::<f64>(), 5.0);
    /// ```
    trace try_trace() -> Tensor = |x| composed::trace(x);
    /// Kronecker product: every element times the whole of `other`.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([1.0, 10.0]).kron(&Tensor::from([1.0, 2.0]));
    /// assert_eq!(x.to_vec::<f64>(), [1.0, 2.0, 10.0, 20.0]);
    /// ```
    kron try_kron(other: &Tensor) -> Tensor = |x| composed::kron(x, other);
    /// Differences of neighbours along an axis, which gets one shorter.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1.0, 4.0, 9.0]).diff(0).to_vec::<f64>(), [3.0, 5.0]);
    /// ```
    diff try_diff(axis: isize) -> Tensor = |x| composed::diff(x, axis);
    /// Covariances of variables in rows, observations in columns: `Σ (x − mean)(y − mean) / (n − correction)`; 1 is numpy's
    /// default. A single variable (one row, or a vector) gives its variance, without matrix axes, as in numpy and PyTorch.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, 2.0, 3.0], [6.0, 4.0, 2.0]]);
    /// assert_eq!(x.cov(1).to_vec::<f64>(), [1.0, -2.0, -2.0, 4.0]);
    /// assert_eq!(tove_tensor::Tensor::from([[6.0, 4.0, 2.0]]).cov(1).item::<f64>(), 4.0);
    /// ```
    cov try_cov(correction: usize) -> Tensor = |x| composed::cov(x, correction);
    /// This prediction minus a target of the same shape. Unlike `-`, it refuses to broadcast: a prediction of shape
    /// (n, 1) against a target of shape (n) would silently give (n, n).
    ///
    /// ```
    /// use tove_tensor::{Tensor, TryReduce};
    /// let (prediction, target) = (Tensor::from([[1.0], [2.0]]), Tensor::from([1.0, 2.0]));
    /// let message = prediction.try_residual(&target).unwrap_err().to_string();
    /// assert!(message.contains("reshape"));
    /// ```
    residual try_residual(target: &Tensor) -> Tensor = |x| composed::residual(x, target);
    /// Squared error against a target of the same shape.
    ///
    /// ```
    /// use tove_tensor::{Reduction, Tensor};
    /// let loss = Tensor::from([1.0, 3.0]).mse_loss(&Tensor::from([1.0, 1.0]), Reduction::Mean);
    /// assert_eq!(loss.item::<f64>(), 2.0);
    /// ```
    mse_loss try_mse_loss(target: &Tensor, reduction: Reduction) -> Tensor =
        |x| composed::mse_loss(x, target, reduction);
    /// Cross-entropy `−y ln p − (1 − y) ln(1 − p)` of probabilities against targets from 0 to 1 of the same shape. As in
    /// PyTorch, logarithms are cut off at −100. From logits, use [`Tensor::binary_cross_entropy_with_logits`].
    ///
    /// ```
    /// use tove_tensor::{Reduction, Tensor};
    /// let (p, y) = (Tensor::from([0.5, 0.0]), Tensor::from([1.0, 1.0]));
    /// let losses = p.binary_cross_entropy(&y, Reduction::None).to_vec::<f64>();
    /// assert!((losses[0] - 2f64.ln()).abs() < 1e-15 && losses[1] == 100.0);
    /// ```
    binary_cross_entropy try_binary_cross_entropy(target: &Tensor, reduction: Reduction) -> Tensor =
        |x| composed::binary_cross_entropy(x, target, reduction);
    /// Cross-entropy of the probabilities `σ(x)` against targets from 0 to 1 of the same shape, stable for any logit.
    /// `positive_weight`, which may broadcast, multiplies the loss of positive targets.
    ///
    /// ```
    /// use tove_tensor::{Reduction, Tensor};
    /// let (x, y) = (Tensor::from([1000.0, -50.0]), Tensor::from([0.0, 0.0]));
    /// let losses = x.binary_cross_entropy_with_logits(&y, None, Reduction::None).to_vec::<f64>();
    /// assert!(losses[0] == 1000.0 && (losses[1] / (-50f64).exp() - 1.0).abs() < 1e-12);
    /// ```
    binary_cross_entropy_with_logits try_binary_cross_entropy_with_logits(
        target: &Tensor,
        positive_weight: Option<&Tensor>,
        reduction: Reduction
    ) -> Tensor = |x| composed::binary_cross_entropy_with_logits(x, target, positive_weight, reduction);
}
