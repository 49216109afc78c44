//! The container of model files: a safetensors file whose metadata name what is inside.
//!
//! The metadata hold five texts: `tove` (the version of this layout), `kind` (what is stored, such as `Ridge`), `version` (of
//! that kind's own layout), `header` (a JSON document with everything that is not a tensor) and `checksum` (of all the
//! rest, as `crc32:` and eight digits), by which a file that was damaged on its way is told from a good one. Layout 1 had
//! no checksum and is still read. Other programs read the tensors as they read any safetensors file. Loading runs no code,
//! and trusts no length that the file states.
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
use super::safetensors::{self, CHECKSUM, SafeTensors};
use super::tensors::{borrowed, tensor};
use super::{FileError, WriteOptions};
use crate::Tensor;

/// Version of the layout that this program writes, and the newest that it reads.
const LAYOUT: u32 = 2;
/// The first layout with a checksum.
const SUMMED: u32 = 2;

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
        let path = path.as_ref();
        let mut metadata: BTreeMap<String, String> =
            texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
        let tensors: Vec<(&str, &Tensor)> = self.tensors.iter().map(|(name, x)| (name.as_str(), x)).collect();
        borrowed(&tensors, path, |entries| {
            let sum = safetensors::checksum(entries, &metadata).map_err(|failure| failure.file(path, "write"))?;
            metadata.insert(CHECKSUM.to_owned(), sum);
            safetensors::write(path, entries, &metadata, options)
        })
    }

    /// Reads a file into memory.
    pub fn load(path: impl AsRef<Path>) -> Result<Container, FileError> {
        let path = path.as_ref();
        Container::read(&SafeTensors::open_copied(path)?, path)
    }

    /// Reads the bytes of a file, as for one that came over the network.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Container, FileError> {
        Container::read(&SafeTensors::from_bytes(bytes)?, Path::new("<bytes>"))
    }

    fn read(file: &SafeTensors, path: &Path) -> Result<Container, FileError> {
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
        // A checksum is looked at wherever there is one: the version may be what is damaged.
        if layout >= SUMMED || file.metadata().contains_key(CHECKSUM) {
            let (written, found) = (text(CHECKSUM)?, file.checksum());
            if written != found {
                let written: String = written.chars().take(40).collect();
                let problem = format!("its content has the checksum {found}, and {written:?} was written with it");
                return Err(fail(Failure::damaged(problem)));
            }
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
            (("tove", "3"), "newer tove"),
            (("tove", "2"), "no `checksum`"),
            (("checksum", "crc32:00000000"), "the file is damaged"),
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

    /// A container as it is written, with tensors of several types.
    fn written() -> (Container, Vec<u8>) {
        let mut content = Container::new("Line", 3, serde_json::json!({"names": ["a", "b"], "rate": 0.125}));
        content.insert("w", Tensor::from([[1.5, -2.5], [0.0, 1e300]]));
        content.insert("single", Tensor::from([0.5f32, 3.25]));
        content.insert("codes", Tensor::from([3i64, -4, 5]));
        content.insert("none", Tensor::from(Vec::<f64>::new()));
        let path = std::env::temp_dir().join(format!("tove-checksum-{}.tove", std::process::id()));
        content.save(&path, WriteOptions::overwriting()).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        (content, bytes)
    }

    /// Everything of a container, with the bits of its numbers.
    fn content(container: &Container) -> String {
        let bits = |x: &Tensor| x.to_f64_vec().into_iter().map(f64::to_bits).collect::<Vec<_>>();
        let tensors: Vec<_> = container.tensors.iter().map(|(name, x)| (name, x.dtype(), x.dims(), bits(x))).collect();
        format!("{} {} {} {tensors:?}", container.kind, container.version, container.header)
    }

    #[test]
    fn no_changed_byte_goes_unseen() {
        let (whole, bytes) = written();
        assert_eq!(content(&Container::from_bytes(bytes.clone()).unwrap()), content(&whole));
        let start = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        for place in 0..bytes.len() {
            let mut broken = bytes.clone();
            for change in 1..=255u8 {
                broken[place] = bytes[place] ^ change;
                match Container::from_bytes(broken.clone()) {
                    Err(error) if place >= start => {
                        let text = error.to_string();
                        assert!(text.contains("the file is damaged") && text.contains("fit the model again"), "{text}");
                    }
                    Err(_) => {}
                    // Between the words of the header one white space is as good as another.
                    Ok(read) => assert!(place < start && content(&read) == content(&whole), "{place}: {change}"),
                }
            }
        }
    }
}
