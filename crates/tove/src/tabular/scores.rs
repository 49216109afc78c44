//! Scores of a model on samples, those that go with its task.

use tove_learn::diagnostics::StandardErrors;
use tove_learn::selection::Scorer;
use tove_learn::{Model, Samples, Task};
use tove_metrics::Score;

/// A score with its name, as people say it: errors are errors, not negated.
#[derive(Clone, Debug)]
pub struct NamedScore {
    /// Its name.
    pub name: &'static str,
    /// Whether larger is better.
    pub higher: bool,
    /// Its value, with an interval where there is one.
    pub score: Score,
    /// Its standard error, where one is known. On rows that were fitted on it says nothing of new ones.
    pub standard_error: Option<f64>,
}

/// All scores that the model's task has and the samples allow; the first one decides between models.
pub fn scores_of(model: &dyn Model, samples: &Samples) -> Vec<NamedScore> {
    let wanted: &[(&str, &str, bool)] = match model.task() {
        Task::Regression => &[
            ("R²", "r2", true),
            ("root mean squared error", "neg_root_mean_squared_error", false),
            ("mean absolute error", "neg_mean_absolute_error", false),
        ],
        Task::Classification => &[
            ("accuracy", "accuracy", true),
            ("balanced accuracy", "balanced_accuracy", true),
            ("F1", if model.classes().len() == 2 { "f1" } else { "f1_macro" }, true),
            ("area under ROC", "roc_auc", true),
            ("log loss", "neg_log_loss", false),
        ],
    };
    let errors = StandardErrors::new(model, samples).ok();
    let score = |&(name, scorer, higher): &(&'static str, &str, bool)| {
        let scorer = Scorer::named(scorer).ok()?;
        let mut score = scorer.score(model, samples).ok()?;
        if !higher {
            score.value = -score.value;
        }
        let standard_error = errors.as_ref().and_then(|errors| errors.of(scorer));
        score.value.is_finite().then_some(NamedScore { name, higher, score, standard_error })
    };
    wanted.iter().filter_map(score).collect()
}
