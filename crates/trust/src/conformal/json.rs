//! Reading fitted objects back from JSON: every field is checked, nothing is assumed.

use serde_json::{Map, Value};

use crate::{Result, TrustError};

/// A JSON object whose fields are read with checks; `what` names the type in messages.
pub(crate) struct Reader<'a> {
    pub(crate) what: &'static str,
    fields: &'a Map<String, Value>,
}

impl<'a> Reader<'a> {
    /// A versioned object of this kind.
    pub(crate) fn open(what: &'static str, value: &'a Value, kind: &str, version: u64) -> Result<Reader<'a>> {
        let reader = Reader::plain(what, value)?;
        let found = reader.text("kind")?;
        if found != kind {
            return Err(reader.invalid(format!("the kind is \"{found}\", not \"{kind}\"")));
        }
        match reader.get("version")?.as_u64() {
            Some(found) if found == version => Ok(reader),
            Some(found) if found > version => {
                let problem =
                    format!("version {found} of \"{kind}\" is newer than {version}, which this program reads");
                Err(TrustError::data(what, problem, "update tove"))
            }
            _ => Err(reader.invalid("the version is not valid")),
        }
    }

    /// An object without kind and version.
    pub(crate) fn plain(what: &'static str, value: &'a Value) -> Result<Reader<'a>> {
        let fields = value.as_object().ok_or_else(|| invalid(what, "it is not a JSON object"))?;
        Ok(Reader { what, fields })
    }

    pub(crate) fn invalid(&self, problem: impl Into<String>) -> TrustError {
        invalid(self.what, problem)
    }

    pub(crate) fn get(&self, name: &str) -> Result<&'a Value> {
        self.fields.get(name).ok_or_else(|| self.invalid(format!("`{name}` is missing")))
    }

    pub(crate) fn optional(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn object(&self, name: &str) -> Result<Reader<'a>> {
        Reader::plain(self.what, self.get(name)?).map_err(|_| self.wrong(name, "an object"))
    }

    pub(crate) fn list(&self, name: &str) -> Result<&'a [Value]> {
        self.get(name)?.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong(name, "a list"))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'a str> {
        self.get(name)?.as_str().ok_or_else(|| self.wrong(name, "a text"))
    }

    pub(crate) fn switch(&self, name: &str) -> Result<bool> {
        self.get(name)?.as_bool().ok_or_else(|| self.wrong(name, "true or false"))
    }

    pub(crate) fn count(&self, name: &str) -> Result<usize> {
        let count = self.get(name)?.as_u64().and_then(|count| usize::try_from(count).ok());
        count.ok_or_else(|| self.wrong(name, "a number of at least 0"))
    }

    pub(crate) fn real(&self, name: &str) -> Result<f64> {
        finite(self.get(name)?).ok_or_else(|| self.wrong(name, "a finite number"))
    }

    /// A number strictly between 0 and 1.
    pub(crate) fn fraction(&self, name: &str) -> Result<f64> {
        let value = self.real(name)?;
        if value > 0.0 && value < 1.0 { Ok(value) } else { Err(self.wrong(name, "a number between 0 and 1")) }
    }

    pub(crate) fn whole(&self, name: &str) -> Result<i64> {
        self.get(name)?.as_i64().ok_or_else(|| self.wrong(name, "a whole number"))
    }

    pub(crate) fn reals(&self, name: &str) -> Result<Vec<f64>> {
        let wrong = || self.wrong(name, "a list of finite numbers");
        self.list(name)?.iter().map(|value| finite(value).ok_or_else(wrong)).collect()
    }

    fn wrong(&self, name: &str, wanted: &str) -> TrustError {
        self.invalid(format!("`{name}` is not {wanted}"))
    }
}

fn finite(value: &Value) -> Option<f64> {
    value.as_f64().filter(|value| value.is_finite())
}

#[cold]
fn invalid(what: &'static str, problem: impl Into<String>) -> TrustError {
    TrustError::data(
        what,
        format!("cannot be read: {}", problem.into()),
        "the file is damaged or was edited; write it again",
    )
}
