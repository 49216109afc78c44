//! A column: values of one kind under one name.

use std::borrow::Cow;
use std::fmt;

use super::{Categorical, Dates, Text, Unit, Values};

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Real numbers.
    Float,
    /// Whole numbers.
    Integer,
    /// True or false.
    Boolean,
    /// One of a few strings.
    Categorical,
    /// Any strings.
    Text,
    /// Days or instants.
    Date,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 6] = [Kind::Float, Kind::Integer, Kind::Boolean, Kind::Categorical, Kind::Text, Kind::Date];

    /// The kind's name: `float`, `integer`, `boolean`, `categorical`, `text`, `date`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Float => "float",
            Kind::Integer => "integer",
            Kind::Boolean => "boolean",
            Kind::Categorical => "categorical",
            Kind::Text => "text",
            Kind::Date => "date",
        }
    }

    /// Whether its values are numbers, truth values included.
    pub fn is_numeric(self) -> bool {
        matches!(self, Kind::Float | Kind::Integer | Kind::Boolean)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Kind {
    type Err = crate::DataError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let names = || Kind::ALL.map(Kind::name).join(", ");
        let known = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or_else(|| crate::DataError::parameter("kind", format!("{name:?} is none of {}", names())))
    }
}

/// Values of one kind; any of them may be missing.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Column {
    /// Real numbers; NaN is the same as missing.
    Float(Values<f64>),
    /// Whole numbers.
    Integer(Values<i64>),
    /// Truth values.
    Boolean(Values<bool>),
    /// One of a few strings.
    Categorical(Categorical),
    /// Any strings.
    Text(Text),
    /// Days or instants.
    Date(Dates),
}

impl Column {
    /// Real numbers; NaN means missing.
    pub fn floats(values: Vec<f64>) -> Self {
        Column::Float(values.into())
    }

    /// Whole numbers.
    pub fn integers(values: Vec<i64>) -> Self {
        Column::Integer(values.into())
    }

    /// Truth values.
    pub fn booleans(values: Vec<bool>) -> Self {
        Column::Boolean(values.into())
    }

    /// One of a few strings each.
    pub fn categories<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Self {
        Column::Categorical(values.into_iter().map(Some).collect())
    }

    /// Any strings.
    pub fn texts<S: AsRef<str>>(values: impl IntoIterator<Item = S>) -> Self {
        Column::Text(values.into_iter().map(Some).collect())
    }

    /// What it holds.
    pub fn kind(&self) -> Kind {
        match self {
            Column::Float(_) => Kind::Float,
            Column::Integer(_) => Kind::Integer,
            Column::Boolean(_) => Kind::Boolean,
            Column::Categorical(_) => Kind::Categorical,
            Column::Text(_) => Kind::Text,
            Column::Date(_) => Kind::Date,
        }
    }

    /// A column of `rows` missing values.
    pub fn blank(kind: Kind, rows: usize) -> Self {
        match kind {
            Kind::Float => Column::Float(Values::blank(rows)),
            Kind::Integer => Column::Integer(Values::blank(rows)),
            Kind::Boolean => Column::Boolean(Values::blank(rows)),
            Kind::Categorical => Column::Categorical(Categorical::blank(rows)),
            Kind::Text => Column::Text(Text::blank(rows)),
            Kind::Date => Column::Date(Dates::new(Values::blank(rows), Unit::Days)),
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Float(values) => values.len(),
            Column::Integer(values) => values.len(),
            Column::Boolean(values) => values.len(),
            Column::Categorical(values) => values.len(),
            Column::Text(values) => values.len(),
            Column::Date(values) => values.values().len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values are missing.
    pub fn missing(&self) -> usize {
        match self {
            Column::Float(values) => values.missing(),
            Column::Integer(values) => values.missing(),
            Column::Boolean(values) => values.missing(),
            Column::Categorical(values) => values.missing(),
            Column::Text(values) => values.missing(),
            Column::Date(values) => values.values().missing(),
        }
    }

    /// Whether the value of a row is missing (or the row does not exist).
    pub fn is_missing(&self, row: usize) -> bool {
        match self {
            Column::Float(values) => values.get(row).is_none(),
            Column::Integer(values) => values.get(row).is_none(),
            Column::Boolean(values) => values.get(row).is_none(),
            Column::Categorical(values) => values.code(row).is_none(),
            Column::Text(values) => values.get(row).is_none(),
            Column::Date(values) => values.values().get(row).is_none(),
        }
    }

    /// The value of a row as a number: 1 and 0 for true and false, seconds since 1970 for dates; `None` for missing
    /// values and for strings.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Column::Float(values) => values.get(row),
            Column::Integer(values) => values.get(row).map(|value| value as f64),
            Column::Boolean(values) => values.get(row).map(f64::from),
            Column::Date(values) => {
                values.values().get(row).map(|value| value as f64 * (86_400.0 / values.unit().per_day() as f64))
            }
            Column::Categorical(_) | Column::Text(_) => None,
        }
    }

    /// The value of a row as a CSV file would hold it; `None` if it is missing. Numbers are written so that reading
    /// gives the same bits.
    ///
    /// ```
    /// use tove_data::table::Column;
    /// assert_eq!(Column::floats(vec![0.1, f64::NAN]).text(0).as_deref(), Some("0.1"));
    /// assert_eq!(Column::floats(vec![2.0]).text(0).as_deref(), Some("2.0"));
    /// ```
    pub fn text(&self, row: usize) -> Option<Cow<'_, str>> {
        match self {
            Column::Float(values) => values.get(row).map(|value| Cow::Owned(float_text(value))),
            Column::Integer(values) => values.get(row).map(|value| Cow::Owned(value.to_string())),
            Column::Boolean(values) => values.get(row).map(|value| Cow::Borrowed(if value { "true" } else { "false" })),
            Column::Categorical(values) => values.get(row).map(Cow::Borrowed),
            Column::Text(values) => values.get(row).map(Cow::Borrowed),
            Column::Date(values) => values.to_text(row).map(Cow::Owned),
        }
    }

    /// The rows at `rows`, all of which must exist.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        match self {
            Column::Float(values) => Column::Float(values.take(rows)),
            Column::Integer(values) => Column::Integer(values.take(rows)),
            Column::Boolean(values) => Column::Boolean(values.take(rows)),
            Column::Categorical(values) => Column::Categorical(values.take(rows)),
            Column::Text(values) => Column::Text(values.take(rows)),
            Column::Date(values) => Column::Date(Dates::new(values.values().take(rows), values.unit())),
        }
    }
}

/// The shortest text that reads back as the same number, with a point or an exponent so that it stays a real number.
pub(crate) fn float_text(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && size.is_finite() && !(1e-5..1e16).contains(&size) {
        format!("{value:e}")
    } else {
        format!("{value:?}")
    }
}

impl From<Vec<f64>> for Column {
    fn from(values: Vec<f64>) -> Self {
        Column::floats(values)
    }
}

impl From<Vec<i64>> for Column {
    fn from(values: Vec<i64>) -> Self {
        Column::integers(values)
    }
}

impl From<Vec<bool>> for Column {
    fn from(values: Vec<bool>) -> Self {
        Column::booleans(values)
    }
}

impl From<Vec<&str>> for Column {
    /// Strings become a categorical column; [`Column::texts`] keeps them raw.
    fn from(values: Vec<&str>) -> Self {
        Column::categories(values)
    }
}
