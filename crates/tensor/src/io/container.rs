//! The container of model files: a safetensors file whose metadata name what is inside.
//!
//! The metadata hold four texts: `tove` (the version of this layout), `kind` (what is stored, such as `Ridge`), `version` (of
//! that kind's own layout) and `header` (a JSON document with everything that is not a tensor). Other programs read the
//! tensors as they read any safetensors file. Loading runs no code, and trusts no length that the file states.
//!
//! ```
//! use serde_json::json;
//! use tove_tensor::{Tensor, io::{Container, WriteOptions}};
//! let path = std::env::temp_dir().join(format!("tove-container-{}.tove", std::process::id()));
//! let mut model = Container::new("Line", 1, json!({"features": ["x"]}));
//! model.insert("slope", Tensor::from([2.0]));
//! model.save(&path, WriteOptions::overwriting())?;
//! let back = Container::load(&path)?;
//! assert_eq!((back.kind.as_str(), back.version, &back.header["features"][0]), ("Line", 1, &json!("x")));
//! assert_eq!(back.tensor("slope").unwrap().to_vec::<f64>(), [2.0]);
//! std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Failure;
use super::tensors::tensor;
use super::{FileError, WriteOptions, safetensors, write_safetensors};
use crate::Tensor;

/// Version of the layout that this program writes, and the newest that it reads.
const LAYOUT: u32 = 1;

/// A kind, a header and named tensors: the content of a model file.
#[derive(Clone, Debug)]
pub struct Container {
    /// What is stored.
    pub kind: String,
    /// Version of the kind's own layout.
    pub version: u32,
    /// Everything that is not a tensor.
    pub header: serde_json::Value,
    /// The tensors, by name.
    pub tensors: BTreeMap<String, Tensor>,
}

impl Container {
    /// A container without tensors.
    pub fn new(kind: impl Into<String>, version: u32, header: serde_json::Value) -> Container {
        Container { kind: kind.into(), version, header, tensors: BTreeMap::new() }
    }

    /// Adds a tensor, in place of one of the same name.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.tensors.insert(name.into(), tensor);
    }

    /// The tensor of this name.
    pub fn tensor(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// Writes the file; complete or not at all, and never over an existing one unless asked.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<(), FileError> {
        let texts = [
            ("tove", LAYOUT.to_string()),
            ("kind", self.kind.clone()),
            ("version", self.version.to_string()),
            ("header", self.header.to_string()),
        ];
        let metadata = texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
        let tensors: Vec<(&str, &Tensor)> = self.tensors.iter().map(|(name, x)| (name.as_str(), x)).collect();
        write_safetensors(path, &tensors, &metadata, options)
    }

    /// Reads a file into memory.
    pub fn load(path: impl AsRef<Path>) -> Result<Container, FileError> {
        let path = path.as_ref();
        Container::read(&safetensors::SafeTensors::open_copied(path)?, path)
    }

    /// Reads the bytes of a file, as for one that came over the network.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Container, FileError> {
        Container::read(&safetensors::SafeTensors::from_bytes(bytes)?, Path::new("<bytes>"))
    }

    fn read(file: &safetensors::SafeTensors, path: &Path) -> Result<Container, FileError> {
        let fail = |failure: Failure| failure.file(path, "read");
        let advice = "give a file that tove has written";
        let text = |name: &str| {
            let found = file.metadata().get(name).map(String::as_str);
            found.ok_or_else(|| fail(Failure::unsupported(format!("it has no `{name}` in its metadata"), advice)))
        };
        let number = |name: &str| -> Result<u32, FileError> {
            let problem = |_| fail(Failure::malformed(format!("`{name}` of its metadata is not a version number")));
            text(name)?.parse().map_err(problem)
        };
        let layout = number("tove")?;
        if layout == 0 || layout > LAYOUT {
            let problem = format!("its layout has version {layout}, and this program reads up to {LAYOUT}");
            return Err(fail(Failure::unsupported(problem, "read it with a newer tove")));
        }
        let (kind, version) = (text("kind")?.to_owned(), number("version")?);
        let malformed = |error| fail(Failure::malformed(format!("its header is no JSON document ({error})")));
        let header = serde_json::from_str(text("header")?).map_err(malformed)?;
        let arrays = file.read_all()?.into_iter();
        let tensors = arrays.map(|(name, array)| Ok((name, tensor(array, path)?))).collect::<Result<_, FileError>>()?;
        Ok(Container { kind, version, header, tensors })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The bytes of a small container, with one metadata entry replaced.
    fn bytes(replace: Option<(&str, &str)>) -> Vec<u8> {
        let mut metadata: BTreeMap<String, String> =
            [("tove", "1"), ("kind", "Line"), ("version", "3"), ("header", "{\"a\":[1,2]}")]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .into();
        if let Some((name, text)) = replace {
            if text.is_empty() {
                metadata.remove(name)
            } else {
                metadata.insert(name.to_owned(), text.to_owned())
            };
        }
        let mut out = Vec::new();
        let values = super::super::Values::F64(&[1.0, 2.0]);
        safetensors::write_to(&mut out, &[("w", &[2], values)], &metadata).unwrap();
        out
    }

    #[test]
    fn reads_what_it_should_and_says_what_is_wrong_with_the_rest() {
        let good = Container::from_bytes(bytes(None)).unwrap();
        assert_eq!((good.kind.as_str(), good.version), ("Line", 3));
        assert_eq!(good.tensor("w").unwrap().to_vec::<f64>(), [1.0, 2.0]);
        for (replace, expected) in [
            (("tove", ""), "no `tove`"),
            (("kind", ""), "no `kind`"),
            (("tove", "2"), "newer tove"),
            (("tove", "0"), "version 0"),
            (("version", "-1"), "not a version number"),
            (("header", "{"), "no JSON document"),
        ] {
            let error = Container::from_bytes(bytes(Some(replace))).unwrap_err().to_string();
            assert!(error.contains(expected), "{replace:?}: {error}");
        }
    }

    #[test]
    fn survives_every_cut_and_every_flipped_byte() {
        let whole = bytes(None);
        for cut in 0..whole.len() {
            assert!(Container::from_bytes(whole[..cut].to_vec()).is_err(), "cut at {cut}");
        }
        for place in 0..whole.len() {
            let mut broken = whole.clone();
            broken[place] ^= 0x15;
            let _ = Container::from_bytes(broken); // an error or other numbers, never a panic
        }
    }
}
