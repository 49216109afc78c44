//! IDX, the format of MNIST: one array of any rank.
//!
//! | bytes | what |
//! |---|---|
//! | 2 | zero |
//! | 1 | element type: 8 u8, 9 i8, 11 i16, 12 i32, 13 f32, 14 f64 |
//! | 1 | rank r |
//! | 4 r | sizes, big-endian u32 |
//! | rest | elements in row-major order, big-endian |
//!
//! Gzip files are decompressed while they are read, detected by their first bytes. The sizes are compared with the bytes
//! available before memory is allocated for them.
//!
//! ```
//! use tove_data::images::{read_idx, write_idx};
//! use tove_tensor::{Tensor, io::WriteOptions};
//! let path = std::env::temp_dir().join(format!("tove-idx-{}.gz", std::process::id()));
//! let x = Tensor::from([[1.5f32, 2.0], [3.0, 4.0]]);
//! write_idx(&path, &x, WriteOptions::overwriting())?;
//! assert_eq!(read_idx(&path)?.to_vec::<f32>(), x.to_vec::<f32>());
//! std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use tove_tensor::io::{FaultKind, MAX_RANK, Place, WriteOptions, atomic};
use tove_tensor::{DType, Shape, Tensor};

use crate::source::{Source, fault};
use crate::{DataError, Result};

/// An element type of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum IdxType {
    U8,
    I8,
    I16,
    I32,
    F32,
    F64,
}

impl IdxType {
    /// All of them, in the order of their codes.
    pub const ALL: [IdxType; 6] = [IdxType::U8, IdxType::I8, IdxType::I16, IdxType::I32, IdxType::F32, IdxType::F64];

    /// The format's code.
    pub fn code(self) -> u8 {
        match self {
            IdxType::U8 => 0x08,
            IdxType::I8 => 0x09,
            IdxType::I16 => 0x0b,
            IdxType::I32 => 0x0c,
            IdxType::F32 => 0x0d,
            IdxType::F64 => 0x0e,
        }
    }

    /// Bytes per element.
    pub fn size(self) -> usize {
        match self {
            IdxType::U8 | IdxType::I8 => 1,
            IdxType::I16 => 2,
            IdxType::I32 | IdxType::F32 => 4,
            IdxType::F64 => 8,
        }
    }

    /// The type of the tensor that is read: signed integers become i64.
    pub fn dtype(self) -> DType {
        match self {
            IdxType::U8 => DType::U8,
            IdxType::I8 | IdxType::I16 | IdxType::I32 => DType::I64,
            IdxType::F32 => DType::F32,
            IdxType::F64 => DType::F64,
        }
    }
}

/// What stands before the elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub kind: IdxType,
    pub shape: Vec<usize>,
    /// Bytes of the elements.
    pub bytes: u64,
}

/// Reads an IDX file, packed or not.
///
/// # Errors
/// If the file cannot be read, contradicts itself, or is longer or shorter than its sizes say.
pub fn read_idx(path: impl AsRef<Path>) -> Result<Tensor> {
    read(Source::open(path.as_ref())?)
}

/// Reads the bytes of an IDX file, packed or not.
///
/// ```
/// let bytes = [0, 0, 8, 1, 0, 0, 0, 2, 7, 9];
/// assert_eq!(tove_data::images::idx::from_bytes(&bytes)?.to_vec::<u8>(), [7, 9]);
/// # Ok::<(), tove_data::DataError>(())
/// ```
///
/// # Errors
/// As [`read_idx`].
pub fn from_bytes(bytes: &[u8]) -> Result<Tensor> {
    read(Source::from_bytes(Path::new("IDX bytes"), bytes))
}

fn read(mut source: Source<'_>) -> Result<Tensor> {
    let header = read_header(&mut source)?;
    let bytes = source.take(header.bytes, "the array")?;
    source.end()?;
    decode(header.kind, bytes, header.shape)
}

pub(crate) fn read_header(source: &mut Source<'_>) -> Result<Header> {
    let [zero, second, code, rank] = source.array::<4>("the IDX header")?;
    if (zero, second) != (0, 0) {
        return Err(source.malformed(format!("an IDX file begins with two zero bytes, this one with {zero} {second}")));
    }
    let kind = IdxType::ALL.into_iter().find(|kind| kind.code() == code);
    let kind =
        kind.ok_or_else(|| source.malformed(format!("element type {code:#04x} is not one of the IDX format")))?;
    if usize::from(rank) > MAX_RANK {
        let advice = "give the array fewer axes";
        return Err(source.fault(FaultKind::Unsupported, 3, format!("{rank} axes are more than {MAX_RANK}"), advice));
    }
    let mut shape = Vec::with_capacity(usize::from(rank));
    let mut bytes = kind.size() as u64;
    for _ in 0..rank {
        let size = u32::from_be_bytes(source.array("the list of sizes")?);
        shape.push(size as usize);
        // An empty axis must not hide that the others are absurd; in memory an element may take eight bytes.
        let total = bytes.checked_mul(u64::from(size.max(1))).filter(|&total| total <= isize::MAX as u64 / 8);
        bytes =
            total.ok_or_else(|| source.malformed(format!("the sizes {shape:?} ask for more than can be addressed")))?;
    }
    if shape.contains(&0) {
        bytes = 0;
    }
    match source.len() {
        Some(len) if len != source.at() + bytes => {
            let (wanted, there) = (bytes, len - source.at());
            Err(source.malformed(format!("sizes {shape:?} need {wanted} bytes of elements, {there} are there")))
        }
        _ => Ok(Header { kind, shape, bytes }),
    }
}

/// Elements out of the bytes of a file, of which there must be as many as the shape has.
pub(crate) fn decode(kind: IdxType, bytes: Vec<u8>, shape: impl Into<Shape>) -> Result<Tensor> {
    fn each<const N: usize, T>(bytes: &[u8], element: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|&bytes| element(bytes)).collect()
    }
    let tensor = match kind {
        IdxType::U8 => Tensor::try_from_vec(bytes, shape),
        IdxType::I8 => Tensor::try_from_vec(each(&bytes, |b| i64::from(i8::from_be_bytes(b))), shape),
        IdxType::I16 => Tensor::try_from_vec(each(&bytes, |b| i64::from(i16::from_be_bytes(b))), shape),
        IdxType::I32 => Tensor::try_from_vec(each(&bytes, |b| i64::from(i32::from_be_bytes(b))), shape),
        IdxType::F32 => Tensor::try_from_vec(each(&bytes, f32::from_be_bytes), shape),
        IdxType::F64 => Tensor::try_from_vec(each(&bytes, f64::from_be_bytes), shape),
    };
    Ok(tensor?)
}

/// Writes a tensor in its own type: u8 and bool as u8, i64 as i32, floats as they are; packed when the name ends in
/// `.gz`. The file appears complete or not at all.
///
/// # Errors
/// If a number or size does not fit the format, the file exists and may not be replaced, or the system refuses.
pub fn write_idx(path: impl AsRef<Path>, tensor: &Tensor, options: WriteOptions) -> Result<()> {
    let kind = match tensor.dtype() {
        DType::U8 | DType::Bool => IdxType::U8,
        DType::I64 => IdxType::I32,
        DType::F32 => IdxType::F32,
        DType::F64 => IdxType::F64,
    };
    write_idx_as(path, tensor, kind, options)
}

/// As [`write_idx`], in a chosen element type; whole numbers must fit it, and floats go to float types only.
///
/// # Errors
/// As [`write_idx`].
pub fn write_idx_as(path: impl AsRef<Path>, tensor: &Tensor, kind: IdxType, options: WriteOptions) -> Result<()> {
    let path = path.as_ref();
    let refused = |problem: String| fault(path, Place::default(), FaultKind::Refused, problem, "nothing was written");
    let bytes = encode(tensor, kind).map_err(|problem| match problem {
        Unfit::Text(problem) => refused(problem),
        Unfit::Error(error) => error,
    })?;
    let packed = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    atomic::write_file(path, options, |out| {
        if !packed {
            return out.write_all(&bytes);
        }
        let mut encoder = GzEncoder::new(out, Compression::best());
        encoder.write_all(&bytes)?;
        encoder.finish().map(drop)
    })?;
    Ok(())
}

/// Why an array does not go into the format.
enum Unfit {
    Text(String),
    Error(DataError),
}

impl From<tove_tensor::Error> for Unfit {
    fn from(error: tove_tensor::Error) -> Self {
        Unfit::Error(error.into())
    }
}

fn encode(tensor: &Tensor, kind: IdxType) -> Result<Vec<u8>, Unfit> {
    let text = |problem: String| Err(Unfit::Text(problem));
    let Ok(rank) = u8::try_from(tensor.rank()) else { return text(format!("{} axes do not fit", tensor.rank())) };
    let mut bytes = vec![0, 0, kind.code(), rank];
    for &size in tensor.dims() {
        let Ok(size) = u32::try_from(size) else { return text(format!("an axis of {size} does not fit 32 bits")) };
        bytes.extend(size.to_be_bytes());
    }
    bytes.reserve(tensor.numel() * kind.size());
    let from_float = tensor.dtype().is_float();
    match kind {
        IdxType::F32 if from_float => {
            tensor.to_dtype(DType::F32).try_to_vec::<f32>()?.iter().for_each(|x| bytes.extend(x.to_be_bytes()));
        }
        IdxType::F64 if from_float => {
            tensor.to_dtype(DType::F64).try_to_vec::<f64>()?.iter().for_each(|x| bytes.extend(x.to_be_bytes()));
        }
        _ if from_float || matches!(kind, IdxType::F32 | IdxType::F64) => {
            return text(format!(
                "elements of type {} are not written as {kind:?}; convert them first",
                tensor.dtype()
            ));
        }
        _ => whole_numbers(&tensor.to_dtype(DType::I64).try_to_vec::<i64>()?, kind, &mut bytes)?,
    }
    Ok(bytes)
}

fn whole_numbers(values: &[i64], kind: IdxType, bytes: &mut Vec<u8>) -> Result<(), Unfit> {
    fn each<const N: usize>(
        values: &[i64],
        bytes: &mut Vec<u8>,
        encode: impl Fn(i64) -> Option<[u8; N]>,
    ) -> Result<(), Unfit> {
        for (place, &value) in values.iter().enumerate() {
            let unfit = || Unfit::Text(format!("element {place} is {value}, which does not fit {} bytes", N));
            bytes.extend(encode(value).ok_or_else(unfit)?);
        }
        Ok(())
    }
    match kind {
        IdxType::U8 => each(values, bytes, |value| u8::try_from(value).ok().map(u8::to_be_bytes)),
        IdxType::I8 => each(values, bytes, |value| i8::try_from(value).ok().map(i8::to_be_bytes)),
        IdxType::I16 => each(values, bytes, |value| i16::try_from(value).ok().map(i16::to_be_bytes)),
        _ => each(values, bytes, |value| i32::try_from(value).ok().map(i32::to_be_bytes)),
    }
}
