//! Which settings are tried: all combinations, or draws.
//!
//! ```
//! use tove_learn::selection::{Distribution, Grid, Space};
//! let grid = Grid::new().over("alpha", [0.1, 1.0]).over("solver", ["svd", "cholesky"]);
//! assert_eq!(grid.candidates().len(), 4);
//! assert_eq!(grid.candidates()[1], [("alpha".into(), "0.1".into()), ("solver".into(), "cholesky".into())]);
//! let space = Space::new().draw("alpha", Distribution::LogUniform { low: 1e-3, high: 1e3 });
//! let drawn = space.candidates(5, 7)?;
//! assert_eq!(drawn, space.candidates(5, 7)?);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::fmt::Display;

use tove_tensor::{DType, Key};

use crate::{LearnError, Result};

/// Names and values of one candidate, as text.
pub(super) type Candidate = Vec<(String, String)>;

/// Lists of values, of which all combinations are tried; the last name varies fastest.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    axes: Vec<(String, Vec<String>)>,
}

impl Grid {
    /// Nothing varies: one candidate.
    pub fn new() -> Grid {
        Grid::default()
    }

    /// Tries these values of a hyperparameter; in a pipeline its name is dotted: `ridge.alpha`.
    #[must_use]
    pub fn over<V: Display>(mut self, name: &str, values: impl IntoIterator<Item = V>) -> Grid {
        self.axes.push((name.to_owned(), values.into_iter().map(|value| value.to_string()).collect()));
        self
    }

    /// All combinations.
    pub fn candidates(&self) -> Vec<Candidate> {
        let mut all = vec![Vec::new()];
        for (name, values) in &self.axes {
            let extend = |candidate: &Candidate, value: &String| {
                let mut candidate = candidate.clone();
                candidate.push((name.clone(), value.clone()));
                candidate
            };
            all = all.iter().flat_map(|before| values.iter().map(move |value| extend(before, value))).collect();
        }
        all
    }
}

/// How the values of a hyperparameter are drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Numbers of \[low, high), all equally likely.
    Uniform {
        /// Lower end.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// Positive numbers whose logarithm is uniform.
    LogUniform {
        /// Lower end, above 0.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// Whole numbers from low to high, both included.
    Whole {
        /// Smallest.
        low: u64,
        /// Largest.
        high: u64,
    },
    /// One of these texts.
    Choice(Vec<String>),
}

impl Distribution {
    /// One of these values.
    pub fn choice<V: Display>(values: impl IntoIterator<Item = V>) -> Distribution {
        Distribution::Choice(values.into_iter().map(|value| value.to_string()).collect())
    }

    fn check(&self, name: &str) -> Result<()> {
        let fine = match self {
            Distribution::Uniform { low, high } => low < high && high.is_finite() && low.is_finite(),
            Distribution::LogUniform { low, high } => *low > 0.0 && low < high && high.is_finite(),
            Distribution::Whole { low, high } => low <= high && *high < i64::MAX as u64,
            Distribution::Choice(values) => !values.is_empty(),
        };
        if fine {
            return Ok(());
        }
        let problem = format!(
            "{self:?} of `{name}`; give finite ends with low below high (above 0 for LogUniform), or values to choose from"
        );
        Err(LearnError::parameter("Space", problem))
    }

    fn draw(&self, key: Key) -> Result<String> {
        let share = key.try_uniform([1], DType::F64)?.to_f64_vec()[0];
        Ok(match self {
            Distribution::Uniform { low, high } => (low + (high - low) * share).to_string(),
            Distribution::LogUniform { low, high } => (low.ln() + (high.ln() - low.ln()) * share).exp().to_string(),
            Distribution::Whole { low, high } => {
                key.try_integers(*low as i64, *high as i64 + 1, [1])?.to_vec::<i64>()[0].to_string()
            }
            Distribution::Choice(values) => {
                values[((share * values.len() as f64) as usize).min(values.len() - 1)].clone()
            }
        })
    }
}

/// Distributions of hyperparameters.
#[derive(Clone, Debug, Default)]
pub struct Space {
    axes: Vec<(String, Distribution)>,
}

impl Space {
    /// Nothing varies.
    pub fn new() -> Space {
        Space::default()
    }

    /// Draws a hyperparameter from a distribution.
    #[must_use]
    pub fn draw(mut self, name: &str, distribution: Distribution) -> Space {
        self.axes.push((name.to_owned(), distribution));
        self
    }

    /// So many draws.
    pub fn candidates(&self, count: usize, seed: u64) -> Result<Vec<Candidate>> {
        self.axes.iter().try_for_each(|(name, distribution)| distribution.check(name))?;
        let one = |key: Key| {
            let axes = self.axes.iter().enumerate();
            axes.map(|(axis, (name, d))| Ok((name.clone(), d.draw(key.fold(axis as u64))?))).collect()
        };
        Key::new(seed).split(count).into_iter().map(one).collect()
    }
}
