//! From the element types of files to the five of this crate.
//!
//! | in the file | here |
//! |---|---|
//! | f16, bf16, f32 | f32, exactly |
//! | f64 | f64 |
//! | i8, i16, i32, i64, u16, u32 | i64, exactly |
//! | u64 | i64, an error for values of 2^63 and above |
//! | u8 | u8 |
//! | bool | bool; any byte other than 0 is true, as in numpy |
//!
//! Big-endian values are swapped and Fortran order is rearranged to row-major. A mapped array that needs none of this
//! and is aligned for its type stays in the map, without a copy.

use super::{Bytes, Endian, Fault, FaultKind, FileMap, Place, RawArray, RawDType};
use half::{bf16, f16};
use std::ops::Range;
use std::sync::Arc;

/// The element types of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NativeDType {
    F32,
    F64,
    I64,
    U8,
    Bool,
}

/// An array in one of the element types of this crate, row-major, in the byte order of this machine.
#[derive(Debug, Clone)]
pub struct NativeArray {
    /// Extent of each axis.
    pub shape: Vec<usize>,
    /// The elements, as many as the shape says.
    pub data: NativeData,
}

/// Elements in memory of their own or still in the file's map.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum NativeData {
    F32(Vec<f32>),
    F64(Vec<f64>),
    I64(Vec<i64>),
    U8(Vec<u8>),
    Bool(Vec<bool>),
    /// Bytes `range` of `map`, aligned for `dtype`, in the byte order of this machine; a bool is 0 or 1.
    Mapped {
        dtype: NativeDType,
        map: Arc<FileMap>,
        range: Range<usize>,
    },
}

impl NativeData {
    /// The element type.
    pub fn dtype(&self) -> NativeDType {
        match self {
            NativeData::F32(_) => NativeDType::F32,
            NativeData::F64(_) => NativeDType::F64,
            NativeData::I64(_) => NativeDType::I64,
            NativeData::U8(_) => NativeDType::U8,
            NativeData::Bool(_) => NativeDType::Bool,
            NativeData::Mapped { dtype, .. } => *dtype,
        }
    }
}

impl RawArray {
    /// Converts to one of the five element types, without a copy where the file's map can serve as it is.
    /// Fails only for u64 values that do not fit in i64.
    pub fn to_native(self) -> Result<NativeArray, Fault> {
        let needs_order = self.needs_reordering();
        match stay_mapped(self.dtype(), self.endian(), self.bytes()) {
            Some(data) if !needs_order => Ok(NativeArray { shape: self.shape().to_vec(), data }),
            _ => self.to_owned_native(),
        }
    }

    /// As [`RawArray::to_native`], but always into memory of its own, never in the map.
    pub fn to_owned_native(self) -> Result<NativeArray, Fault> {
        let needs_order = self.needs_reordering();
        let (dtype, endian, shape, bytes) = self.into_parts();
        let data = convert(dtype, endian, bytes, needs_order.then_some(shape.as_slice()))?;
        Ok(NativeArray { shape, data })
    }

    /// Column-major and row-major are the same thing along a single axis.
    fn needs_reordering(&self) -> bool {
        self.fortran_order() && self.shape().iter().filter(|&&extent| extent != 1).count() > 1
    }
}

fn stay_mapped(dtype: RawDType, endian: Endian, bytes: &Bytes) -> Option<NativeData> {
    let Bytes::Mapped(map, range) = bytes else { return None };
    let dtype = match dtype {
        RawDType::F32 => NativeDType::F32,
        RawDType::F64 => NativeDType::F64,
        RawDType::I64 => NativeDType::I64,
        RawDType::U8 => NativeDType::U8,
        // Truth values are copied: a byte of a map that changes into a 2 would not be one any more.
        _ => return None,
    };
    let size = match dtype {
        NativeDType::F32 => 4,
        NativeDType::F64 | NativeDType::I64 => 8,
        NativeDType::U8 | NativeDType::Bool => 1,
    };
    let aligned = bytes.as_ptr().addr().is_multiple_of(size);
    let in_order = size == 1 || endian == Endian::NATIVE;
    (aligned && in_order).then(|| NativeData::Mapped { dtype, map: Arc::clone(map), range: range.clone() })
}

/// Decodes into typed memory; `fortran` is the shape when elements must be rearranged to row-major.
fn convert(dtype: RawDType, endian: Endian, bytes: Bytes, fortran: Option<&[usize]>) -> Result<NativeData, Fault> {
    use NativeData as N;
    let big = endian == Endian::Big;
    macro_rules! decode {
        ($kind:ty, $to:expr) => {{
            let values = if big {
                decode(&bytes, |b| $to(<$kind>::from_be_bytes(b)))
            } else {
                decode(&bytes, |b| $to(<$kind>::from_le_bytes(b)))
            };
            row_major(values, fortran)
        }};
    }
    Ok(match dtype {
        RawDType::F16 => N::F32(decode!(f16, f16::to_f32)),
        RawDType::BF16 => N::F32(decode!(bf16, bf16::to_f32)),
        RawDType::F32 => N::F32(decode!(f32, |x| x)),
        RawDType::F64 => N::F64(decode!(f64, |x| x)),
        RawDType::I8 => N::I64(decode!(i8, i64::from)),
        RawDType::I16 => N::I64(decode!(i16, i64::from)),
        RawDType::I32 => N::I64(decode!(i32, i64::from)),
        RawDType::I64 => N::I64(decode!(i64, |x| x)),
        RawDType::U16 => N::I64(decode!(u16, i64::from)),
        RawDType::U32 => N::I64(decode!(u32, i64::from)),
        RawDType::U64 => N::I64(signed(decode!(u64, |x| x))?),
        RawDType::U8 => N::U8(row_major(
            match bytes {
                Bytes::Owned(bytes) => bytes,
                mapped => mapped.to_vec(),
            },
            fortran,
        )),
        RawDType::Bool => N::Bool(row_major(bytes.iter().map(|&byte| byte != 0).collect(), fortran)),
    })
}

fn decode<T, const N: usize>(bytes: &[u8], from_bytes: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|&chunk| from_bytes(chunk)).collect()
}

fn signed(values: Vec<u64>) -> Result<Vec<i64>, Fault> {
    match values.iter().position(|&value| value > i64::MAX as u64) {
        None => Ok(values.into_iter().map(u64::cast_signed).collect()),
        Some(index) => Err(Fault {
            kind: FaultKind::Unsupported,
            place: Place::default(),
            problem: format!("u64 value {} at row-major position {index} does not fit in i64", values[index]),
            advice: "integers are i64 here; save the array as f64, or subtract an offset first",
        }),
    }
}

/// Rearranges column-major elements to row-major; `None` means they are row-major already.
fn row_major<T: Copy>(values: Vec<T>, fortran: Option<&[usize]>) -> Vec<T> {
    let Some(shape) = fortran else { return values };
    let Some((&last, outer)) = shape.split_last() else { return values };
    let mut result = Vec::with_capacity(values.len());
    if values.is_empty() {
        return result;
    }
    // column-major strides: 1, d0, d0 d1, ...
    let last_stride = outer.iter().product::<usize>();
    let mut index = vec![0usize; outer.len()];
    loop {
        let mut start = 0;
        for (&i, &extent) in index.iter().zip(outer).rev() {
            start = start * extent + i;
        }
        result.extend((0..last).map(|k| values[start + k * last_stride]));
        // next row, the last of the outer axes fastest
        let Some(axis) = (0..outer.len()).rev().find(|&axis| index[axis] + 1 < outer[axis]) else { return result };
        index[axis] += 1;
        index[axis + 1..].fill(0);
    }
}
