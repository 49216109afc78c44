//! Fitted attributes, declared once per field.
//!
//! `#[derive(Fitted)]` generates one method per attribute, and the code that writes and reads the model's record. Names
//! follow scikit-learn without the trailing underscore. Shapes are written with dimension names and checked when a file
//! is read.
//!
//! ```
//! use tove_learn::{Fit, GaussianNb, Model};
//! use tove_tensor::Tensor;
//! let (x, y) = (Tensor::from([[0.0], [2.0], [5.0], [7.0]]), Tensor::from([0i64, 0, 1, 1]));
//! let model = GaussianNb::default().fit(&x, &y)?;
//! assert_eq!(model.theta().to_vec::<f64>(), [1.0, 6.0]);
//! let names: Vec<&str> = model.attributes().iter().map(|(name, _)| *name).collect();
//! assert_eq!(names, ["classes", "theta", "var", "class_prior", "class_count", "epsilon"]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::collections::BTreeMap;

use tove_tensor::Tensor;

use crate::rows::first_not_finite;
use crate::{About, Record, Result, with_real};

/// A type that a field of a fitted model can have.
pub trait Attribute: Sized {
    /// Writes the value to a record.
    fn write(&self, name: &str, record: &mut Record);
    /// Reads the value from a record.
    fn read(name: &str, record: &Record) -> Result<Self>;
    /// Returns the value as a tensor.
    fn to_tensor(&self) -> Tensor;
}

impl Attribute for Tensor {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_tensor(name, self);
    }
    fn read(name: &str, record: &Record) -> Result<Tensor> {
        Ok(record.tensor(name)?.try_contiguous()?)
    }
    fn to_tensor(&self) -> Tensor {
        self.clone()
    }
}

impl Attribute for f64 {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_real(name, *self);
    }
    fn read(name: &str, record: &Record) -> Result<f64> {
        record.real(name)
    }
    fn to_tensor(&self) -> Tensor {
        Tensor::scalar(*self)
    }
}

/// Sizes of named dimensions: `features`, `classes`, and others that must agree between tensors.
pub struct Shapes {
    known: BTreeMap<&'static str, usize>,
    single: bool,
}

impl Shapes {
    /// The sizes that are known before any tensor is read.
    pub fn new(about: &About) -> Shapes {
        let known = BTreeMap::from([("features", about.width), ("classes", about.classes.len())]);
        Shapes { known, single: about.dtype == tove_tensor::DType::F32 }
    }

    /// Checks the shape, the precision and that all values are finite.
    pub fn check(&mut self, record: &Record, name: &str, tensor: &Tensor, words: &[&'static str]) -> Result<()> {
        let wrong = || record.wrong(name, &format!("of shape ({})", words.join(", ")));
        if tensor.rank() != words.len() {
            return Err(wrong());
        }
        for (word, &size) in words.iter().zip(tensor.dims()) {
            // Fitted attributes are never empty, and code that reads them relies on that.
            if size == 0 || *self.known.entry(word).or_insert(size) != size {
                return Err(wrong());
            }
        }
        let precise = words.is_empty() || (tensor.dtype() == tove_tensor::DType::F32) == self.single;
        if !tensor.dtype().is_float() || !precise {
            return Err(record.wrong(name, "of the model's precision"));
        }
        match with_real!(tensor.dtype(), T => first_not_finite(tensor.as_slice::<T>()?)) {
            None => Ok(()),
            Some(_) => Err(record.wrong(name, "finite")),
        }
    }

    /// Number of output features of `transform`: the dimension `outputs`, or the number of inputs.
    pub fn outputs(&self) -> usize {
        self.known.get("outputs").copied().unwrap_or(self.known["features"])
    }
}
