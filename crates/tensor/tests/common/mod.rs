//! Reads the reference values that the scripts in `tests/reference` write to `tests/fixtures`.
//!
//! The layout is described in `tests/reference/fixture.py`. Everything here is for tests: a missing file, case or
//! array ends the test with a message that names it.

// Each test program compiles this module for itself and uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// One file of reference values.
pub struct Fixture {
    /// The libraries that computed the values, with their versions.
    pub versions: BTreeMap<String, String>,
    /// All cases, in the file's order.
    pub cases: Vec<Case>,
}

/// One computation: what went in, what came out.
pub struct Case {
    pub name: String,
    pub inputs: BTreeMap<String, Array>,
    /// Settings such as `axis` or `stride`.
    pub attrs: Value,
    pub outputs: BTreeMap<String, Array>,
    /// Gradients of `<y, upstream>` by the inputs of the same name; `upstream` is 1 where there is none.
    pub grads: BTreeMap<String, Array>,
}

/// A plain array in row-major order, whatever its element type was.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    pub shape: Vec<usize>,
    /// `f32`, `f64`, `i64`, `u8` or `bool`.
    pub dtype: String,
    pub data: Vec<f64>,
}

/// Where the fixtures lie.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Reads `tests/fixtures/NAME.json`.
pub fn load(name: &str) -> Fixture {
    load_path(&folder().join(format!("{name}.json")))
}

/// Reads a file of reference values from any place.
pub fn load_path(path: &Path) -> Fixture {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    parse(&value).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Fixture {
    /// The case of exactly this name.
    pub fn case(&self, name: &str) -> &Case {
        let found = self.cases.iter().find(|case| case.name == name);
        found.unwrap_or_else(|| panic!("the fixture has no case {name:?}"))
    }

    /// All cases whose name begins so; at least one.
    pub fn cases_starting(&self, start: &str) -> Vec<&Case> {
        let found: Vec<&Case> = self.cases.iter().filter(|case| case.name.starts_with(start)).collect();
        assert!(!found.is_empty(), "the fixture has no case that begins with {start:?}");
        found
    }
}

impl Case {
    pub fn input(&self, name: &str) -> &Array {
        self.find(&self.inputs, "input", name)
    }

    pub fn output(&self, name: &str) -> &Array {
        self.find(&self.outputs, "output", name)
    }

    pub fn grad(&self, name: &str) -> &Array {
        self.find(&self.grads, "gradient", name)
    }

    /// A whole number among the settings, if it is there.
    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attrs[name].as_i64()
    }

    /// A list of whole numbers, or a single one, among the settings, if it is there.
    pub fn integers(&self, name: &str) -> Option<Vec<i64>> {
        match &self.attrs[name] {
            Value::Array(list) => list.iter().map(Value::as_i64).collect(),
            value => value.as_i64().map(|number| vec![number]),
        }
    }

    fn find<'a>(&self, arrays: &'a BTreeMap<String, Array>, kind: &str, name: &str) -> &'a Array {
        arrays.get(name).unwrap_or_else(|| panic!("case {:?} has no {kind} {name:?}", self.name))
    }
}

impl Array {
    /// The data as f32; exact if that is the array's type.
    pub fn to_f32(&self) -> Vec<f32> {
        self.data.iter().map(|&value| value as f32).collect()
    }

    /// The data as i64.
    pub fn to_i64(&self) -> Vec<i64> {
        self.data.iter().map(|&value| value as i64).collect()
    }

    /// The only element.
    pub fn scalar(&self) -> f64 {
        assert_eq!(self.data.len(), 1, "not a single number: shape {:?}", self.shape);
        self.data[0]
    }
}

fn parse(value: &Value) -> Result<Fixture, String> {
    let versions = value["versions"].as_object().ok_or("no versions")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let versions = versions.iter().map(|(name, version)| (name.clone(), text(version))).collect();
    let cases = value["cases"].as_array().ok_or("no cases")?;
    Ok(Fixture { versions, cases: cases.iter().map(parse_case).collect::<Result<_, _>>()? })
}

fn parse_case(value: &Value) -> Result<Case, String> {
    let name = value["name"].as_str().ok_or("a case without a name")?.to_string();
    let arrays = |key: &str| -> Result<BTreeMap<String, Array>, String> {
        let object = value[key].as_object().ok_or_else(|| format!("case {name:?} has no {key}"))?;
        let array = |(key, value): (&String, &Value)| {
            let array = parse_array(value).ok_or_else(|| format!("case {name:?}: {key:?} is no array"))?;
            Ok((key.clone(), array))
        };
        object.iter().map(array).collect()
    };
    let (inputs, outputs, grads) = (arrays("inputs")?, arrays("outputs")?, arrays("grads")?);
    Ok(Case { name, inputs, attrs: value["attrs"].clone(), outputs, grads })
}

fn parse_array(value: &Value) -> Option<Array> {
    let size = |value: &Value| value.as_u64().and_then(|size| usize::try_from(size).ok());
    let shape: Vec<usize> = value["shape"].as_array()?.iter().map(size).collect::<Option<_>>()?;
    let data: Vec<f64> = value["data"].as_array()?.iter().map(parse_number).collect::<Option<_>>()?;
    let dtype = value["dtype"].as_str()?.to_string();
    (shape.iter().product::<usize>() == data.len()).then_some(Array { shape, dtype, data })
}

/// A number, or one of the strings `inf`, `-inf` and `nan`.
fn parse_number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}
