//! Records of one size, read from a file one at a time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tove_tensor::io::FileError;

use crate::source::Source;
use crate::{DataError, Result};

/// Where the bytes are.
#[derive(Debug)]
enum Store {
    /// A plain file: only what is asked for is read. One reader at a time moves its position.
    File(Mutex<File>),
    /// The unpacked content: a packed file has no way to begin in the middle.
    Memory(Vec<u8>),
}

#[derive(Debug)]
pub(super) struct Records {
    path: PathBuf,
    store: Store,
    /// Bytes before the first record.
    start: u64,
    size: usize,
    count: usize,
}

impl Records {
    /// Records behind the place that `source` has reached; `path` is its file.
    pub(super) fn new(path: &Path, mut source: Source<'_>, size: usize, count: usize) -> Result<Self> {
        let path = path.to_owned();
        if source.is_packed() {
            let bytes = source.take((size as u64).saturating_mul(count as u64), "the records")?;
            source.end()?;
            return Ok(Self { path, store: Store::Memory(bytes), start: 0, size, count });
        }
        let file = File::open(&path).map_err(|source| io_error(&path, "open", source))?;
        Ok(Self { store: Store::File(Mutex::new(file)), start: source.at(), path, size, count })
    }

    /// Records that are in memory already; bytes beyond the last whole record are not looked at.
    pub(super) fn in_memory(path: &Path, bytes: Vec<u8>, size: usize) -> Self {
        let count = bytes.len() / size;
        Self { path: path.to_owned(), store: Store::Memory(bytes), start: 0, size, count }
    }

    /// The file and the byte (of the unpacked content) where a record begins, for errors.
    pub(super) fn place(&self, index: usize) -> (&Path, u64) {
        (&self.path, self.start + index as u64 * self.size as u64)
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The records at `indices` one after the other.
    pub(super) fn gather(&self, indices: &[usize]) -> Result<Vec<u8>> {
        if let Some(&index) = indices.iter().find(|&&index| index >= self.count) {
            return Err(DataError::Index { index, len: self.count });
        }
        match &self.store {
            Store::Memory(bytes) => {
                let mut out = Vec::with_capacity(indices.len() * self.size);
                indices.iter().for_each(|&i| out.extend_from_slice(&bytes[i * self.size..(i + 1) * self.size]));
                Ok(out)
            }
            Store::File(file) => {
                let mut out = vec![0; indices.len() * self.size];
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                for (&index, record) in indices.iter().zip(out.chunks_exact_mut(self.size.max(1))) {
                    let place = self.start + index as u64 * self.size as u64;
                    let read = file.seek(SeekFrom::Start(place)).and_then(|_| file.read_exact(record));
                    read.map_err(|source| io_error(&self.path, "read", source))?;
                }
                Ok(out)
            }
        }
    }
}

fn io_error(path: &Path, doing: &'static str, source: std::io::Error) -> DataError {
    FileError::Io { path: path.to_owned(), doing, source }.into()
}
