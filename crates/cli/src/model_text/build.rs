//! From the tree of a text to typed values, each checked by the estimator that it is for.

use tove::learn::{Estimator, Steps, registry};
use tove::optim::settings::{Setting, SettingError, Value, ValueKind};

use super::Mistake;
use super::parser::{Argument, Item, Node};

/// The value of a part of the text.
pub fn value(node: &Node) -> Result<Value, Mistake> {
    Ok(match &node.item {
        Item::Word(word) => plain(word),
        Item::Quoted(text) => Value::Text(text.clone()),
        Item::List(nodes) => Value::List(nodes.iter().map(value).collect::<Result<_, _>>()?),
        Item::Map(entries) => {
            let one = |(name, node): &(String, Node)| Ok((name.clone(), value(node)?));
            Value::Map(entries.iter().map(one).collect::<Result<_, Mistake>>()?)
        }
        Item::Call(name, arguments) => call(node.at, name, arguments)?,
    })
}

/// A word: a number, true or false, none, or a name.
fn plain(word: &str) -> Value {
    let digits = word.replace('_', "");
    let number = |text: &str| text.parse::<u64>().map(Value::Whole).or_else(|_| text.parse().map(Value::Real)).ok();
    // Words such as `inf` and `nan` are numbers for Rust; hyperparameters take them as text.
    let numeric = word.starts_with(|letter: char| letter.is_ascii_digit() || matches!(letter, '-' | '+' | '.'));
    match word.to_ascii_lowercase().as_str() {
        "true" => Value::Switch(true),
        "false" => Value::Switch(false),
        "none" | "null" => Value::None,
        _ if numeric => number(&digits).unwrap_or_else(|| Value::Text(word.to_owned())),
        _ => Value::Text(word.to_owned()),
    }
}

/// Whether a value is an estimator.
fn is_estimator(value: &Value) -> bool {
    match value {
        Value::Object(..) => true,
        Value::Text(name) => registry::find(name).is_ok(),
        _ => false,
    }
}

/// The hyperparameters that hold estimators: the one with several, and those with one.
fn places(estimator: &dyn Estimator) -> (Option<&'static str>, Vec<&'static str>) {
    let own = &estimator.schema().hyperparameters;
    let object = |kind: &ValueKind| matches!(kind, ValueKind::Object("estimator"));
    let several = own.iter().find(|entry| matches!(&entry.kind, ValueKind::Map(inner) if object(inner)));
    let single = |kind: &ValueKind| object(kind) || matches!(kind, ValueKind::Optional(inner) if object(inner));
    (several.map(|entry| entry.name), own.iter().filter(|entry| single(&entry.kind)).map(|entry| entry.name).collect())
}

/// An estimator with its hyperparameters.
fn call(at: usize, name: &str, arguments: &[Argument]) -> Result<Value, Mistake> {
    let entry = registry::find(name).map_err(|error| Mistake::new(at, error.to_string()))?;
    let mut estimator = (entry.new)();
    let (several, mut single) = places(&*estimator);
    let mut values: Vec<(String, Value)> = Vec::new();
    let mut members: Vec<(Option<String>, Value)> = Vec::new();
    for argument in arguments {
        let refuse = |problem: String| Err(Mistake::new(argument.at, problem));
        let given = value(&argument.value)?;
        let Some(own) = &argument.name else {
            if !is_estimator(&given) {
                return refuse(match &given {
                    Value::Text(word) => registry::find(word).map_or_else(|error| error.to_string(), |_| String::new()),
                    other => format!("write NAME={other}; `tove models {}` lists the names", entry.name),
                });
            }
            match (several, single.is_empty()) {
                (Some(_), _) => members.push((None, given)),
                (None, false) => values.push((single.remove(0).to_owned(), given)),
                (None, true) => return refuse(format!("{} has no estimators inside", entry.name)),
            }
            continue;
        };
        if values.iter().any(|(known, _)| known == own) || members.iter().any(|member| member.0.as_ref() == Some(own)) {
            return refuse(format!("`{own}` is given twice"));
        }
        let given = steps(own, &*estimator, given).or_else(refuse)?;
        match estimator.set(own, given.clone()) {
            Ok(()) => {
                single.retain(|place| place != own);
                values.push((own.clone(), given));
            }
            Err(SettingError::Unknown { .. }) if several.is_some() && is_estimator(&given) => {
                members.push((Some(own.clone()), given));
            }
            Err(error) => return refuse(error.to_string()),
        }
    }
    if let (Some(place), false) = (several, members.is_empty()) {
        if values.iter().any(|(known, _)| known == place) {
            return Err(Mistake::new(
                at,
                format!("estimators are given by `{place}` and without it; use one of the two"),
            ));
        }
        values.insert(0, (place.to_owned(), named(members).map_err(|problem| Mistake::new(at, problem))?));
    }
    for (own, given) in &values {
        estimator.set(own, given.clone()).map_err(|error| Mistake::new(at, error.to_string()))?;
    }
    estimator.validate().map_err(|error| Mistake::new(at, error.to_string()))?;
    Ok(Value::Object(entry.name.to_owned(), values))
}

/// A list of estimators where several with names are wanted: they get their names. Other values stay as they are.
pub fn steps(name: &str, estimator: &dyn Estimator, value: Value) -> Result<Value, String> {
    match value {
        Value::List(list) if places(estimator).0 == Some(name) && list.iter().all(is_estimator) => {
            named(list.into_iter().map(|value| (None, value)).collect())
        }
        other => Ok(other),
    }
}

/// Estimators by name; those without get their own in small letters, and a number where it is taken.
fn named(members: Vec<(Option<String>, Value)>) -> Result<Value, String> {
    let mut steps = Steps::default();
    for (name, value) in members {
        let estimator = <Box<dyn Estimator> as Setting>::from_value(&value);
        let estimator = estimator.ok_or_else(|| format!("{value} is not an estimator"))?;
        match name {
            Some(name) => steps.push(&name, estimator),
            None => steps.push_unnamed(estimator),
        }
    }
    Ok(steps.value())
}
