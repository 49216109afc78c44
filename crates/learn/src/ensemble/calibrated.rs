//! Calibration: probabilities of a classifier that agree with the frequencies of its classes.
//!
//! The classifier is fitted to the training parts of `cv` folds; from its scores on the held-out parts a calibrator learns how
//! often each class occurs at a score (Platt 1999; Zadrozny and Elkan 2002). Several classes are calibrated one against
//! the rest and divided by their sum. With `ensemble` each fold keeps its classifier and calibrator, and probabilities are
//! averaged; without, one calibrator is fitted to the held-out scores of all folds, for one classifier fitted to all samples.
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

use super::calibrator::{Calibrator, Scores};
use super::out_of_fold::{Columns, decision, out_of_fold, probabilities};
use crate::selection::{Splitter, StratifiedKFold, in_parallel};
use crate::{
    About, Algorithm, Capabilities, Estimator, Fit, Labels, LearnError, LinearSvc, Model, Record, Restore, Result,
    Rows, Samples, restore,
};

/// The map from scores to probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Choice)]
pub enum CalibrationMethod {
    /// Platt's logistic curve, for few samples.
    #[default]
    Sigmoid,
    /// Any non-decreasing function, for about a thousand samples or more.
    Isotonic,
}

/// Calibrates the probabilities of a classifier, as scikit-learn's `CalibratedClassifierCV`. The classifier needs a
/// `decision_function`, which is preferred, or `predict_proba`.
///
/// Sample weights go to the classifier and to the calibrators; folds do not look at them.
#[derive(Clone, Debug, PartialEq, Hyperparameters)]
#[hyper(name = "CalibratedClassifierCV", check = check)]
pub struct CalibratedClassifier {
    /// The classifier whose scores are calibrated.
    #[hyper(default = Box::new(LinearSvc::default()))]
    pub estimator: Box<dyn Estimator>,
    /// The map from scores to probabilities: sigmoid or isotonic.
    #[hyper(default = CalibrationMethod::Sigmoid)]
    pub method: CalibrationMethod,
    /// Number of stratified folds.
    #[hyper(default = 5, range = "[2, inf)")]
    pub cv: usize,
    /// Whether every fold keeps its classifier and its calibrators, whose probabilities are averaged.
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
    /// Calibrates this classifier on five folds.
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
                Ok(Member { model, curves: self.curves(&scores, &labels, samples, held)? })
            };
            in_parallel(folds.len(), work).into_iter().collect::<Result<_>>()?
        } else {
            let held = out_of_fold(&[&*self.estimator], samples, &folds, |_, model, x| scores(model, x, classes))?;
            let curves = self.curves(&held[0], &labels, samples, &all)?;
            vec![Member { model: self.estimator.fit_samples(samples)?, curves }]
        };
        Ok(FittedCalibratedClassifier { about: About::of(self, samples).classes(classes), members })
    }
}

impl CalibratedClassifier {
    /// That every fold can have a sample of each class.
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

    /// A calibrator per class from the scores of these samples; of two classes, one for the second.
    fn curves(&self, scores: &Columns, labels: &Labels, samples: &Samples, held: &[usize]) -> Result<Vec<Calibrator>> {
        let weights = samples.weights().map(Tensor::to_f64_vec);
        let weights: Vec<f64> = held.iter().map(|&place| weights.as_ref().map_or(1.0, |w| w[place])).collect();
        let one = |column: usize| {
            let class = if scores.width == 1 { 1 } else { column };
            let own: Vec<f64> = scores.values.iter().skip(column).step_by(scores.width).copied().collect();
            let positive: Vec<bool> = held.iter().map(|&place| labels.codes()[place] == class).collect();
            let own = Scores { who: Self::NAME, scores: &own, positive: &positive, weights: &weights };
            match self.method {
                CalibrationMethod::Sigmoid => own.sigmoid(),
                CalibrationMethod::Isotonic => own.isotonic(),
            }
        };
        (0..scores.width).map(one).collect()
    }
}

/// The decision function of a classifier, or its probabilities where it has none.
fn scores(model: &dyn Model, x: &Rows, classes: &[i64]) -> Result<Columns> {
    match model.capabilities().decision_function {
        true => decision(CalibratedClassifier::NAME, model, x, classes),
        false => probabilities(model, x, classes),
    }
}

struct Member {
    model: Box<dyn Model>,
    curves: Vec<Calibrator>,
}

/// A fitted [`CalibratedClassifier`].
pub struct FittedCalibratedClassifier {
    about: About,
    members: Vec<Member>,
}

impl FittedCalibratedClassifier {
    /// The fitted classifiers: one per fold, or a single one without `ensemble`.
    pub fn models(&self) -> Vec<&dyn Model> {
        self.members.iter().map(|member| &*member.model).collect()
    }

    /// Probabilities by one classifier and its calibrators, row after row.
    fn of_member(&self, member: &Member, x: &Rows) -> Result<Vec<f64>> {
        let (m, scores) = (self.about.classes.len(), scores(&*member.model, x, &self.about.classes)?);
        let mut all = Vec::with_capacity(x.len() * m);
        for row in scores.values.chunks(scores.width) {
            if let ([score], [curve]) = (row, &member.curves[..]) {
                let p = curve.at(*score);
                all.extend([1.0 - p, p]);
                continue;
            }
            let p: Vec<f64> = member.curves.iter().zip(row).map(|(curve, &score)| curve.at(score)).collect();
            let sum: f64 = p.iter().sum();
            all.extend(p.iter().map(|p| if sum > 0.0 { p / sum } else { 1.0 / m as f64 }));
        }
        Ok(all)
    }
}

impl Model for FittedCalibratedClassifier {
    fn about(&self) -> &About {
        &self.about
    }

    fn longest_sum(&self) -> usize {
        self.members.iter().map(|member| member.model.longest_sum()).max().unwrap_or(0)
    }

    fn predict_rows(&self, x: &Rows) -> Result<Tensor> {
        let best = self.proba_rows(x)?.try_argmax(1)?.to_vec::<i64>();
        Ok(Labels::decode(self.classes(), best.into_iter().map(|code| code as usize)))
    }

    fn proba_rows(&self, x: &Rows) -> Result<Tensor> {
        let (n, m, count) = (x.len(), self.about.classes.len(), self.members.len());
        let mut mean = vec![0.0; n * m];
        for part in in_parallel(count, |number| self.of_member(&self.members[number], x)) {
            mean.iter_mut().zip(part?).for_each(|(sum, p)| *sum += p);
        }
        mean.iter_mut().for_each(|sum| *sum /= count as f64);
        Ok(Tensor::try_from_vec(mean, [n, m])?.to_dtype(self.about.dtype))
    }

    fn record(&self) -> Record {
        let mut record = self.about.record();
        self.about.write_shape(&mut record);
        record.put("members", self.members.len());
        for (number, member) in self.members.iter().enumerate() {
            record.put_part(&format!("model.{number}"), member.model.record());
            for (class, curve) in member.curves.iter().enumerate() {
                curve.write(&mut record, &format!("calibrator.{number}.{class}"));
            }
        }
        record
    }
}

impl Restore for FittedCalibratedClassifier {
    fn restore(record: &Record) -> Result<FittedCalibratedClassifier> {
        let settings: CalibratedClassifier = record.settings(CalibratedClassifier::NAME, 1)?;
        let about = About::read(&settings, record, record.count("width")?, record.precision()?)?;
        let isotonic = settings.method == CalibrationMethod::Isotonic;
        let curves = if about.classes.len() == 2 { 1 } else { about.classes.len() };
        let count = record.count("members")?;
        if count != if settings.ensemble { settings.cv } else { 1 } || about.classes.len() < 2 {
            return Err(record.wrong("members", "a classifier per fold"));
        }
        let mut members = Vec::new();
        for number in 0..count {
            let model = restore(&record.part(&format!("model.{number}"))?)?; // an absent one ends the loop
            let own = model.capabilities();
            let scores = own.decision_function || own.probabilities;
            if model.width() != about.width || model.classes() != about.classes || !scores {
                return Err(record.wrong("members", "classifiers of the same features and classes"));
            }
            let curve = |class: usize| Calibrator::read(record, &format!("calibrator.{number}.{class}"), isotonic);
            members.push(Member { model, curves: (0..curves).map(curve).collect::<Result<_>>()? });
        }
        Ok(FittedCalibratedClassifier { about, members })
    }
}
