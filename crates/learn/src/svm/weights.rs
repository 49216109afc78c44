//! Weights of samples and of classes.

use crate::{ClassWeight, Labels, LearnError, Result, Samples};

/// Labels and, for each sample, its weight times that of its class.
pub(super) fn labelled(who: &'static str, samples: &Samples, by: &ClassWeight) -> Result<(Labels, Vec<f64>)> {
    let labels = Labels::several(who, samples.y()?)?;
    let given = samples.weights().map_or_else(|| vec![1.0; samples.len()], |weights| weights.to_f64_vec());
    let weights = by.apply(who, labels.classes(), labels.codes(), Some(given))?.unwrap_or_default();
    let mut totals = vec![0.0; labels.classes().len()];
    labels.codes().iter().zip(&weights).for_each(|(&code, weight)| totals[code] += weight);
    if let Some(empty) = totals.iter().position(|&total| total == 0.0) {
        let problem = format!("all samples of class {} have weight 0", labels.classes()[empty]);
        return Err(LearnError::data(who, problem, "leave them out, or give one of them a weight"));
    }
    Ok((labels, weights))
}
