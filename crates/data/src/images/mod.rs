//! Files of images: IDX, CIFAR-10's binary form, and sets read from them record by record.

pub mod cifar;
pub mod idx;
mod records;
mod streamed;

pub use idx::{IdxType, read_idx, write_idx};
pub use streamed::StreamedImages;
