//! A fitted map from the scores of a classifier to probabilities.

use std::path::Path;

use tove_optim::settings::Choice;
use tove_tensor::Tensor;
use tove_tensor::io::WriteOptions;

use super::part::{BinaryScores, JointScores};
use super::scores::{ScoreKind, ScoreTable, codes, table_of, weights_of};
use super::{CalibrationMethod, CalibrationPart, softmax};
use crate::reading::{Field, Reading};
use crate::{Attribute, LearnError, Record, Result};

pub(super) const WHO: &str = "CalibrationMap";

/// A fitted map from scores to probabilities: of a net, an estimator, or any other system.
///
/// ```
/// use tove_learn::calibration::{CalibrationMap, CalibrationMethod, ScoreKind};
/// use tove_tensor::Tensor;
/// let p = Tensor::from([0.1, 0.2, 0.8, 0.9, 0.7, 0.3]);
/// let y = Tensor::from([0i64, 0, 1, 1, 0, 1]);
/// let map = CalibrationMap::fit(CalibrationMethod::Beta, ScoreKind::Probabilities, &p, &y, None)?;
/// let calibrated = map.apply(&p)?; // (6, 2)
/// assert_eq!(calibrated.dims(), [6, 2]);
/// let again = CalibrationMap::restore(&map.record())?;
/// assert_eq!(again.apply(&p)?.to_vec::<f64>(), calibrated.to_vec::<f64>());
/// # Ok::<(), tove_learn::LearnError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrationMap {
    method: CalibrationMethod,
    kind: ScoreKind,
    classes: usize,
    parts: Vec<CalibrationPart>,
}

impl CalibrationMap {
    /// Fits a map to scores and labels 0 … m − 1 of samples that the model was not fitted to, with optional weights. The number of
    /// classes m is that of the columns; 2 for a vector of scores.
    ///
    /// # Errors
    /// No samples; scores that are not finite, not of the kind, or not one row per label; labels out of range; a class without a
    /// sample of positive weight; weights that are negative or not one per sample.
    pub fn fit(
        method: CalibrationMethod,
        kind: ScoreKind,
        scores: &Tensor,
        labels: &Tensor,
        weights: Option<&Tensor>,
    ) -> Result<CalibrationMap> {
        let classes = scores.dims().get(1).copied().unwrap_or(2);
        if classes < 2 || scores.dims().first().is_none_or(|&n| n == 0) {
            let problem = format!("scores of shape {}", scores.shape());
            return Err(LearnError::data(WHO, problem, "give at least one sample and two classes"));
        }
        let table = table_of(WHO, kind, scores, classes, method == CalibrationMethod::Vector)?;
        let n = table.rows();
        let codes = codes(labels, n, classes)?;
        let weights = weights_of(weights, n)?;
        for class in 0..classes {
            if !codes.iter().zip(&weights).any(|(&code, &weight)| code == class && weight > 0.0) {
                let problem = format!("class {class} has no sample of positive weight");
                return Err(LearnError::data(WHO, problem, "calibrate on samples of all classes"));
            }
        }
        CalibrationMap::fit_table(WHO, method, &table, &codes, classes, &weights)
    }

    /// Fits a map to checked scores.
    pub(crate) fn fit_table(
        who: &'static str,
        method: CalibrationMethod,
        table: &ScoreTable,
        codes: &[usize],
        classes: usize,
        weights: &[f64],
    ) -> Result<CalibrationMap> {
        let own = |parts| CalibrationMap { method, kind: table.kind, classes, parts };
        if method.is_joint() {
            let logits = table.logits();
            let samples = JointScores { who, logits: &logits, classes, codes, weights };
            let part = CalibrationPart::fit_joint(method, &samples).transpose()?;
            return Ok(own(part.into_iter().collect()));
        }
        let one = |column: usize| {
            let class = if table.width == 1 { 1 } else { column };
            let scores = table.column(column, method.on_probabilities());
            let positive: Vec<bool> = codes.iter().map(|&code| code == class).collect();
            let samples = BinaryScores { who, scores: &scores, positive: &positive, weights };
            CalibrationPart::fit_curve(method, &samples).transpose()
        };
        let parts: Vec<Option<CalibrationPart>> = (0..table.width).map(one).collect::<Result<_>>()?;
        Ok(own(parts.into_iter().flatten().collect()))
    }

    /// Probabilities (n, m) of scores of the kind the map was fitted to, in their precision.
    ///
    /// # Errors
    /// Scores of another number of classes, or not finite.
    pub fn apply(&self, scores: &Tensor) -> Result<Tensor> {
        let table = table_of(WHO, self.kind, scores, self.classes, self.method == CalibrationMethod::Vector)?;
        let dims = [table.rows(), self.classes];
        Ok(Tensor::try_from_vec(self.probabilities(&table), dims)?.to_dtype(scores.dtype()))
    }

    /// Lower and upper bounds (n, m) of the probabilities, for a method that gives them ([`CalibrationMethod::VennAbers`]). With more
    /// than two classes they are those of each class against the rest.
    ///
    /// # Errors
    /// As [`CalibrationMap::apply`]; another method.
    pub fn intervals(&self, scores: &Tensor) -> Result<(Tensor, Tensor)> {
        let table = table_of(WHO, self.kind, scores, self.classes, false)?;
        let dims = [table.rows(), self.classes];
        let (low, high) = self.bounds(&table)?;
        let tensor = |values| Tensor::try_from_vec(values, dims).map(|t| t.to_dtype(scores.dtype()));
        Ok((tensor(low)?, tensor(high)?))
    }

    /// Probabilities of checked scores, row after row.
    pub(crate) fn probabilities(&self, table: &ScoreTable) -> Vec<f64> {
        let m = self.classes;
        if let ([part], true) = (&self.parts[..], self.method.is_joint()) {
            let mut all = table.logits();
            all.chunks_mut(m).for_each(|row| {
                part.apply(row);
                softmax(row);
            });
            return all;
        }
        let on_probabilities = self.method.on_probabilities();
        let columns: Vec<Vec<f64>> = (0..table.width).map(|column| table.column(column, on_probabilities)).collect();
        let mut all = Vec::with_capacity(table.rows() * m);
        for row in 0..table.rows() {
            let p = self.parts.iter().zip(&columns).map(|(part, own)| part.at(own[row]).unwrap_or(0.0));
            if m == 2 {
                all.extend(p.flat_map(|p| [1.0 - p, p]));
                continue;
            }
            let p: Vec<f64> = p.collect();
            let sum: f64 = p.iter().sum();
            all.extend(p.iter().map(|p| if sum > 0.0 { p / sum } else { 1.0 / m as f64 }));
        }
        all
    }

    /// Bounds of checked scores, row after row.
    pub(crate) fn bounds(&self, table: &ScoreTable) -> Result<(Vec<f64>, Vec<f64>)> {
        let on_probabilities = self.method.on_probabilities();
        let columns: Vec<Vec<f64>> = (0..table.width).map(|column| table.column(column, on_probabilities)).collect();
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for row in 0..table.rows() {
            for (part, own) in self.parts.iter().zip(&columns) {
                let Some((least, most)) = part.interval(own[row]) else {
                    let what = format!("gives no intervals with the method {}", self.method.name());
                    return Err(LearnError::unsupported(WHO, what, "use the method venn_abers"));
                };
                if self.classes == 2 {
                    low.push(1.0 - most);
                    high.push(1.0 - least);
                }
                low.push(least);
                high.push(most);
            }
        }
        Ok((low, high))
    }

    /// The method.
    pub fn method(&self) -> CalibrationMethod {
        self.method
    }

    /// What scores it takes.
    pub fn kind(&self) -> ScoreKind {
        self.kind
    }

    /// Number of classes.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// The fitted curves, one for two classes and else one per class, or the one map of all classes.
    pub fn parts(&self) -> &[CalibrationPart] {
        &self.parts
    }

    /// The temperature T of a map fitted by temperature scaling: logits are divided by it; above 1 the scores were too sure. For one
    /// decision score per sample, p = 1 / (1 + exp(−s/T)).
    pub fn temperature(&self) -> Option<f64> {
        match self.parts[..] {
            [CalibrationPart::Temperature(own)] if self.kind == ScoreKind::Decision && self.classes == 2 => {
                Some(0.5 / own.beta)
            }
            [CalibrationPart::Temperature(own)] => Some(1.0 / own.beta),
            _ => None,
        }
    }

    /// Everything needed to answer with the same bits again.
    pub fn record(&self) -> Record {
        let mut record = Record::new(WHO, 1);
        record.put("method", self.method.name());
        record.put("kind", self.kind.name());
        record.put("classes", self.classes);
        self.write("map", &mut record);
        record
    }

    /// Restores what [`CalibrationMap::record`] wrote.
    ///
    /// # Errors
    /// A record of another kind, or with parts that are missing or do not fit.
    pub fn restore(record: &Record) -> Result<CalibrationMap> {
        record.expect(WHO, 1)?;
        let method = CalibrationMethod::from_name(record.text("method")?);
        let method = method.ok_or_else(|| record.wrong("method", "a method of calibration"))?;
        let kind = ScoreKind::from_name(record.text("kind")?);
        let kind = kind.ok_or_else(|| record.wrong("kind", "a kind of scores"))?;
        let mut map = CalibrationMap::read_parts(record, "map")?;
        map.complete(record, "map", method, kind, record.count("classes")?)?;
        Ok(map)
    }

    /// Writes a file atomically. Never overwrites an existing file unless asked.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        self.record().save(path, options)
    }

    /// Reads a file written by [`CalibrationMap::save`].
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<CalibrationMap> {
        CalibrationMap::restore(&Record::load(path)?)
    }

    /// The parts of a map, whose settings are in the model around it.
    fn read_parts(record: &Record, name: &str) -> Result<CalibrationMap> {
        let (method, kind) = (CalibrationMethod::Sigmoid, ScoreKind::Decision);
        let mut parts = Vec::new();
        while let Some(part) = CalibrationPart::read(record, &format!("{name}.{}", parts.len()))? {
            parts.push(part);
        }
        Ok(CalibrationMap { method, kind, classes: 0, parts })
    }

    /// Completes a map whose parts were read, after checking that they fit.
    pub(crate) fn complete(
        &mut self,
        record: &Record,
        name: &str,
        method: CalibrationMethod,
        kind: ScoreKind,
        classes: usize,
    ) -> Result<()> {
        let count = if classes == 2 || method.is_joint() { 1 } else { classes };
        let alike = |part: &CalibrationPart| part.method() == method && part.classes().is_none_or(|m| m == classes);
        if classes < 2 || self.parts.len() != count || !self.parts.iter().all(alike) {
            return Err(record.wrong(name, "a fitted curve per class, or one map of all classes"));
        }
        (self.method, self.kind, self.classes) = (method, kind, classes);
        Ok(())
    }
}

/// Part 1 of the map `calibrator` is `calibrator.1`. Method, kind and classes are in the model, which completes the map.
impl Attribute for CalibrationMap {
    fn write(&self, name: &str, record: &mut Record) {
        self.parts.iter().enumerate().for_each(|(place, part)| part.write(record, &format!("{name}.{place}")));
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<CalibrationMap> {
        CalibrationMap::read_parts(reading.record(), field.name)
    }
}

/// The maps of several classifiers.
impl Attribute for Vec<CalibrationMap> {
    fn write(&self, name: &str, record: &mut Record) {
        self.iter().enumerate().for_each(|(place, map)| map.write(&format!("{name}.{place}"), record));
    }

    fn read(field: &Field, reading: &mut Reading<'_>) -> Result<Vec<CalibrationMap>> {
        let record = reading.record();
        let count = reading.count(field)?;
        (0..count).map(|place| CalibrationMap::read_parts(record, &format!("{}.{place}", field.name))).collect()
    }
}
