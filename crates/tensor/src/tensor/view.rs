//! Views without derivatives: new shape and strides over the same buffer. The differentiable operations of `ops` and the
//! levels of `autodiff` are built on these.

use super::{Array, Tensor};
use crate::Shape;
use crate::shape::Strides;

impl Tensor {
    /// The same buffer seen through other sizes and strides, without tracking.
    ///
    /// # Panics
    /// If an element so addressed lies outside the buffer, or the shape is too large to address: a mistake of this
    /// crate, never of its users.
    #[inline]
    pub(crate) fn view(&self, shape: Shape, strides: Strides, offset: usize) -> Tensor {
        let offset = self.place_of(&shape, &strides, offset).unwrap_or_else(|| outside(&shape));
        let contiguous = super::is_row_major(&shape, &strides);
        let (storage, dtype) = (self.array.storage.clone(), self.array.dtype);
        Tensor::from_array(Array { storage, offset, shape, strides, dtype, contiguous })
    }

    /// The offset, once every element that sizes, strides and offset address is known to lie inside the buffer. Nothing is
    /// addressed where an axis is empty, and the offset is then 0: slices of such a tensor would lead it out of the buffer.
    #[inline]
    fn place_of(&self, shape: &Shape, strides: &[isize], offset: usize) -> Option<usize> {
        let capacity = self.array.storage.bytes() / self.array.dtype.size();
        shape.checked_numel().filter(|_| shape.rank() == strides.len())?;
        let (mut first, mut last) = (offset as isize, offset as isize);
        for (&size, &stride) in shape.iter().zip(strides) {
            if size == 0 {
                return Some(0);
            }
            let reach = (size as isize - 1).saturating_mul(stride);
            let end = if reach < 0 { &mut first } else { &mut last };
            *end = end.saturating_add(reach);
        }
        (first >= 0 && last < capacity as isize).then_some(offset)
    }

    /// First element, in elements from the start of the buffer.
    #[inline]
    pub(crate) fn offset(&self) -> usize {
        self.array.offset
    }

    /// Whether two tensors share memory.
    pub fn shares_buffer(&self, other: &Tensor) -> bool {
        self.array.storage.is_same(&other.array.storage)
    }

    /// Strides of this tensor stretched to `shape`, which must be a broadcast of its own.
    pub(crate) fn broadcast_strides(&self, shape: &Shape) -> Strides {
        let missing = shape.rank() - self.rank();
        (0..shape.rank())
            .map(|axis| match axis.checked_sub(missing) {
                Some(own) if self.dims()[own] == shape[axis] => self.strides()[own],
                _ => 0,
            })
            .collect()
    }

    /// An axis put in front, with a step of its own; how the physical tensor of a `vmap` level is restored.
    pub(crate) fn with_leading_axis(&self, size: usize, stride: isize) -> Tensor {
        let strides = std::iter::once(stride).chain(self.strides().iter().copied()).collect();
        self.view(self.shape().inserted(0, size), strides, self.offset())
    }

    /// The first slice along the first axis; the logical tensor of a `vmap` level. Where the axis is empty there is no
    /// slice, and a zero repeated stands for it: nobody reads the values of a logical tensor.
    pub(crate) fn without_leading_axis(&self) -> Tensor {
        if self.dims()[0] == 0 {
            let shape = self.shape().without(0);
            let strides = Strides::filled(shape.rank(), 0);
            return Tensor::scalar_of(0.0, self.dtype()).view(shape, strides, 0);
        }
        let strides = self.strides()[1..].iter().copied().collect();
        self.view(self.shape().without(0), strides, self.offset())
    }

    /// Strides under which the same memory reads as `shape`, if there are any.
    pub(crate) fn reshaped_strides(&self, shape: &Shape) -> Option<Strides> {
        if self.is_contiguous() {
            return Some(shape.row_major());
        }
        // Walk both shapes from the end; runs of old axes that lie without gaps can be cut anew.
        let mut strides = Strides::filled(shape.rank(), 0);
        let mut old: Vec<(usize, isize)> = self
            .shape()
            .iter()
            .zip(self.strides().iter())
            .filter(|&(&size, _)| size != 1)
            .map(|(&n, &s)| (n, s))
            .collect();
        let (mut run, mut step) = (1usize, 1isize);
        for axis in (0..shape.rank()).rev() {
            if shape[axis] == 1 {
                continue;
            }
            if run == 1 {
                let (size, stride) = old.pop()?;
                (run, step) = (size, stride);
                while let Some(&(outer, outer_stride)) = old.last() {
                    if outer_stride != step * run as isize {
                        break;
                    }
                    run *= outer;
                    old.pop();
                }
            }
            if run % shape[axis] != 0 {
                return None;
            }
            strides.as_mut()[axis] = step;
            run /= shape[axis];
            step *= shape[axis] as isize;
        }
        Some(strides)
    }
}

#[cold]
fn outside(shape: &Shape) -> ! {
    panic!("a view of shape {shape} must lie inside the buffer of its tensor")
}
