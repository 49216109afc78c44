//! Guarantees from a test set: Hoeffding's inequality, the union bound over K models, and the cost of selecting the
//! best.
//!
//! For the mean of N independent values in \[a, b\]: P(|mean − E| ≥ ε) ≤ 2 exp(−2Nε²/(b − a)²). For K models that were
//! fixed in advance, all K test errors lie within ε_K = (b − a)√(ln(2K/δ)/(2N)) of their expectations with probability
//! 1 − δ. So the model k̂ that is best on the test set is nearly as good as the truly best k*: L(k̂) ≤ L(k*) + 2ε_K,
//! because L(k̂) ≤ L̂(k̂) + ε_K ≤ L̂(k*) + ε_K ≤ L(k*) + 2ε_K. (The argument extends to infinite families through their
//! capacity, which is not computed here.)
//!
//! ```
//! use tove_learn::selection::{hoeffding_probability, samples_needed, selection_guarantee};
//! let choice = selection_guarantee(&[0.31, 0.25, 0.40], 1000, 1.0, 0.05)?;
//! assert_eq!(choice.chosen, 1);
//! assert!((choice.epsilon - 0.048926).abs() < 1e-6);
//! assert!(hoeffding_probability(1000, 0.042947, 1.0) <= 0.0500001);
//! assert_eq!(samples_needed(0.04295, 1.0, 0.05, 1)?, 1000);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

pub use tove_metrics::hoeffding_union;

use crate::{LearnError, Result};

/// Upper bound on the probability that the mean of `n` values in a range of this width differs from its expectation by
/// `epsilon` or more: min(1, 2 exp(−2nε²/width²)).
pub fn hoeffding_probability(n: usize, epsilon: f64, width: f64) -> f64 {
    (2.0 * (-2.0 * n as f64 * (epsilon / width).powi(2)).exp()).min(1.0)
}

/// Number of samples for which the intervals of all `models` models are within ± `epsilon` with probability 1 − δ.
pub fn samples_needed(epsilon: f64, width: f64, delta: f64, models: usize) -> Result<usize> {
    check(width, delta, models)?;
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(LearnError::parameter("samples_needed", format!("ε = {epsilon}; give a number above 0")));
    }
    let exact = (width / epsilon).powi(2) * (2.0 * models as f64 / delta).ln() / 2.0;
    Ok(exact.ceil() as usize)
}

fn check(width: f64, delta: f64, models: usize) -> Result<()> {
    let fine = width > 0.0 && width.is_finite() && delta > 0.0 && delta < 1.0 && models > 0;
    if fine {
        return Ok(());
    }
    let problem =
        format!("range {width}, δ = {delta}, {models} models; give a range above 0, δ between 0 and 1, and models");
    Err(LearnError::parameter("bounds", problem))
}

/// Guarantee for the model that was best among several on one test set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SelectionGuarantee {
    /// The model with the smallest error; ties go to the first.
    pub chosen: usize,
    /// Its error on the set used for the selection.
    pub error: f64,
    /// Half the width of the interval that holds for all models simultaneously.
    pub epsilon: f64,
    /// With probability 1 − δ its true error exceeds that of the truly best model by at most this: 2ε.
    pub excess: f64,
    /// Upper bound on its true error.
    pub upper: f64,
    /// Upper bound on the probability that any of this fails.
    pub delta: f64,
}

/// Selects the smallest of several mean errors, each over `n` values in a range of this width, and returns the
/// guarantee that holds with probability 1 − δ.
pub fn selection_guarantee(errors: &[f64], n: usize, width: f64, delta: f64) -> Result<SelectionGuarantee> {
    check(width, delta, errors.len())?;
    if n == 0 || errors.iter().any(|error| error.is_nan()) {
        let problem = "give the mean error of every model, over at least one sample";
        return Err(LearnError::parameter("selection_guarantee", problem));
    }
    let chosen = (1..errors.len()).fold(0, |best, k| if errors[k] < errors[best] { k } else { best });
    let epsilon = hoeffding_union(n as f64, width, delta, errors.len());
    let error = errors[chosen];
    Ok(SelectionGuarantee { chosen, error, epsilon, excess: 2.0 * epsilon, upper: error + epsilon, delta })
}
