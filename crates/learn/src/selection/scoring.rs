//! Scores of any kind: a named one, or a user-defined function.
//!
//! ```
//! use tove_learn::selection::{KFold, Scorer, Scoring, cross_val_score};
//! use tove_learn::{DummyRegressor, Predict, Samples};
//! use tove_tensor::{DType, Tensor};
//! let samples = Samples::new(&Tensor::zeros([4, 1], DType::F64), &Tensor::from([1.0, 2.0, 3.0, 10.0]))?;
//! // The worst error, negated because the greater score wins.
//! let worst = Scoring::new("worst", |model, samples| {
//!     let errors = model.predict(samples.x())? - samples.y()?;
//!     Ok(-errors.to_f64_vec().iter().fold(0.0f64, |most, error| most.max(error.abs())))
//! });
//! assert_eq!(cross_val_score(&DummyRegressor::default(), &samples, KFold::new(2), worst)?, [5.5, 8.5].map(|e| -e));
//! assert_eq!(cross_val_score(&DummyRegressor::default(), &samples, KFold::new(2), Scorer::NegMeanAbsoluteError)?, [-5.0, -5.0]);
//! assert_eq!(cross_val_score(&DummyRegressor::default(), &samples, KFold::new(2), "mae")?, [-5.0, -5.0]);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::fmt;
use std::sync::Arc;

use tove_metrics::Score;

use super::evaluation::Evaluation;
use super::scorer::Scorer;
use crate::{Capabilities, Model, Result, Samples};

type Judge = Arc<dyn Fn(&dyn Model, &Samples) -> Result<f64> + Send + Sync>;

/// The score of a cross-validation or search; greater is better. Two with the same name are equal.
#[derive(Clone)]
pub struct Scoring {
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    /// A known score, and its name with the parameter.
    Named(Scorer, Arc<str>),
    /// An unknown name, which is an error before anything is fitted.
    Unknown(Arc<str>),
    Own(Arc<str>, Judge),
}

impl Scoring {
    /// Creates a score from a function of a fitted model and the samples to evaluate it on.
    pub fn new(name: &str, score: impl Fn(&dyn Model, &Samples) -> Result<f64> + Send + Sync + 'static) -> Scoring {
        Scoring { kind: Kind::Own(name.into(), Arc::new(score)) }
    }

    /// Its name in tables.
    pub fn name(&self) -> &str {
        match &self.kind {
            Kind::Named(_, name) | Kind::Unknown(name) | Kind::Own(name, _) => name,
        }
    }

    /// Checks that the score exists and evaluates the predictions of a model of this name and kind.
    pub fn check(&self, name: &str, capabilities: Capabilities) -> Result<()> {
        match &self.kind {
            Kind::Named(scorer, _) => scorer.check(name, capabilities),
            Kind::Unknown(name) => Scorer::named(name).map(|_| ()),
            Kind::Own(..) => Ok(()),
        }
    }

    /// Scores a model, given its evaluation on samples.
    pub(super) fn of(
        &self,
        model: &dyn Model,
        samples: &Samples,
        evaluation: Option<&Evaluation<'_>>,
    ) -> Result<Score> {
        match (&self.kind, evaluation) {
            (Kind::Named(scorer, _), Some(evaluation)) => scorer.of(evaluation),
            _ => self.score(model, samples),
        }
    }

    /// Scores a model on samples.
    pub fn score(&self, model: &dyn Model, samples: &Samples) -> Result<Score> {
        match &self.kind {
            Kind::Named(scorer, _) => scorer.score(model, samples),
            Kind::Unknown(name) => Scorer::named(name)?.score(model, samples),
            Kind::Own(_, score) => Ok(Score::plain(score(model, samples)?, samples.len())),
        }
    }
}

impl From<Scorer> for Scoring {
    fn from(scorer: Scorer) -> Scoring {
        Scoring { kind: Kind::Named(scorer, scorer.to_string().into()) }
    }
}

/// By name, as parsed by [`Scorer::named`]; an unknown name is an error when the score is used.
impl From<&str> for Scoring {
    fn from(name: &str) -> Scoring {
        Scorer::named(name).map_or_else(|_| Scoring { kind: Kind::Unknown(name.into()) }, Scoring::from)
    }
}

/// Like `&str`.
impl From<String> for Scoring {
    fn from(name: String) -> Scoring {
        Scoring::from(name.as_str())
    }
}

impl From<&Scoring> for Scoring {
    fn from(scoring: &Scoring) -> Scoring {
        scoring.clone()
    }
}

impl PartialEq for Scoring {
    fn eq(&self, other: &Scoring) -> bool {
        self.name() == other.name()
    }
}

impl PartialEq<Scorer> for Scoring {
    fn eq(&self, other: &Scorer) -> bool {
        self.name() == other.to_string()
    }
}

impl fmt::Debug for Scoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scoring({})", self.name())
    }
}

impl fmt::Display for Scoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Converts a list of scores of one kind.
pub(super) fn all<S: Clone + Into<Scoring>>(scorers: &[S]) -> Vec<Scoring> {
    scorers.iter().cloned().map(Into::into).collect()
}
