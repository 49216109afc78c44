//! Estimators that are tried on a table.

use tove_data::{Problem, Remedy};
use tove_learn::{Estimator, Predictions, registry};
use tove_optim::settings::{Hyperparameters, Value};

use super::{Result, TabularError};
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

    /// Whether its model predicts this.
    pub fn predicts(&self, predictions: Predictions) -> bool {
        self.estimator.capabilities().predictions == predictions
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

/// What `auto` compares where a model must predict numbers or classes: a line with and without regularization, a kernel machine where
/// its cost allows (it grows with the square of the rows), and a perceptron. Which of them predict what, their capabilities say.
///
/// ```
/// use tove::learn::Predictions;
/// use tove::tabular::usual_candidates;
/// let names = |predictions| usual_candidates(predictions, 100).into_iter().map(|one| one.name).collect::<Vec<_>>();
/// assert!(names(Predictions::Classes).contains(&"LogisticRegression".to_owned()));
/// assert!(names(Predictions::Numbers).contains(&"LinearRegression".to_owned()));
/// ```
pub fn usual_candidates(predictions: Predictions, rows: usize) -> Vec<Candidate> {
    // Larger steps make better use of a short time where there are many rows.
    let net: Vec<(&str, Value)> = if rows > 50_000 { vec![("batch_size", 128.into())] } else { vec![] };
    let mut wanted: Vec<(&str, Vec<(&str, Value)>)> = vec![
        ("LinearRegression", vec![]),
        ("Ridge", vec![("alpha", 1.0.into())]),
        ("Ridge", vec![("alpha", 100.0.into())]),
        ("Lasso", vec![("alpha", 0.01.into())]),
        ("LogisticRegression", vec![]),
        ("LogisticRegression", vec![("c", 0.01.into())]),
        ("LinearSVC", vec![]),
        ("MlpRegressor", net.clone()),
        ("MlpClassifier", net),
    ];
    if rows <= 10_000 {
        wanted.extend([("SVR", vec![]), ("SVC", vec![])]);
    }
    let all = wanted.into_iter().filter_map(|(name, changes)| Candidate::varied(name, &changes));
    all.filter(|candidate| candidate.predicts(predictions)).collect()
}

/// What is fitted to a file in pieces unless a model is named: ridge regression, which is exact in one pass, or a logistic
/// regression by stochastic gradients.
///
/// # Errors
/// If nothing that learns in pieces predicts this.
pub fn streaming_candidate(predictions: Predictions) -> Result<Candidate> {
    let all = [Candidate::named("Ridge")?, Candidate::named("SGDClassifier")?.set("loss", "log_loss")?];
    let suits = |one: &Candidate| one.predicts(predictions) && one.estimator.capabilities().partial_fit;
    let none =
        || TabularError::plan(Problem::new("no model that learns in pieces predicts this").remedy(Remedy::Model));
    all.into_iter().find(suits).ok_or_else(none)
}
