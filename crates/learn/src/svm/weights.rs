//! Weights of samples and of classes.

use crate::{ClassWeight, Labels, LearnError, Result, Samples};

/// Labels and, for each sample, its weight times that of its class.
pub(super) fn labelled(who: &'static str, samples: &Samples, by: ClassWeight) -> Result<(Labels, Vec<f64>)> {
    let labels = Labels::several(who, samples.y())?;
    let mut weights = samples.weights().map_or_else(|| vec![1.0; samples.len()], |weights| weights.to_f64_vec());
    let mut totals = vec![0.0; labels.classes().len()];
    labels.codes().iter().zip(&weights).for_each(|(&code, weight)| totals[code] += weight);
    if let Some(empty) = totals.iter().position(|&total| total == 0.0) {
        let problem = format!("all samples of class {} have weight 0", labels.classes()[empty]);
        return Err(LearnError::data(who, problem, "leave them out, or give one of them a weight"));
    }
    if by == ClassWeight::Balanced {
        let mean = totals.iter().sum::<f64>() / totals.len() as f64;
        weights.iter_mut().zip(labels.codes()).for_each(|(weight, &code)| *weight *= mean / totals[code]);
    }
    Ok((labels, weights))
}
