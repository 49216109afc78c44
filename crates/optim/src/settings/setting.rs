//! Types that a hyperparameter can have.

use std::fmt;

use super::{Hyperparameter, Input, SettingError, Value};

/// What kind of value a hyperparameter takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueKind {
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
    Optional(Box<ValueKind>),
    /// A list of values of the inner kind.
    List(Box<ValueKind>),
    /// Values of the inner kind by name, in order.
    Map(Box<ValueKind>),
    /// Something with hyperparameters of its own, such as an estimator inside another; the text says what it is.
    Object(&'static str),
}

impl ValueKind {
    /// Whether numbers of this kind are whole.
    pub fn is_whole(&self) -> bool {
        match self {
            ValueKind::Whole => true,
            ValueKind::Optional(inner) => inner.is_whole(),
            _ => false,
        }
    }

    /// The names to choose from, if it is a choice.
    pub fn choices(&self) -> &'static [&'static str] {
        match self {
            ValueKind::Choice(names) => names,
            ValueKind::Optional(inner) => inner.choices(),
            _ => &[],
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueKind::Real => f.write_str("number"),
            ValueKind::Whole => f.write_str("whole number"),
            ValueKind::Switch => f.write_str("true or false"),
            ValueKind::Text => f.write_str("text"),
            ValueKind::Choice(names) => f.write_str(&names.join(", ")),
            ValueKind::Optional(inner) => write!(f, "{inner}, or none"),
            ValueKind::List(inner) => write!(f, "list of {inner}"),
            ValueKind::Map(inner) => write!(f, "named {inner}s"),
            ValueKind::Object(what) => f.write_str(what),
        }
    }
}

/// A type that a field of hyperparameters may have.
pub trait Setting: Sized {
    /// What kind of value it is.
    fn kind() -> ValueKind;
    /// The value itself.
    fn value(&self) -> Value;
    /// The setting of a typed value; none if the value is of another kind.
    fn from_value(value: &Value) -> Option<Self>;
    /// The setting of a text, as on a command line; none if the text means no such value.
    fn parse(text: &str) -> Option<Self> {
        Self::from_value(&Value::Text(text.to_owned()))
    }
    /// Whether every number in it, if there are any, passes the test.
    fn all_numbers(&self, _test: &dyn Fn(f64) -> bool) -> bool {
        true
    }
    /// What may be written, for messages, where [`ValueKind`] does not say it: "scale, auto or a number".
    fn expected() -> Option<&'static str> {
        None
    }
    /// Why a value was refused, where [`Setting::expected`] and [`ValueKind`] cannot know: "there is no estimator Rige".
    fn explain(_value: &Value) -> Option<String> {
        None
    }

    // Settings that have hyperparameters of their own.

    /// Sets a hyperparameter inside this one, which is the field `field`: `estimator.alpha`, or `scale.with_mean` for the steps
    /// of a pipeline. None if the name does not lead here.
    fn assign_inside(&mut self, _field: &str, _name: &str, _input: Input<'_>) -> Option<Result<(), SettingError>> {
        None
    }
    /// The value of a hyperparameter inside this one.
    fn value_inside(&self, _field: &str, _name: &str) -> Option<Value> {
        None
    }
    /// The hyperparameters inside this one, with their full names and present values.
    fn describe_inside(&self, _field: &str) -> Vec<(String, Hyperparameter)> {
        Vec::new()
    }
    /// Whether the hyperparameters inside this one can be used.
    fn validate_inside(&self) -> Result<(), SettingError> {
        Ok(())
    }
}

impl Setting for f64 {
    fn kind() -> ValueKind {
        ValueKind::Real
    }
    fn value(&self) -> Value {
        Value::Real(*self)
    }
    fn from_value(value: &Value) -> Option<f64> {
        match value {
            Value::Real(x) => Some(*x),
            Value::Whole(n) => Some(*n as f64),
            // Numbers that JSON lacks are text there.
            Value::Text(text) => text.parse().ok().filter(|x: &f64| !x.is_finite()),
            _ => None,
        }
    }
    fn parse(text: &str) -> Option<f64> {
        text.trim().replace('_', "").parse().ok()
    }
    #[inline]
    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        test(*self)
    }
}

/// A whole number that a real one stands for exactly.
fn whole(x: f64) -> Option<u64> {
    (x.fract() == 0.0 && (0.0..=9.007_199_254_740_992e15).contains(&x)).then_some(x as u64)
}

impl Setting for u64 {
    fn kind() -> ValueKind {
        ValueKind::Whole
    }
    fn value(&self) -> Value {
        Value::Whole(*self)
    }
    fn from_value(value: &Value) -> Option<u64> {
        match value {
            Value::Whole(n) => Some(*n),
            Value::Real(x) => whole(*x),
            _ => None,
        }
    }
    /// Digits, with `_` between them if one likes, or a whole number in the manner of `1e4`.
    fn parse(text: &str) -> Option<u64> {
        let text = text.trim().replace('_', "");
        text.parse().ok().or_else(|| whole(text.parse().ok()?))
    }
    #[inline]
    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        test(*self as f64)
    }
}

impl Setting for usize {
    fn kind() -> ValueKind {
        ValueKind::Whole
    }
    fn value(&self) -> Value {
        Value::Whole(*self as u64)
    }
    fn from_value(value: &Value) -> Option<usize> {
        u64::from_value(value)?.try_into().ok()
    }
    fn parse(text: &str) -> Option<usize> {
        u64::parse(text)?.try_into().ok()
    }
    #[inline]
    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        test(*self as f64)
    }
}

impl Setting for bool {
    fn kind() -> ValueKind {
        ValueKind::Switch
    }
    fn value(&self) -> Value {
        Value::Switch(*self)
    }
    fn from_value(value: &Value) -> Option<bool> {
        if let Value::Switch(on) = value { Some(*on) } else { None }
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
    fn kind() -> ValueKind {
        ValueKind::Text
    }
    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
    fn from_value(value: &Value) -> Option<String> {
        if let Value::Text(text) = value { Some(text.clone()) } else { None }
    }
}

impl<T: Setting> Setting for Option<T> {
    fn kind() -> ValueKind {
        ValueKind::Optional(Box::new(T::kind()))
    }
    fn value(&self) -> Value {
        self.as_ref().map_or(Value::None, T::value)
    }
    fn from_value(value: &Value) -> Option<Option<T>> {
        match value {
            Value::None => Some(None),
            Value::Text(text) if text.eq_ignore_ascii_case("none") => Some(None),
            other => T::from_value(other).map(Some),
        }
    }
    fn parse(text: &str) -> Option<Option<T>> {
        match text.trim().to_ascii_lowercase().as_str() {
            "none" | "null" | "" => Some(None),
            _ => T::parse(text).map(Some),
        }
    }
    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        self.as_ref().is_none_or(|inner| inner.all_numbers(test))
    }
    fn explain(value: &Value) -> Option<String> {
        T::explain(value)
    }
}

/// The parts of a text between commas that stand outside of brackets.
fn split_outside_brackets(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (place, letter) in text.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[start..place]);
                start = place + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A list: `[0.1, 1, 10]` in code and in JSON, `0.1,1,10` (brackets if one likes) on a command line.
impl<T: Setting> Setting for Vec<T> {
    fn kind() -> ValueKind {
        ValueKind::List(Box::new(T::kind()))
    }
    fn value(&self) -> Value {
        Value::List(self.iter().map(T::value).collect())
    }
    fn from_value(value: &Value) -> Option<Vec<T>> {
        if let Value::List(values) = value { values.iter().map(T::from_value).collect() } else { None }
    }
    fn parse(text: &str) -> Option<Vec<T>> {
        let text = text.trim();
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text).trim();
        if inner.is_empty() {
            return Some(Vec::new());
        }
        split_outside_brackets(inner).into_iter().map(T::parse).collect()
    }
    fn all_numbers(&self, test: &dyn Fn(f64) -> bool) -> bool {
        self.iter().all(|inner| inner.all_numbers(test))
    }
    fn explain(value: &Value) -> Option<String> {
        if let Value::List(values) = value { values.iter().find_map(T::explain) } else { None }
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
    fn kind() -> ValueKind {
        ValueKind::Choice(T::NAMES)
    }
    fn value(&self) -> Value {
        Value::Text(self.name().to_owned())
    }
    fn from_value(value: &Value) -> Option<T> {
        if let Value::Text(name) = value { T::from_name(name) } else { None }
    }
}
