//! The description of hyperparameters: as values, as JSON, as a table.

use serde_json::json;

use super::{Range, Value, ValueKind};

/// What is known of one hyperparameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Hyperparameter {
    /// Its name.
    pub name: &'static str,
    /// Other names that `set` understands.
    pub aliases: &'static [&'static str],
    /// What kind of value it takes.
    pub kind: ValueKind,
    /// Its default.
    pub default: Value,
    /// The range of numbers allowed.
    pub range: Option<Range>,
    /// What it does.
    pub doc: &'static str,
}

/// What is known of a struct of hyperparameters.
#[derive(Clone, Debug, PartialEq)]
pub struct HyperparameterSchema {
    /// Its name in messages and tables.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its hyperparameters in the order of the fields.
    pub hyperparameters: Vec<Hyperparameter>,
}

impl HyperparameterSchema {
    /// The description as JSON, for programs that build forms, flags or documentation from it.
    ///
    /// ```
    /// use tove_optim::settings::Hyperparameters;
    /// let json = tove_optim::AdamSettings::default().schema().to_json();
    /// let beta1 = &json["hyperparameters"][1];
    /// assert_eq!((&beta1["name"], &beta1["default"], &beta1["range"]["text"]), (&"beta1".into(), &0.9.into(), &"[0, 1)".into()));
    /// ```
    pub fn to_json(&self) -> serde_json::Value {
        let entries: Vec<_> = self.hyperparameters.iter().map(Hyperparameter::to_json).collect();
        json!({"name": self.name, "doc": self.doc, "hyperparameters": entries})
    }

    /// The description as a Markdown table.
    ///
    /// ```
    /// use tove_optim::settings::Hyperparameters;
    /// let table = tove_optim::SgdSettings::default().schema().to_markdown();
    /// assert!(table.starts_with("| name | type | default | range | meaning |\n|---|---|---|---|---|\n| `learning_rate` | number |"));
    /// ```
    pub fn to_markdown(&self) -> String {
        let mut table = String::from("| name | type | default | range | meaning |\n|---|---|---|---|---|\n");
        for entry in &self.hyperparameters {
            let range = entry.range.map(|range| range.to_string()).unwrap_or_default();
            let doc = entry.doc.replace('|', "\\|");
            let (name, kind, default) = (entry.name, &entry.kind, &entry.default);
            table.push_str(&format!("| `{name}` | {kind} | {default} | {range} | {doc} |\n"));
        }
        table
    }
}

impl Hyperparameter {
    fn to_json(&self) -> serde_json::Value {
        let (inner, optional) = match &self.kind {
            ValueKind::Optional(inner) => (&**inner, true),
            kind => (kind, false),
        };
        let kind = match inner {
            ValueKind::Real => "number",
            ValueKind::Whole => "whole number",
            ValueKind::Switch => "switch",
            ValueKind::Choice(_) => "choice",
            ValueKind::Text | ValueKind::Optional(_) => "text",
            ValueKind::List(_) => "list",
            ValueKind::Map(_) => "map",
            ValueKind::Object(what) => what,
        };
        let end = |x: f64| if x.is_finite() { json!(x) } else { serde_json::Value::Null };
        let range = self.range.map(|range| {
            let (low, high) = (end(range.low), end(range.high));
            let (low_closed, high_closed) = (range.low_closed, range.high_closed);
            json!({"text": range.to_string(), "low": low, "high": high, "low_closed": low_closed, "high_closed": high_closed})
        });
        json!({
            "name": self.name,
            "aliases": self.aliases,
            "type": kind,
            "optional": optional,
            "choices": self.kind.choices(),
            "default": self.default.to_json(),
            "range": range,
            "doc": self.doc,
        })
    }
}
