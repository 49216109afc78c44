//! Rows from JSON, read straight into columns.
//!
//! No document is built: a value goes to its column when it is parsed, unknown keys are skipped, and the rows of large bodies are
//! counted before any is stored. So memory is bounded by the number of rows allowed, whatever the body contains.

use std::fmt;

use serde::Deserializer as _;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Deserializer, Map, Value};
use tove::data::table::Field;

use super::columns::{Columns, Read};
use super::refusal::Refusal;

/// Parts of a list or an object in a cell that are kept to be shown; cells are single values.
const SHOWN: usize = 16;
/// Bytes of a body from which on its rows are counted before they are read.
const LARGE: usize = 1 << 16;

/// Reads a body with at most so many rows.
///
/// # Errors
/// If it is not JSON, not rows, too many rows, or a value does not fit its column.
pub fn read(body: &[u8], fields: &[Field], counted: impl Fn(usize) -> Result<(), Refusal>) -> Result<Read, Refusal> {
    if body.len() > LARGE {
        counted(count(body)?)?;
    }
    let mut columns = Columns::new(fields);
    let mut reader = Deserializer::from_slice(body);
    let read = reader.deserialize_any(Document(&mut columns)).and_then(|()| reader.end());
    if let Some(refusal) = columns.refusal.take() {
        // What is not JSON at all is said to be so, whatever else is wrong with it.
        return Err(serde_json::from_slice::<IgnoredAny>(body).err().map_or(refusal, not_json));
    }
    read.map_err(not_json)?;
    counted(columns.rows)?;
    Ok(columns.finish())
}

/// Rows of a body, without looking into them.
fn count(body: &[u8]) -> Result<usize, Refusal> {
    let mut reader = Deserializer::from_slice(body);
    let rows = reader.deserialize_any(Counted).and_then(|rows| reader.end().map(|()| rows));
    rows.map_err(not_json)
}

#[cold]
fn not_json(error: serde_json::Error) -> Refusal {
    let text =
        format!("the request body is not valid JSON ({error}); send {{\"rows\": [{{...}}]}}, or CSV as text/csv");
    Refusal::bad(text)
}

/// What single values (anything but lists and objects) give: `$one` of the visitor and the value.
macro_rules! single_values {
    ($out:ty, $one:expr) => {
        fn visit_unit<E: Error>(self) -> Result<$out, E> {
            $one(self, Value::Null)
        }

        fn visit_bool<E: Error>(self, value: bool) -> Result<$out, E> {
            $one(self, Value::from(value))
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<$out, E> {
            $one(self, Value::from(value))
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<$out, E> {
            $one(self, Value::from(value))
        }

        fn visit_f64<E: Error>(self, value: f64) -> Result<$out, E> {
            $one(self, Value::from(value))
        }

        fn visit_str<E: Error>(self, value: &str) -> Result<$out, E> {
            $one(self, Value::from(value))
        }
    };
}

/// Counts rows: the entries of a list, or of the list called `rows`.
struct Counted;

impl<'de> Visitor<'de> for Counted {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<usize, A::Error> {
        let mut rows = 0;
        while list.next_element::<IgnoredAny>()?.is_some() {
            rows += 1;
        }
        Ok(rows)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<usize, A::Error> {
        let (mut rows, mut listed) = (1, false);
        while let Some(name) = object.next_key::<String>()? {
            if name == "rows" {
                if std::mem::replace(&mut listed, true) {
                    return Err(A::Error::custom("duplicate key \"rows\""));
                }
                rows = object.next_value_seed(Counted)?;
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(rows)
    }

    // Anything else is not rows, which is told when it is read.
    single_values!(usize, |_: Self, _: Value| Ok(1));
}

impl<'de> DeserializeSeed<'de> for Counted {
    type Value = usize;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<usize, D::Error> {
        reader.deserialize_any(self)
    }
}

/// A row, or several in a list, perhaps one called `rows`.
struct Document<'c, 'f>(&'c mut Columns<'f>);

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Row(&mut *self.0))?.is_some() {}
        Ok(())
    }

    /// One row, until a list called `rows` says otherwise.
    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        let columns = self.0;
        columns.rows = 1;
        let mut listed = false;
        while let Some(key) = object.next_key::<String>()? {
            if listed && key == "rows" {
                return Err(columns.refuse(Refusal::bad("duplicate key \"rows\"; send one list of rows")));
            } else if listed {
                object.next_value::<IgnoredAny>()?;
            } else if key == "rows" {
                listed = object.next_value_seed(Listed(&mut *columns))?;
            } else {
                cell(&mut *columns, key, &mut object)?;
            }
        }
        Ok(())
    }

    single_values!((), |document: Self, _: Value| Err(neither(document.0)));
}

#[cold]
fn neither<E: Error>(columns: &mut Columns<'_>) -> E {
    columns.refuse(Refusal::bad("expected a JSON object (one row) or an array of objects"))
}

/// Reads the next value of an object into its column.
fn cell<'de, A: MapAccess<'de>>(columns: &mut Columns<'_>, key: String, object: &mut A) -> Result<(), A::Error> {
    let Some(place) = columns.fields.iter().position(|field| field.name == key) else {
        columns.unknown(key);
        return object.next_value::<IgnoredAny>().map(|_| ());
    };
    let mut shown = SHOWN;
    let value = object.next_value_seed(Bounded(&mut shown))?;
    columns.put(place, value).map_err(|refusal| columns.refuse(refusal))
}

/// What stands under `rows`: a list of rows, which gives true, or a cell of a column of that name.
struct Listed<'c, 'f>(&'c mut Columns<'f>);

impl<'de> DeserializeSeed<'de> for Listed<'_, '_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_any(self)
    }
}

impl Listed<'_, '_> {
    fn cell<E: Error>(self, value: Value) -> Result<bool, E> {
        let columns = self.0;
        match columns.fields.iter().position(|field| field.name == "rows") {
            Some(place) => columns.put(place, value).map(|()| false).map_err(|refusal| columns.refuse(refusal)),
            None => Err(columns.refuse(Refusal::bad("`rows` must be an array of objects"))),
        }
    }
}

impl<'de> Visitor<'de> for Listed<'_, '_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rows")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        // What came before was not a row.
        *self.0 = Columns::new(self.0.fields);
        while list.next_element_seed(Row(&mut *self.0))?.is_some() {}
        Ok(true)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<bool, A::Error> {
        let mut shown = SHOWN;
        let value = Bounded(&mut shown).visit_map(object)?;
        self.cell(value)
    }

    single_values!(bool, Listed::cell);
}

/// One row of a list.
struct Row<'c, 'f>(&'c mut Columns<'f>);

impl<'de> DeserializeSeed<'de> for Row<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        self.0.rows += 1;
        reader.deserialize_any(self)
    }
}

impl Row<'_, '_> {
    #[cold]
    fn wrong<E: Error>(self) -> E {
        let row = self.0.rows - 1;
        self.0.refuse(Refusal::bad(format!("rows[{row}]: expected a JSON object of columns and values")))
    }
}

impl<'de> Visitor<'de> for Row<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while let Some(key) = object.next_key::<String>()? {
            cell(&mut *self.0, key, &mut object)?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<(), A::Error> {
        Err(self.wrong())
    }

    single_values!((), |row: Self, _: Value| Err(row.wrong()));
}

/// A value of which a few parts are kept: cells are single values, and lists are there to be shown in a refusal.
struct Bounded<'n>(&'n mut usize);

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut kept = Vec::new();
        while *self.0 > 0 {
            *self.0 -= 1;
            match list.next_element_seed(Bounded(&mut *self.0))? {
                Some(value) => kept.push(value),
                None => return Ok(Value::Array(kept)),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Array(kept))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut kept = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            if *self.0 == 0 {
                object.next_value::<IgnoredAny>()?;
                continue;
            }
            *self.0 -= 1;
            kept.insert(key, object.next_value_seed(Bounded(&mut *self.0))?);
        }
        Ok(Value::Object(kept))
    }

    single_values!(Value, |_: Self, value: Value| Ok(value));
}
