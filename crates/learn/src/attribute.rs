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

use tove_tensor::{DType, Tensor};

use crate::reading::{Field, Reading};
use crate::{Model, Record, Result};

/// Attributes by name.
pub type Attributes = Vec<(&'static str, Tensor)>;

/// A type that a field of a fitted model can have.
pub trait Attribute: Sized {
    /// Writes the value to a record.
    fn write(&self, name: &str, record: &mut Record);
    /// Reads what was written.
    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Self>;
    /// Adds it to the attributes of a model; what is not a tensor adds nothing.
    fn add_to(&self, _name: &'static str, _all: &mut Attributes) {}
}

/// Several attributes that models take in by a field marked `flatten`; derived for a struct without `about`.
pub trait AttributeGroup: Sized {
    /// Writes them into a record.
    fn write(&self, record: &mut Record);
    /// Reads what was written.
    fn read(reading: &mut Reading<'_>) -> Result<Self>;
    /// Adds them to the attributes of a model.
    fn attributes(&self, all: &mut Attributes);
}

impl AttributeGroup for () {
    fn write(&self, _record: &mut Record) {}

    fn read(_reading: &mut Reading<'_>) -> Result<()> {
        Ok(())
    }

    fn attributes(&self, _all: &mut Attributes) {}
}

/// The methods of [`Model`] that `#[derive(Fitted)]` makes, for its implementation.
#[macro_export]
macro_rules! fitted_methods {
    () => {
        fn about(&self) -> &$crate::About {
            &self.about
        }

        fn attributes(&self) -> ::std::vec::Vec<(&'static str, ::tove_tensor::Tensor)> {
            self.state_attributes()
        }

        fn record(&self) -> $crate::Record {
            self.state_record()
        }
    };
}

impl Attribute for Tensor {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_tensor(name, self);
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Tensor> {
        let tensor = reading.record().tensor(field.name)?.try_contiguous()?;
        reading.check_numbers(field, &tensor)?;
        match field.double {
            true if tensor.dtype() != DType::F64 => return Err(reading.record().wrong(field.name, "of type f64")),
            true => {}
            false => reading.check_precision(field.name, tensor.dtype())?,
        }
        Ok(tensor)
    }

    fn add_to(&self, name: &'static str, all: &mut Attributes) {
        all.push((name, self.clone()));
    }
}

impl Attribute for f64 {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_real(name, *self);
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<f64> {
        let value = reading.record().real(field.name)?;
        if field.nonfinite || value.is_finite() { Ok(value) } else { Err(reading.record().wrong(field.name, "finite")) }
    }

    fn add_to(&self, name: &'static str, all: &mut Attributes) {
        all.push((name, Tensor::scalar(*self)));
    }
}

impl Attribute for Vec<f64> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_tensor(name, &Tensor::from_slice(self));
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<f64>> {
        let tensor = reading.record().tensor(field.name)?.try_contiguous()?;
        reading.check_numbers(field, &tensor)?;
        Ok(tensor.to_f64_vec())
    }

    fn add_to(&self, name: &'static str, all: &mut Attributes) {
        all.push((name, Tensor::from_slice(self)));
    }
}

impl Attribute for Vec<i64> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_tensor(name, &Tensor::from_slice(self));
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<i64>> {
        let list = reading.record().integers(field.name)?;
        reading.check_shape(field, &[list.len()])?;
        Ok(list)
    }

    fn add_to(&self, name: &'static str, all: &mut Attributes) {
        all.push((name, Tensor::from_slice(self)));
    }
}

/// Places of columns, which must exist.
impl Attribute for Vec<usize> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_tensor(name, &Tensor::from_slice(&self.iter().map(|&place| place as i64).collect::<Vec<_>>()));
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<usize>> {
        let list = reading.columns(field.name)?;
        reading.check_shape(field, &[list.len()])?;
        Ok(list)
    }
}

/// A list per column, or per what the first word of the shape counts.
impl Attribute for Vec<Vec<f64>> {
    fn write(&self, name: &str, record: &mut Record) {
        self.iter().enumerate().for_each(|(place, list)| {
            record.put_tensor(&format!("{name}.{place}"), &Tensor::from_slice(list));
        });
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<Vec<f64>>> {
        (0..reading.count(field)?).map(|place| reading.list(field, place)).collect()
    }
}

/// Lists of columns, one per what the first word of the shape counts.
impl Attribute for Vec<Vec<usize>> {
    fn write(&self, name: &str, record: &mut Record) {
        self.iter().enumerate().for_each(|(place, list)| list.write(&format!("{name}.{place}"), record));
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<Vec<usize>>> {
        let list = |place: usize| reading.columns(&format!("{}.{place}", field.name));
        (0..reading.count(field)?).map(list).collect()
    }
}

/// Pairs, one after the other.
impl Attribute for Vec<(f64, f64)> {
    fn write(&self, name: &str, record: &mut Record) {
        self.iter().flat_map(|&(a, b)| [a, b]).collect::<Vec<f64>>().write(name, record);
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<(f64, f64)>> {
        let list = <Vec<f64> as Attribute>::read(field, reading)?;
        let pairs = list.chunks_exact(2);
        if pairs.remainder().is_empty() {
            return Ok(pairs.map(|two| (two[0], two[1])).collect());
        }
        Err(reading.record().wrong(field.name, "a list of pairs"))
    }
}

impl Attribute for bool {
    fn write(&self, name: &str, record: &mut Record) {
        record.put(name, *self);
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<bool> {
        reading.record().switch(field.name)
    }
}

impl Attribute for Vec<bool> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put(name, self.clone());
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<bool>> {
        let wrong = || reading.record().wrong(field.name, "a list of true and false");
        let list = reading.record().get(field.name)?.as_array().ok_or_else(wrong)?;
        let list: Vec<bool> = list.iter().map(|entry| entry.as_bool()).collect::<Option<_>>().ok_or_else(wrong)?;
        reading.check_shape(field, &[list.len()])?;
        Ok(list)
    }
}

impl Attribute for usize {
    fn write(&self, name: &str, record: &mut Record) {
        record.put(name, *self);
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<usize> {
        reading.record().count(field.name)
    }

    fn add_to(&self, name: &'static str, all: &mut Attributes) {
        all.push((name, Tensor::scalar(*self as i64)));
    }
}

/// There or not; a note says which, so that a file that lost it is noticed. Files of earlier versions lack the note.
impl<T: Attribute> Attribute for Option<T> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put(&format!("{name}_given"), self.is_some());
        if let Some(value) = self {
            value.write(name, record);
        }
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Option<T>> {
        let note = format!("{}_given", field.name);
        let there = match reading.record().get(&note) {
            Ok(_) => reading.record().switch(&note)?,
            Err(_) => reading.has(field.name),
        };
        match there {
            true => Ok(Some(T::read(field, reading)?)),
            false if reading.has(field.name) => Err(reading.record().wrong(&note, "true, and the value is there")),
            false => Ok(None),
        }
    }

    fn add_to(&self, name: &'static str, all: &mut Attributes) {
        if let Some(value) = self {
            value.add_to(name, all);
        }
    }
}

impl Attribute for Box<dyn Model> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put_part(name, self.record());
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Box<dyn Model>> {
        let model = reading.nested(field.name)?;
        let wide = field.shapes.first().and_then(|words| words.first());
        if let Some(word) = wide {
            reading.agree(field.name, word, model.width())?;
        }
        Ok(model)
    }
}

/// Models by number; the shape says which width they have.
impl Attribute for Vec<Box<dyn Model>> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put(name, self.len());
        self.iter().enumerate().for_each(|(place, model)| record.put_part(&format!("model.{place}"), model.record()));
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<Box<dyn Model>>> {
        let mut models = Vec::new();
        for place in 0..reading.record().count(field.name)? {
            let name = format!("model.{place}"); // an absent one ends the loop, however large the count
            let name = if reading.record().get(&name).is_ok() { name } else { format!("model{place}") };
            models.push(reading.nested(&name)?);
        }
        check_models(field, reading, models.iter().map(|model| &**model))?;
        Ok(models)
    }
}

/// Models with names.
impl Attribute for Vec<(String, Box<dyn Model>)> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put(name, self.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
        self.iter().enumerate().for_each(|(place, part)| {
            record.put_part(&format!("model.{place}"), part.1.record());
        });
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<(String, Box<dyn Model>)>> {
        let names = texts(reading.record(), field.name)?;
        let mut models = Vec::new();
        for (place, name) in names.into_iter().enumerate() {
            // Pipelines wrote `step.NAME`.
            let own = [format!("model.{place}"), format!("step.{name}")];
            let part = own.iter().find(|part| reading.record().get(part).is_ok()).unwrap_or(&own[0]);
            models.push((name, reading.nested(part)?));
        }
        check_models(field, reading, models.iter().map(|model| &*model.1))?;
        Ok(models)
    }
}

/// That there are models, all of the width that the second word of the shape stands for; the first stands for their number.
fn check_models<'m>(
    field: &Field,
    reading: &mut Reading<'_>,
    models: impl ExactSizeIterator<Item = &'m dyn Model>,
) -> Result<()> {
    if models.len() == 0 && !field.empty {
        return Err(reading.record().wrong(field.name, "a list of at least one model"));
    }
    let words = field.shapes.first().copied().unwrap_or_default();
    if let Some(word) = words.first() {
        reading.agree(field.name, word, models.len())?;
    }
    for (word, model) in words.get(1).into_iter().cycle().zip(models) {
        reading.agree(field.name, word, model.width())?;
    }
    Ok(())
}

/// A list of texts.
pub(crate) fn texts(record: &Record, name: &str) -> Result<Vec<String>> {
    let wrong = || record.wrong(name, "a list of names");
    let list = record.get(name)?.as_array().ok_or_else(wrong)?;
    list.iter().map(|text| text.as_str().map(str::to_owned)).collect::<Option<_>>().ok_or_else(wrong)
}

impl Attribute for Vec<String> {
    fn write(&self, name: &str, record: &mut Record) {
        record.put(name, self.clone());
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<String>> {
        let list = texts(reading.record(), field.name)?;
        reading.check_shape(field, &[list.len()])?;
        Ok(list)
    }
}
