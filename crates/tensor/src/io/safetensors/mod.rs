//! The safetensors format: the header's length (u64, little-endian), a JSON header, then the elements of all tensors.
//!
//! ```text
//! {"__metadata__": {"format": "pt"}, "fc.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ...}
//! ```
//! A file is mapped and tensors are read from the map without a copy. Before the first element is looked at, the whole
//! header is checked: every tensor's bytes agree with its type and shape, and the tensors cover the data without holes
//! or overlaps, so that no byte of the file can be hidden or read twice. Format: <https://github.com/huggingface/safetensors>.
//!
//! The header is read here rather than by the `safetensors` crate in order to name the tensor that is wrong, to refuse
//! a name given twice (which two readers may take for two different tensors), and to still read the other
//! tensors of a file in which one has an exotic type. The tests hold the two readers against each other.

mod checksum;
mod header;
mod write;

use super::error::{Failure, FileError, Parsed, quote};
use super::{Bytes, Endian, FileMap, RawArray};
use header::{Header, TensorInfo};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(in crate::io) use checksum::{CHECKSUM, checksum};
pub use write::{write, write_to};

/// An open safetensors file: names, shapes and metadata at once, tensors when asked for.
///
/// ```
/// use std::collections::BTreeMap;
/// use tove_tensor::io::{Values, safetensors};
/// let mut file = Vec::new();
/// let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
/// safetensors::write_to(&mut file, &[("bias", &[2], Values::F32(&[0.5, -0.5]))], &metadata)?;
/// let tensors = safetensors::SafeTensors::from_bytes(file)?;
/// assert_eq!(tensors.names().collect::<Vec<_>>(), ["bias"]);
/// assert_eq!(tensors.metadata()["format"], "pt");
/// assert_eq!(tensors.read("bias")?.shape(), [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SafeTensors {
    path: PathBuf,
    source: Source,
    header: Header,
}

#[derive(Debug)]
enum Source {
    Mapped(Arc<FileMap>),
    Memory(Vec<u8>),
}

impl SafeTensors {
    /// Maps a file and checks its header. Do not change the file while it or a tensor of it is in use.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Failure::Io(error).file(path, "open"))?;
        let map = FileMap::new(&file).map_err(|error| Failure::Io(error).file(path, "map"))?;
        let header = Header::parse(&map).map_err(|failure| failure.file(path, "read"))?;
        Ok(SafeTensors { path: path.to_owned(), source: Source::Mapped(Arc::new(map)), header })
    }

    /// Reads a file into memory and checks its header; the file may change afterwards.
    pub fn open_copied(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Failure::Io(error).file(path, "read"))?;
        let bytes = whole(file).map_err(|failure| failure.file(path, "read"))?;
        SafeTensors::of(bytes, path)
    }

    /// Takes the bytes of a file; tensors are copied out of them.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, FileError> {
        SafeTensors::of(bytes, Path::new("(bytes)"))
    }

    fn of(bytes: Vec<u8>, path: &Path) -> Result<Self, FileError> {
        let header = Header::parse(&bytes).map_err(|failure| failure.file(path, "read"))?;
        Ok(SafeTensors { path: path.to_owned(), source: Source::Memory(bytes), header })
    }

    /// The free-form strings that the writer added.
    pub fn metadata(&self) -> &BTreeMap<String, String> {
        &self.header.metadata
    }

    /// Names of the tensors in the order of their bytes.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.header.tensors.iter().map(|tensor| tensor.name.as_str())
    }

    /// The shape of a tensor, without reading it.
    pub fn shape(&self, name: &str) -> Result<&[usize], FileError> {
        Ok(&self.find(name)?.shape)
    }

    /// One tensor, without a copy if the file is mapped.
    pub fn read(&self, name: &str) -> Result<RawArray, FileError> {
        self.array(self.find(name)?)
    }

    /// All tensors in the order of their bytes.
    pub fn read_all(&self) -> Result<Vec<(String, RawArray)>, FileError> {
        let tensors = self.header.tensors.iter();
        tensors.map(|tensor| Ok((tensor.name.clone(), self.array(tensor)?))).collect()
    }

    fn find(&self, name: &str) -> Result<&TensorInfo, FileError> {
        let missing = || FileError::NotFound {
            path: self.path.clone(),
            name: name.to_owned(),
            available: self.names().map(str::to_owned).collect(),
        };
        let index = self.header.index.get(name).ok_or_else(missing)?;
        self.header.tensors.get(*index).ok_or_else(missing)
    }

    fn array(&self, tensor: &TensorInfo) -> Result<RawArray, FileError> {
        let make = || -> Parsed<RawArray> {
            let dtype = header::known_dtype(&tensor.dtype).ok_or_else(|| {
                Failure::unsupported(
                    format!("elements of type {}", quote(&tensor.dtype)),
                    "F16, BF16, F32, F64, I8 to I64, U8 to U64 and BOOL are read; convert before saving",
                )
            })?;
            let bytes = match &self.source {
                Source::Mapped(map) => Bytes::Mapped(Arc::clone(map), tensor.range.clone()),
                // the header check made sure that the range is inside
                Source::Memory(bytes) => Bytes::Owned(bytes.get(tensor.range.clone()).unwrap_or(&[]).to_vec()),
            };
            RawArray::new(dtype, Endian::Little, tensor.shape.clone(), false, bytes)
        };
        make().map_err(|failure| failure.item("tensor", &tensor.name).file(&self.path, "read"))
    }
}

/// The bytes of a file, read as far as its beginning promises: what is something else is refused before all of it is read, and
/// a pipe that never ends is left where the tensors end.
fn whole(mut file: File) -> Parsed<Vec<u8>> {
    let regular = file.metadata()?.is_file();
    let mut bytes = Vec::new();
    file.by_ref().take(header::LENGTH_FIELD as u64).read_to_end(&mut bytes)?;
    let promised = header::promised(&bytes)?;
    file.by_ref().take(promised).read_to_end(&mut bytes)?;
    let end = header::end(&bytes)?;
    let large = || Failure::too_large(format!("{end} bytes are promised"), "there is not enough memory for this file");
    if regular {
        let _ = bytes.try_reserve_exact((file.metadata()?.len() as usize).saturating_sub(bytes.len()));
        file.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    bytes.try_reserve_exact(end.saturating_sub(bytes.len())).map_err(|_| large())?;
    // One byte more shows whether something follows.
    file.take((end - bytes.len().min(end)) as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Maps a file and gives all its tensors, in the order of their bytes. Do not change the file meanwhile.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<(String, RawArray)>, FileError> {
    SafeTensors::open(path)?.read_all()
}
