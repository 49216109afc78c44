//! Bytes of a file and their characters.
//!
//! A file is opened once. Its format is detected from its first bytes, which stay in a buffer: a pipe cannot be opened or read
//! a second time.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use flate2::bufread::MultiGzDecoder;
use tove_tensor::io::FileError;
use tove_tensor::num_threads;

use super::Charset;
use crate::memory::most_of_a_stream;
use crate::{DataError, Problem, Remedy, Result};

/// The characters that Windows-1252 puts where Latin-1 has control characters, from 0x80 to 0x9f.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Bytes that are read at once into memory.
const PIECE: usize = 1 << 24;
/// Bytes that are looked at once.
const LOOKED_AT: usize = 1 << 20;
/// Gzip files that unpack to less than this are not suspected.
const HARMLESS: u64 = 1 << 26;
/// Tables rarely shrink to less than a hundredth.
const MOST_RATIO: u64 = 250;

/// A file that is read, and how far; `-` is the standard input. Gzip is known by its first bytes and unpacked.
pub(in crate::table) struct Input {
    pub name: String,
    path: PathBuf,
    reader: Box<dyn Read + Send>,
    /// Bytes that were looked at and not read yet.
    ahead: Cursor<Vec<u8>>,
    packed: bool,
    /// The length of a regular file, as it lies on the disk.
    size: Option<u64>,
    /// The regular file itself, unless it is packed.
    file: Option<File>,
    /// Bytes given out, and bytes of the packed file that they came from.
    given: u64,
    taken: Arc<AtomicU64>,
}

impl Input {
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |source| DataError::from(FileError::Io { path: path.to_owned(), doing: "open", source });
        if path.as_os_str() == "-" {
            return Self::new("standard input".to_owned(), path, io::stdin(), None).map_err(failed);
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(DataError::TableFile { file: name, problem: "is a folder; name a file".into() });
        }
        let regular = about.is_file().then_some(about.len());
        let again = if about.is_file() { file.try_clone().ok() } else { None };
        let mut input = Self::new(name, path, file, regular).map_err(failed)?;
        input.file = again.filter(|_| !input.packed);
        Ok(input)
    }

    /// Bytes that are in memory already, under the name of the file they were made from.
    pub fn of_bytes(name: String, path: &Path, bytes: Vec<u8>) -> Self {
        let (reader, ahead) = (Box::new(io::empty()), Cursor::new(bytes));
        let taken = Arc::default();
        let path = path.to_owned();
        Self { name, path, reader, ahead, packed: false, size: None, file: None, given: 0, taken }
    }

    /// Bytes in memory that are to be unpacked.
    pub fn unpacking(name: &str, bytes: Vec<u8>) -> Result<Self> {
        let failed = |source| DataError::from(FileError::Io { path: PathBuf::from(name), doing: "read", source });
        Self::new(name.to_owned(), Path::new(name), Cursor::new(bytes), None).map_err(failed)
    }

    fn new(name: String, path: &Path, mut reader: impl Read + Send + 'static, size: Option<u64>) -> io::Result<Self> {
        let mut magic = Vec::new();
        reader.by_ref().take(2).read_to_end(&mut magic)?;
        let packed = magic == [0x1f, 0x8b];
        let taken = Arc::new(AtomicU64::new(0));
        let path = path.to_owned();
        if packed {
            let whole = Counted { reader: Cursor::new(magic).chain(reader), taken: Arc::clone(&taken) };
            let unpacked = MultiGzDecoder::new(BufReader::with_capacity(1 << 17, whole));
            // Unpacking takes longer than parsing: with a thread to spare both go on at once.
            let reader: Box<dyn Read + Send> =
                if num_threads() > 1 { Box::new(Ahead::of(unpacked)?) } else { Box::new(unpacked) };
            return Ok(Self {
                name,
                path,
                reader,
                ahead: Cursor::default(),
                packed,
                size,
                file: None,
                given: 0,
                taken,
            });
        }
        let (reader, ahead) = (Box::new(reader), Cursor::new(magic));
        Ok(Self { name, path, reader, ahead, packed, size, file: None, given: 0, taken })
    }

    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// Whether the file can be opened again and gives the same bytes.
    pub fn is_regular(&self) -> bool {
        self.size.is_some()
    }

    /// The length of a regular file, as it lies on the disk.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file, if its bytes can be read at any place. Nothing must have been read from this input that is needed again.
    pub fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// The next bytes, `count` of them unless the file ends, without taking them.
    pub fn look(&mut self, count: usize) -> Result<&[u8]> {
        let at = self.ahead.position() as usize;
        let here = self.ahead.get_ref().len() - at;
        if here < count {
            let read = self.reader.by_ref().take((count - here) as u64).read_to_end(self.ahead.get_mut());
            read.map_err(|error| self.failed(error))?;
        }
        let end = self.ahead.get_ref().len().min(at.saturating_add(count));
        Ok(&self.ahead.get_ref()[at..end])
    }

    /// Everything that is left. From a regular file all of it; from a pipe or a packed file so much as memory takes.
    pub fn read_all(mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // A length that the system reports is only a hint; what comes is what counts.
        let hint = self.size.filter(|_| !self.packed).and_then(|size| usize::try_from(size).ok());
        let _ = bytes.try_reserve_exact(hint.filter(|&size| size < 1 << 36).map_or(0, |size| size + 1));
        let most = if self.is_regular() && !self.packed { u64::MAX } else { most_of_a_stream() };
        while self.read_some(PIECE, &mut bytes)? == PIECE {
            if bytes.len() as u64 > most {
                let what = if self.packed { "unpacks to" } else { "goes on after" };
                let problem = format!("{what} {} MB, more than memory holds; read a smaller part of it", most >> 20);
                return Err(DataError::TableFile { file: self.name, problem: problem.into() });
            }
        }
        Ok(bytes)
    }

    /// Appends up to `count` bytes; fewer only at the end.
    pub fn read_some(&mut self, count: usize, bytes: &mut Vec<u8>) -> Result<usize> {
        let before = bytes.len();
        let read = self.ahead.by_ref().take(count as u64).read_to_end(bytes).and_then(|looked| {
            if looked > 0 && self.ahead.position() == self.ahead.get_ref().len() as u64 {
                self.ahead = Cursor::default();
            }
            self.reader.by_ref().take((count - looked) as u64).read_to_end(bytes)
        });
        read.map_err(|error| self.failed(error))?;
        let read = bytes.len() - before;
        self.given += read as u64;
        let taken = self.taken.load(Ordering::Relaxed);
        if self.packed && self.given > HARMLESS && self.given / MOST_RATIO > taken {
            let problem = format!(
                "{taken} compressed bytes decompress to more than {} MB; if that is intended, decompress the file first (gunzip)",
                self.given >> 20
            );
            return Err(DataError::TableFile { file: self.name.clone(), problem: problem.into() });
        }
        Ok(read)
    }

    #[cold]
    fn failed(&self, error: io::Error) -> DataError {
        if !self.packed {
            return FileError::Io { path: self.name.clone().into(), doing: "read", source: error }.into();
        }
        let problem = Problem::new(format!("cannot be unpacked ({error})")).advice("fetch the gzip file again");
        DataError::TableFile { file: self.name.clone(), problem }
    }
}

/// Counts the bytes that are read.
struct Counted<R> {
    reader: R,
    taken: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Bytes that another thread reads in advance, a few pieces at most.
struct Ahead {
    pieces: Receiver<io::Result<Vec<u8>>>,
    present: Cursor<Vec<u8>>,
}

impl Ahead {
    const PIECE: usize = 1 << 18;

    fn of(mut reader: impl Read + Send + 'static) -> io::Result<Ahead> {
        let (give, pieces) = sync_channel(4);
        std::thread::Builder::new().name("unpack".to_owned()).spawn(move || {
            loop {
                let mut piece = Vec::with_capacity(Self::PIECE);
                let read = reader.by_ref().take(Self::PIECE as u64).read_to_end(&mut piece);
                let more = read.as_ref().is_ok_and(|&count| count == Self::PIECE);
                // What was read before an error is given out first, as without the thread. Nobody listens any more when the file
                // is given up.
                let failed = read.err();
                if give.send(Ok(piece)).is_err() || failed.is_some_and(|error| give.send(Err(error)).is_err()) || !more
                {
                    return;
                }
            }
        })?;
        Ok(Ahead { pieces, present: Cursor::default() })
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.present.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            match self.pieces.recv() {
                Ok(piece) => self.present = Cursor::new(piece?),
                Err(_) => return Ok(0), // the thread has come to the end
            }
        }
    }
}

/// The bytes as text and the name of their encoding; a byte-order mark goes.
pub(super) fn decode<'a>(file: &str, bytes: &'a [u8], charset: Charset) -> Result<(Cow<'a, str>, &'static str)> {
    let refuse = |problem: &str| Err(DataError::TableFile { file: file.to_owned(), problem: problem.into() });
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return refuse("is UTF-16; convert it to UTF-8");
    }
    if bytes.starts_with(b"PAR1") {
        return refuse("is a Parquet file, not CSV; read it with `read_parquet` or `TableFile`");
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return refuse("is a zip archive or a spreadsheet, not CSV; export it as CSV");
    }
    if is_binary(bytes) {
        return refuse("is binary, not text; give a CSV, JSON or Parquet file");
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if charset == Charset::Latin1 {
        return Ok((Cow::Owned(latin1(bytes)), "latin-1"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok((Cow::Borrowed(text), "utf-8")),
        Err(_) if charset == Charset::Auto => Ok((Cow::Owned(latin1(bytes)), "latin-1")),
        Err(error) => {
            let line = 1 + memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() as u64;
            Err(DataError::Row { file: file.to_owned(), line, problem: not_utf8() })
        }
    }
}

#[cold]
pub(super) fn not_utf8() -> Problem {
    Problem::new("has a byte that is not UTF-8").advice("convert the file").remedy(Remedy::Latin1)
}

/// Whether the file is UTF-8 from its beginning to its end.
pub(super) fn is_utf8(path: &Path) -> Result<bool> {
    let (mut input, mut buffer) = (Input::open(path)?, Vec::new());
    loop {
        let end = input.read_some(LOOKED_AT, &mut buffer)? < LOOKED_AT;
        match std::str::from_utf8(&buffer) {
            Ok(_) => buffer.clear(),
            // A piece may end inside a character, which the next piece completes.
            Err(error) if error.error_len().is_none() && !end => drop(buffer.drain(..error.valid_up_to())),
            Err(_) => return Ok(false),
        }
        if end {
            return Ok(true);
        }
    }
}

/// Whether the beginning of a file has more control characters than any text: one byte of twenty.
pub(in crate::table) fn is_binary(bytes: &[u8]) -> bool {
    let start = &bytes[..bytes.len().min(1 << 12)];
    let control = |byte: &&u8| matches!(byte, 0..=8 | 11 | 14..=26 | 28..=31 | 127);
    let found = start.iter().filter(control).count();
    // A few control characters are possible in any text, however short.
    found > 32 && found * 20 > start.len()
}

/// Bytes as Windows-1252, which has Latin-1's letters.
pub(super) fn latin1(bytes: &[u8]) -> String {
    let character = |&byte: &u8| match byte {
        0x80..=0x9f => WINDOWS[byte as usize - 0x80],
        _ => char::from(byte),
    };
    bytes.iter().map(character).collect()
}
