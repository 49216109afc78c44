//! The fourth stage: what the chosen model is worth. It answers the test rows once; every score, interval, confusion matrix and
//! chart is computed from these answers.

use tove_learn::selection::{Answers, Evaluation, Scorer};
use tove_learn::{DummyClassifier, DummyRegressor, Estimator, Fit, Model, Samples};
use tove_tensor::Key;

use super::prepared::Parts;
use super::scores::{scores_of_evaluation, scores_with};
use super::{Candidate, LearningPoint, NamedScore, Result};

/// Training rows on which scores are computed for comparison with the test rows, at most.
pub(super) const COMPARED: usize = 50_000;
/// Fractions of the training rows at which the learning curve is taken.
const FRACTIONS: [f64; 4] = [0.1, 0.25, 0.5, 0.75];

/// Scores of a model, and its answers to the test rows.
pub(super) struct Evaluated {
    pub train: Vec<NamedScore>,
    pub test: Vec<NamedScore>,
    /// Scores of a constant prediction on the test rows.
    pub baseline: Vec<NamedScore>,
    pub answers: Answers,
}

impl Evaluated {
    /// Evaluates a model; the score of the metric `first` comes before the others.
    ///
    /// # Errors
    /// If the model has no such score.
    pub fn new(model: &dyn Model, train: &Samples, test: &Samples, first: Option<Scorer>) -> Result<Evaluated> {
        let evaluation = Evaluation::new(model, test)?;
        if let Some(scorer) = first {
            scorer.value(&evaluation)?;
        }
        let baseline = match model.capabilities().classifies() {
            false => DummyRegressor::default().fit_boxed(train)?,
            true => DummyClassifier::default().fit_boxed(train)?,
        };
        // A sample of many rows says as much.
        let step = train.len().div_ceil(COMPARED).max(1);
        let some: Vec<usize> = (0..train.len()).step_by(step).collect();
        let compared = if step > 1 { &train.take(&some)? } else { train };
        Ok(Evaluated {
            train: scores_with(model, compared, first),
            test: scores_of_evaluation(&evaluation, first),
            baseline: scores_with(&*baseline, test, first),
            answers: evaluation.into_answers()?,
        })
    }
}

/// The metric that decides between models unless one is given: accuracy, or R².
pub(super) fn usual_scorer(classifies: bool) -> Scorer {
    if classifies { Scorer::Accuracy } else { Scorer::R2 }
}

/// Scores of the candidate on growing parts of the training rows; none if a part cannot be fitted.
pub(super) fn learning_curve(
    chosen: &Candidate,
    encoded: &Parts,
    seed: u64,
    scorer: Scorer,
    whole: &dyn Model,
) -> Vec<LearningPoint> {
    let n = encoded.train.len();
    let order: Vec<usize> =
        Key::new(seed).fold(7).permutation(n).to_vec::<i64>().into_iter().map(|row| row as usize).collect();
    let point = |model: &dyn Model, train: &Samples| -> Result<LearningPoint> {
        let score = |samples: &Samples| -> Result<f64> { Ok(scorer.score(model, samples)?.value) };
        Ok(LearningPoint { rows: train.len(), train: score(train)?, test: score(&encoded.test)? })
    };
    let part = |fraction: f64| -> Result<LearningPoint> {
        let part = encoded.train.take(&order[..((n as f64 * fraction) as usize).max(10)])?;
        // Warnings of fits to a part are not those of the model.
        let model = tove_learn::quietly(|| chosen.estimator.fit_samples(&part))?;
        point(&*model, &part)
    };
    let points: Result<Vec<LearningPoint>> =
        FRACTIONS.iter().map(|&fraction| part(fraction)).chain([point(whole, &encoded.train)]).collect();
    points.unwrap_or_default()
}
