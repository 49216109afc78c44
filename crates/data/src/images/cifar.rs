//! CIFAR-10's binary form: records of one label byte and 3 × 32 × 32 bytes, red, green, blue plane, each row by row.

use std::path::Path;

use tove_tensor::{Tensor, io::FaultKind};

use crate::Result;
use crate::source::Source;

/// Channels, height and width.
pub const SHAPE: [usize; 3] = [3, 32, 32];
/// Bytes of an image.
pub const IMAGE: usize = 3 * 32 * 32;
/// Bytes of a record.
pub const RECORD: usize = 1 + IMAGE;
/// Number of classes.
pub const CLASSES: u8 = 10;

pub(super) const NOT_CIFAR: &str = "the file is damaged or not in CIFAR-10's binary form; fetch it again";

/// Reads a file, packed with gzip or not: images (N, 3, 32, 32) of type u8 and labels (N) of type i64.
///
/// # Errors
/// If the file cannot be read, is not a whole number of records, or has a label above 9.
pub fn read(path: impl AsRef<Path>) -> Result<(Tensor, Tensor)> {
    parse(Source::open(path.as_ref())?)
}

/// Reads the bytes of such a file.
///
/// ```
/// let mut record = [0u8; 3073];
/// record[0] = 7;
/// let (images, labels) = tove_data::images::cifar::from_bytes(&record)?;
/// assert_eq!((images.dims(), labels.to_vec::<i64>()), (&[1, 3, 32, 32][..], vec![7]));
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// As [`read`].
pub fn from_bytes(bytes: &[u8]) -> Result<(Tensor, Tensor)> {
    parse(Source::from_bytes(Path::new("CIFAR-10 bytes"), bytes))
}

fn parse(mut source: Source<'_>) -> Result<(Tensor, Tensor)> {
    let bytes = source.rest()?;
    let (records, left) = bytes.as_chunks::<RECORD>();
    if !left.is_empty() || records.is_empty() {
        let problem =
            format!("{} bytes is not a multiple of the record length, {RECORD}; the file is truncated", bytes.len());
        return Err(source.malformed(problem));
    }
    let mut labels = Vec::with_capacity(records.len());
    let mut images = Vec::with_capacity(records.len() * IMAGE);
    for (number, record) in records.iter().enumerate() {
        if record[0] >= CLASSES {
            let problem = format!("record {number} has label {}, classes are 0 to 9", record[0]);
            return Err(source.fault(FaultKind::Malformed, (number * RECORD) as u64, problem, NOT_CIFAR));
        }
        labels.push(i64::from(record[0]));
        images.extend_from_slice(&record[1..]);
    }
    let [channels, height, width] = SHAPE;
    let images = Tensor::try_from_vec(images, [records.len(), channels, height, width])?;
    Ok((images, Tensor::from(labels)))
}
