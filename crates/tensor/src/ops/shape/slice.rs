//! Every `step`-th element of an axis; a view. Its transpose puts the elements back among zeros.

use crate::dtype::match_any;
use crate::kernels::elementwise;
use crate::ops::axis_from_end;
use crate::ops::linear_map::{LinearMap, linear_map};
use crate::ops::shape::reshape;
use crate::{Error, Result, Shape, Tensor};

/// Positions `start, start + step, …` (`len` of them) of one axis, counted from the end (1 is the last).
#[derive(Clone, Copy)]
struct Slice {
    axis: usize,
    start: usize,
    step: isize,
    len: usize,
}

impl Slice {
    fn axis(&self, x: &Tensor) -> usize {
        x.rank() - self.axis
    }

    fn view(&self, x: &Tensor) -> Tensor {
        let axis = self.axis(x);
        let stride = x.strides()[axis];
        let mut strides = x.strides().iter().copied().collect::<crate::shape::Strides>();
        strides.as_mut()[axis] = stride * self.step;
        // An empty result keeps the offset, which would otherwise point behind the buffer.
        let first = if self.len == 0 { 0 } else { self.start as isize * stride };
        x.view(x.shape().with(axis, self.len), strides, (x.offset() as isize + first) as usize)
    }
}

impl LinearMap for Slice {
    const NAME: &'static str = "slice";

    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        Ok(self.view(x))
    }

    fn transpose(&self, grad: &Tensor, shape: &Shape) -> Result<Tensor> {
        let size = shape[shape.rank() - self.axis];
        linear_map(Scatter { slice: *self, size }, grad)
    }

    fn attributes(&self) -> String {
        format!("axis=-{}, start={}, step={}, len={}", self.axis, self.start, self.step, self.len)
    }
}

/// The transpose of a slice of an axis of length `size`.
#[derive(Clone, Copy)]
struct Scatter {
    slice: Slice,
    size: usize,
}

impl LinearMap for Scatter {
    const NAME: &'static str = "slice_transpose";

    #[allow(unsafe_code)]
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let shape = x.shape().with(self.slice.axis(x), self.size);
        let mut out = Tensor::try_zeros(shape, x.dtype())?;
        let target = self.slice.view(&out);
        let (strides, shift) = (target.strides().to_vec(), target.offset());
        drop(target);
        match_any!(x.dtype(), T => {
            let start = out.pointer_mut::<T>();
            // SAFETY: `out` is new, and the view just taken of it addresses distinct elements inside it.
            unsafe { elementwise::copy_into::<T>(x, start.add(shift), &strides) }
        });
        Ok(out)
    }

    fn transpose(&self, grad: &Tensor, _shape: &Shape) -> Result<Tensor> {
        linear_map(self.slice, grad)
    }

    fn attributes(&self) -> String {
        format!("{}, size={}", LinearMap::attributes(&self.slice), self.size)
    }
}

/// Positions `start..end` of an axis, every `step`-th; a negative step walks from `end - 1` down to `start`.
pub(crate) fn slice(x: &Tensor, axis: isize, start: usize, end: usize, step: isize) -> Result<Tensor> {
    let from_end = axis_from_end("slice", x, axis)?;
    let size = x.dims()[x.rank() - from_end];
    if start > end || end > size {
        let problem = format!("range {start}..{end} does not lie in axis {axis} of size {size}");
        return Err(Error::shape("slice", x.shape(), problem));
    }
    if step == 0 {
        return Err(Error::parameter("slice", "step", "must not be zero"));
    }
    let len = (end - start).div_ceil(step.unsigned_abs());
    let first = if step > 0 { start } else { end.saturating_sub(1) };
    let step = if len < 2 { 1 } else { step }; // as in `slice_from`
    linear_map(Slice { axis: from_end, start: first, step, len }, x)
}

/// `len` positions of an axis: `first`, `first + step` and so on.
pub(crate) fn slice_from(x: &Tensor, axis: isize, first: usize, step: isize, len: usize) -> Result<Tensor> {
    let from_end = axis_from_end("slice", x, axis)?;
    let size = x.dims()[x.rank() - from_end];
    // Checked in the wide, so that no step can overflow.
    let last = first as i128 + step as i128 * (len as i128 - 1);
    if len > 0 && (first >= size || last < 0 || last >= size as i128) {
        let problem = format!("{len} positions from {first} by {step} leave axis {axis} of size {size}");
        return Err(Error::shape("slice", x.shape(), problem));
    }
    // The step of fewer than two positions is never taken; a huge one must not overflow the stride.
    let step = if len < 2 { 1 } else { step };
    linear_map(Slice { axis: from_end, start: first, step, len }, x)
}

/// `len` positions of an axis from `start` on.
pub(crate) fn narrow(x: &Tensor, axis: isize, start: usize, len: usize) -> Result<Tensor> {
    slice(x, axis, start, start.saturating_add(len), 1)
}

/// One position of an axis, which disappears.
pub(crate) fn select(x: &Tensor, axis: isize, index: usize) -> Result<Tensor> {
    select_named("select_index", x, axis, index)
}

/// One position of the first axis.
pub(crate) fn get(x: &Tensor, index: usize) -> Result<Tensor> {
    select_named("get", x, 0, index)
}

fn select_named(op: &'static str, x: &Tensor, axis: isize, index: usize) -> Result<Tensor> {
    let position = x.rank() - axis_from_end(op, x, axis)?;
    let size = x.dims()[position];
    if index >= size {
        return Err(Error::Index { op, index: i64::try_from(index).unwrap_or(i64::MAX), size });
    }
    let slice = narrow(x, axis, index, 1)?;
    reshape(&slice, x.shape().without(position))
}
