//! The `.npy` format: a magic number, a version, a header in Python's dict notation, then the elements.
//!
//! Versions 1.0, 2.0 and 3.0 are read, 1.0 is written, which every numpy reads. Object arrays (pickles), strings,
//! dates, complex numbers and records are refused with a sentence that says what to do.
//! Format: <https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html>.

mod header;

use super::atomic::{self, WriteOptions};
use super::error::{Failure, FileError, Parsed};
use super::raw::{byte_count, quote_shape};
use super::{Bytes, FileMap, RawArray, Values};
pub(crate) use header::Header;
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Reads an `.npy` file into memory.
///
/// Bytes after the array are an error; [`read_from`] reads files that hold several arrays one after another.
pub fn read(path: impl AsRef<Path>) -> Result<RawArray, FileError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|error| Failure::Io(error).file(path, "open"))?;
    read_single(&mut BufReader::new(file), |_| Ok(())).map_err(|failure| failure.file(path, "read"))
}

/// Maps an `.npy` file: the elements stay in the file until they are used. Do not change the file meanwhile.
pub fn map(path: impl AsRef<Path>) -> Result<RawArray, FileError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(|error| Failure::Io(error).file(path, "open"))?;
    let map = FileMap::new(&file).map_err(|error| Failure::Io(error).file(path, "map"))?;
    map_whole(Arc::new(map)).map_err(|failure| failure.file(path, "read"))
}

fn map_whole(map: Arc<FileMap>) -> Parsed<RawArray> {
    let mut rest: &[u8] = &map;
    let header = Header::read(&mut rest)?;
    let range = header.length..map.len();
    let elements = Bytes::Mapped(Arc::clone(&map), range);
    RawArray::new(header.dtype, header.endian, header.shape, header.fortran_order, elements)
        .map_err(|failure| failure.offset(header.length as u64))
}

/// Reads one array and leaves the reader just behind it.
///
/// ```
/// use tove_tensor::io::{Values, npy};
/// let mut file = Vec::new();
/// npy::write_to(&mut file, &[2], Values::F64(&[1.0, 2.0]))?;
/// npy::write_to(&mut file, &[], Values::Bool(&[true]))?;
/// let mut rest = file.as_slice();
/// assert_eq!(npy::read_from(&mut rest)?.shape(), [2]);
/// assert!(npy::read_from(&mut rest)?.shape().is_empty());
/// assert!(rest.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_from(reader: &mut impl Read) -> Result<RawArray, FileError> {
    read_one(reader, |_| Ok(())).map_err(|failure| failure.file(Path::new("(stream)"), "read"))
}

/// Reads an array that must be all there is; `admit` may refuse its header.
pub(crate) fn read_single(reader: &mut impl Read, admit: impl Fn(&Header) -> Parsed<()>) -> Parsed<RawArray> {
    let array = read_one(reader, admit)?;
    // asking for one byte more also makes an archive check its checksum
    let mut extra = [0u8];
    if read_up_to(reader, &mut extra)? != 0 {
        return Err(Failure::malformed(format!(
            "there are bytes after the array of shape {}",
            quote_shape(array.shape())
        )));
    }
    Ok(array)
}

fn read_one(reader: &mut impl Read, admit: impl Fn(&Header) -> Parsed<()>) -> Parsed<RawArray> {
    let header = Header::read(reader)?;
    admit(&header)?;
    let needed = byte_count(header.dtype, &header.shape)?;
    // read_to_end doubles its buffer as bytes arrive, so that a lying shape costs no memory
    let mut bytes = Vec::with_capacity(needed.min(1 << 16));
    reader.take(needed as u64).read_to_end(&mut bytes)?;
    if bytes.len() != needed {
        return Err(Failure::malformed(format!(
            "the header promises {needed} bytes of elements (shape {}), the file ends after {}",
            quote_shape(&header.shape),
            bytes.len()
        ))
        .offset(header.length as u64));
    }
    RawArray::new(header.dtype, header.endian, header.shape, header.fortran_order, Bytes::Owned(bytes))
}

/// Fills `buffer` as far as the reader reaches.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes an `.npy` file.
pub fn write(
    path: impl AsRef<Path>,
    shape: &[usize],
    values: Values<'_>,
    options: WriteOptions,
) -> Result<(), FileError> {
    atomic::write(path.as_ref(), options.overwrite, |out| write_array(out, shape, values))
}

/// Writes one array in the `.npy` format to any writer.
pub fn write_to(out: &mut impl Write, shape: &[usize], values: Values<'_>) -> Result<(), FileError> {
    write_array(out, shape, values).map_err(|failure| failure.file(Path::new("(stream)"), "write"))
}

pub(crate) fn write_array(out: &mut dyn Write, shape: &[usize], values: Values<'_>) -> Parsed<()> {
    super::values::check_shape(shape, values)?;
    out.write_all(&header::encode(values, shape))?;
    Ok(values.write_to(out)?)
}
