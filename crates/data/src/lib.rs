//! From files and generators to batches of tensors.
//!
//! Everything that can be trained on is a [`Dataset`]: it has a length and gives the samples at any list of indices as
//! one [`Batch`].
//!
//! | module | what it holds |
//! |---|---|
//! | [`table`] | typed columns from CSV, JSON and Parquet files; schemas; encoders to tensors |
//! | [`dataset`] | the trait; tensors in memory, subsets, splits, maps |
//! | [`images`] | IDX and CIFAR-10 files, read whole or record by record |
//! | [`text`] | characters and BPE tokens; windows of a long text |
//! | [`augment`] | random augmentation of images |
//! | [`sets`] | generators, the digits (bundled), well-known sets from a folder |
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

pub mod augment;
pub mod dataset;
mod error;
pub mod images;
mod memory;
mod moments;
mod remedy;
pub mod sets;
mod source;
pub mod table;
pub mod text;

pub use augment::{Augment, Augmented};
pub use dataset::{Batch, Dataset, Mapped, SplitSubset, Subset, TensorDataset};
pub use error::{DataError, Result};
pub use memory::available_memory;
pub use moments::ColumnMoments;
pub use remedy::{Problem, Remedy};
pub use table::Table;
pub use text::{CharVocabulary, TextWindows};
pub use tove_tensor::Key;
