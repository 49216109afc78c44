//! A data set with a function applied to its batches.

use tove_tensor::Key;

use super::{Batch, Dataset};
use crate::Result;

/// What [`Dataset::map`] gives.
#[derive(Clone, Debug)]
pub struct Mapped<D, F> {
    data: D,
    function: F,
}

impl<D, F> Mapped<D, F> {
    pub(super) fn new(data: D, function: F) -> Self {
        Self { data, function }
    }
}

impl<D, F> Dataset for Mapped<D, F>
where
    D: Dataset,
    F: Fn(Batch) -> Result<Batch> + Send + Sync,
{
    fn len(&self) -> usize {
        self.data.len()
    }

    fn batch(&self, indices: &[usize], key: Key) -> Result<Batch> {
        (self.function)(self.data.batch(indices, key)?)
    }
}
