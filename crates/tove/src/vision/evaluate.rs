//! What a model is worth on labeled images.

use tove_learn::selection::{Evaluation, Scorer};
use tove_metrics::ConfusionMatrix;
use tove_tensor::Tensor;

use super::model::ImageModel;
use super::source::Images;
use crate::net_files::{ModelError, Result};
use crate::tabular::{NamedScore, scores_of_evaluation};

/// Scores of a model on labeled images.
#[derive(Clone, Debug)]
pub struct ImageEvaluation {
    /// The scores, that of the metric asked for first.
    pub scores: Vec<NamedScore>,
    /// Number of images.
    pub images: usize,
    /// How often each class was taken for which.
    pub confusion: ConfusionMatrix,
    /// Accuracy of always predicting the most frequent class.
    pub constant: f64,
    /// Numbers of the true classes, in the model's order.
    pub truth: Tensor,
    /// Probabilities (images, classes).
    pub probabilities: Tensor,
}

impl ImageModel {
    /// Evaluates the model on images, those that their folder sets aside if there are any. Classes are matched by name.
    ///
    /// # Errors
    /// If a class is not one of the model's, the images have another size, or the metric does not suit.
    pub fn evaluate(&self, images: &Images, metric: Option<Scorer>) -> Result<ImageEvaluation> {
        let set = images.test.as_ref().unwrap_or(&images.all);
        let number = |name: &String| {
            self.classes.iter().position(|class| class == name).map(|place| place as i64).ok_or_else(|| {
                let known = self.classes.join(", ");
                ModelError::source(format!("the model has no class {name:?}; its classes are {known}"))
            })
        };
        let numbers: Vec<i64> = images.classes.iter().map(number).collect::<Result<_>>()?;
        let truth: Vec<i64> = set.y().to_vec::<i64>().into_iter().map(|label| numbers[label as usize]).collect();
        if truth.is_empty() {
            return Err(ModelError::source("there are no images to evaluate"));
        }
        let mut counts = vec![0usize; self.classes.len()];
        truth.iter().for_each(|&class| counts[class as usize] += 1);
        let constant = counts.into_iter().max().unwrap_or(0) as f64 / truth.len() as f64;
        let (n, truth) = (truth.len(), Tensor::from(truth));
        let probabilities = self.predict_proba(set.x())?;
        let evaluation = Evaluation::of_probabilities("ImageModel", &truth, &probabilities)?;
        if let Some(scorer) = metric {
            scorer.value(&evaluation)?;
        }
        let scores = scores_of_evaluation(&evaluation, metric);
        let confusion = ConfusionMatrix::new(&truth, &probabilities.argmax(-1), None)?;
        Ok(ImageEvaluation { scores, images: n, confusion, constant, truth, probabilities })
    }
}
