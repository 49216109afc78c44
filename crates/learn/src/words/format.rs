//! The text and binary files of the word2vec program.
//!
//! Both begin with a line of the number of words and the length of the vectors. In a text file each following line has a word and its
//! numbers; in a binary file each word is followed by a space and its numbers as little-endian f32.

use std::io::{Read, Write};
use std::path::Path;

use tove_tensor::io::{FileError, WriteOptions, atomic};

use super::vectors::WordVectors;
use crate::{LearnError, Result, memory};

/// A word longer than this is not a word.
const LONGEST_WORD: usize = 10_000;

/// A first line has no more bytes than this.
const LONGEST_HEADER: usize = 100;

/// The layout of a file of word vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordFormat {
    /// Numbers as text.
    Text,
    /// Numbers as bytes.
    Binary,
}

#[cold]
fn malformed(path: &Path, place: &str, problem: impl std::fmt::Display) -> LearnError {
    let problem = format!("{}: {place}: {problem}", path.display());
    LearnError::model(
        problem,
        "the file is damaged or has another format: get it again, or read it in the other format",
    )
}

impl WordVectors {
    /// Writes a file that the word2vec program, gensim and others read. Never overwrites an existing file unless asked.
    ///
    /// # Errors
    /// A word with white space, which the format cannot hold; a file that cannot be written.
    pub fn save_word2vec(&self, path: impl AsRef<Path>, format: WordFormat, options: WriteOptions) -> Result<()> {
        if let Some(word) = self.words().iter().find(|word| word.contains(char::is_whitespace)) {
            let problem = format!("the word {:?} has white space", super::vocabulary::shown(word));
            return Err(LearnError::data("WordVectors", problem, "use `save`, whose format holds any word"));
        }
        Ok(atomic::write_file(path.as_ref(), options, |out| {
            writeln!(out, "{} {}", self.words().len(), self.dimension())?;
            for (id, word) in self.words().iter().enumerate() {
                out.write_all(word.as_bytes())?;
                for x in self.row(id).iter().take_while(|_| format == WordFormat::Text) {
                    write!(out, " {x}")?;
                }
                if format == WordFormat::Binary {
                    out.write_all(b" ")?;
                    for x in self.row(id) {
                        out.write_all(&x.to_le_bytes())?;
                    }
                }
                out.write_all(b"\n")?;
            }
            Ok(())
        })?)
    }

    /// Reads a file of the word2vec program. The words are not split, and bytes that are not UTF-8 are an error.
    ///
    /// # Errors
    /// A file that cannot be read or that is malformed: the error says where. No more memory is taken than the file is large.
    pub fn load_word2vec(path: impl AsRef<Path>, format: WordFormat) -> Result<WordVectors> {
        let path = path.as_ref();
        let failed = |source| FileError::Io { path: path.to_owned(), doing: "read", source };
        let mut file = std::fs::File::open(path).map_err(failed)?;
        let size = file.metadata().map_err(failed)?.len();
        memory::require("WordVectors", "the file and its vectors", size.saturating_mul(4), "give a smaller file")?;
        // A device that never ends has no first line.
        let mut bytes = Vec::new();
        (&mut file).take(LONGEST_HEADER as u64).read_to_end(&mut bytes).map_err(failed)?;
        header(path, &bytes)?;
        file.read_to_end(&mut bytes).map_err(failed)?;
        parse(path, &bytes, format)
    }
}

/// Number of words, length of vectors, and where the first line ends.
fn header(path: &Path, bytes: &[u8]) -> Result<(usize, usize, usize)> {
    let end = bytes.iter().take(LONGEST_HEADER).position(|&byte| byte == b'\n');
    let header = end.and_then(|end| std::str::from_utf8(&bytes[..end]).ok()).unwrap_or_default();
    let numbers: Vec<Option<usize>> = header.split_whitespace().map(|number| number.parse().ok()).collect();
    match (end, &numbers[..]) {
        (Some(end), [Some(count), Some(dimension)]) => Ok((*count, *dimension, end + 1)),
        _ => Err(malformed(path, "line 1", "not the number of words and the length of the vectors")),
    }
}

fn parse(path: &Path, bytes: &[u8], format: WordFormat) -> Result<WordVectors> {
    let (count, dimension, start) = header(path, bytes)?;
    let body = &bytes[start..];
    // The shortest text of a number is a space and a digit, of a word one letter.
    let least = if format == WordFormat::Text { 2 } else { 4 };
    let needed = (dimension as u128 * least + 1) * count as u128;
    if dimension == 0 || count == 0 || needed > body.len() as u128 {
        let problem = format!("{count} vectors of length {dimension} do not fit into a file of {} bytes", bytes.len());
        return Err(malformed(path, "line 1", problem));
    }
    let (mut words, mut vectors) = (Vec::with_capacity(count), Vec::with_capacity(count * dimension));
    match format {
        WordFormat::Text => text(path, body, dimension, &mut words, &mut vectors)?,
        WordFormat::Binary => binary(path, body, count, dimension, &mut words, &mut vectors)?,
    }
    if words.len() != count {
        return Err(malformed(path, "line 1", format!("announces {count} words, but there are {}", words.len())));
    }
    WordVectors::new(words, vectors, dimension).map_err(|error| malformed(path, "words", error))
}

fn text(path: &Path, body: &[u8], dimension: usize, words: &mut Vec<String>, vectors: &mut Vec<f32>) -> Result<()> {
    for (number, line) in body.split(|&byte| byte == b'\n').enumerate() {
        let place = || format!("line {}", number + 2);
        let line = std::str::from_utf8(line).map_err(|_| malformed(path, &place(), "not UTF-8"))?;
        let mut parts = line.split([' ', '\t', '\r']).filter(|part| !part.is_empty());
        let Some(word) = parts.next() else { continue };
        let before = vectors.len();
        for part in parts {
            let x = part.parse::<f32>().ok().filter(|x| x.is_finite());
            let x = x.ok_or_else(|| {
                malformed(path, &place(), format!("{:?} is not a finite number", super::vocabulary::shown(part)))
            })?;
            if vectors.len() - before == dimension {
                return Err(malformed(path, &place(), format!("more than {dimension} numbers")));
            }
            vectors.push(x);
        }
        let found = vectors.len() - before;
        if found != dimension {
            return Err(malformed(path, &place(), format!("{found} numbers in place of {dimension}")));
        }
        words.push(word.to_owned());
    }
    Ok(())
}

fn binary(
    path: &Path,
    body: &[u8],
    count: usize,
    dimension: usize,
    words: &mut Vec<String>,
    vectors: &mut Vec<f32>,
) -> Result<()> {
    let mut rest = body;
    for id in 0..count {
        let place = || format!("word {}, byte {}", id + 1, body.len() - rest.len());
        // Some programs end each vector with a line feed, others do not.
        let from = rest.iter().take_while(|&&byte| byte == b'\n').count();
        let after = &rest[from..];
        let Some(end) = after.iter().take(LONGEST_WORD).position(|&byte| byte == b' ') else {
            return Err(malformed(path, &place(), "no end of the word"));
        };
        let word =
            std::str::from_utf8(&after[..end]).map_err(|_| malformed(path, &place(), "the word is not UTF-8"))?;
        let Some(numbers) = after[end + 1..].get(..dimension * 4) else {
            return Err(malformed(path, &place(), "the file ends within the vector"));
        };
        words.push(word.to_owned());
        vectors.extend(numbers.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)));
        rest = &after[end + 1 + dimension * 4..];
    }
    if rest.iter().any(|byte| !byte.is_ascii_whitespace()) {
        return Err(malformed(path, "the end", format!("{} bytes after the last word", rest.len())));
    }
    Ok(())
}
