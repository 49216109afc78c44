//! Text to tokens, tokens to windows.
//!
//! ```
//! use tove_data::{CharVocabulary, Dataset, Key, TextWindows};
//! let text = "to be or not to be";
//! let vocabulary = CharVocabulary::from_text(text)?;
//! let data = TextWindows::consecutive(&vocabulary.encode(text)?, 5)?;
//! let batch = data.batch(&[0], Key::new(0))?;
//! assert_eq!(vocabulary.decode(&batch.x.get(0))?, "to be");
//! assert_eq!(vocabulary.decode(&batch.y.get(0))?, "o be ");
//! # Ok::<(), tove_data::DataError>(())
//! ```

#[cfg(feature = "bpe")]
mod bpe;
mod characters;
mod windows;

use std::path::Path;

use tove_tensor::io::FaultKind;

use crate::Result;
use crate::source::Source;

#[cfg(feature = "bpe")]
pub use bpe::Bpe;
pub use characters::CharVocabulary;
pub use windows::TextWindows;

/// Reads a text file in UTF-8, packed with gzip or not; `-` is standard input. A byte-order mark at the start is dropped.
///
/// # Errors
/// If the file cannot be read or is not UTF-8; the error names the byte.
pub fn read_text(path: impl AsRef<Path>) -> Result<String> {
    let mut source = Source::open(path.as_ref())?;
    let mut bytes = source.up_to(1 << 12)?;
    if let Some(place) = memchr::memchr(0, &bytes) {
        let problem = "a byte 0, which no text has".to_owned();
        return Err(source.fault(FaultKind::Unsupported, place as u64, problem, "give a text file in UTF-8"));
    }
    bytes.append(&mut source.rest()?);
    let text = String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let problem = format!("byte {:#04x} is not UTF-8", error.as_bytes()[place]);
        source.fault(FaultKind::Unsupported, place as u64, problem, "convert the file to UTF-8")
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}
