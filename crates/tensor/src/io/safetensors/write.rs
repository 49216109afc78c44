//! Writing safetensors: wide types first, so that every tensor is aligned in a map of the file.

use super::header::{LENGTH_FIELD, LONGEST, METADATA, dtype_name};
use crate::io::atomic::{self, WriteOptions};
use crate::io::error::{Failure, FileError, Parsed};
use crate::io::values::check_shape;
use crate::io::{RawDType, Values};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::Path;

/// The first element's offset is a multiple of this; the format asks for 8, cache lines and vectors like 64.
const ALIGNMENT: usize = 64;

/// Writes a safetensors file. The same tensors and metadata give the same bytes, whatever their order.
pub fn write(
    path: impl AsRef<Path>,
    tensors: &[(&str, &[usize], Values<'_>)],
    metadata: &BTreeMap<String, String>,
    options: WriteOptions,
) -> Result<(), FileError> {
    atomic::write(path.as_ref(), options.overwrite, |out| write_tensors(out, tensors, metadata))
}

/// Writes in the safetensors format to any writer.
pub fn write_to(
    out: &mut impl Write,
    tensors: &[(&str, &[usize], Values<'_>)],
    metadata: &BTreeMap<String, String>,
) -> Result<(), FileError> {
    write_tensors(out, tensors, metadata).map_err(|failure| failure.file(Path::new("(stream)"), "write"))
}

fn write_tensors(
    out: &mut dyn Write,
    tensors: &[(&str, &[usize], Values<'_>)],
    metadata: &BTreeMap<String, String>,
) -> Parsed<()> {
    let mut sorted = tensors.to_vec();
    sorted.sort_by_key(|&(name, _, values)| (std::cmp::Reverse(values.dtype().size()), name));
    check_names(&sorted)?;
    let header = encode_header(&sorted, metadata)?;
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(&header)?;
    for (_, _, values) in sorted {
        values.write_to(out)?;
    }
    Ok(())
}

fn check_names(tensors: &[(&str, &[usize], Values<'_>)]) -> Parsed<()> {
    let mut seen = HashSet::new();
    for &(name, ..) in tensors {
        if name == METADATA {
            return Err(
                Failure::refused("this name is reserved by the format", "choose another name").item("tensor", name)
            );
        }
        if !seen.insert(name) {
            return Err(Failure::refused("two tensors have this name", "choose another name").item("tensor", name));
        }
    }
    Ok(())
}

fn encode_header(tensors: &[(&str, &[usize], Values<'_>)], metadata: &BTreeMap<String, String>) -> Parsed<Vec<u8>> {
    let mut lines = Vec::with_capacity(tensors.len() + 1);
    if !metadata.is_empty() {
        let strings: Vec<String> =
            metadata.iter().map(|(key, value)| format!("{}:{}", json(key), json(value))).collect();
        lines.push(format!("{}:{{{}}}", json(METADATA), strings.join(",")));
    }
    let mut begin = 0;
    for &(name, shape, values) in tensors {
        check_shape(shape, values).map_err(|failure| failure.item("tensor", name))?;
        let dtype: RawDType = values.dtype();
        let end = begin + values.len() * dtype.size();
        let extents: Vec<String> = shape.iter().map(usize::to_string).collect();
        lines.push(format!(
            r#"{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{begin},{end}]}}"#,
            json(name),
            dtype_name(dtype),
            extents.join(",")
        ));
        begin = end;
    }
    let mut header = format!("{{{}}}", lines.join(",")).into_bytes();
    header.resize((LENGTH_FIELD + header.len()).next_multiple_of(ALIGNMENT) - LENGTH_FIELD, b' ');
    if header.len() as u64 > LONGEST {
        let problem = format!("a header of {} bytes (limit {LONGEST})", header.len());
        return Err(Failure::refused(problem, "shorten names and metadata, or write several files"));
    }
    Ok(header)
}

/// A JSON string with its quotes.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
