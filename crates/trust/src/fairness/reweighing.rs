//! Weights under which label and group are independent (Kamiran and Calders 2012).

use tove_learn::Labels;
use tove_tensor::Tensor;

use crate::{Result, input};

const NAME: &str = "reweighing";

/// Weights P(A = a) P(Y = y)/P(A = a, Y = y) of the rows, times their own weights: in the weighted sample label and group are
/// independent, so a model fitted with these weights learns from equal base rates. Sums of weights of groups and of labels stay as they
/// are. Pairs of group and label that do not occur cannot be made up for.
/// Features that tell the group can still lead to different decisions, so check the gaps of the model.
///
/// ```
/// use tove_tensor::Tensor;
/// use tove_trust::fairness::reweighing;
/// let (labels, groups) = (Tensor::from([1i64, 1, 0, 0, 0, 1]), Tensor::from([0i64, 0, 0, 1, 1, 1]));
/// let weights = reweighing(&labels, &groups, None)?.to_vec::<f64>();
/// assert_eq!(weights, [0.75, 0.75, 1.5, 0.75, 0.75, 1.5]);
/// # Ok::<(), tove_trust::TrustError>(())
/// ```
///
/// # Errors
/// No rows; different lengths; labels or groups that are not whole numbers; invalid weights.
pub fn reweighing(labels: &Tensor, groups: &Tensor, weights: Option<&Tensor>) -> Result<Tensor> {
    let n = labels.numel();
    input::numbers(NAME, "labels", labels, n)?;
    let (labels, groups) = (Labels::of(NAME, &labels.detach())?, input::groups(NAME, groups, n)?);
    let weights = input::weights(NAME, weights, n)?;
    let total: f64 = weights.iter().sum();
    let cell = |row: usize| (groups.codes()[row], labels.codes()[row]);
    let width = labels.classes().len();
    let mut by_group = vec![0.0; groups.classes().len()];
    let mut by_label = vec![0.0; width];
    let mut joint = vec![0.0; by_group.len() * width];
    for (row, weight) in weights.iter().enumerate() {
        let (group, label) = cell(row);
        by_group[group] += weight;
        by_label[label] += weight;
        joint[group * width + label] += weight;
    }
    let weight = |row: usize| {
        let (group, label) = cell(row);
        let joint = joint[group * width + label];
        // A pair without weight keeps weight 0.
        if joint > 0.0 { weights[row] * (by_group[group] / total) * (by_label[label] / joint) } else { 0.0 }
    };
    Ok(Tensor::from_slice(&(0..n).map(weight).collect::<Vec<f64>>()))
}
