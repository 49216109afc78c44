//! Numbers in JSON that need not be finite: JSON has no word for NaN and the infinities, so they are written as text, and a
//! run whose validation loss was not finite can be resumed all the same.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::report::Scores;

/// A number as a run is written to a file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Finite(f64),
    Text(Text),
    /// What files written before had for all of them.
    Null(()),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
enum Text {
    NaN,
    #[serde(rename = "inf")]
    Infinity,
    #[serde(rename = "-inf")]
    NegativeInfinity,
}

impl From<f64> for Written {
    fn from(value: f64) -> Written {
        match value {
            value if value.is_finite() => Written::Finite(value),
            value if value.is_nan() => Written::Text(Text::NaN),
            value if value > 0.0 => Written::Text(Text::Infinity),
            _ => Written::Text(Text::NegativeInfinity),
        }
    }
}

impl From<Written> for f64 {
    fn from(written: Written) -> f64 {
        match written {
            Written::Finite(value) => value,
            Written::Text(Text::Infinity) => f64::INFINITY,
            Written::Text(Text::NegativeInfinity) => f64::NEG_INFINITY,
            Written::Text(Text::NaN) | Written::Null(()) => f64::NAN,
        }
    }
}

/// One number, for `#[serde(with = "…")]`.
pub(super) mod one {
    use super::{Deserialize, Deserializer, Serialize, Serializer, Written};

    pub(in crate::train) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        Written::from(*value).serialize(serializer)
    }

    pub(in crate::train) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Written::deserialize(deserializer).map(f64::from)
    }
}

/// Scores by name, for `#[serde(with = "…")]`.
pub(super) mod scores {
    use super::{Deserialize, Deserializer, Scores, Serialize, Serializer, Written};

    pub(in crate::train) fn serialize<S: Serializer>(scores: &Scores, serializer: S) -> Result<S::Ok, S::Error> {
        let written: Vec<(&str, Written)> =
            scores.iter().map(|(name, value)| (name.as_str(), Written::from(*value))).collect();
        written.serialize(serializer)
    }

    pub(in crate::train) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Scores, D::Error> {
        let written = Vec::<(String, Written)>::deserialize(deserializer)?;
        Ok(written.into_iter().map(|(name, value)| (name, f64::from(value))).collect())
    }
}
