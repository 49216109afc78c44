//! Named parts: their hyperparameters under dotted names, their records one after the other.

use tove_optim::settings::{Hyperparameter, Value, edits};

use crate::{LearnError, Record, Result, Transform, Transformer, registry};

/// A transformer with its name.
pub(super) type Named = (String, Box<dyn Transformer>);

/// Hyperparameters of a part under its name.
pub(crate) fn dotted<'a, T: 'a>(name: &'a str, entries: Vec<(String, T)>) -> impl Iterator<Item = (String, T)> + 'a {
    entries.into_iter().map(move |(inner, entry)| (format!("{name}.{inner}"), entry))
}

/// A name that belongs to no part; suggests the nearest one.
#[cold]
pub(super) fn no_part(who: &'static str, name: &str, names: &[String]) -> LearnError {
    let head = name.split('.').next().unwrap_or(name);
    let nearest = names.iter().map(|known| (edits(known, head), known)).min();
    let fix = match nearest {
        Some((distance, known)) if distance > 0 && distance <= 2 => format!("did you mean `{known}`?"),
        _ => format!("write `step.hyperparameter` with one of the steps {}", names.join(", ")),
    };
    LearnError::parameter(who, format!("there is no hyperparameter `{name}`; {fix}"))
}

/// Sets a hyperparameter of one of the transformers.
pub(super) fn set_named(who: &'static str, parts: &mut [Named], name: &str, text: &str) -> Result<()> {
    let mut names = Vec::new();
    for (part, transformer) in parts {
        if let Some(inner) = name.strip_prefix(part.as_str()).and_then(|rest| rest.strip_prefix('.')) {
            return transformer.set_any(inner, text);
        }
        names.push(part.clone());
    }
    Err(no_part(who, name, &names))
}

pub(super) fn values(parts: &[Named]) -> Vec<(String, Value)> {
    parts.iter().flat_map(|(name, part)| dotted(name, part.values_any())).collect()
}

pub(super) fn describe(parts: &[Named]) -> Vec<(String, Hyperparameter)> {
    parts.iter().flat_map(|(name, part)| dotted(name, part.describe_any())).collect()
}

/// Names that can be told apart, and hyperparameters that can be used.
pub(super) fn validate(who: &'static str, parts: &[Named], further: Option<&str>) -> Result<()> {
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.as_str()).chain(further).collect();
    for (place, name) in names.iter().enumerate() {
        if name.is_empty() || name.contains(['.', '/']) {
            return Err(LearnError::parameter(who, format!("the name `{name}` of a step; use letters, digits and _")));
        }
        if names[..place].contains(name) {
            return Err(LearnError::parameter(who, format!("two steps are called `{name}`; give each its own name")));
        }
    }
    parts.iter().try_for_each(|(_, part)| part.validate_any())
}

/// Writes fitted parts with their names and order.
pub(super) fn write(record: &mut Record, parts: &[(String, Box<dyn Transform>)]) {
    record.put("steps", parts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
    parts.iter().for_each(|(name, part)| record.put_part(&format!("step.{name}"), part.record()));
}

/// Reads what [`write`] wrote.
pub(super) fn read(record: &Record) -> Result<Vec<(String, Box<dyn Transform>)>> {
    let bad = || record.wrong("steps", "a list of names");
    let names = record.get("steps")?.as_array().ok_or_else(bad)?;
    let mut parts = Vec::new();
    for name in names {
        let name = name.as_str().ok_or_else(bad)?;
        let part = record.part(&format!("step.{name}"))?;
        parts.push((name.to_owned(), registry::transform_restorer(part.kind())?(&part)?));
    }
    Ok(parts)
}

/// That each part takes what the one before it gives.
pub(super) fn check_widths(record: &Record, parts: &[(String, Box<dyn Transform>)]) -> Result<()> {
    let fits = parts.windows(2).all(|two| two[0].1.outputs() == two[1].1.width());
    if fits { Ok(()) } else { Err(record.wrong("steps", "a chain whose widths fit")) }
}
