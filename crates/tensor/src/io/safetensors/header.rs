//! The header of a safetensors file: parsed without believing it, then checked against the file.

use crate::io::RawDType;
use crate::io::error::{Failure, Parsed, quote};
use crate::io::raw::{byte_count, quote_shape};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;

/// Bytes of the length field in front of the header.
pub(super) const LENGTH_FIELD: usize = 8;
/// Longest header, the limit of the reference implementation.
pub(super) const LONGEST: u64 = 100_000_000;
/// The key of the free-form strings.
pub(super) const METADATA: &str = "__metadata__";

/// One tensor's line of the header.
#[derive(Debug)]
pub(super) struct TensorInfo {
    pub name: String,
    /// Type name of the format, perhaps one that we do not read.
    pub dtype: String,
    pub shape: Vec<usize>,
    /// Bytes in the file, checked to be inside.
    pub range: Range<usize>,
}

/// A checked header.
#[derive(Debug)]
pub(super) struct Header {
    /// In the order of their bytes.
    pub tensors: Vec<TensorInfo>,
    /// Position in `tensors` by name.
    pub index: HashMap<String, usize>,
    pub metadata: BTreeMap<String, String>,
}

impl Header {
    /// Parses and checks the header of a whole file.
    pub(super) fn parse(file: &[u8]) -> Parsed<Header> {
        let json = header_bytes(file)?;
        let start = LENGTH_FIELD + json.len();
        let text = str::from_utf8(json).map_err(|error| {
            Failure::malformed("the header is not UTF-8").offset((LENGTH_FIELD + error.valid_up_to()) as u64)
        })?;
        let mut declared = Declared::default();
        declared.parse(text)?;
        let mut tensors = declared.tensors;
        tensors.sort_by_key(|tensor| (tensor.offsets, tensor.shape.contains(&0)));
        let tensors = check(tensors, start, file.len())?;
        let index = tensors.iter().enumerate().map(|(position, tensor)| (tensor.name.clone(), position)).collect();
        Ok(Header { tensors, index, metadata: declared.metadata })
    }
}

/// The length of the header by the first bytes of a file.
pub(super) fn promised(file: &[u8]) -> Parsed<u64> {
    let Some((length, _)) = file.split_first_chunk::<LENGTH_FIELD>() else {
        return Err(Failure::malformed(format!("only {} bytes, no room for a safetensors header", file.len())));
    };
    if length.starts_with(b"PK\x03\x04") || length.starts_with(b"\x80\x02}") {
        return Err(Failure::unsupported(
            "this is a Python pickle (a torch checkpoint), not a safetensors file",
            "pickles run code when loaded; save with safetensors.torch.save_file instead",
        ));
    }
    let length = u64::from_le_bytes(*length);
    if length > LONGEST {
        let problem = format!("a header of {length} bytes (limit {LONGEST})");
        return Err(Failure::too_large(problem, "this is no safetensors file, or a damaged one").offset(0));
    }
    Ok(length)
}

/// Where a file ends by its header, which is all that is read so far.
pub(super) fn end(file: &[u8]) -> Parsed<usize> {
    let json = header_bytes(file)?;
    let text = str::from_utf8(json).map_err(|_| Failure::malformed("the header is not UTF-8"))?;
    let mut declared = Declared::default();
    declared.parse(text)?;
    let last = declared.tensors.iter().map(|tensor| tensor.offsets.1).max().unwrap_or(0);
    Ok((LENGTH_FIELD + json.len()).saturating_add(last))
}

fn header_bytes(file: &[u8]) -> Parsed<&[u8]> {
    let length = promised(file)?;
    let rest = file.get(LENGTH_FIELD..).unwrap_or_default();
    let header = rest.get(..length as usize).ok_or_else(|| {
        Failure::malformed(format!("a header of {length} bytes is promised, {} follow", rest.len())).offset(0)
    })?;
    if header.first() != Some(&b'{') {
        return Err(Failure::malformed("the header does not start with '{'").offset(LENGTH_FIELD as u64));
    }
    Ok(header)
}

/// A tensor as the header declares it.
#[derive(Debug)]
struct Declaration {
    name: String,
    dtype: String,
    shape: Vec<usize>,
    offsets: (usize, usize),
}

/// The header as it is declared, before any check.
#[derive(Debug, Default)]
struct Declared {
    tensors: Vec<Declaration>,
    metadata: BTreeMap<String, String>,
    /// The tensor being read, for the error message.
    current: Option<String>,
}

impl Declared {
    fn parse(&mut self, text: &str) -> Parsed<()> {
        let mut json = serde_json::Deserializer::from_str(text);
        let result = (&mut *self).deserialize(&mut json).and_then(|()| json.end());
        result.map_err(|error| {
            let failure = Failure::malformed(format!("the header is not as it should be: {error}"));
            match &self.current {
                Some(name) => failure.item("tensor", name),
                None => failure.offset(byte_of(text, &error)),
            }
        })
    }
}

/// Byte of the file at which the JSON parser gave up.
fn byte_of(text: &str, error: &serde_json::Error) -> u64 {
    let lines_before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    (LENGTH_FIELD + lines_before + error.column().saturating_sub(1)) as u64
}

impl<'de> DeserializeSeed<'de> for &mut Declared {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

#[derive(serde::Deserialize)]
struct Fields {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: (usize, usize),
}

impl<'de> Visitor<'de> for &mut Declared {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with one entry per tensor")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = std::collections::HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format!("the name {} is given twice", quote(&name))));
            }
            if name == METADATA {
                self.metadata = map.next_value::<Option<_>>()?.unwrap_or_default();
                continue;
            }
            self.current = Some(name.clone());
            let Fields { dtype, shape, data_offsets } = map.next_value()?;
            self.tensors.push(Declaration { name, dtype, shape, offsets: data_offsets });
            self.current = None;
        }
        Ok(())
    }
}

/// The tensors, sorted by offset, must cover the data exactly.
fn check(declared: Vec<Declaration>, start: usize, file_length: usize) -> Parsed<Vec<TensorInfo>> {
    let data_length = file_length - start;
    let mut position = 0;
    let mut tensors = Vec::with_capacity(declared.len());
    for Declaration { name, dtype, shape, offsets: (begin, end) } in declared {
        let fault = |problem: String| Err(Failure::malformed(problem).item("tensor", &name));
        if begin > end || end > data_length {
            return fault(format!("bytes {begin} to {end} of {data_length} bytes of data"));
        }
        if begin != position {
            let relation = if begin < position { "inside" } else { "behind a hole after" };
            return fault(format!("begins at byte {begin}, {relation} the tensor before it, which ends at {position}"));
        }
        let needed = bytes_needed(&dtype, &shape).map_err(|failure| failure.item("tensor", &name))?;
        if needed.is_some_and(|needed| needed != end - begin) {
            let shape = quote_shape(&shape);
            return fault(format!("{} of shape {shape} does not fill its {} bytes", quote(&dtype), end - begin));
        }
        position = end;
        tensors.push(TensorInfo { name, dtype, shape, range: start + begin..start + end });
    }
    if position != data_length {
        let problem = format!("the tensors end at byte {position} of {data_length} bytes of data");
        return Err(Failure::malformed(problem).offset((start + position) as u64));
    }
    Ok(tensors)
}

/// Bytes of a tensor; `None` for a type that this crate does not know at all.
fn bytes_needed(dtype: &str, shape: &[usize]) -> Parsed<Option<usize>> {
    // also guards the exotic types against shapes that overflow
    let elements = byte_count(RawDType::U8, shape)?;
    if let Some(known) = known_dtype(dtype) {
        return byte_count(known, shape).map(Some);
    }
    let bits = match dtype {
        "F4" => 4,
        "F6_E2M3" | "F6_E3M2" => 6,
        "F8_E5M2" | "F8_E4M3" | "F8_E8M0" | "F8_E4M3FNUZ" | "F8_E5M2FNUZ" => 8,
        "C64" => 64,
        _ => return Ok(None),
    };
    let total = elements.checked_mul(bits).filter(|total| total % 8 == 0);
    match total {
        Some(total) => Ok(Some(total / 8)),
        None => Err(Failure::malformed(format!("shape {} does not fill whole bytes", quote_shape(shape)))),
    }
}

/// The element type of a type name, when it is one that we read.
pub(super) fn known_dtype(name: &str) -> Option<RawDType> {
    RawDType::ALL.into_iter().find(|&dtype| dtype_name(dtype) == name)
}

/// The type name of the format.
pub(super) fn dtype_name(dtype: RawDType) -> &'static str {
    match dtype {
        RawDType::F16 => "F16",
        RawDType::BF16 => "BF16",
        RawDType::F32 => "F32",
        RawDType::F64 => "F64",
        RawDType::I8 => "I8",
        RawDType::I16 => "I16",
        RawDType::I32 => "I32",
        RawDType::I64 => "I64",
        RawDType::U8 => "U8",
        RawDType::U16 => "U16",
        RawDType::U32 => "U32",
        RawDType::U64 => "U64",
        RawDType::Bool => "BOOL",
    }
}
