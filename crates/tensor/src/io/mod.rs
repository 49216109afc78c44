//! Arrays in files: `.npy`, `.npz` and `.safetensors`, read and written, safe on hostile files.
//!
//! A file is taken apart in two steps. A reader checks the header and gives a [`RawArray`]: element type, shape,
//! byte order, memory order and the untouched bytes, either owned or a range of a memory map. Then
//! [`RawArray::to_native`] makes one of the five element types of this crate out of it.
//!
//! What a reader promises, whatever the bytes are:
//! - it never panics and runs nothing that is in the file (object arrays, which are pickles, are refused);
//! - no length field is believed: memory grows with the bytes that are really there, and sizes are multiplied with
//!   overflow checks;
//! - an error names the file, the entry or tensor, the byte where it went wrong, and what to do.
//!
//! What a writer promises: the file appears under its name complete or not at all ([`atomic`]), and an existing file
//! is replaced only when asked.
//!
//! ```
//! use tove_tensor::io::{Values, WriteOptions, npy};
//! let folder = std::env::temp_dir().join(format!("tove-io-{}", std::process::id()));
//! std::fs::create_dir_all(&folder)?;
//! let path = folder.join("x.npy");
//! npy::write(&path, &[2, 3], Values::F32(&[1., 2., 3., 4., 5., 6.]), WriteOptions::default())?;
//! let array = npy::read(&path)?;
//! assert_eq!(array.shape(), [2, 3]);
//! // a second write is refused unless asked for
//! let again = npy::write(&path, &[1], Values::U8(&[0]), WriteOptions::default());
//! assert!(again.unwrap_err().to_string().contains("exists already"));
//! std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod atomic;
mod container;
mod error;
mod map;
mod native;
pub mod npy;
pub mod npz;
mod raw;
pub mod safetensors;
mod tensors;
mod values;

pub use atomic::WriteOptions;
pub use container::Container;
pub use error::{Fault, FaultKind, FileError, Place};
pub use map::FileMap;
pub use native::{NativeArray, NativeDType, NativeData};
pub use raw::{Bytes, Endian, MAX_RANK, RawArray, RawDType};
pub use tensors::{read_npz, read_safetensors, read_safetensors_copied, write_npz, write_safetensors};
pub use values::Values;
