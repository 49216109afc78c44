//! Checks that every estimator must pass; public, so that users can run them on their own.
//!
//! Each check fits small problems and tests one property: clear errors for a NaN, a wrong number of features or a
//! single class; no panic on one sample or a constant column; the same predictions for any order of the samples, any
//! number of threads, either precision; a weight of 2 like two copies; sparse like dense; a saved model with
//! bit-identical predictions. Extreme inputs are included: empty sets, invalid weights, values from 1e-300 to 1e300,
//! missing classes and damaged records must give a clear error, never a panic, a NaN or a silently wrong result.
//!
//! ```
//! use tove_learn::{DummyClassifier, contract};
//! let report = contract::check(&DummyClassifier::default());
//! assert!(report.passed(), "{report}");
//! ```

mod attributes;
mod bad_input;
mod checks;
mod declared;
mod neighbors;
mod problems;
mod transformers;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::Estimator;

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The check passed.
    Passed,
    /// The check failed, with the reason.
    Failed(String),
    /// The check does not apply, with the reason.
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

    /// The failed checks, with the reasons.
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

/// Runs all checks that the capabilities require on an estimator with its current hyperparameters. A panic is a failure
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
        (name, outcome.unwrap_or_else(|error| Outcome::Failed(format!("unexpected error: {error}"))))
    };
    ContractReport { estimator: estimator.name(), outcomes: checks.into_iter().map(run).collect() }
}

type Check = fn(&dyn Estimator) -> crate::Result<Outcome>;
