//! Scores of a model on samples, those that go with what it predicts.

use tove_learn::selection::{Evaluation, Scorer};
use tove_learn::{Model, Samples};
use tove_metrics::Score;

/// A score with its name, as people say it: errors are errors, not negated.
#[derive(Clone, Debug)]
pub struct NamedScore {
    /// The metric.
    pub scorer: Scorer,
    /// Its name.
    pub name: &'static str,
    /// Whether larger is better.
    pub higher: bool,
    /// Its value, with an interval where there is one.
    pub score: Score,
    /// Its standard error, where one is known. On rows that were fitted on it says nothing of new ones.
    pub standard_error: Option<f64>,
}

impl NamedScore {
    /// The key of the score in JSON documents: the metric's id, without the `neg_` of scorers that are negated, because the value
    /// here is not.
    ///
    /// ```
    /// # use tove::learn::{DummyRegressor, Fit, Samples};
    /// # use tove::tensor::Tensor;
    /// # let samples = Samples::new(Tensor::from([[0.0], [1.0]]), &Tensor::from([1.0, 2.0]))?;
    /// # let model = DummyRegressor::default().fit_samples(&samples)?;
    /// let scores = tove::tabular::scores_of(&model, &samples);
    /// let keys: Vec<&str> = scores.iter().map(|score| score.key()).collect();
    /// assert_eq!(keys, ["r2", "root_mean_squared_error", "mean_absolute_error"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key(&self) -> &'static str {
        let id = self.scorer.name();
        id.strip_prefix("neg_").unwrap_or(id)
    }
}

/// All scores that go with what the model predicts and that the samples allow; the first one decides between models.
pub fn scores_of(model: &dyn Model, samples: &Samples) -> Vec<NamedScore> {
    scores_with(model, samples, None)
}

/// The same with the score of this metric first.
pub(super) fn scores_with(model: &dyn Model, samples: &Samples, first: Option<Scorer>) -> Vec<NamedScore> {
    Evaluation::new(model, samples).map(|evaluation| scores_of_evaluation(&evaluation, first)).unwrap_or_default()
}

/// The scores of answers that were given once, that of the metric `first` before the others.
pub(crate) fn scores_of_evaluation(evaluation: &Evaluation<'_>, first: Option<Scorer>) -> Vec<NamedScore> {
    let f1 = if evaluation.classes().len() == 2 { Scorer::F1 } else { Scorer::F1Macro };
    let usual = [
        Scorer::R2,
        Scorer::NegRootMeanSquaredError,
        Scorer::NegMeanAbsoluteError,
        Scorer::Accuracy,
        Scorer::BalancedAccuracy,
        f1,
        Scorer::RocAuc,
        Scorer::NegLogLoss,
    ];
    let score = |scorer: Scorer| {
        let score = scorer.value(evaluation).ok()?;
        let (name, higher) = (scorer.label(), scorer.greater_is_better());
        let standard_error = scorer.standard_error(evaluation);
        score.value.is_finite().then_some(NamedScore { scorer, name, higher, score, standard_error })
    };
    let shown = first.into_iter().chain(usual.into_iter().filter(|scorer| Some(*scorer) != first));
    shown.filter(|scorer| scorer.judges(evaluation.capabilities())).filter_map(score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tove_learn::{DummyRegressor, Fit};
    use tove_tensor::Tensor;

    #[test]
    fn an_error_keeps_its_sign_and_side() {
        let samples = Samples::new(Tensor::from([[0.0], [1.0], [2.0]]), &Tensor::from([1.0, 2.0, 6.0])).unwrap();
        let model = DummyRegressor::default().fit_samples(&samples).unwrap();
        let scores = scores_of(&model, &samples);
        let names: Vec<&str> = scores.iter().map(|score| score.name).collect();
        assert_eq!(names, ["R²", "root mean squared error", "mean absolute error"]);
        assert!(scores[0].higher && !scores[2].higher && (scores[2].score.value - 2.0).abs() < 1e-12);
    }
}
