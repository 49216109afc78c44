//! Calibration: classifier probabilities that match observed class frequencies.
//!
//! The classifier is fitted to the training parts of `cv` folds. From its scores on the held-out parts a calibrator is
//! fitted to the frequency of each class as a function of the score (Platt 1999; Zadrozny and Elkan 2002). More than
//! two classes are calibrated one-vs-rest and normalized. With `ensemble` each fold keeps its classifier and
//! calibrator, and probabilities are averaged; otherwise one calibrator is fitted to the held-out scores of all folds,
//! for one classifier fitted to all samples.
//!
//! ```
//! use tove_learn::ensemble::CalibratedClassifier;
//! use tove_learn::{Fit, LinearSvc, Predict};
//! use tove_tensor::{DType, Key, Tensor};
//! let x = Key::new(1).normal([60, 2], DType::F64);
//! let labels: Vec<i64> = x.to_f64_vec().chunks(2).map(|row| i64::from(row[0] + 0.3 * row[1] > 0.2)).collect();
//! let model = CalibratedClassifier::new(LinearSvc::default()).fit(&x, &Tensor::from_slice(&labels))?;
//! let p = model.predict_proba(&Tensor::from([[3.0, 0.0], [-3.0, 0.0]]))?;
//! assert!(p.at::<f64>(&[0, 1]) > 0.9 && p.at::<f64>(&[1, 1]) < 0.1);
//! # Ok::<(), tove_learn::LearnError>(())
//! ```

use tove_optim::settings::{Choice, Hyperparameters, Named, SettingError};
use tove_tensor::{Tensor, TryOps};

use super::calibrator::{Calibrator, Scores, temperature};
use super::out_of_fold::{Columns, decision, out_of_fold, probabilities};
use crate::selection::{Splitter, StratifiedKFold, in_parallel};
use crate::{
    About, Algorithm, Capabilities, Estimator, Fit, Fitted, Labels, LearnError, LinearSvc, Model, Record, Result, Rows,
    Samples,
};

/// The map from scores to probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum CalibrationMethod {
    /// Platt's logistic curve, for few samples.
    #[default]
    Sigmoid,
    /// Any non-decreasing function, for about a thousand samples or more.
    Isotonic,
    /// One number for all classes, which keeps the order of the scores.
    Temperature,
}

/// Calibrates the probabilities of a classifier, like scikit-learn's `CalibratedClassifierCV`. The classifier needs a
/// `decision_function`, which is preferred, or `predict_proba`.
///
/// Sample weights go to the classifier and to the calibrators; folds ignore them.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "CalibratedClassifierCV", check = check)]
pub struct CalibratedClassifier {
    /// The classifier to calibrate.
    #[hyper(default = Box::new(LinearSvc::default()))]
    pub estimator: Box<dyn Estimator>,
    /// The map from scores to probabilities: sigmoid, isotonic or temperature.
    #[hyper(default = CalibrationMethod::Sigmoid)]
    pub method: CalibrationMethod,
    /// Number of stratified folds.
    #[hyper(default = 5, range = "[2, inf)")]
    pub cv: usize,
    /// Whether every fold keeps its classifier and calibrators, whose probabilities are averaged.
    #[hyper(default = true)]
    pub ensemble: bool,
}

fn check(settings: &CalibratedClassifier) -> Result<(), SettingError> {
    let own = settings.estimator.capabilities();
    if own.classifies() && (own.decision_function || own.probabilities) {
        return Ok(());
    }
    let problem = format!("{} has neither `decision_function` nor `predict_proba`", settings.estimator.name());
    Err(SettingError::conflict(
        CalibratedClassifier::NAME,
        "estimator",
        problem,
        "choose a classifier with one of them",
    ))
}

impl CalibratedClassifier {
    /// Creates a calibrated classifier with five folds.
    pub fn new(estimator: impl Estimator + 'static) -> CalibratedClassifier {
        CalibratedClassifier { estimator: estimator.duplicate(), ..CalibratedClassifier::default() }
    }
}

const fn calibrated(inner: Capabilities) -> Capabilities {
    Capabilities {
        probabilities: true,
        decision_function: false,
        transform: false,
        fills: false,
        inverse_transform: false,
        score_samples: false,
        neighbors: false,
        partial_fit: false,
        passes: false,
        warm_start: false,
        moments: false,
        checks_finite: false,
        anytime: false,
        order_free: false,
        delegates: true,
        ..inner
    }
}

impl Algorithm for CalibratedClassifier {
    type Fitted = FittedCalibratedClassifier;
    const CAPABILITIES: Capabilities = calibrated(LinearSvc::CAPABILITIES);

    fn capabilities_of(settings: &CalibratedClassifier) -> Capabilities {
        calibrated(settings.estimator.capabilities())
    }

    fn train(&self, samples: &Samples) -> Result<FittedCalibratedClassifier> {
        let labels = Labels::several(Self::NAME, samples.y()?)?;
        self.require_members(&labels)?;
        let folds = StratifiedKFold::new(self.cv).split(samples.y()?)?;
        let classes = labels.classes();
        let all: Vec<usize> = (0..samples.len()).collect();
        let members: Vec<Member> = if self.ensemble {
            let work = |fold: usize| -> Result<Member> {
                let model = self.estimator.fit_samples(&samples.take(&folds[fold].train)?)?;
                let held = &folds[fold].test;
                let scores = scores(&*model, &samples.x().take(held)?, classes)?;
                Ok((model, self.curves(&scores, &labels, samples, held)?))
            };
            in_parallel(folds.len(), work).into_iter().collect::<Result<_>>()?
        } else {
            let held = out_of_fold(&[&*self.estimator], samples, &folds, |_, model, x| scores(model, x, classes))?;
            let curves = self.curves(&held[0], &labels, samples, &all)?;
            vec![(self.estimator.fit_samples(samples)?, curves)]
        };
        let (members, curves) = members.into_iter().unzip();
        let about = About::of(self, samples).classes(classes);
        Ok(FittedCalibratedClassifier { about, settings: self.clone(), members, curves })
    }
}

impl CalibratedClassifier {
    /// Checks that every fold can have a sample of each class.
    fn require_members(&self, labels: &Labels) -> Result<()> {
        let mut counts = vec![0; labels.classes().len()];
        labels.codes().iter().for_each(|&code| counts[code] += 1);
        match counts.iter().position(|&count| count < self.cv) {
            None => Ok(()),
            Some(class) => {
                let (name, count) = (labels.classes()[class], counts[class]);
                let problem = format!("{} folds, but class {name} has only {count} samples", self.cv);
                Err(LearnError::data(Self::NAME, problem, "lower `cv`, or give more samples of the class"))
            }
        }
    }

    /// Fits one calibrator per class to the scores of these samples; for two classes, one for the second.
    fn curves(&self, scores: &Columns, labels: &Labels, samples: &Samples, held: &[usize]) -> Result<Vec<Calibrator>> {
        let weights = samples.weights().map(Tensor::to_f64_vec);
        let weights: Vec<f64> = held.iter().map(|&place| weights.as_ref().map_or(1.0, |w| w[place])).collect();
        if self.method == CalibrationMethod::Temperature {
            let codes: Vec<usize> = held.iter().map(|&place| labels.codes()[place]).collect();
            let logits = logits(scores, self.estimator.capabilities());
            return Ok(vec![temperature(&logits, scores.width.max(2), &codes, &weights)]);
        }
        let one = |column: usize| {
            let class = if scores.width == 1 { 1 } else { column };
            let own: Vec<f64> = scores.values.iter().skip(column).step_by(scores.width).copied().collect();
            let positive: Vec<bool> = held.iter().map(|&index| labels.codes()[index] == class).collect();
            let own = Scores { who: Self::NAME, scores: &own, positive: &positive, weights: &weights };
            match self.method {
                CalibrationMethod::Sigmoid => own.sigmoid(),
                _ => own.isotonic(),
            }
        };
        (0..scores.width).map(one).collect()
    }
}

/// The decision function of a classifier, or its probabilities if it has none.
fn scores(model: &dyn Model, x: &Rows, classes: &[i64]) -> Result<Columns> {
    match model.capabilities().decision_function {
        true => decision(CalibratedClassifier::NAME, model, x, classes),
        false => probabilities(model, x, classes),
    }
}

/// Probabilities of rows of `m` logits, times β.
fn softmax(logits: &[f64], m: usize, beta: f64) -> Vec<f64> {
    let mut all = Vec::with_capacity(logits.len());
    for row in logits.chunks(m) {
        let most = row.iter().fold(f64::NEG_INFINITY, |most, &z| most.max(z));
        let parts: Vec<f64> = row.iter().map(|z| (beta * (z - most)).exp()).collect();
        let sum: f64 = parts.iter().sum();
        all.extend(parts.iter().map(|part| part / sum));
    }
    all
}

/// Scores of all classes: a single score s is (−s, s), and of probabilities the logarithm is taken, as in scikit-learn.
fn logits(scores: &Columns, own: Capabilities) -> Vec<f64> {
    let log = |p: f64| (p + 1e-12).ln();
    match (scores.width, own.decision_function) {
        (1, true) => scores.values.iter().flat_map(|&score| [-score, score]).collect(),
        (1, false) => scores.values.iter().flat_map(|&p| [log(1.0 - p), log(p)]).collect(),
        (_, true) => scores.values.clone(),
        (_, false) => scores.values.iter().map(|&p| log(p)).collect(),
    }
}

/// A classifier with its calibrators.
type Member = (Box<dyn Model>, Vec<Calibrator>);

/// A fitted [`CalibratedClassifier`].
#[derive(Fitted)]
#[fitted(estimator = CalibratedClassifier, complete = FittedCalibratedClassifier::matched)]
pub struct FittedCalibratedClassifier {
    about: About,
    settings: CalibratedClassifier,
    #[fitted(shape = "members, features", hidden)]
    members: Vec<Box<dyn Model>>,
    /// The calibrators of each classifier.
    #[fitted(shape = "members", stored = "calibrator", hidden)]
    curves: Vec<Vec<Calibrator>>,
}

impl FittedCalibratedClassifier {
    /// The fitted classifiers: one per fold, or a single one without `ensemble`.
    pub fn models(&self) -> Vec<&dyn Model> {
        self.members.iter().map(|model| &**model).collect()
    }

    /// That there is a classifier per fold, with a calibrator per score.
    fn matched(self, record: &Record) -> Result<FittedCalibratedClassifier> {
        let (classes, count) = (&self.about.classes, if self.settings.ensemble { self.settings.cv } else { 1 });
        let scores = |model: &dyn Model| model.capabilities().decision_function || model.capabilities().probabilities;
        let fits = |model: &dyn Model| model.classes() == classes && scores(model);
        if classes.len() < 2 || self.members.len() != count || !self.members.iter().all(|model| fits(&**model)) {
            return Err(record.wrong("members", "a classifier of these classes per fold"));
        }
        let alike = |curve: &Calibrator| match self.settings.method {
            CalibrationMethod::Sigmoid => matches!(curve, Calibrator::Sigmoid { .. }),
            CalibrationMethod::Isotonic => matches!(curve, Calibrator::Isotonic { .. }),
            CalibrationMethod::Temperature => matches!(curve, Calibrator::Temperature { .. }),
        };
        let joint = classes.len() == 2 || self.settings.method == CalibrationMethod::Temperature;
        let curves = if joint { 1 } else { classes.len() };
        if self.curves.iter().any(|own| own.len() != curves || !own.iter().all(alike)) {
            return Err(record.wrong("calibrator", "a calibrator per score"));
        }
        Ok(self)
    }

    /// Probabilities by one classifier and its calibrators, row after row.
    fn of_member(&self, number: usize, x: &Rows) -> Result<Vec<f64>> {
        let (model, curves) = (&*self.members[number], &self.curves[number]);
        let (m, scores) = (self.about.classes.len(), scores(model, x, &self.about.classes)?);
        if let [Calibrator::Temperature { beta }] = curves[..] {
            return Ok(softmax(&logits(&scores, model.capabilities()), m, beta));
        }
        let mut all = Vec::with_capacity(x.len() * m);
        for row in scores.values.chunks(scores.width) {
            if let ([score], [curve]) = (row, &curves[..]) {
                let p = curve.at(*score);
                all.extend([1.0 - p, p]);
                continue;
            }
            let p: Vec<f64> = curves.iter().zip(row).map(|(curve, &score)| curve.at(score)).collect();
            let sum: f64 = p.iter().sum();
            all.extend(p.iter().map(|p| if sum > 0.0 { p / sum } else { 1.0 / m as f64 }));
        }
        Ok(all)
    }
}

impl Model for FittedCalibratedClassifier {
    crate::fitted_methods!();

    fn longest_sum(&self) -> usize {
        self.members.iter().map(|model| model.longest_sum()).max().unwrap_or(0)
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let best = self.proba_rows(x)?.try_argmax(1)?.to_vec::<i64>();
        Ok(Labels::decode(self.classes(), best.into_iter().map(|code| code as usize)))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let (n, m, count) = (x.len(), self.about.classes.len(), self.members.len());
        let mut mean = vec![0.0; n * m];
        for part in in_parallel(count, |number| self.of_member(number, x)) {
            mean.iter_mut().zip(part?).for_each(|(sum, p)| *sum += p);
        }
        mean.iter_mut().for_each(|sum| *sum /= count as f64);
        Ok(Tensor::try_from_vec(mean, [n, m])?.to_dtype(self.about.dtype))
    }
}
