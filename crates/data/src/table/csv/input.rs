//! Bytes of a CSV file and their characters.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use flate2::bufread::MultiGzDecoder;
use tove_tensor::io::FileError;
use tove_tensor::num_threads;

use super::Charset;
use crate::source::MOST_UNPACKED;
use crate::{DataError, Result};

/// The characters that Windows-1252 puts where Latin-1 has control characters, from 0x80 to 0x9f.
const WINDOWS: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}', '‘', '’',
    '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// A file that is read, and how far; `-` is the standard input. Gzip is known by its first bytes and unpacked.
pub(super) struct Input {
    pub name: String,
    reader: Box<dyn Read + Send>,
    packed: bool,
    size: Option<u64>,
}

impl Input {
    pub fn open(path: &Path) -> Result<Self> {
        let name = if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
        let failed = |source| DataError::from(FileError::Io { path: path.to_owned(), doing: "open", source });
        if path.as_os_str() == "-" {
            return Self::new(name, io::stdin(), None).map_err(failed);
        }
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            return Err(DataError::TableFile { file: name, problem: "is a folder; name a file".to_owned() });
        }
        Self::new(name, file, Some(about.len())).map_err(failed)
    }

    fn new(name: String, mut reader: impl Read + Send + 'static, size: Option<u64>) -> io::Result<Self> {
        let mut magic = Vec::new();
        reader.by_ref().take(2).read_to_end(&mut magic)?;
        let packed = magic == [0x1f, 0x8b];
        let whole = Cursor::new(magic).chain(reader);
        if packed {
            let unpacked = MultiGzDecoder::new(BufReader::with_capacity(1 << 17, whole));
            // Unpacking takes longer than parsing: with a thread to spare both go on at once.
            let reader: Box<dyn Read + Send> =
                if num_threads() > 1 { Box::new(Ahead::of(unpacked)?) } else { Box::new(unpacked) };
            return Ok(Self { name, reader, packed, size: None });
        }
        Ok(Self { name, reader: Box::new(whole), packed, size })
    }

    pub fn is_packed(&self) -> bool {
        self.packed
    }

    /// Everything.
    pub fn read_all(mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // A length that the system reports is only a hint; what comes is what counts.
        let hint = self.size.and_then(|size| usize::try_from(size).ok()).filter(|&size| size < 1 << 36);
        let _ = bytes.try_reserve_exact(hint.map_or(0, |size| size + 1));
        let most = if self.packed { MOST_UNPACKED } else { u64::MAX };
        let read = self.reader.by_ref().take(most.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|error| self.failed(&error))?;
        if bytes.len() as u64 > most {
            let problem = format!("unpacks to more than {MOST_UNPACKED} bytes; read it in chunks");
            return Err(DataError::TableFile { file: self.name, problem });
        }
        Ok(bytes)
    }

    /// Appends up to `count` bytes; fewer only at the end.
    pub fn read_some(&mut self, count: usize, bytes: &mut Vec<u8>) -> Result<usize> {
        let read = self.reader.by_ref().take(count as u64).read_to_end(bytes);
        read.map_err(|error| self.failed(&error))
    }

    #[cold]
    fn failed(&self, error: &io::Error) -> DataError {
        let advice =
            if self.packed { "the gzip stream is damaged; fetch it again" } else { "look at the file and the disk" };
        DataError::TableFile { file: self.name.clone(), problem: format!("cannot be read ({error}); {advice}") }
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
    let refuse = |problem: String| Err(DataError::TableFile { file: file.to_owned(), problem });
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return refuse("is UTF-16; convert it to UTF-8".to_owned());
    }
    if bytes.starts_with(b"PAR1") {
        return refuse("is a Parquet file, not CSV; read it as such".to_owned());
    }
    if bytes.starts_with(b"PK\x03\x04") {
        return refuse("is a zip archive or a spreadsheet, not CSV; export it as CSV".to_owned());
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
            let problem = "has a byte that is not UTF-8; say that the file is latin-1, or convert it".to_owned();
            Err(DataError::Row { file: file.to_owned(), line, problem })
        }
    }
}

/// Bytes as Windows-1252, which has Latin-1's letters.
pub(super) fn latin1(bytes: &[u8]) -> String {
    let character = |&byte: &u8| match byte {
        0x80..=0x9f => WINDOWS[byte as usize - 0x80],
        _ => char::from(byte),
    };
    bytes.iter().map(character).collect()
}
