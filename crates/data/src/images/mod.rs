//! Files of images: IDX, CIFAR-10's binary form, sets read from them record by record, and PNG and JPEG pictures
//! (feature `images`).

pub mod cifar;
#[cfg(feature = "images")]
mod decode;
pub mod idx;
#[cfg(feature = "images")]
mod png;
mod records;
mod resize;
mod streamed;

#[cfg(feature = "images")]
pub use decode::{decode_image, image_size, read_image};
pub use idx::{IdxType, read_idx, write_idx};
#[cfg(feature = "images")]
pub use png::write_png;
pub use resize::cover;
pub use streamed::StreamedImages;
