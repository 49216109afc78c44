//! Values of hyperparameters, whatever their kind.

use std::fmt;

use serde_json::json;

/// The value of a hyperparameter of any kind.
///
/// ```
/// use tove_optim::settings::Value;
/// let steps = Value::from(vec![0.1, 1.0, 10.0]);
/// assert_eq!(steps.to_string(), "[0.1, 1, 10]");
/// assert_eq!(Value::from_json(&steps.to_json()), Some(steps));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// No value.
    None,
    /// A real number.
    Real(f64),
    /// A whole number.
    Whole(u64),
    /// True or false.
    Switch(bool),
    /// Text, or the name of a choice.
    Text(String),
    /// Several values.
    List(Vec<Value>),
    /// Values by name, in order.
    Map(Vec<(String, Value)>),
    /// Something with hyperparameters of its own: its name and their values.
    Object(String, Vec<(String, Value)>),
}

impl Value {
    /// The value for a JSON document. Numbers that JSON lacks become text, an object `{"type": name, "params": {...}}`.
    pub fn to_json(&self) -> serde_json::Value {
        let object = |values: &[(String, Value)]| -> serde_json::Value {
            values.iter().map(|(name, value)| (name.clone(), value.to_json())).collect()
        };
        match self {
            Value::None => serde_json::Value::Null,
            Value::Real(x) if !x.is_finite() => x.to_string().into(),
            Value::Real(x) => (*x).into(),
            Value::Whole(n) => (*n).into(),
            Value::Switch(on) => (*on).into(),
            Value::Text(text) => text.clone().into(),
            Value::List(values) => values.iter().map(Value::to_json).collect(),
            // A list of pairs, since the order of the names matters and JSON objects have none.
            Value::Map(values) => values.iter().map(|(name, value)| json!([name, value.to_json()])).collect(),
            Value::Object(name, values) => json!({"type": name, "params": object(values)}),
        }
    }

    /// Reads what [`Value::to_json`] wrote, as far as JSON tells kinds apart: a map comes back as a list of pairs, and a number
    /// that JSON lacks as text. None for a JSON object that is no [`Value::Object`].
    pub fn from_json(json: &serde_json::Value) -> Option<Value> {
        use serde_json::Value as Json;
        Some(match json {
            Json::Null => Value::None,
            Json::Bool(on) => Value::Switch(*on),
            Json::Number(number) => {
                number.as_u64().map_or_else(|| number.as_f64().map(Value::Real), |n| Some(Value::Whole(n)))?
            }
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(values) => Value::List(values.iter().map(Value::from_json).collect::<Option<_>>()?),
            Json::Object(_) => {
                let params = json["params"].as_object()?.iter();
                let values = params.map(|(name, value)| Some((name.clone(), Value::from_json(value)?)));
                Value::Object(json["type"].as_str()?.to_owned(), values.collect::<Option<_>>()?)
            }
        })
    }

    /// The entries of a map, also where it came back from JSON as a list of pairs.
    pub fn as_map(&self) -> Option<Vec<(String, Value)>> {
        match self {
            Value::Map(entries) => Some(entries.clone()),
            Value::List(pairs) => pairs.iter().map(Value::as_pair).collect(),
            _ => None,
        }
    }

    fn as_pair(&self) -> Option<(String, Value)> {
        match self {
            Value::List(pair) => match &pair[..] {
                [Value::Text(name), value] => Some((name.clone(), value.clone())),
                _ => None,
            },
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, values: &[(String, Value)], sign: &str| {
            values.iter().enumerate().try_for_each(|(place, (name, value))| {
                write!(f, "{}{name}{sign}{value}", if place == 0 { "" } else { ", " })
            })
        };
        match self {
            Value::None => f.write_str("none"),
            // The shortest text that reads back as the same number; powers of ten for the very small and large.
            Value::Real(x) if *x != 0.0 && x.is_finite() && !(1e-3..1e7).contains(&x.abs()) => write!(f, "{x:e}"),
            Value::Real(x) => write!(f, "{x}"),
            Value::Whole(n) => write!(f, "{n}"),
            Value::Switch(on) => write!(f, "{on}"),
            Value::Text(text) => f.write_str(text),
            Value::List(values) => {
                let texts: Vec<String> = values.iter().map(Value::to_string).collect();
                write!(f, "[{}]", texts.join(", "))
            }
            Value::Map(values) => {
                f.write_str("{")?;
                named(f, values, ": ")?;
                f.write_str("}")
            }
            Value::Object(name, values) => {
                write!(f, "{name}(")?;
                named(f, values, "=")?;
                f.write_str(")")
            }
        }
    }
}

impl From<f64> for Value {
    fn from(x: f64) -> Value {
        Value::Real(x)
    }
}

impl From<u64> for Value {
    fn from(n: u64) -> Value {
        Value::Whole(n)
    }
}

impl From<usize> for Value {
    fn from(n: usize) -> Value {
        Value::Whole(n as u64)
    }
}

/// A plain literal; a negative one is a real number.
impl From<i32> for Value {
    fn from(n: i32) -> Value {
        u64::try_from(n).map_or(Value::Real(f64::from(n)), Value::Whole)
    }
}

impl From<bool> for Value {
    fn from(on: bool) -> Value {
        Value::Switch(on)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::None, Into::into)
    }
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(values: Vec<T>) -> Value {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(values: [T; N]) -> Value {
        Value::List(values.into_iter().map(Into::into).collect())
    }
}
