//! How far a score may be from the one that very many samples would give.
//!
//! A score is a function θ of the samples' weights w; its influence ψᵢ = W ∂θ/∂wᵢ with W = Σ wᵢ says how much sample i moves it.
//! The standard error is √(Σ (wᵢψᵢ)²)/W, the infinitesimal jackknife: the usual s/√n for a mean, DeLong's for the area under the
//! ROC curve. θ ± 1.96 standard errors holds the true score with a probability near 95 % for many samples; unlike Hoeffding's
//! interval that is an approximation, but it exists for scores that are not bounded, and it is narrower.
//!
//! | score | ψᵢ |
//! |---|---|
//! | a mean m of vᵢ (accuracy, log loss, errors) | vᵢ − m |
//! | root of the mean squared error, √A | (rᵢ² − A)/(2√A) |
//! | R² = 1 − A/B with B the variance of y | A(dᵢ² − B)/B² − (rᵢ² − A)/B |
//! | mean recall ρ_c of m classes with shares p_c | (1{right} − ρ_c)/(m p_c), c the class of i |
//! | F1 = 2t/D with D = 2t + f | (2tᵢ − F1(2tᵢ + fᵢ))/D |
//! | area A under ROC | (share of the other class ranked right by i − A)/(share of its own class) |
//!
//! ```
//! use tove_learn::diagnostics::StandardErrors;
//! use tove_learn::selection::Scorer;
//! use tove_learn::{DummyRegressor, Fit, Samples};
//! use tove_tensor::Tensor;
//! let samples = Samples::new(&Tensor::from([[0.0], [0.0], [0.0], [0.0]]), &Tensor::from([1.0, 3.0, 5.0, 3.0]))?;
//! let model = DummyRegressor::default().fit_checked(&samples)?; // 3 everywhere: errors 2, 0, 2, 0
//! let errors = StandardErrors::new(&model, &samples)?;
//! assert_eq!(errors.of(Scorer::NegMeanAbsoluteError), Some(1.0 / 2.0)); // s/√n
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use std::collections::BTreeMap;

use tove_tensor::{DType, Tensor};

use crate::selection::Scorer;
use crate::{LearnError, Model, Predict, Result, Samples, Task};

/// The standard errors of a model's scores on samples it was not fitted on.
#[derive(Clone, Debug)]
pub struct StandardErrors {
    answers: Answers,
    weights: Option<Vec<f64>>,
}

/// What the model said beside what is true.
#[derive(Clone, Debug)]
enum Answers {
    Numbers {
        truth: Vec<f64>,
        predicted: Vec<f64>,
    },
    Classes {
        truth: Vec<i64>,
        predicted: Vec<i64>,
        /// The second of two classes.
        positive: Option<i64>,
        /// −log of the probability of the true class.
        surprise: Option<Vec<f64>>,
        /// Whether a sample is of the second of two classes, and the score of that.
        ranked: Option<(Vec<bool>, Vec<f64>)>,
    },
}

impl StandardErrors {
    /// Asks the model once for all scores.
    pub fn new(model: &dyn Model, samples: &Samples) -> Result<StandardErrors> {
        let predicted = model.predict(samples.x())?;
        let weights = samples.weights().map(Tensor::to_f64_vec);
        let answers = match model.task() {
            Task::Regression if samples.y().numel() == samples.len() => {
                Answers::Numbers { truth: samples.y().to_f64_vec(), predicted: predicted.to_f64_vec() }
            }
            Task::Regression => {
                let fix = "ask for one target at a time";
                return Err(LearnError::unsupported("StandardErrors", "takes one target", fix));
            }
            Task::Classification => {
                let truth = samples.y().to_dtype(DType::I64).to_vec::<i64>();
                let (surprise, ranked) = (surprise(model, samples, &truth), ranked(model, samples, &truth));
                let positive = if let &[_, positive] = model.classes() { Some(positive) } else { None };
                Answers::Classes { truth, predicted: predicted.to_vec::<i64>(), positive, surprise, ranked }
            }
        };
        Ok(StandardErrors { answers, weights })
    }

    /// The standard error of a score; none where the score does not fit the task, or has no formula here.
    pub fn of(&self, scorer: Scorer) -> Option<f64> {
        let influence = match &self.answers {
            Answers::Numbers { truth, predicted } => self.of_numbers(scorer, truth, predicted)?,
            Answers::Classes { truth, predicted, positive, surprise, ranked } => match scorer {
                Scorer::Accuracy => self.about_mean(truth.iter().zip(predicted).map(|(a, b)| f64::from(a == b))),
                Scorer::BalancedAccuracy => self.of_recalls(truth, predicted),
                Scorer::F1 => self.of_f1(truth, predicted, (*positive)?),
                Scorer::F1Macro => self.of_mean_f1(truth, predicted),
                Scorer::NegLogLoss => self.about_mean(surprise.as_ref()?.iter().copied()),
                Scorer::RocAuc => ranked.as_ref().and_then(|(hits, scores)| self.of_area(hits, scores))?,
                _ => return None,
            },
        };
        let spread: f64 = influence.iter().enumerate().map(|(i, psi)| (self.weight(i) * psi).powi(2)).sum();
        let error = spread.sqrt() / self.total(influence.len());
        error.is_finite().then_some(error)
    }

    fn weight(&self, sample: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[sample])
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

    fn of_numbers(&self, scorer: Scorer, truth: &[f64], predicted: &[f64]) -> Option<Vec<f64>> {
        let residuals = || truth.iter().zip(predicted).map(|(a, b)| a - b);
        let squares = self.about_mean(residuals().map(|r| r * r));
        let error = self.mean(&residuals().map(|r| r * r).collect::<Vec<f64>>());
        Some(match scorer {
            Scorer::NegMeanSquaredError => squares,
            Scorer::NegRootMeanSquaredError => {
                squares.iter().map(|off| if error > 0.0 { off / (2.0 * error.sqrt()) } else { 0.0 }).collect()
            }
            Scorer::NegMeanAbsoluteError => self.about_mean(residuals().map(f64::abs)),
            Scorer::R2 => {
                let from_mean: Vec<f64> = self.about_mean(truth.iter().copied()).iter().map(|d| d * d).collect();
                let variance = self.mean(&from_mean);
                let psi = |(d, off): (&f64, &f64)| error * (d - variance) / variance.powi(2) - off / variance;
                from_mean.iter().zip(&squares).map(psi).collect()
            }
            _ => return None,
        })
    }

    fn of_recalls(&self, truth: &[i64], predicted: &[i64]) -> Vec<f64> {
        let mut classes: BTreeMap<i64, (f64, f64)> = BTreeMap::new(); // all of the class, those recognised
        for (i, (class, found)) in truth.iter().zip(predicted).enumerate() {
            let entry = classes.entry(*class).or_default();
            entry.0 += self.weight(i);
            entry.1 += if class == found { self.weight(i) } else { 0.0 };
        }
        let (m, total) = (classes.len() as f64, self.total(truth.len()));
        let psi = |(class, found): (&i64, &i64)| {
            let (all, right) = classes[class];
            (f64::from(class == found) - right / all) * total / (m * all)
        };
        truth.iter().zip(predicted).map(psi).collect()
    }

    fn of_f1(&self, truth: &[i64], predicted: &[i64], class: i64) -> Vec<f64> {
        // 2 for a hit, and what a sample adds to the denominator: 2 for a hit, 1 for either mistake.
        let part = |(truth, found): (&i64, &i64)| {
            let (is, said) = (*truth == class, *found == class);
            (2.0 * f64::from(is && said), f64::from(is) + f64::from(said))
        };
        let parts: Vec<(f64, f64)> = truth.iter().zip(predicted).map(part).collect();
        let sum = |of: fn(&(f64, f64)) -> f64| self.mean(&parts.iter().map(of).collect::<Vec<f64>>());
        let (hits, all) = (sum(|part| part.0), sum(|part| part.1));
        let psi = |&(hit, part): &(f64, f64)| if all > 0.0 { (hit - hits / all * part) / all } else { 0.0 };
        parts.iter().map(psi).collect()
    }

    fn of_mean_f1(&self, truth: &[i64], predicted: &[i64]) -> Vec<f64> {
        let classes: std::collections::BTreeSet<i64> = truth.iter().chain(predicted).copied().collect();
        let mut sum = vec![0.0; truth.len()];
        for &class in &classes {
            let psi = self.of_f1(truth, predicted, class);
            sum.iter_mut().zip(psi).for_each(|(sum, psi)| *sum += psi / classes.len() as f64);
        }
        sum
    }

    /// The samples in the order of their scores; those of equal score count half as ranked right.
    fn of_area(&self, hits: &[bool], scores: &[f64]) -> Option<Vec<f64>> {
        let mut order: Vec<usize> = (0..scores.len()).collect();
        order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
        let weight_of =
            |class: bool| (0..hits.len()).filter(|&i| hits[i] == class).map(|i| self.weight(i)).sum::<f64>();
        let (positive, negative) = (weight_of(true), weight_of(false));
        if !(positive > 0.0 && negative > 0.0) {
            return None;
        }
        let mut right = vec![0.0; hits.len()];
        let (mut below_positive, mut below_negative) = (0.0, 0.0);
        for tie in order.chunk_by(|&a, &b| scores[a] == scores[b]) {
            let own = |class: bool| tie.iter().filter(|&&i| hits[i] == class).map(|&i| self.weight(i)).sum::<f64>();
            let (tied_positive, tied_negative) = (own(true), own(false));
            for &i in tie {
                right[i] = match hits[i] {
                    true => (below_negative + tied_negative / 2.0) / negative,
                    false => (positive - below_positive - tied_positive / 2.0) / positive,
                };
            }
            below_positive += tied_positive;
            below_negative += tied_negative;
        }
        let area = (0..hits.len()).filter(|&i| hits[i]).map(|i| self.weight(i) * right[i]).sum::<f64>() / positive;
        let total = positive + negative;
        let psi = |(hit, right): (&bool, &f64)| (right - area) * total / if *hit { positive } else { negative };
        Some(hits.iter().zip(&right).map(psi).collect())
    }
}

/// −log of the probability of the true class, if the model gives probabilities and knows all classes.
fn surprise(model: &dyn Model, samples: &Samples, truth: &[i64]) -> Option<Vec<f64>> {
    let probabilities = model.predict_proba(samples.x()).ok()?;
    let (epsilon, m) = (probabilities.dtype().epsilon(), model.classes().len());
    let all = probabilities.to_f64_vec();
    let of = |(row, class): (&[f64], &i64)| {
        let place = model.classes().binary_search(class).ok()?;
        Some(-row[place].clamp(epsilon, 1.0 - epsilon).ln())
    };
    all.chunks(m).zip(truth).map(of).collect()
}

/// The second of two classes against the first, by the scores that [`Scorer::RocAuc`] takes.
fn ranked(model: &dyn Model, samples: &Samples, truth: &[i64]) -> Option<(Vec<bool>, Vec<f64>)> {
    let &[_, positive] = model.classes() else { return None };
    let scores = match model.decision_function(samples.x()) {
        Ok(scores) => scores.to_f64_vec(),
        Err(_) => model.predict_proba(samples.x()).ok()?.to_f64_vec().chunks(2).map(|row| row[1]).collect(),
    };
    Some((truth.iter().map(|&class| class == positive).collect(), scores))
}
