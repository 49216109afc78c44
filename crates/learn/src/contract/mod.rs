//! What every estimator has to fulfil, whatever its capabilities; public, so that users can run it over their own.
//!
//! Each check fits small problems and looks at one promise: clear errors for a NaN, a wrong width or a single class; no panic
//! on one sample or a constant column; the same answer for any order of the samples, any number of threads, either precision;
//! a weight of 2 like two copies; sparse like dense; a saved model that answers with the same bits. And promises about hostile data:
//! empty parts, weights that cannot be used, numbers from 1e-300 to 1e300, missing classes and damaged records lead to an error that
//! says so, never to a panic, a NaN or a silently wrong answer.
//!
//! ```
//! use tove_learn::{DummyClassifier, contract};
//! let report = contract::check(&DummyClassifier::default());
//! assert!(report.passed(), "{report}");
//! ```

mod attributes;
mod checks;
mod declared;
mod hostile;
mod neighbors;
mod problems;
mod transformers;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Estimator;

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// As promised.
    Passed,
    /// Not as promised; the text says how.
    Failed(String),
    /// Does not apply, for the reason given.
    Skipped(&'static str),
}

/// The outcomes of all checks of an estimator.
#[derive(Clone, Debug)]
pub struct ContractReport {
    /// The estimator.
    pub estimator: &'static str,
    /// Each check with its outcome.
    pub outcomes: Vec<(&'static str, Outcome)>,
}

impl ContractReport {
    /// Whether nothing failed.
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// The checks that failed, with what they found.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.outcomes.iter().filter_map(|(name, outcome)| match outcome {
            Outcome::Failed(problem) => Some((*name, problem.as_str())),
            _ => None,
        })
    }
}

impl fmt::Display for ContractReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.estimator)?;
        for (name, outcome) in &self.outcomes {
            match outcome {
                Outcome::Passed => writeln!(f, "  passed   {name}")?,
                Outcome::Failed(problem) => writeln!(f, "  FAILED   {name}: {problem}")?,
                Outcome::Skipped(reason) => writeln!(f, "  skipped  {name}: {reason}")?,
            }
        }
        Ok(())
    }
}

/// Runs all checks that its capabilities call for over an estimator with its present hyperparameters. A panic counts as a failure
/// of its check.
///
/// ```
/// use tove_learn::{StandardScaler, contract};
/// let report = contract::check(&StandardScaler::default());
/// assert!(report.passed(), "{report}");
/// ```
pub fn check(estimator: &dyn Estimator) -> ContractReport {
    let capabilities = estimator.capabilities();
    let mut checks = declared::ALL.to_vec();
    if capabilities.predicts() {
        checks.extend(checks::ALL);
    }
    if capabilities.transform {
        checks.extend(transformers::ALL);
    }
    if capabilities.neighbors {
        checks.extend(neighbors::ALL);
    }
    let run = |(name, check): (&'static str, Check)| {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(estimator)));
        let outcome = outcome.unwrap_or_else(|_| Ok(Outcome::Failed("it panicked".to_owned())));
        (name, outcome.unwrap_or_else(|error| Outcome::Failed(format!("an error came instead: {error}"))))
    };
    ContractReport { estimator: estimator.name(), outcomes: checks.into_iter().map(run).collect() }
}

type Check = fn(&dyn Estimator) -> crate::Result<Outcome>;
