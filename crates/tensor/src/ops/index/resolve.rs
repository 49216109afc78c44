//! numpy's indexing. Positions, ranges and new axes give views; index tensors and masks give copies.
//!
//! Index tensors are broadcast together. The axes they index are merged into one, read by `index_select`, and replaced by
//! the axes of the index: at their place if they stand next to each other, in front otherwise. A position next to an
//! index tensor counts as an index tensor of rank 0, as in numpy.

use super::checked::checked;
use super::masked::mask_index;
use super::select::select_checked;
use super::spec::Index;
use crate::ops::{binary, shape};
use crate::{DType, Error, Result, Shape, Tensor};

const OP: &str = "index";

/// Axes of the source that an entry consumes.
fn consumed(index: &Index) -> usize {
    match index {
        Index::At(_) | Index::Range { .. } => 1,
        Index::Tensor(mask) if mask.dtype() == DType::Bool => mask.rank(),
        Index::Tensor(_) => 1,
        Index::NewAxis | Index::Ellipsis => 0,
    }
}

const WHOLE: Index = Index::Range { start: None, end: None, step: 1 };

/// The entries with the ellipsis (or its absence at the end) written out as whole axes.
fn complete(x: &Tensor, entries: Vec<Index>) -> Result<Vec<Index>> {
    let used: usize = entries.iter().map(consumed).sum();
    let ellipses = entries.iter().filter(|entry| matches!(entry, Index::Ellipsis)).count();
    if used > x.rank() {
        return Err(Error::shape(OP, x.shape(), format!("has fewer axes than the index, which covers {used}")));
    }
    if ellipses > 1 {
        return Err(Error::parameter(OP, "the index", "may hold only one ellipsis"));
    }
    let missing = x.rank() - used;
    let mut full = Vec::with_capacity(entries.len() + missing);
    for entry in entries {
        match entry {
            Index::Ellipsis => full.extend(std::iter::repeat_n(WHOLE, missing)),
            entry => full.push(entry),
        }
    }
    if ellipses == 0 {
        full.extend(std::iter::repeat_n(WHOLE, missing));
    }
    Ok(full)
}

/// First position, step and count of a range on an axis of this size, by Python's rules.
fn range(size: usize, start: Option<i64>, end: Option<i64>, step: i64) -> Result<(usize, isize, usize)> {
    if step == 0 {
        return Err(Error::parameter(OP, "step", "must not be zero"));
    }
    let size = size as i64;
    let (lowest, highest) = if step > 0 { (0, size) } else { (-1, size - 1) };
    let bound = |bound: i64| (if bound < 0 { bound.saturating_add(size) } else { bound }).clamp(lowest, highest);
    let start = start.map_or(if step > 0 { lowest } else { highest }, bound);
    let end = end.map_or(if step > 0 { highest } else { lowest }, bound);
    let distance = if step > 0 { end - start } else { start - end };
    let count = if distance > 0 { (distance as u64).div_ceil(step.unsigned_abs()) } else { 0 };
    Ok((start.max(0) as usize, step as isize, count as usize))
}

fn position(size: usize, at: i64) -> Result<usize> {
    let counted = if at < 0 { at.saturating_add(size as i64) } else { at };
    if (0..size as i64).contains(&counted) {
        Ok(counted as usize)
    } else {
        Err(Error::Index { op: OP, index: at, size })
    }
}

/// An index tensor, and the axis of the view that it indexes.
struct Advanced {
    axis: usize,
    index: Tensor,
    /// Position among the entries; neighbours differ by at most one.
    entry: usize,
    /// Whether its positions are known to lie inside the axis.
    checked: bool,
}

/// `x[entries]` as in numpy.
pub(crate) fn index(x: &Tensor, entries: Vec<Index>) -> Result<Tensor> {
    let entries = complete(x, entries)?;
    let any_tensor = entries.iter().any(|entry| matches!(entry, Index::Tensor(_)));
    let (mut view, mut axis) = (x.clone(), 0);
    let mut advanced: Vec<Advanced> = Vec::new();
    for (number, entry) in entries.into_iter().enumerate() {
        match entry {
            Index::At(at) if any_tensor => {
                let at = position(view.dims()[axis], at)? as i64;
                advanced.push(Advanced { axis, index: Tensor::scalar(at), entry: number, checked: true });
                axis += 1;
            }
            Index::At(at) => view = shape::select(&view, axis as isize, position(view.dims()[axis], at)?)?,
            Index::Range { start, end, step } => {
                let size = view.dims()[axis];
                let (first, step, count) = range(size, start, end, step)?;
                if (first, step, count) != (0, 1, size) {
                    view = shape::slice_from(&view, axis as isize, first, step, count)?;
                }
                axis += 1;
            }
            Index::NewAxis => {
                view = shape::unsqueeze(&view, axis as isize)?;
                axis += 1;
            }
            Index::Tensor(mask) if mask.dtype() == DType::Bool => {
                let index = masked_axis(&mut view, &mask, axis)?;
                advanced.push(Advanced { axis, index, entry: number, checked: true });
                axis += 1;
            }
            Index::Tensor(index) => {
                advanced.push(Advanced { axis, index, entry: number, checked: false });
                axis += 1;
            }
            Index::Ellipsis => {}
        }
    }
    if advanced.is_empty() { Ok(view) } else { take(&view, &advanced) }
}

/// A mask as one index tensor: the axes that it covers, from `axis` on, are merged into one. A mask of rank 0 indexes a new
/// axis of size 1.
fn masked_axis(view: &mut Tensor, mask: &Tensor, axis: usize) -> Result<Tensor> {
    if mask.rank() == 0 {
        *view = shape::unsqueeze(view, axis as isize)?;
        return mask_index(OP, mask);
    }
    if mask.dims() != &view.dims()[axis..axis + mask.rank()] {
        return Err(Error::shapes(
            OP,
            view.shape(),
            mask.shape(),
            "the mask must have the sizes of the axes it covers",
        ));
    }
    let ends = (&view.dims()[..axis], &view.dims()[axis + mask.rank()..]);
    let merged: Shape = ends.0.iter().chain(&[mask.numel()]).chain(ends.1).copied().collect();
    *view = shape::reshape(view, merged)?;
    mask_index(OP, mask)
}

/// Reads `x` at index tensors that are broadcast together.
fn take(x: &Tensor, advanced: &[Advanced]) -> Result<Tensor> {
    let mut common = Shape::from(());
    for Advanced { index, .. } in advanced {
        common = common
            .broadcast(index.shape())
            .ok_or_else(|| Error::shapes(OP, &common, index.shape(), "index tensors must broadcast with each other"))?;
    }
    let count = advanced.len();
    let first = advanced[0].axis;
    let together = advanced.windows(2).all(|pair| pair[1].entry - pair[0].entry <= 1);
    // Indexed axes next to each other stay where they are; otherwise they go to the front.
    let (x, first) = if together {
        (x.clone(), first)
    } else {
        let indexed: Vec<usize> = advanced.iter().map(|entry| entry.axis).collect();
        let rest = (0..x.rank()).filter(|axis| !indexed.contains(axis));
        let order: Vec<usize> = indexed.iter().copied().chain(rest).collect();
        (shape::permute(x, &order)?, 0)
    };
    let sizes = &x.dims()[first..first + count];
    let mut linear: Option<Tensor> = None;
    for (entry, &size) in advanced.iter().zip(sizes) {
        let index = if entry.checked { entry.index.clone() } else { checked(OP, &entry.index, size)? };
        linear = Some(match linear {
            None => index,
            Some(linear) => binary::add(&binary::mul(&linear, &Tensor::scalar(size as i64))?, &index)?,
        });
    }
    let Some(linear) = linear else { return Ok(x) };
    let linear = shape::broadcast_to(&linear, common)?;
    let merged: usize = sizes.iter().product();
    let ends = (&x.dims()[..first], &x.dims()[first + count..]);
    let flat: Shape = ends.0.iter().copied().chain([merged]).chain(ends.1.iter().copied()).collect();
    select_checked(&shape::reshape(&x, flat)?, first, &linear)
}
