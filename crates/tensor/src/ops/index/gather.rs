//! One position along an axis for every element of the result: `y[…, i, …] = x[…, index[…, i, …], …]`.
//!
//! `gather` is `take_along_axis` in numpy. Its transpose, `scatter_add`, adds elements up at their positions.

use super::checked::checked;
use crate::dtype::match_number;
use crate::kernels::index as kernel;
use crate::ops::indexed::{Indexed, indexed};
use crate::ops::{axis_from_end, binary, shape};
use crate::tensor::Fresh;
use crate::{Error, Result, Shape, Tensor};

/// Inputs `x` and `index` agree in all sizes but that of the axis, which is counted from the end (1 is the last).
#[derive(Clone, Copy)]
struct Gather {
    axis: usize,
}

/// Inputs `source` and `index` have one shape; the axis has length `size` in the result.
#[derive(Clone, Copy)]
struct ScatterAdd {
    axis: usize,
    size: usize,
}

/// Product of the sizes behind an axis counted from the end.
fn inner(shape: &Shape, axis: usize) -> usize {
    shape[shape.rank() - axis + 1..].iter().product()
}

impl Indexed for Gather {
    const NAME: &'static str = "gather";
    type Transpose = ScatterAdd;

    fn forward(&self, x: &Tensor, index: &Tensor) -> Result<Tensor> {
        let position = x.rank() - self.axis;
        let (size, n) = (x.dims()[position], index.dims()[position]);
        let mut out = Fresh::new(index.shape().clone(), x.dtype())?;
        let inner = inner(index.shape(), self.axis);
        kernel::match_bits!(x.dtype(), U => {
            let places = index.contiguous_slice::<i64>();
            kernel::gather::<U>(kernel::bits(x), places, size, n, inner, kernel::bits_mut(&mut out));
        });
        Ok(out.finish())
    }

    fn transpose(&self, shape: &Shape) -> ScatterAdd {
        ScatterAdd { axis: self.axis, size: shape[shape.rank() - self.axis] }
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

impl Indexed for ScatterAdd {
    const NAME: &'static str = "scatter_add";
    type Transpose = Gather;

    fn forward(&self, source: &Tensor, index: &Tensor) -> Result<Tensor> {
        let position = source.rank() - self.axis;
        let n = source.dims()[position];
        let inner = inner(source.shape(), self.axis);
        let mut out = Fresh::new(source.shape().with(position, self.size), source.dtype())?;
        match_number!("scatter_add", source.dtype(), T => {
            let (from, places) = (source.contiguous_slice::<T>(), index.contiguous_slice::<i64>());
            kernel::scatter_add::<T>(from, places, self.size, n, inner, out.slice::<T>());
        });
        Ok(out.finish())
    }

    fn transpose(&self, _shape: &Shape) -> Gather {
        Gather { axis: self.axis }
    }

    fn flops(&self, source: &Tensor, _output: &Tensor) -> u64 {
        source.numel() as u64
    }

    fn attributes(&self) -> String {
        format!("axis=-{}, size={}", self.axis, self.size)
    }
}

/// Two tensors of one rank stretched to each other in all axes but one.
fn aligned(op: &'static str, x: &Tensor, index: &Tensor, position: usize) -> Result<(Tensor, Tensor)> {
    let misfit = || {
        let problem = format!("ranks must agree, and so must all sizes but that of axis {position}, or be 1");
        Error::shapes(op, x.shape(), index.shape(), problem)
    };
    if x.rank() != index.rank() {
        return Err(misfit());
    }
    let common = x.shape().with(position, 1).broadcast(&index.shape().with(position, 1)).ok_or_else(misfit)?;
    let stretched = |y: &Tensor| shape::broadcast_to(y, common.with(position, y.dims()[position]));
    Ok((stretched(x)?, stretched(index)?))
}

/// The elements at `index` along an axis; sizes of the other axes are broadcast.
pub(crate) fn gather(x: &Tensor, axis: isize, index: &Tensor) -> Result<Tensor> {
    let from_end = axis_from_end("gather", x, axis)?;
    let position = x.rank() - from_end;
    let index = checked("gather", index, x.dims()[position])?;
    let (x, index) = aligned("gather", x, &index, position)?;
    indexed(Gather { axis: from_end }, &x, &index)
}

/// What is written where: the axis counted from the end, the places made ready for kernels, and the values stretched to
/// them.
pub(super) struct Writing {
    pub(super) axis: usize,
    pub(super) index: Tensor,
    pub(super) source: Tensor,
}

/// The elements of `source`, stretched to the shape of `index`, on their way to places along an axis of `x`.
pub(super) fn writing(op: &'static str, x: &Tensor, axis: isize, index: &Tensor, source: &Tensor) -> Result<Writing> {
    let from_end = axis_from_end(op, x, axis)?;
    let position = x.rank() - from_end;
    if source.dtype() != x.dtype() {
        return Err(Error::DTypePair { op, left: x.dtype(), right: source.dtype() });
    }
    let index = checked(op, index, x.dims()[position])?;
    let fits = index.rank() == x.rank() && index.shape().with(position, 1) == x.shape().with(position, 1);
    if !fits {
        let problem = format!("all sizes but that of axis {position} must agree");
        return Err(Error::shapes(op, x.shape(), index.shape(), problem));
    }
    let source = shape::broadcast_to(source, index.shape().clone())?;
    Ok(Writing { axis: from_end, index, source })
}

/// `x` with the elements of `source` added at `index` along an axis; `source` is stretched to the shape of `index`.
pub(crate) fn scatter_add(x: &Tensor, axis: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    let Writing { axis, index, source } = writing("scatter_add", x, axis, index, source)?;
    let size = x.dims()[x.rank() - axis];
    binary::add(x, &indexed(ScatterAdd { axis, size }, &source, &index)?)
}
