//! Standard errors of scores.
//!
//! A score is a function θ of the sample weights w; its influence ψᵢ = W ∂θ/∂wᵢ with W = Σ wᵢ measures the effect of
//! sample i. The standard error is √(Σ (wᵢψᵢ)²)/W, the infinitesimal jackknife: the usual s/√n for a mean, DeLong's for
//! the area under the ROC curve. θ ± 1.96 standard errors contains the true score with a probability near 95 % for many
//! samples. Unlike Hoeffding's interval this is an approximation, but it exists for unbounded scores, and it is
//! narrower.
//!
//! | score | ψᵢ |
//! |---|---|
//! | a mean m of vᵢ (accuracy, log loss, errors) | vᵢ − m |
//! | root of the mean squared error, √A | (rᵢ² − A)/(2√A) |
//! | R² = 1 − A/B with B the variance of y | A(dᵢ² − B)/B² − (rᵢ² − A)/B |
//! | mean recall ρ_c of m classes with proportions p_c | (1{right} − ρ_c)/(m p_c), c the class of i |
//! | precision, recall, F-beta, Jaccard = T/D, ratios of means of tᵢ and dᵢ | (tᵢ − (T/D)dᵢ)/D |
//! | explained variance, D² = 1 − A/B with B the smallest deviance of a constant | A(bᵢ − B)/B² − (aᵢ − A)/B |
//! | Cohen's kappa 1 − O/E, i of class a predicted as b | −(w(a, b) − O)/E + O(Σⱼ w(a, j)pⱼ + Σⱼ w(j, b)tⱼ − 2E)/E² |
//! | Matthews correlation N/√(PQ) | N'/√(PQ) − (P'/P + Q'/Q)N/(2√(PQ)), primes the influences of N, P and Q |
//! | area A under ROC | (fraction of the other class ranked correctly against i − A)/(fraction of the class of i) |
//!
//! ```
//! use tove_learn::selection::{Evaluation, Scorer};
//! use tove_learn::{DummyRegressor, Fit, Samples};
//! use tove_tensor::Tensor;
//! let samples = Samples::new(&Tensor::from([[0.0], [0.0], [0.0], [0.0]]), &Tensor::from([1.0, 3.0, 5.0, 3.0]))?;
//! let model = DummyRegressor::default().fit_samples(&samples)?; // 3 everywhere: errors 2, 0, 2, 0
//! let evaluation = Evaluation::new(&model, &samples)?;
//! assert_eq!(Scorer::NegMeanAbsoluteError.standard_error(&evaluation), Some(1.0 / 2.0)); // s/√n
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_tensor::Tensor;

use crate::selection::Evaluation;

pub(crate) mod classes;
pub(crate) mod numbers;

/// The influence of each sample on a score: the formula of an entry of [`Scorer`](crate::selection::Scorer), with the
/// parameter of the score. `None` if the model does not provide the required outputs.
pub(crate) type Formula = fn(&Weights, &Evaluation<'_>, f64) -> Option<Vec<f64>>;

/// The standard error of a score with this formula.
pub(crate) fn standard_error(evaluation: &Evaluation<'_>, formula: Formula, parameter: f64) -> Option<f64> {
    let weights = Weights(evaluation.weights().map(Tensor::to_f64_vec));
    let influence = formula(&weights, evaluation, parameter)?;
    let spread: f64 = influence.iter().enumerate().map(|(i, psi)| (weights.weight(i) * psi).powi(2)).sum();
    let error = spread.sqrt() / weights.total(influence.len());
    error.is_finite().then_some(error)
}

/// Sample weights; 1 by default.
pub(crate) struct Weights(Option<Vec<f64>>);

impl Weights {
    fn weight(&self, sample: usize) -> f64 {
        self.0.as_ref().map_or(1.0, |weights| weights[sample])
    }

    fn total(&self, n: usize) -> f64 {
        (0..n).map(|i| self.weight(i)).sum()
    }

    fn mean(&self, values: &[f64]) -> f64 {
        values.iter().enumerate().map(|(i, value)| self.weight(i) * value).sum::<f64>() / self.total(values.len())
    }

    /// vᵢ − m.
    fn about_mean(&self, values: impl Iterator<Item = f64>) -> Vec<f64> {
        let values: Vec<f64> = values.collect();
        let mean = self.mean(&values);
        values.iter().map(|value| value - mean).collect()
    }

    /// (tᵢ − (T/D)dᵢ)/D for a ratio T/D of means; 0 where D is 0.
    fn of_ratio(&self, parts: &[(f64, f64)]) -> Vec<f64> {
        let sum = |of: fn(&(f64, f64)) -> f64| self.mean(&parts.iter().map(of).collect::<Vec<f64>>());
        let (numerator, denominator) = (sum(|parts| parts.0), sum(|parts| parts.1));
        let psi = |&(t, d): &(f64, f64)| {
            if denominator > 0.0 { (t - numerator / denominator * d) / denominator } else { 0.0 }
        };
        parts.iter().map(psi).collect()
    }

    /// A(bᵢ − B)/B² − (aᵢ − A)/B for 1 − A/B, means of aᵢ and bᵢ.
    fn of_explained(&self, left: &[f64], all: &[f64]) -> Vec<f64> {
        let (a, b) = (self.mean(left), self.mean(all));
        left.iter().zip(all).map(|(ai, bi)| a * (bi - b) / (b * b) - (ai - a) / b).collect()
    }
}
