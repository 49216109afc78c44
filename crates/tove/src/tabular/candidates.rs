//! Estimators that are tried on a table.

use tove_data::table::TaskKind;
use tove_learn::{Estimator, registry};
use tove_optim::settings::{Hyperparameters, Value};

use super::Result;
use crate::estimators;

/// An estimator with the name it is reported under.
#[derive(Clone)]
pub struct Candidate {
    /// The name: the estimator's, with what distinguishes it.
    pub name: String,
    /// The estimator.
    pub estimator: Box<dyn Estimator>,
}

impl Candidate {
    /// The estimator of this name with its defaults; the error suggests the nearest name.
    pub fn named(name: &str) -> Result<Candidate> {
        estimators::register();
        let entry = registry::find(name)?;
        Ok(Candidate { name: entry.name.to_owned(), estimator: (entry.new)() })
    }

    /// Whether its model predicts classes, or numbers.
    pub fn predicts(&self, classes: bool) -> bool {
        let capabilities = self.estimator.capabilities();
        if classes { capabilities.classifies() } else { capabilities.regresses() }
    }

    /// The same estimator with a hyperparameter set.
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Result<Candidate> {
        self.estimator.set(name, value.into()).map_err(tove_learn::LearnError::from)?;
        Ok(self)
    }

    fn varied(name: &str, changes: &[(&str, Value)]) -> Option<Candidate> {
        let mut candidate = Candidate::named(name).ok()?;
        for (setting, value) in changes {
            candidate.estimator.set(setting, value.clone()).ok()?;
        }
        let list: Vec<String> = changes.iter().map(|(setting, value)| format!("{setting}={value}")).collect();
        if !list.is_empty() {
            candidate.name = format!("{name}({})", list.join(", "));
        }
        Some(candidate)
    }
}

/// What `auto` compares: a line with and without regularisation, a kernel machine where its cost allows (it grows with the
/// square of the rows), and a perceptron.
pub fn usual_candidates(task: TaskKind, rows: usize) -> Vec<Candidate> {
    let mut wanted: Vec<(&str, Vec<(&str, Value)>)> = match task {
        TaskKind::Regression => vec![
            ("LinearRegression", vec![]),
            ("Ridge", vec![("alpha", 1.0.into())]),
            ("Ridge", vec![("alpha", 100.0.into())]),
            ("Lasso", vec![("alpha", 0.01.into())]),
            ("MlpRegressor", vec![]),
        ],
        TaskKind::Classification => vec![
            ("LogisticRegression", vec![]),
            ("LogisticRegression", vec![("c", 0.01.into())]),
            ("LinearSVC", vec![]),
            ("MlpClassifier", vec![]),
        ],
    };
    // Larger steps make better use of a short time where there are many rows.
    if rows > 50_000 {
        let nets = wanted.iter_mut().filter(|(name, _)| name.starts_with("Mlp"));
        nets.for_each(|(_, changes)| *changes = vec![("batch_size", 128.into())]);
    }
    if rows <= 10_000 {
        wanted.push(match task {
            TaskKind::Regression => ("SVR", vec![]),
            TaskKind::Classification => ("SVC", vec![]),
        });
    }
    wanted.into_iter().filter_map(|(name, changes)| Candidate::varied(name, &changes)).collect()
}

/// What is fitted to a file in pieces unless a model is named: ridge regression, which is exact in one pass, or a logistic
/// regression by stochastic gradients.
pub fn streaming_candidate(task: TaskKind) -> Result<Candidate> {
    match task {
        TaskKind::Regression => Candidate::named("Ridge"),
        TaskKind::Classification => Candidate::named("SGDClassifier")?.set("loss", "log_loss"),
    }
}
