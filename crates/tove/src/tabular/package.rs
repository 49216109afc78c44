//! The last stage: model, encoder and schema in one [`TabularModel`], with the scores and the facts of the fit.

use std::time::Instant;

use serde_json::{Value, json};
use tove_data::table::{Schema, TableEncoder, TargetLabels};
use tove_learn::{Model, Samples};
use tove_trust::drift::TrainingProfile;

use super::evaluate::{Evaluated, usual_scorer};
use super::{Candidate, ColumnCounts, NamedScore, Outcome, Plan, Safeguards, TabularModel};

/// What the stages before hand over.
pub(super) struct Fitted<'c> {
    pub candidate: &'c Candidate,
    pub model: Box<dyn Model>,
    pub evaluated: Evaluated,
    pub schema: Schema,
    pub labels: TargetLabels,
    pub encoder: TableEncoder,
    /// The samples of the test rows.
    pub test: Samples,
    /// Rows with a target, in all.
    pub rows: usize,
    pub train_rows: usize,
    pub dropped: usize,
    pub imputed: ColumnCounts,
    pub unseen: ColumnCounts,
    /// Of the features and of the target of a table that was read as a whole.
    pub fingerprints: Option<[String; 2]>,
    /// What is kept of the training rows.
    pub profile: Option<TrainingProfile>,
    pub start: Instant,
}

impl Plan {
    /// The outcome, without what only a search or a stream has to say.
    pub(super) fn package(&self, fitted: Fitted<'_>) -> Outcome {
        let Fitted { candidate, evaluated, test, train_rows, .. } = fitted;
        let mut facts = json!({
            "seed": self.seed, "rows": fitted.rows, "train_rows": train_rows, "test_rows": test.len(),
            "model": candidate.name, "dropped": fitted.dropped, "train": document(&evaluated.train),
            "test": document(&evaluated.test), "baseline": document(&evaluated.baseline),
        });
        match fitted.fingerprints {
            Some([features, target]) => {
                facts["fingerprint"] = features.into();
                facts["target_fingerprint"] = target.into();
            }
            None => facts["streamed"] = true.into(),
        }
        let classifies = candidate.estimator.capabilities().classifies();
        Outcome {
            chosen: candidate.name.clone(),
            model: TabularModel {
                schema: fitted.schema,
                encoder: fitted.encoder,
                labels: fitted.labels,
                target: self.target.clone(),
                model: TabularModel::batch_invariant(fitted.model),
                safeguards: Safeguards::default(),
                profile: fitted.profile,
                facts,
            },
            scorer: self.scorer.unwrap_or_else(|| usual_scorer(classifies)),
            train: evaluated.train,
            test: evaluated.test,
            baseline: evaluated.baseline,
            answers: evaluated.answers,
            n_train: train_rows,
            n_test: test.len(),
            test_samples: test,
            dropped: fitted.dropped,
            imputed: fitted.imputed,
            unseen: fitted.unseen,
            interrupted: self.stopped(),
            seconds: fitted.start.elapsed().as_secs_f64(),
            candidates: Vec::new(),
            cut: None,
            models: 0,
            guarantee: None,
            learning: Vec::new(),
            train_rows: Vec::new(),
            test_rows: Vec::new(),
            data_warnings: Vec::new(),
            streamed: None,
        }
    }
}

/// The scores as JSON, by the ids of their metrics.
fn document(scores: &[NamedScore]) -> Value {
    let entry = |named: &NamedScore| {
        let interval = named.score.interval();
        (named.key().to_owned(), json!({"value": named.score.value, "n": named.score.n, "interval": interval}))
    };
    Value::Object(scores.iter().map(entry).collect())
}
