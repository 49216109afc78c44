//! Copies between boxes of tensors, for operations that move blocks.

use smallvec::SmallVec;

use crate::Tensor;
use crate::dtype::match_any;
use crate::kernels::elementwise;
use crate::shape::Shape;
use crate::tensor::Fresh;

/// A box: the first position and the length along every axis.
#[derive(Clone)]
pub(super) struct Region {
    first: SmallVec<[usize; 6]>,
    sizes: Shape,
}

impl Region {
    pub(super) fn whole(shape: &Shape) -> Region {
        Region { first: smallvec::smallvec![0; shape.rank()], sizes: shape.clone() }
    }

    /// The same box with another extent along one axis.
    pub(super) fn narrowed(&self, axis: usize, first: usize, len: usize) -> Region {
        let mut region = self.clone();
        region.first[axis] = first;
        region.sizes = region.sizes.with(axis, len);
        region
    }

    fn offset(&self, strides: &[isize]) -> isize {
        self.first.iter().zip(strides).map(|(&first, &stride)| first as isize * stride).sum()
    }

    fn fits(&self, shape: &Shape) -> bool {
        let inside = |((&first, &len), &size): ((&usize, &usize), &usize)| first + len <= size;
        self.sizes.rank() == shape.rank() && self.first.iter().zip(self.sizes.iter()).zip(shape.iter()).all(inside)
    }
}

/// Writes the box `from` of `x` to the box `to` of new memory; both have the same sizes.
#[allow(unsafe_code)]
pub(super) fn place(x: &Tensor, from: &Region, out: &mut Fresh, to: &Region) {
    assert!(from.sizes == to.sizes && from.fits(x.shape()) && to.fits(out.shape()));
    if from.sizes.contains(&0) {
        return;
    }
    let start = (x.offset() as isize + from.offset(x.strides())) as usize;
    let source = x.view(from.sizes.clone(), x.strides().iter().copied().collect(), start);
    let strides = out.shape().row_major();
    match_any!(x.dtype(), T => {
        // SAFETY: the box lies inside `out`, which nobody else sees yet, and holds elements of this type.
        unsafe {
            let target = out.pointer::<T>().offset(to.offset(&strides));
            elementwise::copy_into::<T>(&source, target, &strides);
        }
    });
}
