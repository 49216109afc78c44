//! The index of tensor methods: each line makes the method, which panics at the caller's line, and its `try_` twin.

mod conv;
mod index;
mod linalg;
mod methods;
mod norm;
mod reduce;
mod unary;

use crate::error::OrPanic;
use crate::ops::fused::{self, Activation};
use crate::ops::{binary, composed, matmul, reduce as fold, shape, unary as one};
use crate::{DType, Result, Shape, Tensor};

pub use conv::TryConv;
pub use index::TryIndex;
pub use linalg::TryLinalg;
use methods::methods;
pub use norm::TryNorm;
pub use reduce::TryReduce;
pub use unary::TryUnary;

/// Names of all methods, one list per file, for the registry of samples.
pub(crate) const ALL_NAMES: &[&[&str]] =
    &[NAMES, unary::NAMES, index::NAMES, reduce::NAMES, norm::NAMES, linalg::NAMES, conv::NAMES];

mod sealed {
    /// Keeps the traits of this module closed, so that operations can be added without breaking anybody.
    pub trait Sealed {}
    impl Sealed for crate::Tensor {}
}
pub(crate) use sealed::Sealed;

methods! {
    /// The `try_` twins of the tensor methods: the same operations with the error returned.
    trait TryOps: TryUnary & TryIndex & TryReduce & TryNorm & TryLinalg & TryConv;

    /// Sum, with broadcasting; the same as `+`.
    add try_add(other: &Tensor) -> Tensor = |x| binary::add(x, other);
    /// Difference, with broadcasting; the same as `-`.
    sub try_sub(other: &Tensor) -> Tensor = |x| binary::sub(x, other);
    /// Product element by element (Hadamard), with broadcasting; the same as `*`. It is bilinear: for a fixed mask M,
    /// (aX + bY) ∘ M = a(X ∘ M) + b(Y ∘ M). What it does not do is compose linear maps: (A ∘ B)x is not A(Bx), which
    /// is what [`Tensor::matmul`] is for.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (a, b) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([[0.0, 1.0], [1.0, 0.0]]));
    /// let x = Tensor::from([1.0, 1.0]);
    /// assert_eq!(a.mul(&b).matmul(&x).to_vec::<f64>(), [2.0, 3.0]);
    /// assert_eq!(a.matmul(&b.matmul(&x)).to_vec::<f64>(), [3.0, 7.0]);
    /// ```
    mul try_mul(other: &Tensor) -> Tensor = |x| binary::mul(x, other);
    /// Quotient, with broadcasting; the same as `/`. Whole numbers round towards minus infinity.
    div try_div(other: &Tensor) -> Tensor = |x| binary::div(x, other);
    /// Remainder with the sign of the divisor, as in Python; the same as `%`.
    rem try_rem(other: &Tensor) -> Tensor = |x| binary::rem(x, other);
    /// Power with an exponent per element. Whole numbers take no negative exponents.
    pow try_pow(exponent: &Tensor) -> Tensor = |x| binary::pow(x, exponent);
    /// Power with one exponent for all elements.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([3.0]).powf(2.0).item::<f64>(), 9.0);
    /// ```
    powf try_powf(exponent: f64) -> Tensor = |x| one::powf(x, exponent);
    /// Angle of the point (other, self).
    atan2 try_atan2(other: &Tensor) -> Tensor = |x| binary::atan2(x, other);
    /// `ln(e^a + e^b)`, stable.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let y = Tensor::from([1000.0, f64::NEG_INFINITY]).logaddexp(&Tensor::from([1000.0, 3.0]));
    /// assert_eq!(y.to_vec::<f64>(), [1000.0 + 2f64.ln(), 3.0]);
    /// ```
    logaddexp try_logaddexp(other: &Tensor) -> Tensor = |x| binary::logaddexp(x, other);
    /// `√(a² + b²)`, without overflow; its slopes are 0 where both are 0. Infinite where either is infinite, even beside NaN.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let y = Tensor::from([3.0, 3e300]).hypot(&Tensor::from([4.0, 4e300]));
    /// assert!((y / Tensor::from([5.0, 5e300]) - 1.0).abs().max().item::<f64>() < 1e-15);
    /// ```
    hypot try_hypot(other: &Tensor) -> Tensor = |x| composed::hypot(x, other);
    /// From this tensor towards `end` by a weight: `x + w (end − x)`, exactly `end` at weight 1. All three broadcast.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let y = Tensor::from([0.0, 10.0]).lerp(&Tensor::from([4.0, 20.0]), &Tensor::scalar(0.25));
    /// assert_eq!(y.to_vec::<f64>(), [1.0, 12.5]);
    /// ```
    lerp try_lerp(end: &Tensor, weight: &Tensor) -> Tensor = |x| composed::lerp(x, end, weight);
    /// Larger of two values, element by element; a NaN wins, and ties share the derivative by halves.
    maximum try_maximum(other: &Tensor) -> Tensor = |x| binary::maximum(x, other);
    /// Smaller of two values, element by element; a NaN wins, and ties share the derivative by halves.
    minimum try_minimum(other: &Tensor) -> Tensor = |x| binary::minimum(x, other);
    /// Values below `low` become `low`, values above `high` become `high`.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([-2.0, 0.5, 2.0]).clamp(-1.0, 1.0).to_vec::<f64>(), [-1.0, 0.5, 1.0]);
    /// ```
    clamp try_clamp(low: f64, high: f64) -> Tensor =
        |x| one::maximum_scalar(x, low).and_then(|y| one::minimum_scalar(&y, high));
    /// `x` where positive, `slope · x` elsewhere.
    leaky_relu try_leaky_relu(slope: f64) -> Tensor = |x| one::leaky_relu(x, slope);
    /// `x` where positive, `alpha (e^x - 1)` elsewhere.
    elu try_elu(alpha: f64) -> Tensor = |x| one::elu(x, alpha);

    /// Whether elements are equal.
    eq try_eq(other: &Tensor) -> Tensor = |x| binary::eq(x, other);
    /// Whether elements differ.
    ne try_ne(other: &Tensor) -> Tensor = |x| binary::ne(x, other);
    /// Whether elements are smaller.
    lt try_lt(other: &Tensor) -> Tensor = |x| binary::lt(x, other);
    /// Whether elements are smaller or equal.
    le try_le(other: &Tensor) -> Tensor = |x| binary::le(x, other);
    /// Whether elements are larger.
    gt try_gt(other: &Tensor) -> Tensor = |x| binary::gt(x, other);
    /// Whether elements are larger or equal.
    ge try_ge(other: &Tensor) -> Tensor = |x| binary::ge(x, other);
    /// Whether elements equal a number.
    eq_scalar try_eq_scalar(other: f64) -> Tensor = |x| binary::eq_scalar(x, other);
    /// Whether elements differ from a number.
    ne_scalar try_ne_scalar(other: f64) -> Tensor = |x| binary::ne_scalar(x, other);
    /// Whether elements are smaller than a number.
    lt_scalar try_lt_scalar(other: f64) -> Tensor = |x| binary::lt_scalar(x, other);
    /// Whether elements are smaller than a number or equal to it.
    le_scalar try_le_scalar(other: f64) -> Tensor = |x| binary::le_scalar(x, other);
    /// Whether elements are larger than a number.
    gt_scalar try_gt_scalar(other: f64) -> Tensor = |x| binary::gt_scalar(x, other);
    /// Whether elements are larger than a number or equal to it.
    ge_scalar try_ge_scalar(other: f64) -> Tensor = |x| binary::ge_scalar(x, other);
    /// Both true.
    logical_and try_logical_and(other: &Tensor) -> Tensor = |x| binary::logical_and(x, other);
    /// At least one true.
    logical_or try_logical_or(other: &Tensor) -> Tensor = |x| binary::logical_or(x, other);
    /// Exactly one true.
    logical_xor try_logical_xor(other: &Tensor) -> Tensor = |x| binary::logical_xor(x, other);
    /// False becomes true and true false.
    logical_not try_logical_not() -> Tensor = |x| binary::logical_not(x);
    /// Whether elements are not numbers.
    is_nan try_is_nan() -> Tensor = |x| binary::is_nan(x);
    /// Whether elements are neither infinite nor NaN.
    is_finite try_is_finite() -> Tensor = |x| binary::is_finite(x);
    /// Whether elements are infinite.
    is_inf try_is_inf() -> Tensor = |x| binary::is_inf(x);
    /// Whether elements agree, `|a − b| ≤ absolute + relative · |b|`: equal infinities do, NaN never does.
    /// [`Tensor::allclose`] says whether all do.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (a, b) = (Tensor::from([1.0, 2.0]), Tensor::from([1.0 + 1e-9, 2.1]));
    /// assert_eq!(a.isclose(&b, 1e-5, 1e-8).to_vec::<bool>(), [true, false]);
    /// ```
    isclose try_isclose(other: &Tensor, relative: f64, absolute: f64) -> Tensor =
        |x| composed::isclose(x, other, relative, absolute);
    /// `nan` in place of NaN, `high` in place of +∞, `low` in place of −∞.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([1.5, f64::NAN, f64::NEG_INFINITY]);
    /// assert_eq!(x.nan_to_num(0.0, 1e9, -1e9).to_vec::<f64>(), [1.5, 0.0, -1e9]);
    /// ```
    nan_to_num try_nan_to_num(nan: f64, high: f64, low: f64) -> Tensor = |x| composed::nan_to_num(x, nan, high, low);
    /// For a mask: `a` where it is true, `b` elsewhere; `where` in numpy.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let mask = Tensor::from([true, false]);
    /// assert_eq!(mask.select(&Tensor::from([1.0, 2.0]), &Tensor::from([9.0])).to_vec::<f64>(), [1.0, 9.0]);
    /// ```
    select try_select(a: &Tensor, b: &Tensor) -> Tensor = |x| binary::select(x, a, b);

    /// Sum of all elements.
    sum try_sum() -> Tensor = |x| fold::sum_all(x);
    /// Sum over axes; with `keep` they stay with size 1.
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.sum_axes(&[0], false).to_vec::<f64>(), [4.0, 6.0]);
    /// ```
    sum_axes try_sum_axes(axes: &[isize], keep: bool) -> Tensor = |x| fold::sum(x, axes, keep);
    /// Mean of all elements.
    mean try_mean() -> Tensor = |x| fold::mean_all(x);
    /// Mean over axes; with `keep` they stay with size 1.
    mean_axes try_mean_axes(axes: &[isize], keep: bool) -> Tensor = |x| fold::mean(x, axes, keep);
    /// Largest element.
    max try_max() -> Tensor = |x| fold::max_all(x);
    /// Largest element along axes; ties share the derivative evenly.
    max_axes try_max_axes(axes: &[isize], keep: bool) -> Tensor = |x| fold::max(x, axes, keep);
    /// Smallest element.
    min try_min() -> Tensor = |x| fold::min_all(x);
    /// Smallest element along axes; ties share the derivative evenly.
    min_axes try_min_axes(axes: &[isize], keep: bool) -> Tensor = |x| fold::min(x, axes, keep);
    /// Position of the largest element along an axis, the first among equals.
    argmax try_argmax(axis: isize) -> Tensor = |x| fold::argmax(x, axis, false);
    /// Position of the smallest element along an axis, the first among equals.
    argmin try_argmin(axis: isize) -> Tensor = |x| fold::argmin(x, axis, false);

    /// Matrix product as in numpy: vectors are rows on the left and columns on the right, leading axes broadcast.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matmul(&Tensor::from([1.0, 1.0])).to_vec::<f64>(), [3.0, 7.0]);
    /// ```
    matmul try_matmul(other: &Tensor) -> Tensor = |x| matmul::matmul(x, other);
    /// `activation(x Wᵀ + b)` with W of shape (out, in), in one pass over the result.
    linear try_linear(weight: &Tensor, bias: Option<&Tensor>, activation: Activation) -> Tensor =
        |x| fused::linear(x, weight, bias, activation);

    /// The same elements in row-major order under another shape; a view where possible.
    reshape try_reshape(shape: impl Into<Shape>) -> Tensor = |x| shape::reshape(x, shape.into());
    /// Axes in the order given; a view.
    permute try_permute(axes: &[usize]) -> Tensor = |x| shape::permute(x, axes);
    /// Two axes exchanged; a view.
    swap_axes try_swap_axes(first: isize, second: isize) -> Tensor = |x| shape::swap_axes(x, first, second);
    /// The last two axes exchanged; a view.
    t try_t() -> Tensor = |x| shape::transpose(x);
    /// Stretched to a larger shape by numpy's rule; a view.
    broadcast_to try_broadcast_to(shape: impl Into<Shape>) -> Tensor = |x| shape::broadcast_to(x, shape.into());
    /// An axis of size 1 inserted at a position; -1 is after the last.
    unsqueeze try_unsqueeze(axis: isize) -> Tensor = |x| shape::unsqueeze(x, axis);
    /// An axis of size 1 removed.
    squeeze try_squeeze(axis: isize) -> Tensor = |x| shape::squeeze(x, axis);
    /// All axes from `start` on merged into one.
    flatten try_flatten(start: usize) -> Tensor = |x| shape::flatten(x, start);
    /// Positions `start..end` of an axis, every `step`-th; a negative step walks backwards. A view.
    slice try_slice(axis: isize, start: usize, end: usize, step: isize) -> Tensor =
        |x| shape::slice(x, axis, start, end, step);
    /// `len` positions of an axis from `start` on; a view.
    narrow try_narrow(axis: isize, start: usize, len: usize) -> Tensor = |x| shape::narrow(x, axis, start, len);
    /// One position of the first axis, which disappears; a view.
    get try_get(index: usize) -> Tensor = |x| shape::get(x, index);
    /// One position of an axis, which disappears; a view.
    select_index try_select_index(axis: isize, index: usize) -> Tensor = |x| shape::select(x, axis, index);
}

impl Tensor {
    /// Tensors joined along an existing axis.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(Tensor::concat(&[&x, &x], 0).shape(), &[4]);
    /// ```
    #[track_caller]
    pub fn concat(tensors: &[&Tensor], axis: isize) -> Tensor {
        Tensor::try_concat(tensors, axis).or_panic()
    }

    /// As [`Tensor::concat`], with the error returned.
    pub fn try_concat(tensors: &[&Tensor], axis: isize) -> Result<Tensor> {
        shape::concat(tensors, axis)
    }

    /// Tensors of one shape joined along a new axis.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([1.0, 2.0]);
    /// assert_eq!(Tensor::stack(&[&x, &x, &x], 0).shape(), &[3, 2]);
    /// ```
    #[track_caller]
    pub fn stack(tensors: &[&Tensor], axis: isize) -> Tensor {
        Tensor::try_stack(tensors, axis).or_panic()
    }

    /// As [`Tensor::stack`], with the error returned.
    pub fn try_stack(tensors: &[&Tensor], axis: isize) -> Result<Tensor> {
        shape::stack(tensors, axis)
    }

    /// Einstein summation: axes are named by letters, those missing from the result are summed over.
    ///
    /// A letter twice in one term takes the diagonal, `...` stands for further axes, and without `->` the result has the
    /// letters that occur once, in alphabetical order. Operands are multiplied two at a time, the cheapest pair first.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let b = Tensor::from([[0.0, 1.0], [1.0, 0.0]]);
    /// assert_eq!(Tensor::einsum("ij,jk->ik", &[&a, &b]).to_vec::<f64>(), [2.0, 1.0, 4.0, 3.0]);
    /// assert_eq!(Tensor::einsum("ii", &[&a]).item::<f64>(), 5.0);
    /// ```
    #[track_caller]
    pub fn einsum(equation: &str, operands: &[&Tensor]) -> Tensor {
        Tensor::try_einsum(equation, operands).or_panic()
    }

    /// As [`Tensor::einsum`], with the error returned.
    pub fn try_einsum(equation: &str, operands: &[&Tensor]) -> Result<Tensor> {
        composed::einsum(equation, operands)
    }

    /// As [`Tensor::to_dtype`], with the error returned.
    pub fn try_to_dtype(&self, dtype: DType) -> Result<Tensor> {
        shape::to_dtype(self, dtype)
    }
}
