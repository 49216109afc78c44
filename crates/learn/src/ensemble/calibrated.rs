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

use tove_optim::settings::{Hyperparameters, Named, SettingError};
use tove_tensor::{Tensor, TryOps};

use super::out_of_fold::{Columns, decision, out_of_fold, probabilities};
use crate::calibration::{CalibrationMap, CalibrationMethod, ScoreKind, ScoreTable, calibrated_capabilities};
use crate::selection::{Splitter, StratifiedKFold, in_parallel};
use crate::{
    About, Algorithm, Capabilities, Estimator, Fit, Fitted, Labels, LearnError, LinearSvc, Model, Record, Result, Rows,
    Samples,
};

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
    /// The map from scores to probabilities: sigmoid, isotonic, temperature, vector, beta or venn_abers.
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

impl Algorithm for CalibratedClassifier {
    type Fitted = FittedCalibratedClassifier;
    const CAPABILITIES: Capabilities = calibrated_capabilities(LinearSvc::CAPABILITIES);

    fn capabilities_of(settings: &CalibratedClassifier) -> Capabilities {
        calibrated_capabilities(settings.estimator.capabilities())
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
                let map = self.map(kind_of(&*model), scores, &labels, samples, held)?;
                Ok((model, map))
            };
            in_parallel(folds.len(), work).into_iter().collect::<Result<_>>()?
        } else {
            let held = out_of_fold(&[&*self.estimator], samples, &folds, |_, model, x| scores(model, x, classes))?;
            let model = self.estimator.fit_samples(samples)?;
            let held = held.into_iter().next().unwrap_or_default();
            let map = self.map(kind_of(&*model), held, &labels, samples, &all)?;
            vec![(model, map)]
        };
        let (members, maps) = members.into_iter().unzip();
        let about = About::of(self, samples).classes(classes);
        Ok(FittedCalibratedClassifier { about, settings: self.clone(), members, maps })
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

    /// Fits a map to the scores of these samples.
    fn map(
        &self,
        kind: ScoreKind,
        scores: Columns,
        labels: &Labels,
        samples: &Samples,
        held: &[usize],
    ) -> Result<CalibrationMap> {
        let weights = samples.weights().map(Tensor::to_f64_vec);
        let weights: Vec<f64> = held.iter().map(|&place| weights.as_ref().map_or(1.0, |w| w[place])).collect();
        let codes: Vec<usize> = held.iter().map(|&place| labels.codes()[place]).collect();
        let table = ScoreTable { kind, values: scores.values, width: scores.width };
        CalibrationMap::fit_table(Self::NAME, self.method, &table, &codes, labels.classes().len(), &weights)
    }
}

/// What the scores of a classifier are.
fn kind_of(model: &dyn Model) -> ScoreKind {
    if model.capabilities().decision_function { ScoreKind::Decision } else { ScoreKind::Probabilities }
}

/// The decision function of a classifier, or its probabilities if it has none.
fn scores(model: &dyn Model, x: &Rows, classes: &[i64]) -> Result<Columns> {
    match kind_of(model) {
        ScoreKind::Decision => decision(CalibratedClassifier::NAME, model, x, classes),
        _ => probabilities(model, x, classes),
    }
}

/// A classifier with its map.
type Member = (Box<dyn Model>, CalibrationMap);

/// A fitted [`CalibratedClassifier`].
#[derive(Fitted)]
#[fitted(estimator = CalibratedClassifier, complete = FittedCalibratedClassifier::matched)]
pub struct FittedCalibratedClassifier {
    about: About,
    settings: CalibratedClassifier,
    #[fitted(shape = "members, features", hidden)]
    members: Vec<Box<dyn Model>>,
    /// The map of each classifier.
    #[fitted(shape = "members", stored = "calibrator", hidden)]
    maps: Vec<CalibrationMap>,
}

impl FittedCalibratedClassifier {
    /// The fitted classifiers: one per fold, or a single one without `ensemble`.
    pub fn models(&self) -> Vec<&dyn Model> {
        self.members.iter().map(|model| &**model).collect()
    }

    /// The maps of the classifiers.
    pub fn maps(&self) -> &[CalibrationMap] {
        &self.maps
    }

    /// That there is a classifier per fold, with a map that fits.
    fn matched(mut self, record: &Record) -> Result<FittedCalibratedClassifier> {
        let (classes, count) = (&self.about.classes, if self.settings.ensemble { self.settings.cv } else { 1 });
        let scores = |model: &dyn Model| model.capabilities().decision_function || model.capabilities().probabilities;
        let fits = |model: &dyn Model| model.classes() == classes && scores(model);
        if classes.len() < 2 || self.members.len() != count || !self.members.iter().all(|model| fits(&**model)) {
            return Err(record.wrong("members", "a classifier of these classes per fold"));
        }
        for (model, map) in self.members.iter().zip(&mut self.maps) {
            map.complete(record, "calibrator", self.settings.method, kind_of(&**model), classes.len())?;
        }
        Ok(self)
    }

    /// Probabilities by one classifier and its map, row after row.
    fn of_member(&self, number: usize, x: &Rows) -> Result<Vec<f64>> {
        let model = &*self.members[number];
        let Columns { values, width } = scores(model, x, &self.about.classes)?;
        Ok(self.maps[number].probabilities(&ScoreTable { kind: kind_of(model), values, width }))
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
