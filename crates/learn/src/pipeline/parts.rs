//! Records of named parts.

use crate::{Model, Record, Result, restore};

/// Writes fitted parts with their names and order.
pub(super) fn write(record: &mut Record, parts: &[(String, Box<dyn Model>)]) {
    record.put("steps", parts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    parts.iter().for_each(|(name, part)| record.put_part(&format!("step.{name}"), part.record()));
}

/// Reads what [`write`] wrote.
pub(super) fn read(record: &Record) -> Result<Vec<(String, Box<dyn Model>)>> {
    let bad = || record.wrong("steps", "a list of names");
    let names = record.get("steps")?.as_array().ok_or_else(bad)?;
    let mut parts = Vec::new();
    for name in names {
        let name = name.as_str().ok_or_else(bad)?;
        parts.push((name.to_owned(), restore(&record.part(&format!("step.{name}"))?)?));
    }
    Ok(parts)
}
