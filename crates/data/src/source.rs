//! Sequential bytes of a file, decompressed if it is gzip, with their position: the basis of all readers.
//!
//! Lengths in a file are not trusted. A buffer is allocated at once only if the file is known to have that many bytes; for a
//! compressed file it grows as bytes arrive.

use std::fs::File;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use tove_tensor::io::{Fault, FaultKind, FileError, Place};

use crate::memory::most_of_a_stream;
use crate::{DataError, Result};

/// The most that one packed file may unpack to. Deflate packs up to a thousandfold; this keeps a small hostile file from
/// filling the memory.
pub(crate) const MOST_UNPACKED: u64 = 1 << 32;

const AGAIN: &str = "the file is damaged or not of this format; fetch or write it again";

pub(crate) struct Source<'a> {
    path: PathBuf,
    reader: Box<dyn Read + 'a>,
    /// Bytes given out so far.
    at: u64,
    /// Bytes in all, when that is known before reading them.
    len: Option<u64>,
    packed: bool,
}

impl Source<'static> {
    /// Opens a file, or standard input if its name is `-`; whether it is packed is seen from its first bytes, not from its name.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let failed = |doing| move |source| DataError::from(FileError::Io { path: path.to_owned(), doing, source });
        let (mut file, len): (Box<dyn Read>, _) = if path == Path::new("-") {
            (Box::new(io::stdin()), None)
        } else {
            let file = File::open(path).map_err(failed("open"))?;
            let about = file.metadata().map_err(failed("read"))?;
            // A pipe or a device says nothing of its length.
            (Box::new(file), about.is_file().then_some(about.len()))
        };
        let mut magic = Vec::new();
        file.by_ref().take(2).read_to_end(&mut magic).map_err(failed("read"))?;
        let packed = is_packed(&magic);
        let reader = BufReader::with_capacity(1 << 17, Cursor::new(magic).chain(file));
        Ok(Self::new(path, reader, packed, len))
    }
}

impl<'a> Source<'a> {
    /// Reads from memory; `path` is the name that errors show.
    pub(crate) fn from_bytes(path: &Path, bytes: &'a [u8]) -> Self {
        Self::new(path, bytes, is_packed(bytes), Some(bytes.len() as u64))
    }

    fn new(path: &Path, reader: impl io::BufRead + 'a, packed: bool, len: Option<u64>) -> Self {
        let path = path.to_owned();
        if packed {
            return Self { path, reader: Box::new(MultiGzDecoder::new(reader)), at: 0, len: None, packed };
        }
        Self { path, reader: Box::new(reader), at: 0, len, packed }
    }

    /// Whether the content is unpacked on the way.
    pub(crate) fn is_packed(&self) -> bool {
        self.packed
    }

    /// The most that is read where the length is not known.
    fn most(&self) -> u64 {
        if self.packed { MOST_UNPACKED } else { most_of_a_stream() }
    }

    /// Bytes in all, if known.
    pub(crate) fn len(&self) -> Option<u64> {
        self.len
    }

    /// Bytes read so far.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N]> {
        let bytes = self.take(N as u64, what)?;
        bytes.try_into().map_err(|_| self.malformed(format!("{what} is cut off")))
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: u64, what: &str) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.len {
            Some(len) if len - self.at.min(len) < count => {
                let left = len - self.at.min(len);
                return Err(self.malformed(format!("{what} should have {count} bytes, but {left} are left")));
            }
            Some(_) => {
                let room = usize::try_from(count).ok().filter(|&count| bytes.try_reserve_exact(count).is_ok());
                room.ok_or_else(|| self.too_large(format!("{what} has {count} bytes")))?;
            }
            None if count > self.most() => {
                return Err(self.too_large(format!("{what} would have {count} bytes")));
            }
            None => {}
        }
        self.fill(count, &mut bytes)?;
        if (bytes.len() as u64) < count {
            return Err(self.malformed(format!("{what} should have {count} bytes, but {} came", bytes.len())));
        }
        self.at += count;
        Ok(bytes)
    }

    /// The next bytes, `count` of them unless the file ends.
    pub(crate) fn up_to(&mut self, count: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.fill(count, &mut bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes)
    }

    /// Everything that is left.
    pub(crate) fn rest(&mut self) -> Result<Vec<u8>> {
        if let Some(len) = self.len {
            return self.take(len - self.at.min(len), "the file");
        }
        let mut bytes = Vec::new();
        let most = self.most();
        self.fill(most.saturating_add(1), &mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(self.too_large(format!("the file has more than {most} bytes")));
        }
        self.at += bytes.len() as u64;
        Ok(bytes)
    }

    /// Checks that nothing follows.
    pub(crate) fn end(mut self) -> Result<()> {
        let mut byte = Vec::new();
        self.fill(1, &mut byte)?;
        if byte.is_empty() { Ok(()) } else { Err(self.malformed("bytes follow the last element".to_owned())) }
    }

    fn fill(&mut self, count: u64, bytes: &mut Vec<u8>) -> Result<()> {
        match self.reader.by_ref().take(count).read_to_end(bytes) {
            Ok(_) => Ok(()),
            // The decoder says with these kinds that the packed bytes are at fault.
            Err(error) if self.is_packed() && is_damage(&error) => {
                Err(self.malformed(format!("the gzip stream is damaged after this byte ({error})")))
            }
            Err(source) => Err(FileError::Io { path: self.path.clone(), doing: "read", source }.into()),
        }
    }

    /// An error of the content at the present place.
    #[cold]
    pub(crate) fn malformed(&self, problem: String) -> DataError {
        self.fault(FaultKind::Malformed, self.at, problem, AGAIN)
    }

    #[cold]
    fn too_large(&self, problem: String) -> DataError {
        self.fault(FaultKind::TooLarge, self.at, problem, "unpack it and read it by records, or make the file smaller")
    }

    /// An error of the content at a place.
    #[cold]
    pub(crate) fn fault(&self, kind: FaultKind, offset: u64, problem: String, advice: &'static str) -> DataError {
        let item = self.is_packed().then(|| "unpacked content".to_owned());
        fault(&self.path, Place { item, offset: Some(offset) }, kind, problem, advice)
    }
}

/// An error of a file's content.
#[cold]
pub(crate) fn fault(path: &Path, place: Place, kind: FaultKind, problem: String, advice: &'static str) -> DataError {
    FileError::Content { path: path.to_owned(), fault: Box::new(Fault { kind, place, problem, advice }) }.into()
}

fn is_packed(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof)
}
