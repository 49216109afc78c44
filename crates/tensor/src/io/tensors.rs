//! Tensors in and out of files.
//!
//! ```
//! use tove_tensor::Tensor;
//! use tove_tensor::io::{WriteOptions, read_safetensors, write_safetensors};
//! let path = std::env::temp_dir().join(format!("tove-tensors-{}.safetensors", std::process::id()));
//! let weight = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
//! write_safetensors(&path, &[("layer.weight", &weight)], &Default::default(), WriteOptions::overwriting())?;
//! let tensors = read_safetensors(&path)?;
//! assert_eq!(tensors[0].0, "layer.weight");
//! assert_eq!(tensors[0].1.to_vec::<f32>(), weight.to_vec::<f32>());
//! # drop(tensors);
//! std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use super::error::Failure;
use super::{
    Fault, FileError, NativeArray, NativeDType, NativeData, RawArray, Values, WriteOptions, npy, npz, safetensors,
};
use crate::{DType, Tensor};

/// An array of a file as a tensor; a mapped one shares the map's memory.
pub(super) fn tensor(array: RawArray, path: &Path) -> Result<Tensor, FileError> {
    let native = array.to_native().map_err(|fault| content(path, fault))?;
    from_native(native).map_err(|problem| Failure::malformed(problem.to_string()).file(path, "read"))
}

fn content(path: &Path, fault: Fault) -> FileError {
    FileError::Content { path: path.to_owned(), fault: Box::new(fault) }
}

fn from_native(array: NativeArray) -> crate::Result<Tensor> {
    let shape = array.shape;
    match array.data {
        NativeData::F32(data) => Tensor::try_from_vec(data, shape),
        NativeData::F64(data) => Tensor::try_from_vec(data, shape),
        NativeData::I64(data) => Tensor::try_from_vec(data, shape),
        NativeData::U8(data) => Tensor::try_from_vec(data, shape),
        NativeData::Bool(data) => Tensor::try_from_vec(data, shape),
        NativeData::Mapped { dtype, map, range } => {
            let dtype = match dtype {
                NativeDType::F32 => DType::F32,
                NativeDType::F64 => DType::F64,
                NativeDType::I64 => DType::I64,
                NativeDType::U8 => DType::U8,
                NativeDType::Bool => DType::Bool,
            };
            Tensor::from_map(map, range, shape, dtype)
        }
    }
}

/// The elements of a row-major tensor, borrowed.
fn values(x: &Tensor) -> crate::Result<Values<'_>> {
    Ok(match x.dtype() {
        DType::F32 => Values::F32(x.as_slice()?),
        DType::F64 => Values::F64(x.as_slice()?),
        DType::I64 => Values::I64(x.as_slice()?),
        DType::U8 => Values::U8(x.as_slice()?),
        DType::Bool => Values::Bool(x.as_slice()?),
    })
}

/// Row-major tensors with their names, ready to be borrowed from.
fn named<'a>(tensors: &[(&'a str, &'a Tensor)]) -> crate::Result<Vec<(&'a str, Cow<'a, Tensor>)>> {
    tensors.iter().map(|&(name, x)| Ok((name, x.contiguous_data()?))).collect()
}

/// Calls `write` with the names, shapes and elements.
pub(super) fn borrowed(
    tensors: &[(&str, &Tensor)],
    path: &Path,
    write: impl FnOnce(&[(&str, &[usize], Values<'_>)]) -> Result<(), FileError>,
) -> Result<(), FileError> {
    let tensors = named(tensors).map_err(|error| refused(path, &error))?;
    let mut entries = Vec::with_capacity(tensors.len());
    for (name, x) in &tensors {
        let values = values(x).map_err(|error| refused(path, &error))?;
        entries.push((*name, x.dims(), values));
    }
    write(&entries)
}

fn refused(path: &Path, error: &crate::Error) -> FileError {
    Failure::refused(error.to_string(), "write plain tensors, outside of `vmap`").file(path, "write")
}

impl Tensor {
    /// Reads an `.npy` file. Other element types than the five of this crate are converted (f16 and bf16 to f32, small
    /// integers to i64).
    ///
    /// ```
    /// use tove_tensor::{Tensor, io::WriteOptions};
    /// let path = std::env::temp_dir().join(format!("tove-read-{}.npy", std::process::id()));
    /// Tensor::from([1.5, 2.5]).write_npy(&path, WriteOptions::overwriting())?;
    /// assert_eq!(Tensor::read_npy(&path)?.to_vec::<f64>(), [1.5, 2.5]);
    /// std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_npy(path: impl AsRef<Path>) -> Result<Tensor, FileError> {
        tensor(npy::read(path.as_ref())?, path.as_ref())
    }

    /// Writes an `.npy` file; complete or not at all, and never over an existing one unless asked.
    pub fn write_npy(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<(), FileError> {
        let path = path.as_ref();
        let x = self.contiguous_data().map_err(|error| refused(path, &error))?;
        npy::write(path, x.dims(), values(&x).map_err(|error| refused(path, &error))?, options)
    }
}

/// Reads all arrays of an `.npz` file, in its order.
pub fn read_npz(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>, FileError> {
    let path = path.as_ref();
    npz::read(path)?.into_iter().map(|(name, array)| Ok((name, tensor(array, path)?))).collect()
}

/// Writes named tensors to an `.npz` file.
pub fn write_npz(path: impl AsRef<Path>, tensors: &[(&str, &Tensor)], options: WriteOptions) -> Result<(), FileError> {
    let path = path.as_ref();
    borrowed(tensors, path, |entries| npz::write(path, entries, options))
}

/// Maps a safetensors file and gives its tensors, in the order of their bytes. Those of this crate's element types
/// share the map and cost no copy; f16 and bf16 become f32, and truth values are copied.
///
/// Do not change the file while the tensors are in use: their values would change, and cutting the file short ends the
/// process (SIGBUS). Writers of this crate are harmless, since they put a new file in the old one's place. Where others
/// may write into it, use [`read_safetensors_copied`].
pub fn read_safetensors(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>, FileError> {
    let path = path.as_ref();
    safetensors::read(path)?.into_iter().map(|(name, array)| Ok((name, tensor(array, path)?))).collect()
}

/// As [`read_safetensors`], with the file read into memory first, so that whatever happens to it afterwards is no concern.
///
/// ```
/// use std::collections::BTreeMap;
/// use tove_tensor::{Tensor, io};
/// let path = std::env::temp_dir().join(format!("tove-copied-{}.safetensors", std::process::id()));
/// io::write_safetensors(&path, &[("w", &Tensor::from([1.5, 2.5]))], &BTreeMap::new(), io::WriteOptions::overwriting())?;
/// let tensors = io::read_safetensors_copied(&path)?;
/// std::fs::write(&path, b"")?; // cut short
/// assert_eq!(tensors[0].1.to_vec::<f64>(), [1.5, 2.5]);
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_safetensors_copied(path: impl AsRef<Path>) -> Result<Vec<(String, Tensor)>, FileError> {
    let path = path.as_ref();
    let tensors = safetensors::SafeTensors::open_copied(path)?.read_all()?;
    tensors.into_iter().map(|(name, array)| Ok((name, tensor(array, path)?))).collect()
}

/// Writes named tensors and text metadata to a safetensors file.
pub fn write_safetensors(
    path: impl AsRef<Path>,
    tensors: &[(&str, &Tensor)],
    metadata: &BTreeMap<String, String>,
    options: WriteOptions,
) -> Result<(), FileError> {
    let path = path.as_ref();
    borrowed(tensors, path, |entries| safetensors::write(path, entries, metadata, options))
}
