//! An array as it lies in a file: bytes and how to read them.

use super::FileMap;
use super::error::{Failure, Parsed};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The largest number of axes read from a file, as in numpy.
pub const MAX_RANK: usize = 64;

/// Element types that files may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum RawDType {
    F16,
    BF16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
}

impl RawDType {
    /// Every element type, for tests and tables.
    pub const ALL: [RawDType; 13] = {
        use RawDType::*;
        [F16, BF16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool]
    };

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            RawDType::I8 | RawDType::U8 | RawDType::Bool => 1,
            RawDType::F16 | RawDType::BF16 | RawDType::I16 | RawDType::U16 => 2,
            RawDType::F32 | RawDType::I32 | RawDType::U32 => 4,
            RawDType::F64 | RawDType::I64 | RawDType::U64 => 8,
        }
    }
}

/// Byte order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Endian {
    Little,
    Big,
}

impl Endian {
    /// The byte order of this machine.
    pub const NATIVE: Endian = if cfg!(target_endian = "big") { Endian::Big } else { Endian::Little };
}

/// Bytes that are owned or a range of a shared memory map.
#[derive(Debug, Clone)]
pub enum Bytes {
    /// Bytes in memory of their own.
    Owned(Vec<u8>),
    /// A part of a mapped file. The range lies within the map.
    Mapped(Arc<FileMap>, Range<usize>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Owned(bytes) => bytes,
            // readers check the range; an impossible one reads as empty instead of panicking
            Bytes::Mapped(map, range) => map.get(range.clone()).unwrap_or(&[]),
        }
    }
}

/// An array as it lies in a file. The number of bytes always agrees with type and shape.
#[derive(Debug, Clone)]
pub struct RawArray {
    dtype: RawDType,
    endian: Endian,
    shape: Vec<usize>,
    fortran_order: bool,
    bytes: Bytes,
}

impl RawArray {
    /// Puts an array together; fails unless `bytes` has as many bytes as `dtype` and `shape` ask for.
    pub(crate) fn new(
        dtype: RawDType,
        endian: Endian,
        shape: Vec<usize>,
        fortran_order: bool,
        bytes: Bytes,
    ) -> Parsed<RawArray> {
        let needed = byte_count(dtype, &shape)?;
        if bytes.len() != needed {
            return Err(Failure::malformed(format!(
                "{dtype:?} of shape {} needs {needed} bytes, there are {}",
                quote_shape(&shape),
                bytes.len()
            )));
        }
        Ok(RawArray { dtype, endian, shape, fortran_order, bytes })
    }

    /// Element type in the file.
    pub fn dtype(&self) -> RawDType {
        self.dtype
    }

    /// Byte order in the file.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// Extent of each axis.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether the first axis runs fastest (Fortran, column-major) instead of the last (C, row-major).
    pub fn fortran_order(&self) -> bool {
        self.fortran_order
    }

    /// The untouched bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    pub(crate) fn into_parts(self) -> (RawDType, Endian, Vec<usize>, Bytes) {
        (self.dtype, self.endian, self.shape, self.bytes)
    }
}

/// Bytes of an array, or a fault when the shape is impossible.
///
/// The product runs over the axes that are not zero, so that strides computed from such a shape cannot overflow either.
pub(crate) fn byte_count(dtype: RawDType, shape: &[usize]) -> Parsed<usize> {
    if shape.len() > MAX_RANK {
        return Err(Failure::too_large(
            format!("{} axes, more than the {MAX_RANK} that numpy knows", shape.len()),
            "reshape the array to fewer axes before saving",
        ));
    }
    let nonzero = shape.iter().filter(|&&extent| extent != 0);
    let bytes = nonzero.copied().try_fold(dtype.size(), usize::checked_mul).filter(|&n| isize::try_from(n).is_ok());
    match bytes {
        Some(_) if shape.contains(&0) => Ok(0),
        Some(bytes) => Ok(bytes),
        None => {
            Err(Failure::malformed(format!("shape {} asks for more bytes than can be addressed", quote_shape(shape))))
        }
    }
}

/// A shape fit to print: `(3, 4)`.
pub(crate) fn quote_shape(shape: &[usize]) -> String {
    let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
    format!("({})", extents.join(", "))
}
