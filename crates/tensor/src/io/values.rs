//! Elements to be written.

use std::io::{self, Write};

use super::RawDType;
use super::error::{Failure, Parsed};
use super::raw::{byte_count, quote_shape};

/// A borrowed row-major array to be written, in one of the five element types of this crate.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Values<'a> {
    F32(&'a [f32]),
    F64(&'a [f64]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    Bool(&'a [bool]),
}

impl Values<'_> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Values::F32(v) => v.len(),
            Values::F64(v) => v.len(),
            Values::I64(v) => v.len(),
            Values::U8(v) => v.len(),
            Values::Bool(v) => v.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element type in the file.
    pub fn dtype(&self) -> RawDType {
        match self {
            Values::F32(_) => RawDType::F32,
            Values::F64(_) => RawDType::F64,
            Values::I64(_) => RawDType::I64,
            Values::U8(_) => RawDType::U8,
            Values::Bool(_) => RawDType::Bool,
        }
    }

    /// Writes the elements as little-endian bytes.
    pub(crate) fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Values::F32(v) => encode(v, out, |x| x.to_le_bytes()),
            Values::F64(v) => encode(v, out, |x| x.to_le_bytes()),
            Values::I64(v) => encode(v, out, |x| x.to_le_bytes()),
            Values::U8(v) => out.write_all(v),
            Values::Bool(v) => encode(v, out, |x| [u8::from(x)]),
        }
    }
}

/// Goes through a small buffer: one pass at the speed of a copy, without unsafe casts.
fn encode<T: Copy, const N: usize>(
    values: &[T],
    out: &mut dyn Write,
    to_bytes: impl Fn(T) -> [u8; N],
) -> io::Result<()> {
    const CHUNK: usize = 8192;
    let mut buffer = vec![0u8; CHUNK.min(values.len()) * N];
    for chunk in values.chunks(CHUNK) {
        let bytes = &mut buffer[..chunk.len() * N];
        for (target, &value) in bytes.chunks_exact_mut(N).zip(chunk) {
            target.copy_from_slice(&to_bytes(value));
        }
        out.write_all(bytes)?;
    }
    Ok(())
}

/// The caller's shape and number of values must agree.
pub(crate) fn check_shape(shape: &[usize], values: Values<'_>) -> Parsed<()> {
    let needed = byte_count(values.dtype(), shape)? / values.dtype().size();
    if needed == values.len() {
        return Ok(());
    }
    let problem = format!("shape {} needs {needed} elements, {} were given", quote_shape(shape), values.len());
    Err(Failure::refused(problem, "pass as many values as the shape has elements"))
}
