//! The `.npz` format: a zip archive with one `.npy` file per array, stored or deflated.
//!
//! The directory of a zip archive can lie about everything, so none of its sizes is used to allocate. An entry is read
//! as far as the shape in its own header reaches and its checksum is verified; entries that share bytes (the trick
//! behind archives that unpack to a thousand times more than they can hold) are refused, and so are names that would
//! leave a folder if somebody used them as paths. A deflated entry can still honestly expand a thousandfold:
//! [`Limits`] bounds what one archive may unpack.

use super::atomic::{self, WriteOptions};
use super::error::{Failure, FileError, Parsed};
use super::raw::byte_count;
use super::{RawArray, Values, npy};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

/// What one archive may unpack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of all arrays read through one [`NpzReader`] together. Default 16 GiB.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 16 << 30 }
    }
}

/// An open archive: names at once, arrays when asked for.
#[derive(Debug)]
pub struct NpzReader<R> {
    archive: ZipArchive<R>,
    path: PathBuf,
    /// Array name and index of its entry, in the order of the archive.
    entries: Vec<(String, usize)>,
    remaining: u64,
    limits: Limits,
}

impl NpzReader<BufReader<File>> {
    /// Opens an archive with the default limits.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        Self::open_with(path, Limits::default())
    }

    /// Opens an archive.
    pub fn open_with(path: impl AsRef<Path>, limits: Limits) -> Result<Self, FileError> {
        let path = path.as_ref();
        let file = File::open(path).map_err(|error| Failure::Io(error).file(path, "open"))?;
        Self::from_reader_at(BufReader::new(file), path, limits)
    }
}

impl<R: Read + Seek> NpzReader<R> {
    /// Reads an archive from bytes in memory or any other reader that can seek.
    pub fn from_reader(reader: R, limits: Limits) -> Result<Self, FileError> {
        Self::from_reader_at(reader, Path::new("(stream)"), limits)
    }

    fn from_reader_at(reader: R, path: &Path, limits: Limits) -> Result<Self, FileError> {
        let (archive, entries) = directory(reader).map_err(|failure| failure.file(path, "read"))?;
        Ok(NpzReader { archive, path: path.to_owned(), entries, remaining: limits.bytes, limits })
    }

    /// Names of the arrays in the order of the archive. Entries that are not `.npy` files are left out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(name, _)| name.as_str())
    }

    /// Reads one array.
    pub fn read(&mut self, name: &str) -> Result<RawArray, FileError> {
        match self.entries.iter().find(|(known, _)| known == name) {
            Some(&(_, index)) => self.read_index(name, index),
            None => Err(FileError::NotFound {
                path: self.path.clone(),
                name: name.to_owned(),
                available: self.names().map(str::to_owned).collect(),
            }),
        }
    }

    /// Reads all arrays.
    pub fn read_all(&mut self) -> Result<Vec<(String, RawArray)>, FileError> {
        let mut arrays = Vec::new();
        for (name, index) in self.entries.clone() {
            let array = self.read_index(&name, index)?;
            arrays.push((name, array));
        }
        Ok(arrays)
    }

    fn read_index(&mut self, name: &str, index: usize) -> Result<RawArray, FileError> {
        let parsed = read_entry(&mut self.archive, index, self.remaining, self.limits);
        let array = parsed.map_err(|failure| failure.item("array", name).file(&self.path, "read"))?;
        self.remaining -= array.bytes().len() as u64;
        Ok(array)
    }
}

type Directory<R> = (ZipArchive<R>, Vec<(String, usize)>);

fn directory<R: Read + Seek>(reader: R) -> Parsed<Directory<R>> {
    let mut archive = ZipArchive::new(reader).map_err(zip_failure)?;
    if archive.has_duplicate_names() {
        return Err(Failure::malformed("two entries of the archive have the same name"));
    }
    if archive.has_overlapping_files().map_err(zip_failure)? {
        return Err(Failure::malformed("entries of the archive overlap, as in a zip bomb"));
    }
    let mut entries = Vec::new();
    for index in 0..archive.len() {
        let entry = archive.by_index_data(index).map_err(zip_failure)?;
        let file_name = entry.name().map_err(zip_failure)?.into_owned();
        if leads_out(&file_name) {
            let problem = "the entry's name is a path that leads out of its folder";
            return Err(Failure::malformed(problem).item("entry", &file_name));
        }
        if let Some(name) = file_name.strip_suffix(".npy") {
            entries.push((name.to_owned(), index));
        }
    }
    Ok((archive, entries))
}

/// Array names may have folders (`layer/weight`) but must not point out of one.
fn leads_out(name: &str) -> bool {
    let climbs = name.split('/').any(|part| part == ".." || part == ".");
    let drive = name.as_bytes().get(1) == Some(&b':');
    climbs || drive || name.starts_with('/') || name.contains(['\\', '\0'])
}

fn read_entry<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    index: usize,
    remaining: u64,
    limits: Limits,
) -> Parsed<RawArray> {
    let mut entry = archive.by_index(index).map_err(zip_failure)?;
    let compressed = match entry.compression() {
        CompressionMethod::Stored => false,
        CompressionMethod::Deflated => true,
        other => return Err(unsupported_method(&other.to_string())),
    };
    npy::read_single(&mut entry, |header| {
        let needed = byte_count(header.dtype, &header.shape)? as u64;
        if needed <= remaining {
            return Ok(());
        }
        let method = if compressed { "deflated" } else { "stored" };
        Err(Failure::too_large(
            format!("{needed} bytes of {method} elements, {remaining} of {} are left", limits.bytes),
            "if the file is to be trusted, open it with a higher limit",
        ))
    })
    .map_err(checksum_failure)
}

/// A wrong checksum or a broken deflate stream reaches us as an error of the reader; it is the content's fault.
fn checksum_failure(failure: Failure) -> Failure {
    match failure {
        Failure::Io(error) if error.get_ref().is_some() => Failure::malformed(format!("cannot be unpacked: {error}")),
        Failure::Io(error) if error.raw_os_error().is_none() => {
            Failure::malformed(format!("cannot be unpacked: {error}"))
        }
        other => other,
    }
}

fn zip_failure(error: ZipError) -> Failure {
    match error {
        ZipError::Io(error) => checksum_failure(Failure::Io(error)),
        ZipError::UnsupportedArchive(what) => Failure::unsupported(
            format!("zip archive: {what}"),
            "write the archive again with np.savez or np.savez_compressed, without a password",
        ),
        ZipError::CompressionMethodNotSupported(method) => unsupported_method(&method.to_string()),
        other => Failure::malformed(format!("not a sound zip archive: {other}")),
    }
}

fn unsupported_method(method: &str) -> Failure {
    Failure::unsupported(
        format!("zip compression method {method}"),
        "stored and deflate are read; write the archive with np.savez or np.savez_compressed",
    )
}

/// Reads all arrays of an `.npz` file, in the order of the archive.
pub fn read(path: impl AsRef<Path>) -> Result<Vec<(String, RawArray)>, FileError> {
    NpzReader::open(path)?.read_all()
}

/// Writes arrays as an `.npz` file. The same arrays give the same bytes: no times are stored.
///
/// ```
/// use tove_tensor::io::{Values, WriteOptions, npz};
/// let path = std::env::temp_dir().join(format!("tove-npz-{}.npz", std::process::id()));
/// let options = WriteOptions { overwrite: true, compress: true };
/// npz::write(&path, &[("x", &[3], Values::F64(&[1., 2., 3.])), ("n", &[], Values::I64(&[7]))], options)?;
/// let mut reader = npz::NpzReader::open(&path)?;
/// assert_eq!(reader.names().collect::<Vec<_>>(), ["x", "n"]);
/// assert_eq!(reader.read("x")?.shape(), [3]);
/// std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(
    path: impl AsRef<Path>,
    arrays: &[(&str, &[usize], Values<'_>)],
    options: WriteOptions,
) -> Result<(), FileError> {
    atomic::write(path.as_ref(), options.overwrite, |out| write_archive(out, arrays, options.compress))
}

fn write_archive(out: &mut (impl Write + Seek), arrays: &[(&str, &[usize], Values<'_>)], compress: bool) -> Parsed<()> {
    let mut names = BTreeSet::new();
    let mut archive = ZipWriter::new(out);
    for &(name, shape, values) in arrays {
        if leads_out(name) || !names.insert(name) {
            let problem = "the name is taken by another array or leads out of its folder";
            return Err(Failure::refused(problem, "choose another name").item("array", name));
        }
        let method = if compress { CompressionMethod::Deflated } else { CompressionMethod::Stored };
        let size = values.len().saturating_mul(values.dtype().size());
        let options = SimpleFileOptions::default()
            .compression_method(method)
            .last_modified_time(DateTime::default())
            .large_file(size > u32::MAX as usize / 2);
        archive.start_file(format!("{name}.npy"), options).map_err(zip_failure)?;
        npy::write_array(&mut archive, shape, values).map_err(|failure| failure.item("array", name))?;
    }
    archive.finish().map_err(zip_failure)?;
    Ok(())
}
