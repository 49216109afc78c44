//! Semi-supervised learning: few labels, many unlabeled samples. A label of −1 means that the label is unknown.
//!
//! | estimator | idea |
//! |---|---|
//! | [`SelfTrainingClassifier`] | a classifier adds its own confident predictions to the training labels |
//! | [`LabelPropagation`] | labels spread along a graph of similar samples, known ones stay |
//! | [`LabelSpreading`] | the same with a normalized graph, known labels may change |

mod graph;
mod propagation;
mod self_training;

pub use graph::GraphKernel;
pub use propagation::{FittedLabelPropagation, LabelPropagation, LabelSpreading};
pub use self_training::{FittedSelfTraining, SelectionCriterion, SelfTrainingClassifier};

use tove_tensor::Tensor;

use crate::{Labels, LearnError, Result};

/// The label of unlabeled samples.
pub const UNLABELED: i64 = -1;

/// Classes, and the class of each sample if it is known.
fn known(who: &'static str, y: &Tensor) -> Result<(Vec<i64>, Vec<Option<usize>>)> {
    let labels = Labels::of(who, y)?;
    let classes: Vec<i64> = labels.classes().iter().copied().filter(|&class| class != UNLABELED).collect();
    let code = |&code: &usize| classes.iter().position(|class| *class == labels.classes()[code]);
    let codes: Vec<Option<usize>> = labels.codes().iter().map(code).collect();
    match classes[..] {
        [] => {
            Err(LearnError::data(who, "no sample is labeled", "label a few samples of each class; -1 means unlabeled"))
        }
        [class] => Err(LearnError::OneClass { who, class, samples: codes.iter().flatten().count() }),
        _ => Ok((classes, codes)),
    }
}
