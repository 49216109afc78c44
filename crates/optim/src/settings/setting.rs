//! Types that a hyperparameter can have.

use std::fmt;

/// What kind of value a hyperparameter takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A real number.
    Real,
    /// A whole number from 0 on.
    Whole,
    /// True or false.
    Switch,
    /// Any text.
    Text,
    /// One of these names.
    Choice(&'static [&'static str]),
    /// A value of the inner kind, or none.
    Optional(Box<Kind>),
}

impl Kind {
    /// Whether numbers of this kind are whole.
    pub fn is_whole(&self) -> bool {
        match self {
            Kind::Whole => true,
            Kind::Optional(inner) => inner.is_whole(),
            _ => false,
        }
    }

    /// The names to choose from, if it is a choice.
    pub fn choices(&self) -> &'static [&'static str] {
        match self {
            Kind::Choice(names) => names,
            Kind::Optional(inner) => inner.choices(),
            _ => &[],
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Real => f.write_str("number"),
            Kind::Whole => f.write_str("whole number"),
            Kind::Switch => f.write_str("true or false"),
            Kind::Text => f.write_str("text"),
            Kind::Choice(names) => f.write_str(&names.join(", ")),
            Kind::Optional(inner) => write!(f, "{inner}, or none"),
        }
    }
}

/// The value of a hyperparameter of any kind.
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
}

impl Value {
    /// The value for a JSON document. Numbers that JSON lacks become text.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::None => serde_json::Value::Null,
            Value::Real(x) if !x.is_finite() => x.to_string().into(),
            Value::Real(x) => (*x).into(),
            Value::Whole(n) => (*n).into(),
            Value::Switch(on) => (*on).into(),
            Value::Text(text) => text.clone().into(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::None => f.write_str("none"),
            // The shortest text that reads back as the same number; powers of ten for the very small and large.
            Value::Real(x) if *x != 0.0 && x.is_finite() && !(1e-3..1e7).contains(&x.abs()) => write!(f, "{x:e}"),
            Value::Real(x) => write!(f, "{x}"),
            Value::Whole(n) => write!(f, "{n}"),
            Value::Switch(on) => write!(f, "{on}"),
            Value::Text(text) => f.write_str(text),
        }
    }
}

/// A type that a field of hyperparameters may have.
pub trait Setting: Sized {
    /// What kind of value it is.
    fn kind() -> Kind;
    /// The value itself.
    fn value(&self) -> Value;
    /// Reads it from text; none if the text means no such value.
    fn parse(text: &str) -> Option<Self>;
    /// The number to be compared with the range, if it is one.
    fn number(&self) -> Option<f64> {
        None
    }
}

impl Setting for f64 {
    fn kind() -> Kind {
        Kind::Real
    }
    fn value(&self) -> Value {
        Value::Real(*self)
    }
    fn parse(text: &str) -> Option<f64> {
        text.trim().replace('_', "").parse().ok()
    }
    #[inline]
    fn number(&self) -> Option<f64> {
        Some(*self)
    }
}

/// Digits, with `_` between them if one likes, or a whole number in the manner of `1e4`.
fn parse_whole(text: &str) -> Option<u64> {
    let text = text.trim().replace('_', "");
    let power =
        || text.parse::<f64>().ok().filter(|x| x.fract() == 0.0 && (0.0..=9.007_199_254_740_992e15).contains(x));
    text.parse().ok().or_else(|| power().map(|x| x as u64))
}

impl Setting for u64 {
    fn kind() -> Kind {
        Kind::Whole
    }
    fn value(&self) -> Value {
        Value::Whole(*self)
    }
    fn parse(text: &str) -> Option<u64> {
        parse_whole(text)
    }
    #[inline]
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Setting for usize {
    fn kind() -> Kind {
        Kind::Whole
    }
    fn value(&self) -> Value {
        Value::Whole(*self as u64)
    }
    fn parse(text: &str) -> Option<usize> {
        parse_whole(text)?.try_into().ok()
    }
    #[inline]
    fn number(&self) -> Option<f64> {
        Some(*self as f64)
    }
}

impl Setting for bool {
    fn kind() -> Kind {
        Kind::Switch
    }
    fn value(&self) -> Value {
        Value::Switch(*self)
    }
    fn parse(text: &str) -> Option<bool> {
        match text.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        }
    }
}

impl Setting for String {
    fn kind() -> Kind {
        Kind::Text
    }
    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
    fn parse(text: &str) -> Option<String> {
        Some(text.to_owned())
    }
}

impl<T: Setting> Setting for Option<T> {
    fn kind() -> Kind {
        Kind::Optional(Box::new(T::kind()))
    }
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::None, T::value)
    }
    fn parse(text: &str) -> Option<Option<T>> {
        match text.trim().to_ascii_lowercase().as_str() {
            "none" | "null" | "" => Some(None),
            _ => T::parse(text).map(Some),
        }
    }
    #[inline]
    fn number(&self) -> Option<f64> {
        self.as_ref().and_then(T::number)
    }
}

/// An enum without fields whose variants have names; `#[derive(Choice)]` takes them from the variants in snake case, or
/// from `#[choice(name = "…")]`.
///
/// ```
/// use tove_optim::settings::Choice;
/// #[derive(Clone, Copy, Debug, PartialEq, Choice)]
/// enum Solver {
///     NewtonCg,
///     #[choice(name = "l-bfgs")]
///     Lbfgs,
/// }
/// assert_eq!(Solver::NAMES, ["newton_cg", "l-bfgs"]);
/// assert_eq!(Solver::from_name("Newton-CG"), Some(Solver::NewtonCg));
/// assert_eq!(Solver::Lbfgs.name(), "l-bfgs");
/// ```
pub trait Choice: Copy + 'static {
    /// All variants, in the order of their names.
    const ALL: &'static [Self];
    /// Names of the variants.
    const NAMES: &'static [&'static str];
    /// The name of this variant.
    fn name(self) -> &'static str;
    /// The variant of this name; capitals do not matter, and `-` is `_`.
    fn from_name(name: &str) -> Option<Self> {
        let plain = |name: &str| name.trim().to_ascii_lowercase().replace('-', "_");
        let position = Self::NAMES.iter().position(|own| plain(own) == plain(name))?;
        Self::ALL.get(position).copied()
    }
}

impl<T: Choice> Setting for T {
    fn kind() -> Kind {
        Kind::Choice(T::NAMES)
    }
    fn value(&self) -> Value {
        Value::Text(self.name().to_owned())
    }
    fn parse(text: &str) -> Option<T> {
        T::from_name(text)
    }
}
