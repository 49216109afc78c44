//! Data sets: a length, and batches of samples by index.

mod map;
mod subset;
mod tensors;

use std::sync::Arc;

use tove_tensor::{Key, Tensor};

use crate::Result;
use crate::augment::{Augment, Augmented};

pub use map::Mapped;
pub use subset::{SplitSubset, Subset};
pub use tensors::TensorDataset;

/// Samples side by side: the first axis of both tensors counts them.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Inputs (batch, …).
    pub x: Tensor,
    /// Targets (batch, …).
    pub y: Tensor,
}

impl Batch {
    /// Number of samples.
    pub fn len(&self) -> usize {
        self.x.dims().first().copied().unwrap_or(0)
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A set of samples, numbered from 0.
///
/// `batch` is a function of its arguments alone: the same indices and key give the same bits, on any thread. Sets that
/// augment draw their random numbers for sample i from `key.fold(i)`, so that a sample does not depend on its batch
/// mates; pass another key in every epoch. Sets without chance ignore the key.
///
/// ```
/// use tove_data::{Batch, DataError, Dataset};
/// use tove_tensor::{Key, Tensor};
/// /// The squares, computed when asked for.
/// struct Squares;
/// impl Dataset for Squares {
///     fn len(&self) -> usize {
///         100
///     }
///     fn batch(&self, indices: &[usize], _: Key) -> Result<Batch, DataError> {
///         let x = Tensor::from(indices.iter().map(|&i| i as f64).collect::<Vec<_>>());
///         Ok(Batch { y: &x * &x, x })
///     }
/// }
/// let data: Box<dyn Dataset> = Box::new(Squares);
/// assert_eq!(data.batch(&[3, 4], Key::new(0))?.y.to_vec::<f64>(), [9.0, 16.0]);
/// # Ok::<(), DataError>(())
/// ```
pub trait Dataset: Send + Sync {
    /// Number of samples.
    fn len(&self) -> usize;

    /// The samples at these indices, in this order; an index may occur several times.
    ///
    /// # Errors
    /// If an index is not below [`Dataset::len`], or the samples cannot be had.
    fn batch(&self, indices: &[usize], key: Key) -> Result<Batch>;

    /// Whether there are no samples.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All samples as one batch, in their order.
    ///
    /// # Errors
    /// As [`Dataset::batch`].
    fn all(&self, key: Key) -> Result<Batch> {
        self.batch(&(0..self.len()).collect::<Vec<_>>(), key)
    }

    /// The samples at these indices as a set of their own.
    ///
    /// # Errors
    /// If an index is not below [`Dataset::len`].
    fn subset(self, indices: Vec<usize>) -> Result<Subset<Self>>
    where
        Self: Sized,
    {
        Subset::new(self, indices)
    }

    /// Two parts without overlap, drawn at random: `fraction` of the samples (rounded) and the rest.
    ///
    /// ```
    /// use tove_data::{Dataset, Key, TensorDataset};
    /// use tove_tensor::Tensor;
    /// let data = TensorDataset::new(Tensor::arange(0, 10), Tensor::arange(0, 10))?;
    /// let (train, test) = data.split(0.8, Key::new(1))?;
    /// assert_eq!((train.len(), test.len()), (8, 2));
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// If the fraction is not between 0 and 1, or one part would be empty.
    fn split(self, fraction: f64, key: Key) -> Result<(SplitSubset<Self>, SplitSubset<Self>)>
    where
        Self: Sized,
    {
        subset::split(self, fraction, key)
    }

    /// As [`Dataset::split`], with each class divided in the same proportion (one sample more or less). `labels` holds
    /// one whole number per sample.
    ///
    /// ```
    /// use tove_data::{Dataset, Key, TensorDataset};
    /// use tove_tensor::Tensor;
    /// let labels = Tensor::from([0i64, 1, 0, 1, 0, 1, 0, 1]);
    /// let data = TensorDataset::new(Tensor::arange(0, 8), labels.clone())?;
    /// let (train, _) = data.split_stratified(&labels, 0.5, Key::new(1))?;
    /// assert_eq!(train.all(Key::new(0))?.y.sum().item::<i64>(), 2);
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Dataset::split`]; or if the labels are not whole numbers, one per sample.
    fn split_stratified(
        self,
        labels: &Tensor,
        fraction: f64,
        key: Key,
    ) -> Result<(SplitSubset<Self>, SplitSubset<Self>)>
    where
        Self: Sized,
    {
        subset::split_stratified(self, labels, fraction, key)
    }

    /// The set with a function applied to every batch. The function should treat samples one by one; it has no key.
    ///
    /// ```
    /// use tove_data::{Batch, Dataset, Key, TensorDataset};
    /// use tove_tensor::Tensor;
    /// let data = TensorDataset::new(Tensor::from([1.0, 2.0]), Tensor::from([0i64, 1]))?;
    /// let doubled = data.map(|batch| Ok(Batch { x: batch.x * 2.0, y: batch.y }));
    /// assert_eq!(doubled.batch(&[1], Key::new(0))?.x.to_vec::<f64>(), [4.0]);
    /// # Ok::<(), tove_data::DataError>(())
    /// ```
    fn map<F>(self, function: F) -> Mapped<Self, F>
    where
        Self: Sized,
        F: Fn(Batch) -> Result<Batch> + Send + Sync,
    {
        Mapped::new(self, function)
    }

    /// The set with its images changed at random; see [`augment`](crate::augment).
    fn augmented(self, augment: Augment) -> Augmented<Self>
    where
        Self: Sized,
    {
        Augmented::new(self, augment)
    }
}

macro_rules! through_pointer {
    ($($pointer:ty),*) => {$(
        impl<D: Dataset + ?Sized> Dataset for $pointer {
            fn len(&self) -> usize {
                (**self).len()
            }
            fn batch(&self, indices: &[usize], key: Key) -> Result<Batch> {
                (**self).batch(indices, key)
            }
            fn all(&self, key: Key) -> Result<Batch> {
                (**self).all(key)
            }
        }
    )*};
}
through_pointer!(&D, Box<D>, Arc<D>);
