//! Reading fitted objects from JSON: every value is checked and named in messages.

use serde_json::Value;

use crate::{Result, TrustError};

/// A JSON object of a kind.
pub(super) struct Reader<'a> {
    kind: &'static str,
    value: &'a Value,
}

impl<'a> Reader<'a> {
    /// Checks kind and version.
    pub(super) fn open(kind: &'static str, newest: u64, value: &'a Value) -> Result<Reader<'a>> {
        let reader = Reader { kind, value };
        let found = reader.text("kind")?;
        if found != kind {
            let problem = format!("the JSON holds a {found}, not a {kind}");
            return Err(TrustError::data(kind, problem, "read it as what it is"));
        }
        match value.get("version").and_then(Value::as_u64) {
            Some(version) if (1..=newest).contains(&version) => Ok(reader),
            Some(version) => {
                let problem = format!("written in version {version}, and {newest} is the newest known");
                Err(TrustError::data(kind, problem, "read it with a newer tove"))
            }
            None => Err(reader.wrong("version", "a whole number")),
        }
    }

    #[cold]
    pub(super) fn wrong(&self, name: &str, expected: &str) -> TrustError {
        let problem = format!("`{name}` in the JSON is not {expected}");
        TrustError::data(self.kind, problem, "the file is damaged: write it again")
    }

    fn get(&self, name: &str, expected: &str) -> Result<&'a Value> {
        self.value.get(name).ok_or_else(|| self.wrong(name, expected))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str> {
        self.get(name, "text")?.as_str().ok_or_else(|| self.wrong(name, "text"))
    }

    pub(super) fn integer(&self, name: &str) -> Result<i64> {
        self.get(name, "a whole number")?.as_i64().ok_or_else(|| self.wrong(name, "a whole number"))
    }

    pub(super) fn switch(&self, name: &str) -> Result<bool> {
        self.get(name, "true or false")?.as_bool().ok_or_else(|| self.wrong(name, "true or false"))
    }

    pub(super) fn number(&self, name: &str) -> Result<f64> {
        let value = self.get(name, "a number")?.as_f64().filter(|value| value.is_finite());
        value.ok_or_else(|| self.wrong(name, "a finite number"))
    }

    pub(super) fn at_least(&self, name: &str, least: f64) -> Result<f64> {
        let value = self.number(name)?;
        if value >= least { Ok(value) } else { Err(self.wrong(name, &format!("a number of at least {least}"))) }
    }

    pub(super) fn probability(&self, name: &str) -> Result<f64> {
        let value = self.number(name)?;
        if (0.0..=1.0 + 1e-9).contains(&value) { Ok(value) } else { Err(self.wrong(name, "a probability")) }
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value]> {
        let list = self.get(name, "a list")?.as_array();
        list.map(Vec::as_slice).ok_or_else(|| self.wrong(name, "a list"))
    }

    /// Finite numbers.
    pub(super) fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        let number = |value: &Value| value.as_f64().filter(|value| value.is_finite());
        let numbers: Option<Vec<f64>> = self.list(name)?.iter().map(number).collect();
        numbers.ok_or_else(|| self.wrong(name, "a list of finite numbers"))
    }

    pub(super) fn part(&self, name: &str) -> Result<Reader<'a>> {
        Ok(Reader { kind: self.kind, value: self.get(name, "an object")? })
    }

    pub(super) fn parts(&self, name: &str) -> Result<Vec<Reader<'a>>> {
        Ok(self.list(name)?.iter().map(|value| Reader { kind: self.kind, value }).collect())
    }
}
