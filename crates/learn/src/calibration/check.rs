//! A recorded check of calibration on samples that neither model nor map has seen.
//!
//! The figures are the class-wise expected calibration error (ten bins of equal width) with a bootstrap interval and the log loss,
//! before and after calibration, and the p-value of consistency resampling
//! ([`consistency_p_value`](tove_metrics::calibration::consistency_p_value)). The verdict follows from them:
//!
//! - fewer than 100 samples say too little: [`CalibrationVerdict::TooFew`];
//! - a p-value of at least 0.05 (the samples do not refute calibration), or an interval of the error that ends at 0.02 or below (the
//!   error is small, refuted or not): [`CalibrationVerdict::Passed`];
//! - else [`CalibrationVerdict::Failed`].
//!
//! A passed check says that these samples show no more error than chance, or little of it: for their distribution, on average over
//! all samples of a bin. It promises nothing for groups, for single samples, or after a drift.

use std::fmt;

use tove_metrics::calibration::{class_wise_ece_interval, consistency_p_value};
use tove_metrics::{Bootstrap, Score, log_loss};
use tove_tensor::Tensor;

use crate::reading::{Field, Reading};
use crate::{Attribute, Labels, LearnError, Model, Predict, Record, Result, Samples};

const WHO: &str = "CalibrationCheck";

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CalibrationVerdict {
    /// The samples do not refute calibration, or the error is small.
    Passed,
    /// The probabilities are not calibrated.
    Failed,
    /// Too few samples to tell.
    TooFew,
}

/// A check of calibration on held-out samples.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CalibrationCheck {
    /// Number of held-out samples.
    pub samples: usize,
    /// Class-wise expected calibration error of the model without its map, with a 95 % interval; none without probabilities.
    pub ece_before: Option<Score>,
    /// Class-wise expected calibration error of the probabilities that were checked, with a 95 % interval.
    pub ece_after: Score,
    /// Log loss of the model without its map; none without probabilities.
    pub log_loss_before: Option<f64>,
    /// Log loss of the probabilities that were checked.
    pub log_loss_after: f64,
    /// How likely a calibrated model has an error at least as large, by consistency resampling.
    pub p_value: f64,
}

impl CalibrationCheck {
    /// Number of bins of equal width.
    pub const BINS: usize = 10;
    /// Samples that a check needs at least.
    pub const MINIMUM: usize = 100;
    /// A smaller p-value refutes calibration.
    pub const ALPHA: f64 = 0.05;
    /// An error that is this small passes even if it is not due to chance.
    pub const TOLERANCE: f64 = 0.02;

    /// What the figures say; see the module.
    pub fn verdict(&self) -> CalibrationVerdict {
        match self.samples < Self::MINIMUM {
            true => CalibrationVerdict::TooFew,
            _ if self.p_value >= Self::ALPHA || self.ece_after.high <= Self::TOLERANCE => CalibrationVerdict::Passed,
            _ => CalibrationVerdict::Failed,
        }
    }

    /// Whether the check passed: only then a model counts as calibrated.
    pub fn passed(&self) -> bool {
        self.verdict() == CalibrationVerdict::Passed
    }
}

impl fmt::Display for CalibrationCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verdict, n) = (self.verdict(), self.samples);
        match verdict {
            CalibrationVerdict::Passed => write!(f, "calibrated")?,
            CalibrationVerdict::Failed => write!(f, "not calibrated")?,
            CalibrationVerdict::TooFew => write!(f, "not checked: {n} samples, at least {} are needed", Self::MINIMUM)?,
        }
        let interval = |score: &Score| format!("{:.4} [{:.4}, {:.4}]", score.value, score.low, score.high);
        write!(f, "; calibration error ")?;
        if let Some(before) = &self.ece_before {
            write!(f, "{} before, ", interval(before))?;
        }
        write!(f, "{}; log loss ", interval(&self.ece_after))?;
        if let Some(before) = self.log_loss_before {
            write!(f, "{before:.4} before, ")?;
        }
        write!(f, "{:.4}; p = {:.4} (n = {n})", self.log_loss_after, self.p_value)
    }
}

/// Checks probabilities (n, m), or (n) of the second of two classes, against labels 0 … m − 1. `before` are probabilities of the
/// same samples without calibration.
///
/// ```
/// use tove_learn::calibration::{CalibrationVerdict, check_probabilities};
/// use tove_tensor::Tensor;
/// let y = Tensor::from((0..400).map(|i| i64::from(i % 4 == 0)).collect::<Vec<_>>());
/// let check = check_probabilities(&y, &Tensor::from(vec![0.25; 400]), None, None, 7)?;
/// assert!(check.passed() && check.ece_after.value < 1e-12);
/// let check = check_probabilities(&y, &Tensor::from(vec![0.5; 400]), None, None, 7)?;
/// assert_eq!(check.verdict(), CalibrationVerdict::Failed);
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
///
/// # Errors
/// No samples; labels, probabilities and weights that do not belong together; rows that do not sum to 1.
pub fn check_probabilities(
    labels: &Tensor,
    probabilities: &Tensor,
    before: Option<&Tensor>,
    weights: Option<&Tensor>,
    seed: u64,
) -> Result<CalibrationCheck> {
    const BINS: usize = CalibrationCheck::BINS;
    let bootstrap = Bootstrap::new(seed);
    let error = |p: &Tensor| class_wise_ece_interval(labels, p, BINS, weights, &bootstrap);
    let loss = |p: &Tensor| log_loss(labels, p, weights).map(|score| score.value);
    Ok(CalibrationCheck {
        samples: labels.numel(),
        ece_before: before.map(error).transpose()?,
        ece_after: error(probabilities)?,
        log_loss_before: before.map(loss).transpose()?,
        log_loss_after: loss(probabilities)?,
        p_value: consistency_p_value(labels, probabilities, BINS, weights, 999, seed)?,
    })
}

/// Checks the probabilities of a fitted classifier on samples that it has not seen.
///
/// # Errors
/// As [`check_probabilities`]; a model without probabilities; labels that are not among its classes.
pub fn check_calibration(model: &dyn Model, samples: &Samples, seed: u64) -> Result<CalibrationCheck> {
    check_models(model, None, samples, seed)
}

/// Checks a classifier, and the one inside of it.
pub(super) fn check_models(
    model: &dyn Model,
    inner: Option<&dyn Model>,
    samples: &Samples,
    seed: u64,
) -> Result<CalibrationCheck> {
    samples.require_some(WHO)?;
    let labels = Labels::of(WHO, samples.y()?)?;
    let codes = labels.codes_among(WHO, model.classes()).map_err(|error| match error {
        LearnError::Data { problem, .. } => {
            LearnError::data(WHO, problem, "check on samples of the classes of the model")
        }
        other => other,
    })?;
    let codes = Tensor::from(codes.into_iter().map(|code| code as i64).collect::<Vec<_>>());
    let after = model.predict_proba(samples.x())?;
    let inner = inner.filter(|inner| inner.capabilities().probabilities);
    let before = inner.map(|inner| inner.predict_proba(samples.x())).transpose()?;
    check_probabilities(&codes, &after, before.as_ref(), samples.weights(), seed)
}

/// The figures in a tensor: samples, p-value, log loss, error with its interval; the same of before, where there is one.
impl Attribute for CalibrationCheck {
    fn write(&self, name: &str, record: &mut Record) {
        let error = |score: &Score| [score.value, score.low, score.high];
        let mut all = vec![self.samples as f64, self.p_value, self.log_loss_after];
        all.extend(error(&self.ece_after));
        if let (Some(before), Some(loss)) = (&self.ece_before, self.log_loss_before) {
            all.push(loss);
            all.extend(error(before));
        }
        record.put_tensor(name, &Tensor::from(all));
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<CalibrationCheck> {
        let record = reading.record();
        let all = record.vector(field.name)?;
        let wrong = || record.wrong(field.name, "the figures of a check of calibration");
        let (&[samples, p_value, loss, value, low, high], rest) = all.split_first_chunk::<6>().ok_or_else(wrong)?;
        let error = |value: f64, low: f64, high: f64| {
            let sound = (0.0..=1.0).contains(&value) && low >= 0.0 && low <= high && high <= 1.0;
            let score = Score::plain(value, samples as usize).with_interval(low, high, 0.95);
            if sound { Ok(score) } else { Err(wrong()) }
        };
        let (ece_before, log_loss_before) = match *rest {
            [] => (None, None),
            [loss, value, low, high] if loss.is_finite() => (Some(error(value, low, high)?), Some(loss)),
            _ => return Err(wrong()),
        };
        let sound = samples >= 1.0 && samples.fract() == 0.0 && samples < 1e15 && loss.is_finite();
        if !(sound && p_value > 0.0 && p_value <= 1.0) {
            return Err(wrong());
        }
        let (samples, ece_after) = (samples as usize, error(value, low, high)?);
        Ok(CalibrationCheck { samples, ece_before, ece_after, log_loss_before, log_loss_after: loss, p_value })
    }
}
