//! The checksum of what a file holds: CRC-32 (the polynomial of zip and png) of the metadata, and of every tensor's name,
//! type, shape and bytes in the order of names. It finds every change of up to 32 neighbouring bits, and others but one in
//! 2³²; it is no defence against somebody who computes it anew.

use super::header::dtype_name;
use super::{SafeTensors, Source};
use crate::io::Values;
use crate::io::error::Parsed;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The metadata that holds the checksum, which is not summed itself.
pub(in crate::io) const CHECKSUM: &str = "checksum";

/// A running sum.
struct Sum(crc32fast::Hasher);

impl Sum {
    fn of(metadata: &BTreeMap<String, String>) -> Sum {
        let mut sum = Sum(crc32fast::Hasher::new());
        for (name, text) in metadata.iter().filter(|(name, _)| *name != CHECKSUM) {
            sum.text(name);
            sum.text(text);
        }
        sum
    }

    /// A text with its length, so that no two lists of texts are the same bytes.
    fn text(&mut self, text: &str) {
        self.number(text.len());
        self.0.update(text.as_bytes());
    }

    fn number(&mut self, number: usize) {
        self.0.update(&(number as u64).to_le_bytes());
    }

    fn tensor(&mut self, name: &str, dtype: &str, shape: &[usize]) {
        self.text(name);
        self.text(dtype);
        self.number(shape.len());
        shape.iter().for_each(|&extent| self.number(extent));
    }

    fn finish(self) -> String {
        format!("crc32:{:08x}", self.0.finalize())
    }
}

impl Write for Sum {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The checksum of what is to be written.
pub(in crate::io) fn checksum(
    tensors: &[(&str, &[usize], Values<'_>)],
    metadata: &BTreeMap<String, String>,
) -> Parsed<String> {
    let mut sum = Sum::of(metadata);
    let mut sorted = tensors.to_vec();
    sorted.sort_by_key(|&(name, ..)| name);
    for (name, shape, values) in sorted {
        sum.tensor(name, dtype_name(values.dtype()), shape);
        values.write_to(&mut sum)?;
    }
    Ok(sum.finish())
}

impl SafeTensors {
    /// The checksum of what was read.
    pub(in crate::io) fn checksum(&self) -> String {
        let mut sum = Sum::of(&self.header.metadata);
        let mut sorted: Vec<_> = self.header.tensors.iter().collect();
        sorted.sort_by_key(|tensor| &tensor.name);
        let bytes: &[u8] = match &self.source {
            Source::Mapped(map) => map,
            Source::Memory(bytes) => bytes,
        };
        for tensor in sorted {
            sum.tensor(&tensor.name, &tensor.dtype, &tensor.shape);
            // The header check made sure that the range is inside.
            sum.0.update(bytes.get(tensor.range.clone()).unwrap_or(&[]));
        }
        sum.finish()
    }
}
