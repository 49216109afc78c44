//! Data sets: generators, a few that are built in, and well-known ones from a folder.
//!
//! Inputs are f32, classes i64; [`TensorDataset::to_dtype`](crate::TensorDataset::to_dtype) makes f64 of them. Generators take a key: the same key gives the
//! same set.
//!
//! ```
//! use tove_data::{Dataset, Key, sets};
//! let moons = sets::two_moons(200, 0.1, Key::new(1))?;
//! assert_eq!((moons.len(), moons.x().dims()), (200, &[200, 2][..]));
//! # Ok::<(), tove_data::DataError>(())
//! ```

mod bundled;
mod files;
mod mixtures;
mod synthetic;
mod tables;

pub use bundled::{digits, news};
pub use files::{
    CIFAR10_CLASSES, FASHION_MNIST_CLASSES, TrainTest, cifar10_subset, data_dir, fashion_mnist, tinyshakespeare,
};
pub use mixtures::{blobs, gaussian_mixture_1d, gaussian_mixture_2d};
pub use synthetic::{circles, sine, spirals, two_moons, xor, xor_clouds};
pub use tables::{TableSet, breast_cancer, diabetes, german_credit, iris, wine};
