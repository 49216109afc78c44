//! Tables from JSON: a list of objects, or objects one after the other (JSON lines).
//!
//! The rows are written as CSV in memory and read by its reader, so that kinds, dates and missing values are found by the same
//! rules. `null` and absent names are missing; a string is in quotes, and so is meant as it stands in a column of strings.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::column::float_text;
use super::csv::CsvOptions;
use super::csv::input::Input;
use crate::{DataError, Result};

/// Whether bytes begin as a list of objects or as an object does.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut signs = bytes.iter().copied().filter(|byte| !byte.is_ascii_whitespace());
    match (signs.next(), signs.next()) {
        (Some(b'{'), next) => matches!(next, Some(b'"' | b'}')),
        (Some(b'['), next) => matches!(next, Some(b'{' | b']')),
        _ => false,
    }
}

/// The same rows as CSV, with the options to read them by.
pub(super) fn as_csv(options: &CsvOptions, input: Input) -> Result<(CsvOptions, Input)> {
    let (name, path) = (input.name.clone(), input.path().to_owned());
    let bytes = input.read_all()?;
    let rows = rows(&name, &bytes)?;
    drop(bytes);
    let csv = rows.csv();
    Ok((options.clone().for_json(), Input::of_bytes(name, &path, csv)))
}

fn rows(file: &str, bytes: &[u8]) -> Result<Rows> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let wrong = |error: serde_json::Error| {
        let text = error.to_string();
        let problem = text.split(" at line ").next().unwrap_or_default();
        let problem = format!("not a table in JSON ({problem}); give objects of numbers, strings, true, false or null");
        DataError::Row { file: file.to_owned(), line: error.line() as u64, problem: problem.into() }
    };
    let mut rows = Rows::default();
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        let list: Vec<Object> = serde_json::from_slice(bytes).map_err(wrong)?;
        list.into_iter().for_each(|object| rows.push(object));
        return Ok(rows);
    }
    for object in serde_json::Deserializer::from_slice(bytes).into_iter::<Object>() {
        rows.push(object.map_err(wrong)?);
    }
    Ok(rows)
}

/// Rows with their names in the order in which they first occur.
#[derive(Default)]
struct Rows {
    names: Vec<String>,
    places: HashMap<String, usize>,
    rows: Vec<Vec<(usize, Cell)>>,
}

impl Rows {
    fn push(&mut self, object: Object) {
        let mut row = Vec::with_capacity(object.0.len());
        for (name, cell) in object.0 {
            let place = match self.places.get(&name) {
                Some(&place) => place,
                None => {
                    self.places.insert(name.clone(), self.names.len());
                    self.names.push(name);
                    self.names.len() - 1
                }
            };
            row.push((place, cell));
        }
        row.sort_by_key(|(place, _)| *place);
        self.rows.push(row);
    }

    fn csv(self) -> Vec<u8> {
        let mut text = String::new();
        for (number, name) in self.names.iter().enumerate() {
            if number > 0 {
                text.push(',');
            }
            quote(&mut text, name);
        }
        text.push('\n');
        for row in self.rows {
            let mut at = 0;
            for (place, cell) in row {
                (at..place).for_each(|_| text.push(','));
                at = place;
                match cell {
                    Cell::Missing => {}
                    Cell::Bare(value) => text.push_str(&value),
                    Cell::Text(value) => quote(&mut text, &value),
                }
            }
            (at + 1..self.names.len()).for_each(|_| text.push(','));
            text.push('\n');
        }
        text.into_bytes()
    }
}

fn quote(text: &mut String, value: &str) {
    text.push('"');
    text.push_str(&value.replace('"', "\"\""));
    text.push('"');
}

enum Cell {
    Missing,
    Bare(String),
    Text(String),
}

/// The members of an object, each name once.
struct Object(Vec<(String, Cell)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Object, A::Error> {
        let (mut members, mut seen) = (Vec::<(String, Cell)>::new(), std::collections::HashSet::new());
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(twice(&name)));
            }
            members.push((name, map.next_value()?));
        }
        Ok(Object(members))
    }
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneCell)
    }
}

struct OneCell;

impl<'de> Visitor<'de> for OneCell {
    type Value = Cell;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number, a string, true, false or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Cell, E> {
        Ok(Cell::Missing)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Cell, E> {
        Ok(Cell::Bare(value.to_string()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Cell, E> {
        Ok(Cell::Bare(value.to_string()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Cell, E> {
        Ok(Cell::Bare(value.to_string()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Cell, E> {
        Ok(Cell::Bare(float_text(value)))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Cell, E> {
        Ok(Cell::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cell, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Err(A::Error::custom("a list inside an object"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Err(A::Error::custom("an object inside an object"))
    }
}

fn twice(name: &str) -> String {
    format!("duplicate key {}", crate::error::shown(name))
}
