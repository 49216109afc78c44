//! Parts of a data set.

use std::collections::BTreeMap;
use std::sync::Arc;

use tove_tensor::random::permutation;
use tove_tensor::{DType, Key, Tensor};

use super::{Batch, Dataset};
use crate::{DataError, Result};

/// Some samples of a set, in an order of their own.
///
/// Sample i is sample `indices()[i]` of the whole set, also for what chance does to it: an augmented sample is the same
/// in the subset and in the whole.
#[derive(Clone, Debug)]
pub struct Subset<D> {
    data: D,
    indices: Vec<usize>,
}

impl<D: Dataset> Subset<D> {
    /// The samples of `data` at `indices`.
    ///
    /// # Errors
    /// If an index is not below the length of the set.
    pub fn new(data: D, indices: Vec<usize>) -> Result<Self> {
        let len = data.len();
        match indices.iter().find(|&&index| index >= len) {
            Some(&index) => Err(DataError::Index { index, len }),
            None => Ok(Self { data, indices }),
        }
    }

    /// Where the samples come from in the whole set.
    pub fn indices(&self) -> &[usize] {
        &self.indices
    }

    /// The whole set.
    pub fn whole(&self) -> &D {
        &self.data
    }
}

impl<D: Dataset> Dataset for Subset<D> {
    fn len(&self) -> usize {
        self.indices.len()
    }

    fn batch(&self, indices: &[usize], key: Key) -> Result<Batch> {
        let len = self.indices.len();
        let outer = |&index: &usize| self.indices.get(index).copied().ok_or(DataError::Index { index, len });
        self.data.batch(&indices.iter().map(outer).collect::<Result<Vec<_>>>()?, key)
    }
}

/// One side of a split; both sides share the whole set.
pub type SplitSubset<D> = Subset<Arc<D>>;

type Parts<D> = (SplitSubset<D>, SplitSubset<D>);

pub(super) fn split<D: Dataset>(data: D, fraction: f64, key: Key) -> Result<Parts<D>> {
    check(fraction)?;
    let order: Vec<usize> = permutation(key, data.len()).into_iter().map(|i| i as usize).collect();
    let (first, second) = order.split_at((order.len() as f64 * fraction).round() as usize);
    parts(data, first.to_vec(), second.to_vec())
}

pub(super) fn split_stratified<D: Dataset>(data: D, labels: &Tensor, fraction: f64, key: Key) -> Result<Parts<D>> {
    check(fraction)?;
    let by_class = classes(labels, data.len())?;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    // Rounding each class alone could add up: carry what it left over to the next class.
    let mut wanted = 0.0;
    for (number, members) in by_class.values().enumerate() {
        wanted += members.len() as f64 * fraction;
        let take = ((wanted - first.len() as f64).round().max(0.0) as usize).min(members.len());
        let order = permutation(key.fold(number as u64), members.len());
        let (left, right) = order.split_at(take);
        first.extend(left.iter().map(|&i| members[i as usize]));
        second.extend(right.iter().map(|&i| members[i as usize]));
    }
    let shuffled = |part: Vec<usize>, key: Key| -> Vec<usize> {
        permutation(key, part.len()).into_iter().map(|i| part[i as usize]).collect()
    };
    let count = by_class.len() as u64;
    parts(data, shuffled(first, key.fold(count)), shuffled(second, key.fold(count + 1)))
}

/// The samples of each class, in their order.
fn classes(labels: &Tensor, len: usize) -> Result<BTreeMap<i64, Vec<usize>>> {
    let refused = |problem: String| DataError::parameter("split_stratified", problem);
    if labels.dims() != [len] {
        return Err(refused(format!("labels of shape {} for {len} samples; give one per sample", labels.shape())));
    }
    if labels.dtype().is_float() {
        return Err(refused(format!("labels of type {}; classes are whole numbers (i64, u8 or bool)", labels.dtype())));
    }
    let mut by_class = BTreeMap::<i64, Vec<usize>>::new();
    for (sample, label) in labels.to_dtype(DType::I64).try_to_vec::<i64>()?.into_iter().enumerate() {
        by_class.entry(label).or_default().push(sample);
    }
    Ok(by_class)
}

fn check(fraction: f64) -> Result<()> {
    if fraction > 0.0 && fraction < 1.0 {
        return Ok(());
    }
    Err(DataError::parameter(
        "split",
        format!("the fraction is {fraction}; give a number between 0 and 1, both excluded"),
    ))
}

fn parts<D: Dataset>(data: D, first: Vec<usize>, second: Vec<usize>) -> Result<Parts<D>> {
    if first.is_empty() || second.is_empty() {
        let sizes = format!("{} and {} samples", first.len(), second.len());
        return Err(DataError::parameter(
            "split",
            format!("the parts would have {sizes}; choose a fraction that fills both"),
        ));
    }
    let data = Arc::new(data);
    Ok((Subset { data: Arc::clone(&data), indices: first }, Subset { data, indices: second }))
}
