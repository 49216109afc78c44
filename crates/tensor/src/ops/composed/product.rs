//! Products of vectors and matrices with names of their own.

use crate::ops::matmul::matmul;
use crate::ops::reduce::{norm, require_float, sum};
use crate::ops::{axis_from_end, binary, shape, unary};
use crate::{Error, Result, Shape, Tensor};

/// Refuses anything but a vector.
fn vector(op: &'static str, a: &Tensor, b: &Tensor) -> Result<()> {
    if a.rank() == 1 && b.rank() == 1 {
        return Ok(());
    }
    Err(Error::shapes(op, a.shape(), b.shape(), "two vectors are needed; `flatten` or `reshape` them first"))
}

/// w·x = Σ w_i x_i of two vectors.
pub(crate) fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    vector("dot", a, b)?;
    if a.dims() != b.dims() {
        return Err(Error::shapes("dot", a.shape(), b.shape(), "the vectors must be of one length"));
    }
    if a.dtype().is_float() { matmul(a, b) } else { sum(&binary::mul(a, b)?, &[0], false) }
}

/// The matrix a_i b_j of two vectors.
pub(crate) fn outer(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    vector("outer", a, b)?;
    binary::mul(&shape::unsqueeze(a, 1)?, b)
}

/// Inner products of the last axes, for every combination of the others, as in numpy.
pub(crate) fn inner(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (Some(&size), Some(&other)) = (a.dims().last(), b.dims().last()) else {
        return binary::mul(a, b);
    };
    if size != other {
        let problem = format!("last axes {size} and {other} differ");
        return Err(Error::shapes("inner", a.shape(), b.shape(), problem));
    }
    let rows = |x: &Tensor| shape::reshape(x, Shape::from([x.dims()[..x.rank() - 1].iter().product(), size]));
    let product = matmul(&rows(a)?, &shape::transpose(&rows(b)?)?)?;
    let result = Shape::new(&a.dims()[..a.rank() - 1]).joined(&b.dims()[..b.rank() - 1]);
    shape::reshape(&product, result)
}

/// Cosine of the angle between vectors along an axis, (a·b) / (‖a‖ ‖b‖), norms below 1e-8 being taken as 1e-8 (as in
/// PyTorch), so that the cosine with a zero vector is 0.
pub(crate) fn cosine_similarity(a: &Tensor, b: &Tensor, axis: isize) -> Result<Tensor> {
    const SMALLEST: f64 = 1e-8;
    let shape = binary::common_shape("cosine_similarity", a, b)?;
    let (a, b) = (shape::broadcast_to(a, shape.clone())?, shape::broadcast_to(b, shape)?);
    axis_from_end("cosine_similarity", &a, axis)?;
    let unit = |x: &Tensor| {
        let length = unary::maximum_scalar(&norm(x, 2.0, &[axis], true)?, SMALLEST)?;
        binary::div(x, &length)
    };
    sum(&binary::mul(&unit(&a)?, &unit(&b)?)?, &[axis], false)
}

/// The diagonal of the last two axes, which must be equal: a step of n + 1 through the n² elements.
pub(super) fn diagonal(op: &'static str, x: &Tensor) -> Result<Tensor> {
    let &[.., rows, columns] = x.dims() else {
        return Err(Error::shape(op, x.shape(), "is no matrix: two axes are needed"));
    };
    if rows != columns {
        return Err(Error::shape(op, x.shape(), "is not square in its last two axes"));
    }
    let flat = shape::reshape(x, Shape::new(&x.dims()[..x.rank() - 2]).joined(&[rows * rows]))?;
    shape::slice(&flat, -1, 0, rows * rows, rows as isize + 1)
}

/// Sum of the diagonal of the last two axes.
pub(crate) fn trace(x: &Tensor) -> Result<Tensor> {
    sum(&diagonal("trace", x)?, &[-1], false)
}

/// Kronecker product: every element of `a` times the whole of `b`. The shorter shape gets axes of size 1 in front.
pub(crate) fn kron(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let rank = a.rank().max(b.rank());
    let sizes = |x: &Tensor| -> Vec<usize> {
        std::iter::repeat_n(1, rank - x.rank()).chain(x.dims().iter().copied()).collect()
    };
    let (of_a, of_b) = (sizes(a), sizes(b));
    // Axes of the two alternate, and each pair is merged afterwards.
    let spread_a: Shape = of_a.iter().flat_map(|&size| [size, 1]).collect();
    let spread_b: Shape = of_b.iter().flat_map(|&size| [1, size]).collect();
    let product = binary::mul(&shape::reshape(a, spread_a)?, &shape::reshape(b, spread_b)?)?;
    shape::reshape(&product, of_a.iter().zip(&of_b).map(|(m, n)| m * n).collect())
}

/// The vector at right angles to two vectors of length 3 along an axis, (a × b)_i = a_{i+1} b_{i+2} − a_{i+2} b_{i+1},
/// counted in a ring.
pub(crate) fn cross(a: &Tensor, b: &Tensor, axis: isize) -> Result<Tensor> {
    let shape = binary::common_shape("cross", a, b)?;
    let (left, right) = (shape::broadcast_to(a, shape.clone())?, shape::broadcast_to(b, shape.clone())?);
    if shape[shape.rank() - axis_from_end("cross", &left, axis)?] != 3 {
        let problem = format!("axis {axis} must have length 3");
        return Err(Error::shapes("cross", a.shape(), b.shape(), problem));
    }
    let term = |of_left: isize, of_right: isize| {
        binary::mul(&shape::roll(&left, -of_left, axis)?, &shape::roll(&right, -of_right, axis)?)
    };
    binary::sub(&term(1, 2)?, &term(2, 1)?)
}

/// Sums over pairs of axes, one of each tensor; the other axes of `a` come first, then those of `b`.
pub(crate) fn tensordot(a: &Tensor, b: &Tensor, axes_a: &[isize], axes_b: &[isize]) -> Result<Tensor> {
    require_float("tensordot", a)?;
    let places = |x: &Tensor, axes: &[isize]| -> Result<Vec<usize>> {
        axes.iter().map(|&axis| Ok(x.rank() - axis_from_end("tensordot", x, axis)?)).collect()
    };
    let (summed_a, summed_b) = (places(a, axes_a)?, places(b, axes_b)?);
    let twice = |summed: &[usize]| summed.iter().enumerate().any(|(i, axis)| summed[..i].contains(axis));
    let sizes = |x: &Tensor, axes: &[usize]| -> Vec<usize> { axes.iter().map(|&axis| x.dims()[axis]).collect() };
    if sizes(a, &summed_a) != sizes(b, &summed_b) || twice(&summed_a) || twice(&summed_b) {
        let problem = format!("axes {axes_a:?} and {axes_b:?} must be pairs of equal sizes, each axis named once");
        return Err(Error::shapes("tensordot", a.shape(), b.shape(), problem));
    }
    let free = |x: &Tensor, summed: &[usize]| -> Vec<usize> { (0..x.rank()).filter(|i| !summed.contains(i)).collect() };
    let (free_a, free_b) = (free(a, &summed_a), free(b, &summed_b));
    let matrix = |x: &Tensor, rows: &[usize], columns: &[usize]| {
        let size = |axes: &[usize]| sizes(x, axes).iter().product::<usize>();
        shape::reshape(&shape::permute(x, &[rows, columns].concat())?, Shape::from([size(rows), size(columns)]))
    };
    let product = matmul(&matrix(a, &free_a, &summed_a)?, &matrix(b, &summed_b, &free_b)?)?;
    shape::reshape(&product, Shape::new(&sizes(a, &free_a)).joined(&sizes(b, &free_b)))
}
