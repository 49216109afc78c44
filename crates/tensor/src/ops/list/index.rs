//! Methods that rearrange tensors and read or write them at positions.

use super::{Sealed, methods};
use crate::error::OrPanic;
use crate::ops::index::{self, IntoIndices, Unique};
use crate::ops::{composed, shape};
use crate::{DType, Result, Tensor};

methods! {
    /// The `try_` twins of the methods that rearrange tensors and read or write them at positions.
    trait TryIndex: Sealed;

    /// `x[…]` as in numpy: positions, ranges, new axes and the ellipsis give views, index tensors and masks copies. See
    /// [`Index`](crate::Index) for what may be asked.
    ///
    /// ```
    /// use tove_tensor::{Ellipsis, Tensor, stepped};
    /// let x = Tensor::arange(0, 12).reshape([3, 4]);
    /// assert_eq!(x.index((-1, 1..3)).to_vec::<i64>(), [9, 10]);
    /// assert_eq!(x.index((stepped(.., -1), 0)).to_vec::<i64>(), [8, 4, 0]);
    /// assert_eq!(x.index((Ellipsis, &Tensor::from([0i64, -1]))).shape(), &[3, 2]);
    /// assert_eq!(x.index(&x.gt_scalar(9.0)).to_vec::<i64>(), [10, 11]);
    /// ```
    index try_index(spec: impl IntoIndices) -> Tensor = |x| index::index(x, spec.into_indices());
    /// A copy with `value` at the positions of an index; differentiable in both. The last of several values stays.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.index_set(1.., &Tensor::scalar(0.0)).to_vec::<f64>(), [1.0, 0.0, 0.0]);
    /// ```
    index_set try_index_set(spec: impl IntoIndices, value: &Tensor) -> Tensor =
        |x| index::index_set(x, spec.into_indices(), value);
    /// A copy with `value` added at the positions of an index; repeated positions add up.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let twice = Tensor::from([0i64, 0]);
    /// let x = Tensor::from([1.0, 2.0]).index_accumulate(&twice, &Tensor::scalar(5.0));
    /// assert_eq!(x.to_vec::<f64>(), [11.0, 2.0]);
    /// ```
    index_accumulate try_index_accumulate(spec: impl IntoIndices, value: &Tensor) -> Tensor =
        |x| index::index_accumulate(x, spec.into_indices(), value);
    /// The elements at `index` along an axis, one per element of `index`; the other axes are broadcast.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.gather(1, &Tensor::from([[1i64], [0]])).to_vec::<f64>(), [2.0, 3.0]);
    /// ```
    gather try_gather(axis: isize, index: &Tensor) -> Tensor = |x| index::gather(x, axis, index);
    /// The same as [`Tensor::gather`], by numpy's name.
    take_along_axis try_take_along_axis(axis: isize, index: &Tensor) -> Tensor = |x| index::gather(x, axis, index);
    /// A copy with the elements of `source` added at `index` along an axis; the transpose of [`Tensor::gather`].
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let y = Tensor::from([0.0, 0.0]).scatter_add(0, &Tensor::from([1i64, 1]), &Tensor::from([2.0, 3.0]));
    /// assert_eq!(y.to_vec::<f64>(), [0.0, 5.0]);
    /// ```
    scatter_add try_scatter_add(axis: isize, index: &Tensor, source: &Tensor) -> Tensor =
        |x| index::scatter_add(x, axis, index, source);
    /// A copy with the elements of `source` at `index` along an axis; `source` broadcasts to the shape of `index`, and the
    /// last of several for one place stays. Differentiable in both; `put_along_axis` in numpy.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let y = x.scatter(1, &Tensor::from([[1i64], [0]]), &Tensor::scalar(0.0));
    /// assert_eq!(y.to_vec::<f64>(), [1.0, 0.0, 0.0, 4.0]);
    /// ```
    scatter try_scatter(axis: isize, index: &Tensor, source: &Tensor) -> Tensor =
        |x| index::scatter(x, axis, index, source);
    /// The rows of an axis at `index`, whose axes take the place of that one; `take` in numpy.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.index_select(0, &Tensor::from([1i64, 1, 0])).shape(), &[3, 2]);
    /// ```
    index_select try_index_select(axis: isize, index: &Tensor) -> Tensor = |x| index::index_select(x, axis, index);
    /// A copy with the rows of `source` added at `index` along an axis; the transpose of [`Tensor::index_select`].
    index_add try_index_add(axis: isize, index: &Tensor, source: &Tensor) -> Tensor =
        |x| index::index_add(x, axis, index, source);
    /// A copy with one number at the positions `index`, a vector, of an axis.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.index_fill(1, &Tensor::from([-1i64]), 0.0).to_vec::<f64>(), [1.0, 0.0, 3.0, 0.0]);
    /// ```
    index_fill try_index_fill(axis: isize, index: &Tensor, value: f64) -> Tensor =
        |x| index::index_fill(x, axis, index, value);
    /// For a table (count, features): its rows at `index` of any shape.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(table.embedding(&Tensor::from([1i64])).to_vec::<f64>(), [3.0, 4.0]);
    /// ```
    embedding try_embedding(index: &Tensor) -> Tensor = |x| index::embedding(x, index);
    /// For class numbers: a last axis of zeros with a one at the class.
    ///
    /// ```
    /// use tove_tensor::{DType, Tensor};
    /// assert_eq!(Tensor::from([2i64]).one_hot(3, DType::F32).to_vec::<f32>(), [0.0, 0.0, 1.0]);
    /// ```
    one_hot try_one_hot(classes: usize, dtype: DType) -> Tensor = |x| index::one_hot(x, classes, dtype);
    /// The elements of an axis in order, with their former positions. Stable; NaN counts as larger than every number.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (values, places) = Tensor::from([3.0, 1.0, 2.0]).sort(0, false);
    /// assert_eq!((values.to_vec::<f64>(), places.to_vec::<i64>()), (vec![1.0, 2.0, 3.0], vec![1, 2, 0]));
    /// ```
    sort try_sort(axis: isize, descending: bool) -> (Tensor, Tensor) = |x| index::sort(x, axis, descending);
    /// The positions that put an axis in order; see [`Tensor::sort`].
    argsort try_argsort(axis: isize, descending: bool) -> Tensor = |x| index::argsort(x, axis, descending);
    /// The `k` largest (or smallest) elements of an axis, best first, with their positions.
    ///
    /// ```
    /// let (values, places) = tove_tensor::Tensor::from([3.0, 1.0, 2.0]).topk(2, 0, true);
    /// assert_eq!((values.to_vec::<f64>(), places.to_vec::<i64>()), (vec![3.0, 2.0], vec![0, 2]));
    /// ```
    topk try_topk(k: usize, axis: isize, largest: bool) -> (Tensor, Tensor) = |x| index::topk(x, k, axis, largest);
    /// The `k`-th smallest element of an axis, counted from 1, with its position; with `keep` the axis stays with size 1. The
    /// earlier of equal elements is the smaller, and takes the derivative.
    ///
    /// ```
    /// let (value, place) = tove_tensor::Tensor::from([3.0, 1.0, 2.0]).kthvalue(2, 0, false);
    /// assert_eq!((value.item::<f64>(), place.item::<i64>()), (2.0, 2));
    /// ```
    kthvalue try_kthvalue(k: usize, axis: isize, keep: bool) -> (Tensor, Tensor) = |x| index::kthvalue(x, k, axis, keep);
    /// The most frequent element of an axis, the smallest among equally frequent ones, with the position where it occurs
    /// last, which takes the derivative; with `keep` the axis stays with size 1.
    ///
    /// ```
    /// let (value, place) = tove_tensor::Tensor::from([2.0, 7.0, 2.0, 7.0, 1.0]).mode(0, false);
    /// assert_eq!((value.item::<f64>(), place.item::<i64>()), (2.0, 2));
    /// ```
    mode try_mode(axis: isize, keep: bool) -> (Tensor, Tensor) = |x| index::mode(x, axis, keep);
    /// The different values of all elements, ascending, with the value's number for every element and how often each
    /// occurs. All NaN are one value; of equal elements the first takes the derivative.
    ///
    /// ```
    /// let u = tove_tensor::Tensor::from([3.0, 1.0, 3.0]).unique();
    /// assert_eq!((u.values.to_vec::<f64>(), u.counts.to_vec::<i64>()), (vec![1.0, 3.0], vec![1, 2]));
    /// assert_eq!(u.inverse.to_vec::<i64>(), [1, 0, 1]);
    /// ```
    unique try_unique() -> Unique = |x| index::unique(x);
    /// The different slices of an axis, ordered by their first entries, then by their second, and so on; as
    /// [`Tensor::unique`] otherwise.
    ///
    /// ```
    /// let u = tove_tensor::Tensor::from([[3, 1i64], [2, 5], [3, 1]]).unique_axis(0);
    /// assert_eq!((u.values.to_vec::<i64>(), u.counts.to_vec::<i64>()), (vec![2, 5, 3, 1], vec![1, 2]));
    /// assert_eq!(u.inverse.to_vec::<i64>(), [1, 0, 1]);
    /// ```
    unique_axis try_unique_axis(axis: isize) -> Unique = |x| index::unique_axis(x, axis);
    /// `value` where the mask is true, the tensor's own elements elsewhere.
    masked_fill try_masked_fill(mask: &Tensor, value: f64) -> Tensor = |x| index::masked_fill(x, mask, value);
    /// The elements where the mask is true, as a vector; both are broadcast to each other.
    masked_select try_masked_select(mask: &Tensor) -> Tensor = |x| index::masked_select(x, mask);
    /// A copy with the elements of `source`, in row-major order, where the mask is true; what the source has beyond them is
    /// not used. Differentiable in both; the mask broadcasts.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let (x, mask) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([true, false, true]));
    /// assert_eq!(x.masked_scatter(&mask, &Tensor::from([10.0, 20.0])).to_vec::<f64>(), [10.0, 2.0, 20.0]);
    /// ```
    masked_scatter try_masked_scatter(mask: &Tensor, source: &Tensor) -> Tensor =
        |x| index::masked_scatter(x, mask, source);
    /// The positions of the elements that are not zero, one per row (count, rank).
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([[0.0, 5.0], [6.0, 0.0]]);
    /// assert_eq!(x.nonzero().to_vec::<i64>(), [0, 1, 1, 0]);
    /// ```
    nonzero try_nonzero() -> Tensor = |x| index::nonzero(x);
    /// For a sorted vector: where values would go to keep the order, before equal elements, or behind them with `right`.
    /// For edges of bins this is the bin's number: `bucketize` in PyTorch, `digitize` in numpy.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let sorted = Tensor::from([1.0, 2.0, 2.0, 3.0]);
    /// assert_eq!(sorted.searchsorted(&Tensor::from([2.0]), true).to_vec::<i64>(), [3]);
    /// ```
    searchsorted try_searchsorted(values: &Tensor, right: bool) -> Tensor = |x| index::searchsorted(x, values, right);
    /// How many elements fall between neighbouring edges, which ascend; the last bin includes its right edge, as in numpy.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let x = Tensor::from([0.5, 1.0, 1.5, 2.0, 9.0]);
    /// assert_eq!(x.histogram(&Tensor::from([0.0, 1.0, 2.0])).to_vec::<i64>(), [1, 3]);
    /// ```
    histogram try_histogram(edges: &Tensor) -> Tensor = |x| composed::histogram(x, edges);
    /// How often each whole number `0, 1, …` occurs, or the sum of its weights; at least `least` entries.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([0i64, 2, 2]).bincount(None, 0).to_vec::<i64>(), [1, 0, 2]);
    /// ```
    bincount try_bincount(weights: Option<&Tensor>, least: usize) -> Tensor = |x| index::bincount(x, weights, least);

    /// Axes read backwards; a view.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1, 2, 3i64]).flip(&[0]).to_vec::<i64>(), [3, 2, 1]);
    /// ```
    flip try_flip(axes: &[isize]) -> Tensor = |x| shape::flip(x, axes);
    /// Elements moved by `shift` places along an axis; what falls off at the end comes back at the start.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1, 2, 3i64]).roll(1, 0).to_vec::<i64>(), [3, 1, 2]);
    /// ```
    roll try_roll(shift: isize, axis: isize) -> Tensor = |x| shape::roll(x, shift, axis);
    /// A border of `value`: `widths[axis]` elements before and behind each axis.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1, 2i64]).pad(&[(1, 2)], 0.0).to_vec::<i64>(), [0, 1, 2, 0, 0]);
    /// ```
    pad try_pad(widths: &[(usize, usize)], value: f64) -> Tensor = |x| shape::pad(x, widths, value);
    /// The whole tensor repeated along each axis; missing axes in front are added.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1, 2i64]).tile(&[2]).to_vec::<i64>(), [1, 2, 1, 2]);
    /// ```
    tile try_tile(times: &[usize]) -> Tensor = |x| shape::tile(x, times);
    /// Each position of an axis repeated in place; `repeat` in numpy.
    ///
    /// ```
    /// assert_eq!(tove_tensor::Tensor::from([1, 2i64]).repeat_interleave(2, 0).to_vec::<i64>(), [1, 1, 2, 2]);
    /// ```
    repeat_interleave try_repeat_interleave(repeats: usize, axis: isize) -> Tensor =
        |x| shape::repeat_interleave(x, repeats, axis);
    /// Consecutive pieces of an axis, of the lengths given; views.
    split try_split(sizes: &[usize], axis: isize) -> Vec<Tensor> = |x| shape::split(x, sizes, axis);
    /// At most `count` pieces of an axis of equal length, the last one shorter if need be; views.
    chunk try_chunk(count: usize, axis: isize) -> Vec<Tensor> = |x| shape::chunk(x, count, axis);
    /// The elements on and below a diagonal of the last two axes, zero elsewhere; positive diagonals lie above the main.
    tril try_tril(diagonal: isize) -> Tensor = |x| shape::tril(x, diagonal);
    /// The elements on and above a diagonal of the last two axes, zero elsewhere; positive diagonals lie above the main.
    triu try_triu(diagonal: isize) -> Tensor = |x| shape::triu(x, diagonal);
    /// The matrix with a vector on its diagonal, or the diagonal of a matrix (a view).
    ///
    /// ```
    /// let x = tove_tensor::Tensor::from([1.0, 2.0]);
    /// assert_eq!(x.diag(0).to_vec::<f64>(), [1.0, 0.0, 0.0, 2.0]);
    /// assert_eq!(x.diag(0).diag(0).to_vec::<f64>(), [1.0, 2.0]);
    /// ```
    diag try_diag(offset: isize) -> Tensor = |x| shape::diag(x, offset);
    /// The diagonal of the last two axes, which become one; a view.
    diagonal try_diagonal(offset: isize) -> Tensor = |x| shape::diagonal(x, offset);
    /// Square matrices with the last axis on a diagonal, zero elsewhere.
    diag_embed try_diag_embed(offset: isize) -> Tensor = |x| shape::diag_embed(x, offset);
    /// One axis taken out and put in at another position; a view.
    move_axis try_move_axis(from: isize, to: isize) -> Tensor = |x| shape::move_axis(x, from, to);
    /// Stretched to the shape of another tensor; a view.
    expand_as try_expand_as(other: &Tensor) -> Tensor = |x| shape::broadcast_to(x, other.shape().clone());
}

impl Tensor {
    /// One grid per vector: the i-th varies along axis i only, as `indexing="ij"` in numpy; views.
    ///
    /// ```
    /// use tove_tensor::Tensor;
    /// let grids = Tensor::meshgrid(&[&Tensor::arange(0, 2), &Tensor::arange(0, 3)]);
    /// assert_eq!(grids[0].to_vec::<i64>(), [0, 0, 0, 1, 1, 1]);
    /// ```
    #[track_caller]
    pub fn meshgrid(vectors: &[&Tensor]) -> Vec<Tensor> {
        Tensor::try_meshgrid(vectors).or_panic()
    }

    /// As [`Tensor::meshgrid`], with the error returned.
    pub fn try_meshgrid(vectors: &[&Tensor]) -> Result<Vec<Tensor>> {
        shape::meshgrid(vectors)
    }

    /// All tensors stretched to their common shape; views.
    #[track_caller]
    pub fn broadcast_all(tensors: &[&Tensor]) -> Vec<Tensor> {
        Tensor::try_broadcast_all(tensors).or_panic()
    }

    /// As [`Tensor::broadcast_all`], with the error returned.
    pub fn try_broadcast_all(tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
        shape::broadcast_all(tensors)
    }
}
