//! Serialized state of a fitted model.
//!
//! A [`Record`] is a JSON object and named tensors; records nest, so a pipeline holds the records of its steps. On disk it is
//! the [`Container`] of the tensor crate.

use std::path::Path;

use serde_json::{Map, Value};
use tove_optim::settings::Hyperparameters;
use tove_tensor::io::{Container, WriteOptions};
use tove_tensor::{DType, Tensor};

use crate::{LearnError, Result};

/// The state of a model: JSON values and tensors by name.
///
/// ```
/// use tove_learn::Record;
/// use tove_tensor::Tensor;
/// let mut record = Record::new("Line", 1);
/// record.put("degree", 1);
/// record.put_tensor("slope", &Tensor::from([2.0]));
/// assert_eq!((record.count("degree")?, record.tensor("slope")?.to_vec::<f64>()), (1, vec![2.0]));
/// assert!(record.tensor("intercept").unwrap_err().to_string().contains("no tensor `intercept`"));
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Record {
    content: Container,
}

impl Record {
    /// Creates an empty record of a kind and layout version.
    pub fn new(kind: &str, version: u32) -> Record {
        Record { content: Container::new(kind, version, Value::Object(Map::new())) }
    }

    /// The kind of the record.
    pub fn kind(&self) -> &str {
        &self.content.kind
    }

    /// Layout version.
    pub fn version(&self) -> u32 {
        self.content.version
    }

    /// The JSON values.
    pub fn values(&self) -> &Value {
        &self.content.header
    }

    /// Stores a JSON value.
    pub fn put(&mut self, name: &str, value: impl Into<Value>) {
        if let Value::Object(values) = &mut self.content.header {
            values.insert(name.to_owned(), value.into());
        }
    }

    /// Stores a tensor.
    pub fn put_tensor(&mut self, name: &str, tensor: &Tensor) {
        self.content.insert(name, tensor.detach());
    }

    /// Stores a number with all its bits, including infinities.
    pub fn put_real(&mut self, name: &str, value: f64) {
        self.put_tensor(name, &Tensor::scalar(value));
    }

    /// Stores a nested record.
    pub fn put_part(&mut self, name: &str, part: Record) {
        let Container { kind, version, header, tensors } = part.content;
        self.put(name, serde_json::json!({"kind": kind, "version": version, "values": header}));
        for (inner, tensor) in tensors {
            self.content.insert(format!("{name}/{inner}"), tensor);
        }
    }

    /// Returns a JSON value.
    pub fn get(&self, name: &str) -> Result<&Value> {
        self.content.header.get(name).ok_or_else(|| self.lacks("value", name))
    }

    /// Returns a string.
    pub fn text(&self, name: &str) -> Result<&str> {
        self.get(name)?.as_str().ok_or_else(|| self.wrong(name, "a text"))
    }

    /// Returns a boolean.
    pub fn switch(&self, name: &str) -> Result<bool> {
        self.get(name)?.as_bool().ok_or_else(|| self.wrong(name, "true or false"))
    }

    /// Returns a non-negative integer.
    pub fn count(&self, name: &str) -> Result<usize> {
        let count = self.get(name)?.as_u64().and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| self.wrong(name, "a whole number"))
    }

    /// Returns a number stored with [`Record::put_real`].
    pub fn real(&self, name: &str) -> Result<f64> {
        match self.vector(name)?[..] {
            [value] => Ok(value),
            _ => Err(self.wrong(name, "a number")),
        }
    }

    /// Returns a tensor.
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        self.content.tensor(name).ok_or_else(|| self.lacks("tensor", name))
    }

    /// Returns a tensor after checking its shape.
    pub fn shaped(&self, name: &str, shape: &[usize]) -> Result<&Tensor> {
        let tensor = self.tensor(name)?;
        if tensor.dims() == shape { Ok(tensor) } else { Err(self.wrong(name, &format!("of shape {shape:?}"))) }
    }

    /// Returns the values of a floating-point tensor as f64.
    pub fn vector(&self, name: &str) -> Result<Vec<f64>> {
        let tensor = self.tensor(name)?;
        if tensor.dtype().is_float() { Ok(tensor.to_f64_vec()) } else { Err(self.wrong(name, "of type f32 or f64")) }
    }

    /// Returns the values of an integer vector.
    pub fn integers(&self, name: &str) -> Result<Vec<i64>> {
        let tensor = self.tensor(name)?;
        let fits = tensor.rank() == 1 && tensor.dtype() == DType::I64;
        if fits { Ok(tensor.try_to_vec::<i64>()?) } else { Err(self.wrong(name, "a vector of type i64")) }
    }

    /// Returns a nested record.
    pub fn part(&self, name: &str) -> Result<Record> {
        let head = self.get(name)?;
        let bad = || self.wrong(name, "the record of a part");
        let kind = head["kind"].as_str().ok_or_else(bad)?;
        let version = head["version"].as_u64().and_then(|version| u32::try_from(version).ok()).ok_or_else(bad)?;
        let mut part = Container::new(kind, version, head["values"].clone());
        let prefix = format!("{name}/");
        for (full, tensor) in &self.content.tensors {
            if let Some(inner) = full.strip_prefix(&prefix) {
                part.insert(inner, tensor.clone());
            }
        }
        Ok(Record { content: part })
    }

    /// Checks the kind, and that the version is supported.
    pub fn expect(&self, kind: &str, newest: u32) -> Result<()> {
        if self.kind() != kind {
            let problem = format!("the file holds a model of kind {}, not {kind}", self.kind());
            return Err(LearnError::model(problem, "load it as what it is, or give another file"));
        }
        if self.version() > newest {
            let problem =
                format!("the {kind} was written in version {}, and {newest} is the newest known", self.version());
            return Err(LearnError::model(problem, "read it with a newer tove"));
        }
        Ok(())
    }

    /// Returns the hyperparameters, after checking the kind and the version.
    pub fn settings<H: Hyperparameters + Default>(&self, kind: &str, newest: u32) -> Result<H> {
        self.expect(kind, newest)?;
        let mut settings = H::default();
        settings.load_json(self.get("settings")?)?;
        Ok(settings)
    }

    /// Returns the precision that [`About::write_shape`](crate::About::write_shape) wrote.
    pub fn precision(&self) -> Result<DType> {
        Ok(if self.switch("single")? { DType::F32 } else { DType::F64 })
    }

    /// Writes a file atomically. Never overwrites an existing file unless asked.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        Ok(self.content.save(path, options)?)
    }

    /// Reads a file.
    pub fn load(path: impl AsRef<Path>) -> Result<Record> {
        Ok(Record { content: Container::load(path)? })
    }

    /// Wraps a container that was read elsewhere.
    pub fn from_container(content: Container) -> Record {
        Record { content }
    }

    /// Returns the container, to be written elsewhere.
    pub fn into_container(self) -> Container {
        self.content
    }

    #[cold]
    fn lacks(&self, what: &str, name: &str) -> LearnError {
        LearnError::model(
            format!("the record of {} has no {what} `{name}`", self.kind()),
            "the file is damaged: save the model anew",
        )
    }

    /// Creates an error for a value that exists but cannot be used.
    #[cold]
    pub fn wrong(&self, name: &str, expected: &str) -> LearnError {
        let problem = format!("`{name}` in the record of {} is not {expected}", self.kind());
        LearnError::model(problem, "the file is damaged: save the model anew")
    }
}
