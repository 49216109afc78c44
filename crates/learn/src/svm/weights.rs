//! Sample weights combined with class weights.

use crate::{ClassWeight, Labels, LearnError, Result, Samples};

/// Returns the labels and the weight of each sample times that of its class.
pub(super) fn labels_and_weights(who: &'static str, samples: &Samples, by: &ClassWeight) -> Result<(Labels, Vec<f64>)> {
    let labels = Labels::several(who, samples.y()?)?;
    let given = samples.weights().map_or_else(|| vec![1.0; samples.len()], |weights| weights.to_f64_vec());
    let weights = by.apply(who, labels.classes(), labels.codes(), Some(given))?.unwrap_or_default();
    let mut totals = vec![0.0; labels.classes().len()];
    labels.codes().iter().zip(&weights).for_each(|(&code, weight)| totals[code] += weight);
    if let Some(empty) = totals.iter().position(|&total| total == 0.0) {
        let problem = format!("all samples of class {} have weight 0", labels.classes()[empty]);
        return Err(LearnError::data(who, problem, "remove them, or give one of them a positive weight"));
    }
    Ok((labels, weights))
}
