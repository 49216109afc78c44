//! JSON Schema (draft 2020-12) validation: every keyword that the rules of OpenAPI 3.1 and the documents of the server use.
//! A keyword or a pattern that is not known here is a failure of the test, never ignored.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that say nothing about validity. `format` is one of them by default in draft 2020-12.
const ANNOTATIONS: [&str; 12] = [
    "$id",
    "$schema",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "contentEncoding",
    "default",
    "description",
    "examples",
    "format",
    "title",
    "summary",
];

/// The problems of a value, with their places, and the members that the schema has evaluated.
#[derive(Default)]
pub struct Outcome {
    pub problems: Vec<String>,
    evaluated: BTreeSet<String>,
}

pub struct Validator<'d> {
    /// The document that references point into.
    pub root: &'d Value,
}

impl Validator<'_> {
    /// Validates a value against a schema, at a place in the document for messages.
    pub fn check(&self, schema: &Value, value: &Value, place: &str) -> Outcome {
        let mut outcome = Outcome::default();
        match schema {
            Value::Bool(true) => {}
            Value::Bool(false) => outcome.problems.push(format!("{place}: nothing is allowed here")),
            Value::Object(keywords) => self.keywords(keywords, value, place, &mut outcome),
            other => outcome.problems.push(format!("{place}: {other} is not a schema")),
        }
        outcome
    }

    fn valid(&self, schema: &Value, value: &Value) -> bool {
        self.check(schema, value, "").problems.is_empty()
    }

    fn resolve(&self, reference: &str) -> &Value {
        // The only dynamic anchor is that of schemas.
        let pointer = if reference == "#meta" { "/$defs/schema" } else { reference.strip_prefix('#').unwrap() };
        self.root.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"))
    }

    fn keywords(&self, keywords: &Map<String, Value>, value: &Value, place: &str, outcome: &mut Outcome) {
        // What depends on the members that others have evaluated comes last.
        let (last, first): (Vec<_>, Vec<_>) = keywords.iter().partition(|(name, _)| *name == "unevaluatedProperties");
        for (name, rule) in first.into_iter().chain(last) {
            let members = value.as_object();
            match name.as_str() {
                "$ref" | "$dynamicRef" => self.also(self.resolve(rule.as_str().unwrap()), value, place, outcome),
                "allOf" => rule.as_array().unwrap().iter().for_each(|one| self.also(one, value, place, outcome)),
                "anyOf" | "oneOf" => {
                    let fits: Vec<&Value> = list(rule).iter().filter(|one| self.valid(one, value)).collect();
                    fits.iter().for_each(|one| self.also(one, value, place, outcome));
                    if fits.is_empty() || (name == "oneOf" && fits.len() > 1) {
                        outcome.problems.push(format!("{place}: {} of {name} fit", fits.len()));
                    }
                }
                "not" if self.valid(rule, value) => outcome.problems.push(format!("{place}: fits what it must not")),
                "not" | "then" | "else" => {}
                "if" => {
                    let holds = self.valid(rule, value);
                    let branch = if holds { "then" } else { "else" };
                    for one in holds.then_some(rule).into_iter().chain(keywords.get(branch)) {
                        self.also(one, value, place, outcome);
                    }
                }
                "dependentSchemas" => {
                    for (_, one) in map(rule).iter().filter(|(name, _)| members.is_some_and(|m| m.contains_key(*name)))
                    {
                        self.also(one, value, place, outcome);
                    }
                }
                "properties" => {
                    for (name, one) in map(rule) {
                        let inner = value.get(name).filter(|_| members.is_some());
                        inner.into_iter().for_each(|inner| self.member(one, name, inner, place, outcome));
                    }
                }
                "patternProperties" => {
                    for (name, inner) in members.into_iter().flatten() {
                        for (_, one) in map(rule).iter().filter(|(pattern, _)| matches(pattern, name)) {
                            self.member(one, name, inner, place, outcome);
                        }
                    }
                }
                "additionalProperties" => {
                    let named = |name: &str| keywords.get("properties").is_some_and(|all| map(all).contains_key(name));
                    let by_pattern = keywords.get("patternProperties").map(map);
                    for (name, inner) in members.into_iter().flatten().filter(|(name, _)| !named(name)) {
                        if !by_pattern.is_some_and(|all| all.keys().any(|pattern| matches(pattern, name))) {
                            self.member(rule, name, inner, place, outcome);
                        }
                    }
                }
                "unevaluatedProperties" => {
                    for (name, inner) in members.into_iter().flatten() {
                        if !outcome.evaluated.contains(name) {
                            self.member(rule, name, inner, place, outcome);
                        }
                    }
                }
                "propertyNames" => {
                    for name in members.into_iter().flat_map(Map::keys) {
                        let name = Value::from(name.as_str());
                        outcome.problems.extend(self.check(rule, &name, &format!("{place}: name {name}")).problems);
                    }
                }
                "items" => {
                    for (number, one) in value.as_array().into_iter().flatten().enumerate() {
                        outcome.problems.extend(self.check(rule, one, &format!("{place}/{number}")).problems);
                    }
                }
                name if ANNOTATIONS.contains(&name) => {}
                name if !simple(name, rule, value) => {
                    outcome.problems.push(format!("{place}: {value} against {name} {rule}"))
                }
                _ => {}
            }
        }
    }

    /// A schema that applies to the same value.
    fn also(&self, schema: &Value, value: &Value, place: &str, outcome: &mut Outcome) {
        let other = self.check(schema, value, place);
        outcome.problems.extend(other.problems);
        outcome.evaluated.extend(other.evaluated);
    }

    fn member(&self, schema: &Value, name: &str, value: &Value, place: &str, outcome: &mut Outcome) {
        outcome.problems.extend(self.check(schema, value, &format!("{place}/{name}")).problems);
        outcome.evaluated.insert(name.to_owned());
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn map(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap()
}

/// Keywords that look at the value alone.
fn simple(name: &str, rule: &Value, value: &Value) -> bool {
    let at_least = |length: Option<usize>| length.is_none_or(|length| length as u64 >= rule.as_u64().unwrap());
    let at_most = |length: Option<usize>| length.is_none_or(|length| length as u64 <= rule.as_u64().unwrap());
    match name {
        "type" => match rule {
            Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap(), value)),
            kind => is(kind.as_str().unwrap(), value),
        },
        "const" => rule == value,
        "enum" => list(rule).contains(value),
        "required" => {
            value.as_object().is_none_or(|m| list(rule).iter().all(|name| m.contains_key(name.as_str().unwrap())))
        }
        "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
        "exclusiveMinimum" => value.as_f64().is_none_or(|number| number > rule.as_f64().unwrap()),
        "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
        "minLength" => at_least(value.as_str().map(|text| text.chars().count())),
        "minItems" => at_least(value.as_array().map(Vec::len)),
        "minProperties" => at_least(value.as_object().map(Map::len)),
        "maxProperties" => at_most(value.as_object().map(Map::len)),
        "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
        other => panic!("unknown keyword {other}"),
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "string" => value.is_string(),
        other => panic!("unknown type {other}"),
    }
}

/// The patterns of the official schema.
fn matches(pattern: &str, text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match pattern {
        "^x-" => text.starts_with("x-"),
        "^/" => text.starts_with('/'),
        "^[a-zA-Z0-9._-]+$" => {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        }
        r"^3\.1\.\d+(-.+)?$" => text.strip_prefix("3.1.").is_some_and(|rest| {
            let (number, more) = rest.split_once('-').map_or((rest, None), |(number, more)| (number, Some(more)));
            digits(number) && more != Some("")
        }),
        "^[1-5](?:[0-9]{2}|XX)$" => {
            text.len() == 3 && (b'1'..=b'5').contains(&text.as_bytes()[0]) && (digits(&text[1..]) || &text[1..] == "XX")
        }
        other => panic!("unknown pattern {other}"),
    }
}
