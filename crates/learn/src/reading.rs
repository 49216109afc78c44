//! Reading a record field by field, as `#[derive(Fitted)]` does.

use std::collections::BTreeMap;

use tove_tensor::{DType, Tensor};

use crate::kernel::KernelFunction;
use crate::rows::first_not_finite;
use crate::{About, Algorithm, Model, Record, Result, registry, restore, with_real};

/// What is declared of a field of a fitted model.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name in files.
    pub name: &'static str,
    /// The shapes it may have, in words.
    pub shapes: &'static [&'static [&'static str]],
    /// Whether numbers may be NaN or infinite.
    pub nonfinite: bool,
    /// Whether it may have a length of 0; otherwise nothing that was learned is empty, and code relies on that.
    pub empty: bool,
    /// Whether its numbers are f64 whatever the precision of the model.
    pub double: bool,
}

/// A record that is being read, with the sizes that are known so far: `features`, `classes`, and others that must agree wherever
/// they are used. Width and precision are those the record names; files of earlier versions did not always, and there they are
/// those of the tensors.
pub struct Reading<'a> {
    record: &'a Record,
    sizes: BTreeMap<&'static str, usize>,
    dtype: Option<DType>,
    kernel: Option<&'a KernelFunction>,
}

impl<'a> Reading<'a> {
    /// Nothing has been read yet.
    pub fn new(record: &'a Record) -> Result<Reading<'a>> {
        let mut sizes = BTreeMap::new();
        if record.get("width").is_ok() {
            sizes.insert("features", record.count("width")?);
        }
        let dtype = if record.get("single").is_ok() { Some(record.precision()?) } else { None };
        Ok(Reading { record, sizes, dtype, kernel: None })
    }

    /// With a user-defined kernel, which files cannot hold.
    #[must_use]
    pub(crate) fn kernel(mut self, kernel: Option<&'a KernelFunction>) -> Reading<'a> {
        self.kernel = kernel;
        self
    }

    /// The user-defined kernel.
    pub(crate) fn own_kernel(&self) -> Option<&'a KernelFunction> {
        self.kernel
    }

    /// The record.
    pub fn record(&self) -> &'a Record {
        self.record
    }

    /// Whether there is a value or a tensor of this name.
    pub fn has(&self, name: &str) -> bool {
        let first = || format!("{name}.0");
        self.record.get(name).is_ok() || self.record.tensor(name).is_ok() || self.record.tensor(&first()).is_ok()
    }

    /// The number of features, as far as it is known.
    pub fn features(&self) -> Option<usize> {
        self.sizes.get("features").copied()
    }

    /// Classes and summary of a model of this estimator.
    pub fn begin<A: Algorithm>(&mut self, settings: &A) -> Result<About> {
        let about = About::read(settings, self.record, self.features().unwrap_or(0), DType::F64)?;
        self.sizes.insert("classes", about.classes.len());
        Ok(about)
    }

    /// As [`Reading::begin`], for a model that several estimators fit.
    pub fn begin_any(&mut self, names: &[&'static str], newest: u32) -> Result<About> {
        let entry = registry::find(self.record.kind())?;
        let known = names.iter().find(|name| **name == entry.name).copied();
        self.record.expect(known.unwrap_or(names[0]), newest)?;
        let settings = self.record.get("settings")?.clone();
        if !settings.is_object() {
            return Err(self.record.wrong("settings", "hyperparameters by name"));
        }
        // Settings of former versions are kept as they are.
        let capabilities = registry::capabilities(entry.name, &settings).unwrap_or(entry.capabilities);
        let about = About::with(entry.name, capabilities, self.features().unwrap_or(0), DType::F64, settings);
        let about = about.read_rest(self.record)?;
        self.sizes.insert("classes", about.classes.len());
        Ok(about)
    }

    /// Adds width, precision and number of outputs, which are known by now: outputs are what the word `outputs` stands for, or as many
    /// as the features.
    pub fn end(&self, mut about: About) -> Result<About> {
        let width = self.features().filter(|&width| width > 0);
        about.width = width.ok_or_else(|| self.record.wrong("width", "a number of features"))?;
        about.dtype = self.dtype.unwrap_or(DType::F64);
        let outputs = self.sizes.get("outputs").copied().unwrap_or(about.width);
        Ok(about.outputs(outputs))
    }

    /// That a word stands for this size.
    pub fn agree(&mut self, name: &str, word: &'static str, size: usize) -> Result<()> {
        if word == "*" || *self.sizes.entry(word).or_insert(size) == size {
            return Ok(());
        }
        Err(self.record.wrong(name, &format!("of as many {word} as the rest of the model")))
    }

    /// That it has one of the shapes of a field.
    pub fn check_shape(&mut self, field: &Field, dims: &[usize]) -> Result<()> {
        let words = field.shapes.iter().find(|words| words.len() == dims.len());
        let Some(words) = words.filter(|_| field.empty || !dims.contains(&0)) else {
            return Err(self.misshapen(field));
        };
        words.iter().zip(dims).try_for_each(|(word, &size)| self.agree(field.name, word, size))
    }

    /// That a tensor has a shape of the field, and finite numbers unless others are allowed.
    pub fn check_numbers(&mut self, field: &Field, tensor: &Tensor) -> Result<()> {
        self.check_shape(field, tensor.dims())?;
        if !tensor.dtype().is_float() {
            return Err(self.record.wrong(field.name, "of type f32 or f64"));
        }
        let broken =
            !field.nonfinite && with_real!(tensor.dtype(), T => first_not_finite(tensor.as_slice::<T>()?)).is_some();
        if broken { Err(self.record.wrong(field.name, "finite")) } else { Ok(()) }
    }

    /// That numbers have the precision of the model.
    pub fn check_precision(&mut self, name: &str, dtype: DType) -> Result<()> {
        let own = *self.dtype.get_or_insert(dtype);
        if dtype == own { Ok(()) } else { Err(self.record.wrong(name, &format!("of the model's precision {own:?}"))) }
    }

    /// What the first word of a list of lists counts.
    pub fn count(&self, field: &Field) -> Result<usize> {
        let word = field.shapes.first().and_then(|words| words.first());
        let count = word.and_then(|word| self.sizes.get(word).copied());
        count.ok_or_else(|| self.record.wrong(field.name, "of a known number of lists"))
    }

    /// One list of a list of lists.
    pub fn list(&self, field: &Field, place: usize) -> Result<Vec<f64>> {
        let name = format!("{}.{place}", field.name);
        let list = self.record.vector(&name)?;
        let flat = self.record.tensor(&name)?.rank() == 1 && (field.empty || !list.is_empty());
        let finite = field.nonfinite || list.iter().all(|number| number.is_finite());
        if flat && finite { Ok(list) } else { Err(self.record.wrong(&name, "a list of numbers")) }
    }

    /// Places of columns, which must exist.
    pub fn columns(&self, name: &str) -> Result<Vec<usize>> {
        let width = self.features().unwrap_or(usize::MAX);
        let inside = |column: i64| usize::try_from(column).ok().filter(|&column| column < width);
        let list: Option<Vec<usize>> = self.record.integers(name)?.into_iter().map(inside).collect();
        list.ok_or_else(|| self.record.wrong(name, "a list of columns"))
    }

    /// The model of a part.
    pub fn nested(&self, name: &str) -> Result<Box<dyn Model>> {
        restore(&self.record.part(name)?)
    }

    #[cold]
    fn misshapen(&self, field: &Field) -> crate::LearnError {
        let shapes: Vec<String> = field.shapes.iter().map(|words| format!("({})", words.join(", "))).collect();
        self.record.wrong(field.name, &format!("of shape {}", shapes.join(" or ")))
    }
}
