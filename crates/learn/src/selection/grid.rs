//! Candidate hyperparameters: all combinations of a grid, or random draws.
//!
//! ```
//! use tove_learn::selection::{ParamDistribution, Grid, Space};
//! let grid = Grid::new().over("alpha", [0.1, 1.0]).over("solver", ["svd", "cholesky"]);
//! assert_eq!(grid.candidates().len(), 4);
//! assert_eq!(grid.candidates()[1], [("alpha".into(), 0.1.into()), ("solver".into(), "cholesky".into())]);
//! let space = Space::new().draw("alpha", ParamDistribution::LogUniform { low: 1e-3, high: 1e3 });
//! let drawn = space.candidates(5, 7)?;
//! assert_eq!(drawn, space.candidates(5, 7)?);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Setting, Value, ValueKind};
use tove_tensor::{DType, Key};

use crate::{LearnError, Result};

/// Names and values of one candidate.
pub type Candidate = Vec<(String, Value)>;

/// Lists of values, of which all combinations are tried; the last name varies fastest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    axes: Vec<(String, Vec<Value>)>,
}

impl Grid {
    /// Creates an empty grid with a single candidate.
    pub fn new() -> Grid {
        Grid::default()
    }

    /// Adds values of a hyperparameter; in a pipeline its name is dotted: `ridge.alpha`.
    #[must_use]
    pub fn over<V: Into<Value>>(mut self, name: &str, values: impl IntoIterator<Item = V>) -> Grid {
        self.axes.push((name.to_owned(), values.into_iter().map(Into::into).collect()));
        self
    }

    /// How many combinations there are.
    pub fn count(&self) -> usize {
        self.axes.iter().fold(1, |product: usize, (_, values)| product.saturating_mul(values.len()))
    }

    /// All combinations.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut all = vec![Vec::new()];
        for (name, values) in &self.axes {
            let extend = |candidate: &Candidate, value: &Value| {
                let mut candidate = candidate.clone();
                candidate.push((name.clone(), value.clone()));
                candidate
            };
            all = all.iter().flat_map(|before| values.iter().map(move |value| extend(before, value))).collect();
        }
        all
    }
}

impl Setting for Grid {
    fn kind() -> ValueKind {
        ValueKind::Map(Box::new(ValueKind::List(Box::new(ValueKind::Text))))
    }

    fn value(&self) -> Value {
        Value::Map(self.axes.iter().map(|(name, values)| (name.clone(), Value::List(values.clone()))).collect())
    }

    fn from_value(value: &Value) -> Option<Grid> {
        let axis = |(name, values): (String, Value)| match values {
            Value::List(values) => Some((name, values)),
            _ => None,
        };
        Some(Grid { axes: value.as_map()?.into_iter().map(axis).collect::<Option<_>>()? })
    }

    fn expected() -> Option<&'static str> {
        Some("lists of values by the names of hyperparameters")
    }
}

/// The distribution of a hyperparameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamDistribution {
    /// Uniform on \[low, high).
    Uniform {
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Log-uniform on positive numbers.
    LogUniform {
        /// Lower bound, positive.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// Uniform on the integers from low to high, both included.
    Whole {
        /// Lower bound.
        low: u64,
        /// Upper bound.
        high: u64,
    },
    /// One of these values.
    Choice(Vec<Value>),
}

impl ParamDistribution {
    /// Creates a choice among these values.
    pub fn choice<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> ParamDistribution {
        ParamDistribution::Choice(values.into_iter().map(Into::into).collect())
    }

    fn check(&self, name: &str) -> Result<()> {
        let fine = match self {
            ParamDistribution::Uniform { low, high } => low < high && high.is_finite() && low.is_finite(),
            ParamDistribution::LogUniform { low, high } => *low > 0.0 && low < high && high.is_finite(),
            ParamDistribution::Whole { low, high } => low <= high && *high < i64::MAX as u64,
            ParamDistribution::Choice(values) => !values.is_empty(),
        };
        if fine {
            return Ok(());
        }
        let problem = format!(
            "{self:?} of `{name}`; give finite bounds with low below high (above 0 for LogUniform), or values to choose from"
        );
        Err(LearnError::parameter("Space", problem))
    }

    fn draw(&self, key: Key) -> Result<Value> {
        let share = key.try_uniform([1], DType::F64)?.to_f64_vec()[0];
        Ok(match self {
            ParamDistribution::Uniform { low, high } => Value::Real(low + (high - low) * share),
            ParamDistribution::LogUniform { low, high } => {
                Value::Real((low.ln() + (high.ln() - low.ln()) * share).exp())
            }
            ParamDistribution::Whole { low, high } => {
                Value::Whole(key.try_integers(*low as i64, *high as i64 + 1, [1])?.to_vec::<i64>()[0] as u64)
            }
            ParamDistribution::Choice(values) => {
                values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone()
            }
        })
    }

    /// Converts to a value: a name and its bounds, or the list of a choice.
    fn value(&self) -> Value {
        let ends = |name: &str, low: Value, high: Value| Value::from([Value::from(name), low, high]);
        match self {
            ParamDistribution::Uniform { low, high } => ends("uniform", Value::Real(*low), Value::Real(*high)),
            ParamDistribution::LogUniform { low, high } => ends("log_uniform", Value::Real(*low), Value::Real(*high)),
            ParamDistribution::Whole { low, high } => ends("whole", Value::Whole(*low), Value::Whole(*high)),
            ParamDistribution::Choice(values) => Value::from([Value::from("choice"), Value::List(values.clone())]),
        }
    }

    fn from_value(value: &Value) -> Option<ParamDistribution> {
        let Value::List(parts) = value else { return None };
        match &parts[..] {
            [Value::Text(name), Value::List(values)] if name == "choice" => {
                Some(ParamDistribution::Choice(values.clone()))
            }
            [Value::Text(name), low, high] => {
                let (low_real, high_real) = (f64::from_value(low)?, f64::from_value(high)?);
                match name.as_str() {
                    "uniform" => Some(ParamDistribution::Uniform { low: low_real, high: high_real }),
                    "log_uniform" => Some(ParamDistribution::LogUniform { low: low_real, high: high_real }),
                    "whole" => {
                        Some(ParamDistribution::Whole { low: u64::from_value(low)?, high: u64::from_value(high)? })
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// Distributions of hyperparameters, for random search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Space {
    axes: Vec<(String, ParamDistribution)>,
}

impl Space {
    /// Creates an empty space.
    pub fn new() -> Space {
        Space::default()
    }

    /// Adds the distribution of a hyperparameter.
    #[must_use]
    pub fn draw(mut self, name: &str, distribution: ParamDistribution) -> Space {
        self.axes.push((name.to_owned(), distribution));
        self
    }

    /// Draws `count` candidates.
    pub fn candidates(&self, count: usize, seed: u64) -> Result<Vec<Candidate>> {
        self.axes.iter().try_for_each(|(name, distribution)| distribution.check(name))?;
        let one = |key: Key| {
            let axes = self.axes.iter().enumerate();
            axes.map(|(axis, (name, d))| Ok((name.clone(), d.draw(key.fold(axis as u64))?))).collect()
        };
        Key::new(seed).split(count).into_iter().map(one).collect()
    }
}

impl Setting for Space {
    fn kind() -> ValueKind {
        ValueKind::Map(Box::new(ValueKind::List(Box::new(ValueKind::Text))))
    }

    fn value(&self) -> Value {
        Value::Map(self.axes.iter().map(|(name, drawn)| (name.clone(), drawn.value())).collect())
    }

    fn from_value(value: &Value) -> Option<Space> {
        let axis = |(name, drawn): (String, Value)| Some((name, ParamDistribution::from_value(&drawn)?));
        Some(Space { axes: value.as_map()?.into_iter().map(axis).collect::<Option<_>>()? })
    }

    fn expected() -> Option<&'static str> {
        Some("distributions by the names of hyperparameters, such as [log_uniform, 0.001, 1000] or [choice, [a, b]]")
    }
}
