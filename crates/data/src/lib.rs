//! From files and generators to batches of tensors.
//!
//! Everything that can be trained on is a [`Dataset`]: it has a length and gives the samples at any list of indices as
//! one [`Batch`].
//!
//! ```
//! use tove_data::{Dataset, TensorDataset};
//! use tove_tensor::{Key, Tensor};
//! let x = Tensor::from([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]);
//! let y = Tensor::from([0i64, 1, 1, 0]);
//! let data = TensorDataset::new(x, y)?;
//! let batch = data.batch(&[3, 0], Key::new(0))?;
//! assert_eq!(batch.x.to_vec::<f64>(), [1.0, 1.0, 0.0, 0.0]);
//! # Ok::<(), tove_data::DataError>(())
//! ```

pub mod dataset;
mod error;

pub use dataset::{Batch, Dataset, Mapped, Subset, TensorDataset};
pub use error::{DataError, Result};
pub use tove_tensor::Key;
