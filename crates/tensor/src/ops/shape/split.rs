//! An axis cut into pieces, which are views; and grids from vectors.

use super::{broadcast_to, narrow, permute, reshape};
use crate::ops::axis_from_end;
use crate::tensor::try_vec;
use crate::{Error, Result, Shape, Tensor};

/// Consecutive pieces of the lengths given, which must add up to the axis.
pub(crate) fn split(x: &Tensor, sizes: &[usize], axis: isize) -> Result<Vec<Tensor>> {
    let size = x.dims()[x.rank() - axis_from_end("split", x, axis)?];
    if sizes.iter().try_fold(0usize, |sum, &len| sum.checked_add(len)) != Some(size) {
        let problem = format!("pieces {sizes:?} do not add up to axis {axis} of size {size}");
        return Err(Error::shape("split", x.shape(), problem));
    }
    let mut start = 0;
    let mut pieces = Vec::new();
    let too_many = |_| Error::data("split", format!("{} pieces need more memory than the system gives", sizes.len()));
    pieces.try_reserve_exact(sizes.len()).map_err(too_many)?;
    for &len in sizes {
        start += len;
        pieces.push(narrow(x, axis, start - len, len)?);
    }
    Ok(pieces)
}

/// At most `count` pieces of equal length, the last one shorter if need be, as in PyTorch.
pub(crate) fn chunk(x: &Tensor, count: usize, axis: isize) -> Result<Vec<Tensor>> {
    let size = x.dims()[x.rank() - axis_from_end("chunk", x, axis)?];
    if count == 0 {
        return Err(Error::parameter("chunk", "count", "must be at least 1"));
    }
    let len = size.div_ceil(count).max(1);
    let pieces = size.max(1).div_ceil(len);
    let mut sizes = try_vec("chunk", pieces, len)?;
    sizes[pieces - 1] = size - (pieces - 1) * len;
    split(x, &sizes, axis)
}

/// One grid per vector: the i-th varies along axis i only (`indexing="ij"` in numpy). Views.
pub(crate) fn meshgrid(vectors: &[&Tensor]) -> Result<Vec<Tensor>> {
    if let Some(odd) = vectors.iter().find(|x| x.rank() > 1) {
        return Err(Error::shape("meshgrid", odd.shape(), "grids are made of vectors"));
    }
    let grid: Shape = vectors.iter().map(|x| x.numel()).collect();
    let along = |(axis, x): (usize, &&Tensor)| {
        let line = Shape::from(vec![1; grid.rank()]).with(axis, x.numel());
        broadcast_to(&reshape(x, line)?, grid.clone())
    };
    vectors.iter().enumerate().map(along).collect()
}

/// All tensors stretched to their common shape; views.
pub(crate) fn broadcast_all(tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
    let mut common = Shape::from(());
    for x in tensors {
        common = common.broadcast(x.shape()).ok_or_else(|| {
            Error::shapes("broadcast_all", &common, x.shape(), "sizes must be equal or 1, axis by axis from the last")
        })?;
    }
    tensors.iter().map(|x| broadcast_to(x, common.clone())).collect()
}

/// One axis taken out and put in at another position; a view.
pub(crate) fn move_axis(x: &Tensor, from: isize, to: isize) -> Result<Tensor> {
    let from = x.rank() - axis_from_end("move_axis", x, from)?;
    let to = x.rank() - axis_from_end("move_axis", x, to)?;
    let mut order: Vec<usize> = (0..x.rank()).collect();
    let axis = order.remove(from);
    order.insert(to, axis);
    permute(x, &order)
}
