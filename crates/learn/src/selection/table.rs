//! Results of a search.

use std::fmt;

use serde_json::json;
use tove_optim::settings::Value;
use tove_tensor::Tensor;

use super::grid::Candidate;
use super::validate::{deviation, mean};
use crate::calibration::CalibrationCheck;
use crate::neighbors::{Neighbors, RadiusNeighbors};
use crate::{About, LearnError, Model, Record, Restore, Result, Rows, restore};

/// One candidate with its results.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Its hyperparameters.
    pub settings: Candidate,
    /// The scores: one list per scorer, one number per fold. Shorter if the search was stopped or a fold failed.
    pub scores: Vec<Vec<f64>>,
    /// Fitting time in seconds, over all folds.
    pub fit_seconds: f64,
    /// Rank by the mean of the first score, from 1; `None` if folds are missing.
    pub rank: Option<usize>,
    /// The error of a failed fold, if any.
    pub failure: Option<String>,
    pub(super) folds: usize,
}

impl Trial {
    fn to_json(&self) -> serde_json::Value {
        json!({
            "settings": Value::Map(self.settings.clone()).to_json(),
            "scores": self.scores,
            "fit_seconds": self.fit_seconds,
            "rank": self.rank,
            "failure": self.failure,
            "folds": self.folds,
        })
    }

    fn from_json(json: &serde_json::Value) -> Option<Trial> {
        let count = |value: &serde_json::Value| usize::try_from(value.as_u64()?).ok();
        // JSON has no NaN or infinity; they are written as null.
        let score = |value: &serde_json::Value| if value.is_null() { Some(f64::NAN) } else { value.as_f64() };
        let scores = |list: &serde_json::Value| list.as_array()?.iter().map(score).collect();
        Some(Trial {
            settings: Value::from_json(&json["settings"])?.as_map()?,
            scores: json["scores"].as_array()?.iter().map(scores).collect::<Option<_>>()?,
            fit_seconds: json["fit_seconds"].as_f64()?,
            rank: count(&json["rank"]),
            failure: json["failure"].as_str().map(str::to_owned),
            folds: count(&json["folds"])?,
        })
    }

    /// Whether every fold was evaluated.
    pub fn complete(&self) -> bool {
        self.failure.is_none() && self.scores.iter().all(|scores| scores.len() == self.folds)
    }

    /// Mean of a score over the folds; NaN unless all are done.
    pub fn mean(&self, scorer: usize) -> f64 {
        if self.complete() { self.scores.get(scorer).map_or(f64::NAN, |scores| mean(scores)) } else { f64::NAN }
    }

    /// Standard deviation of a score over the folds; NaN unless all are done.
    pub fn std(&self, scorer: usize) -> f64 {
        if self.complete() { self.scores.get(scorer).map_or(f64::NAN, |scores| deviation(scores)) } else { f64::NAN }
    }
}

/// The table of a search, and the model refitted with the best settings, which makes the predictions.
pub struct SearchResult {
    about: About,
    scorers: Vec<String>,
    trials: Vec<Trial>,
    best: usize,
    model: Option<Box<dyn Model>>,
    stopped: bool,
}

impl fmt::Debug for SearchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchResult").field("trials", &self.trials).field("best", &self.best).finish_non_exhaustive()
    }
}

impl SearchResult {
    /// Creates the result of a search; `about` is completed from the model.
    pub(super) fn new(
        mut about: About,
        scorers: Vec<String>,
        trials: Vec<Trial>,
        best: usize,
        model: Option<Box<dyn Model>>,
        stopped: bool,
    ) -> SearchResult {
        match &model {
            Some(model) => {
                about.capabilities = crate::Capabilities {
                    order_free: false,
                    partial_fit: false,
                    passes: false,
                    warm_start: false,
                    moments: false,
                    checks_finite: false,
                    ..model.capabilities()
                };
                about = about.outputs(model.outputs()).classes(model.classes()).summary(model.summary().clone());
            }
            // Nothing was refitted, so there are no predictions.
            None => {
                about.capabilities = crate::Capabilities {
                    predictions: crate::Predictions::None,
                    probabilities: false,
                    decision_function: false,
                    score_samples: false,
                    neighbors: false,
                    transform: false,
                    inverse_transform: false,
                    ..about.capabilities
                }
            }
        }
        SearchResult { about, scorers, trials, best, model, stopped }
    }

    /// All candidates in the order in which they were listed or drawn.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Names of the scores; the first one decides.
    pub fn scorers(&self) -> &[String] {
        &self.scorers
    }

    /// The candidate with the best mean of the first score; ties go to the first.
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }

    /// Its index in the table.
    pub fn best_index(&self) -> usize {
        self.best
    }

    /// Whether the search was stopped early.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// The model refitted with the best settings.
    pub fn model(&self) -> Result<&dyn Model> {
        self.model.as_deref().ok_or_else(|| {
            let fix = "fit an estimator with the settings of `best()`";
            LearnError::model("the search was stopped, or `refit` is off, so there is no fitted model", fix)
        })
    }

    /// Like [`SearchResult::model`], by value.
    pub fn into_model(self) -> Option<Box<dyn Model>> {
        self.model
    }
}

// Not derived: its table of trials is JSON, and its attributes are those of the best model.
impl Model for SearchResult {
    fn about(&self) -> &About {
        &self.about
    }

    fn longest_sum(&self) -> usize {
        self.model.as_ref().map_or(0, |model| model.longest_sum())
    }

    fn calibration(&self) -> Option<&CalibrationCheck> {
        self.model.as_ref()?.calibration()
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model()?.predict_rows(x)
    }

    fn decision_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model()?.decision_rows(x)
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model()?.proba_rows(x)
    }

    fn score_rows(&self, x: &Rows) -> Result<Tensor> {
        self.model()?.score_rows(x)
    }

    fn neighbor_rows(&self, x: &Rows, k: usize) -> Result<Neighbors> {
        self.model()?.neighbor_rows(x, k)
    }

    fn radius_rows(&self, x: &Rows, radius: f64) -> Result<RadiusNeighbors> {
        self.model()?.radius_rows(x, radius)
    }

    fn transform_rows(&self, x: &Rows) -> Result<Rows> {
        self.model()?.transform_rows(x)
    }

    fn inverse_rows(&self, x: &Rows) -> Result<Rows> {
        self.model()?.inverse_rows(x)
    }

    fn output_names(&self, inputs: &[String]) -> Vec<String> {
        self.model.as_ref().map_or_else(Vec::new, |model| model.output_names(inputs))
    }

    fn attributes(&self) -> Vec<(&'static str, Tensor)> {
        let mut all = self.model.as_ref().map_or_else(Vec::new, |model| model.attributes());
        let own =
            [("best_index", Tensor::scalar(self.best as i64)), ("best_score", Tensor::scalar(self.best().mean(0)))];
        // A nested search already has these names.
        own.into_iter().for_each(|(name, tensor)| match all.iter_mut().find(|known| known.0 == name) {
            Some(known) => known.1 = tensor,
            None => all.push((name, tensor)),
        });
        all
    }

    fn score_predictions(&self, y: &Tensor, predicted: &Tensor) -> Result<tove_metrics::Score> {
        self.model()?.score_predictions(y, predicted)
    }

    fn coefficients(&self) -> Option<&Tensor> {
        self.model.as_ref()?.coefficients()
    }

    fn record(&self) -> Record {
        let mut record = Record::new(self.name(), 1);
        record.put("settings", self.settings());
        self.about.write_shape(&mut record);
        record.put("scorers", self.scorers.clone());
        record.put("best", self.best);
        record.put("stopped", self.stopped);
        record.put("trials", self.trials.iter().map(Trial::to_json).collect::<Vec<_>>());
        record.put("fitted", self.model.is_some());
        if let Some(model) = &self.model {
            record.put_part("model", model.record());
        }
        record
    }
}

impl Restore for SearchResult {
    fn restore(record: &Record) -> Result<SearchResult> {
        let entry = crate::registry::find(record.kind())?;
        record.expect(entry.name, 1)?;
        let list = |name: &str| record.get(name)?.as_array().ok_or_else(|| record.wrong(name, "a list"));
        let bad = || record.wrong("trials", "a list of trials");
        let scorers: Option<Vec<String>> =
            list("scorers")?.iter().map(|name| Some(name.as_str()?.to_owned())).collect();
        let scorers = scorers.ok_or_else(|| record.wrong("scorers", "a list of names"))?;
        let trials: Option<Vec<Trial>> = list("trials")?.iter().map(Trial::from_json).collect();
        let (trials, best) = (trials.ok_or_else(bad)?, record.count("best")?);
        if best >= trials.len() || trials.iter().any(|trial| trial.scores.len() != scorers.len()) {
            return Err(bad());
        }
        let model = if record.switch("fitted")? { Some(restore(&record.part("model")?)?) } else { None };
        let width = record.count("width")?;
        if model.as_ref().is_some_and(|model| model.width() != width) {
            return Err(record.wrong("width", "that of the model"));
        }
        let settings = record.get("settings")?.clone();
        let capabilities = crate::registry::capabilities(entry.name, &settings).unwrap_or(entry.capabilities);
        let about = About::with(entry.name, capabilities, width, record.precision()?, settings);
        Ok(SearchResult::new(about, scorers, trials, best, model, record.switch("stopped")?))
    }
}

/// Ranks by the mean of the first score: ties share the better rank, incomplete candidates have none.
pub(super) fn rank(trials: &mut [Trial]) -> Option<usize> {
    let means: Vec<f64> = trials.iter().map(|trial| trial.mean(0)).collect();
    for (trial, &own) in trials.iter_mut().zip(&means) {
        trial.rank = (!own.is_nan()).then(|| 1 + means.iter().filter(|&&other| other > own).count());
    }
    trials.iter().position(|trial| trial.rank == Some(1))
}

impl fmt::Display for SearchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>4}", "rank")?;
        for scorer in &self.scorers {
            write!(f, "  {:>22}", scorer.to_string())?;
        }
        writeln!(f, "  settings")?;
        let mut order: Vec<&Trial> = self.trials.iter().collect();
        order.sort_by_key(|trial| trial.rank.unwrap_or(usize::MAX));
        for trial in order {
            let index = trial.rank.map_or("-".to_owned(), |rank| rank.to_string());
            write!(f, "{index:>4}")?;
            for scorer in 0..self.scorers.len() {
                let text = match trial.complete() {
                    true => format!("{:.4} ± {:.4}", trial.mean(scorer), trial.std(scorer)),
                    false => "-".to_owned(),
                };
                write!(f, "  {text:>22}")?;
            }
            let settings: Vec<String> =
                trial.settings.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            write!(f, "  {}", settings.join(", "))?;
            match &trial.failure {
                Some(problem) => writeln!(f, "  failed: {problem}")?,
                None => writeln!(f)?,
            }
        }
        Ok(())
    }
}
