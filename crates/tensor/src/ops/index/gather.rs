//! One position along an axis for every element of the result: `y[…, i, …] = x[…, index[…, i, …], …]`.
//!
//! `gather` is `take_along_axis` in numpy. Its transpose, `scatter_add`, adds elements up at their positions.

use smallvec::smallvec;

use super::checked::checked;
use crate::autodiff::{Grads, Point, Saves, apply};
use crate::dtype::match_number;
use crate::kernels::index as kernel;
use crate::ops::{Op, align_batched, axis_from_end, binary, shape};
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

/// Both physical inputs with the batch axis in front, stretched where they do not depend on the batch.
fn both_batched(inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Vec<Tensor>> {
    let aligned = align_batched(inputs, batched)?;
    let stretch = |(x, &flag): (&Tensor, &bool)| {
        if flag { Ok(x.clone()) } else { shape::broadcast_to(x, x.shape().inserted(0, size)) }
    };
    aligned.iter().zip(batched).map(stretch).collect()
}

impl Op for Gather {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (x, index) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
        let position = x.rank() - self.axis;
        let (size, n) = (x.dims()[position], index.dims()[position]);
        let mut out = Fresh::new(index.shape().clone(), x.dtype())?;
        let inner = inner(index.shape(), self.axis);
        kernel::match_bits!(x.dtype(), U => {
            let places = index.contiguous_slice::<i64>();
            kernel::gather::<U>(kernel::bits(&x), places, size, n, inner, kernel::bits_mut(&mut out));
        });
        Ok(out.finish())
    }

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing().input(1)
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|t| apply(*self, &[t, at.input(1)])).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let size = at.shape(0)[at.shape(0).rank() - self.axis];
        let transpose = ScatterAdd { axis: self.axis, size };
        let grad = if needs[0] { Some(apply(transpose, &[grad, at.input(1)])?) } else { None };
        Ok(smallvec![grad, None])
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let both = both_batched(inputs, batched, size)?;
        apply(*self, &[&both[0], &both[1]]).map(Some)
    }

    fn flops(&self, _inputs: &[&Tensor], _output: &Tensor) -> u64 {
        0
    }

    fn attributes(&self) -> String {
        format!("axis=-{}", self.axis)
    }
}

impl Op for ScatterAdd {
    fn name(&self) -> &'static str {
        "scatter_add"
    }

    fn forward(&self, inputs: &[&Tensor]) -> Result<Tensor> {
        let (source, index) = (inputs[0].contiguous_data()?, inputs[1].contiguous_data()?);
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

    fn saves(&self, _needs: &[bool]) -> Saves {
        Saves::nothing().input(1)
    }

    fn jvp(&self, at: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Option<Tensor>> {
        tangents[0].map(|t| apply(*self, &[t, at.input(1)])).transpose()
    }

    fn vjp(&self, at: &Point<'_>, grad: &Tensor, needs: &[bool]) -> Result<Grads> {
        let transpose = Gather { axis: self.axis };
        let grad = if needs[0] { Some(apply(transpose, &[grad, at.input(1)])?) } else { None };
        Ok(smallvec![grad, None])
    }

    fn batch(&self, inputs: &[&Tensor], batched: &[bool], size: usize) -> Result<Option<Tensor>> {
        let both = both_batched(inputs, batched, size)?;
        apply(*self, &[&both[0], &both[1]]).map(Some)
    }

    fn flops(&self, inputs: &[&Tensor], _output: &Tensor) -> u64 {
        inputs[0].numel() as u64
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
    apply(Gather { axis: from_end }, &[&x, &index])
}

/// `x` with the elements of `source` added at `index` along an axis; `source` is stretched to the shape of `index`.
pub(crate) fn scatter_add(x: &Tensor, axis: isize, index: &Tensor, source: &Tensor) -> Result<Tensor> {
    let from_end = axis_from_end("scatter_add", x, axis)?;
    let position = x.rank() - from_end;
    let size = x.dims()[position];
    if source.dtype() != x.dtype() {
        return Err(Error::DTypePair { op: "scatter_add", left: x.dtype(), right: source.dtype() });
    }
    let index = checked("scatter_add", index, size)?;
    let fits = index.rank() == x.rank() && index.shape().with(position, 1) == x.shape().with(position, 1);
    if !fits {
        let problem = format!("all sizes but that of axis {position} must agree");
        return Err(Error::shapes("scatter_add", x.shape(), index.shape(), problem));
    }
    let source = shape::broadcast_to(source, index.shape().clone())?;
    binary::add(x, &apply(ScatterAdd { axis: from_end, size }, &[&source, &index])?)
}
