//! Estimators that are tried on a table.

use tove_learn::{Estimator, Task, registry};

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
        Ok(Candidate { name: entry.name.to_owned(), estimator: (entry.estimator)() })
    }

    /// The same estimator with a hyperparameter set from text.
    pub fn set(mut self, name: &str, text: &str) -> Result<Candidate> {
        self.estimator.set_any(name, text)?;
        Ok(self)
    }

    fn varied(name: &str, changes: &[(&str, &str)]) -> Option<Candidate> {
        let mut candidate = Candidate::named(name).ok()?;
        for (setting, text) in changes {
            candidate.estimator.set_any(setting, text).ok()?;
        }
        let list: Vec<String> = changes.iter().map(|(setting, text)| format!("{setting}={text}")).collect();
        if !list.is_empty() {
            candidate.name = format!("{name}({})", list.join(", "));
        }
        Some(candidate)
    }
}

/// What `auto` compares: a line with and without regularisation, a kernel machine where its cost allows (it grows with the
/// square of the rows), and a perceptron.
pub fn usual_candidates(task: Task, rows: usize) -> Vec<Candidate> {
    let mut wanted: Vec<(&str, &[(&str, &str)])> = match task {
        Task::Regression => vec![
            ("LinearRegression", &[]),
            ("Ridge", &[("alpha", "1")]),
            ("Ridge", &[("alpha", "100")]),
            ("Lasso", &[("alpha", "0.01")]),
            ("MlpRegressor", &[]),
        ],
        Task::Classification => vec![
            ("LogisticRegression", &[]),
            ("LogisticRegression", &[("c", "0.01")]),
            ("LinearSVC", &[]),
            ("MlpClassifier", &[]),
        ],
    };
    if rows <= 10_000 {
        wanted.push(match task {
            Task::Regression => ("SVR", &[]),
            Task::Classification => ("SVC", &[]),
        });
    }
    wanted.into_iter().filter_map(|(name, changes)| Candidate::varied(name, changes)).collect()
}

/// What is fitted to a file in pieces unless a model is named: ridge regression, which is exact in one pass, or a logistic
/// regression by stochastic gradients.
pub fn streaming_candidate(task: Task) -> Result<Candidate> {
    match task {
        Task::Regression => Candidate::named("Ridge"),
        Task::Classification => Candidate::named("SGDClassifier")?.set("loss", "log_loss"),
    }
}
