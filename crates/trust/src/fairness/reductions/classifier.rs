//! A classifier that chooses among several at random.

use std::path::Path;

use tove_learn::{Model, Record, Rows};
use tove_tensor::Tensor;
use tove_tensor::io::WriteOptions;

use crate::fairness::threshold::decided;
use crate::{Result, TrustError};

const NAME: &str = "RandomizedClassifier";
const VERSION: u32 = 1;

/// A fitted classifier, or a constant decision.
pub(super) enum Part {
    Constant(usize),
    Model(Box<dyn Model>),
}

/// One of the classifiers.
pub struct RandomizedPart {
    part: std::sync::Arc<Part>,
    /// The probability with which it decides.
    pub probability: f64,
}

impl RandomizedPart {
    pub(super) fn new(part: std::sync::Arc<Part>, probability: f64) -> RandomizedPart {
        RandomizedPart { part, probability }
    }

    /// The fitted model; `None` for a constant decision.
    pub fn model(&self) -> Option<&dyn Model> {
        match &*self.part {
            Part::Constant(_) => None,
            Part::Model(model) => Some(&**model),
        }
    }
}

/// Several classifiers, of which one is chosen at random for every row: the answer of an
/// [`ExponentiatedGradient`](super::ExponentiatedGradient). It does not use the group of a row.
pub struct RandomizedClassifier {
    pub(super) parts: Vec<RandomizedPart>,
    pub(super) width: usize,
    /// Training error of the random choice.
    pub error: f64,
    /// The largest |P(h = 1 | E, A = a) − P(h = 1 | E)| on the training rows.
    pub violation: f64,
    /// Duality gap: how much the Lagrangian could still improve; infinite where it is not known, as for a grid search.
    pub duality_gap: f64,
    /// Whether the duality gap met its tolerance.
    pub converged: bool,
    /// Number of classifiers that were fitted.
    pub fits: usize,
}

impl RandomizedClassifier {
    /// The classifiers and their probabilities.
    pub fn parts(&self) -> &[RandomizedPart] {
        &self.parts
    }

    /// The probability (n) of decision 1 for every row.
    ///
    /// # Errors
    /// Another number of features; values that are not finite.
    pub fn probabilities(&self, x: &Tensor) -> Result<Tensor> {
        Ok(Tensor::from_slice(&self.chances(x)?))
    }

    /// Decisions 0 or 1: a row is accepted if its uniform number in [0, 1) is below its probability. See
    /// [`row_uniforms`](crate::fairness::row_uniforms).
    ///
    /// # Errors
    /// As [`RandomizedClassifier::probabilities`]; uniform numbers outside of [0, 1).
    pub fn decide(&self, x: &Tensor, uniforms: &Tensor) -> Result<Tensor> {
        decided(NAME, &self.chances(x)?, uniforms)
    }

    fn chances(&self, x: &Tensor) -> Result<Vec<f64>> {
        let n = match *x.dims() {
            [n, width] if width == self.width => n,
            _ => {
                let problem = format!("rows of shape {}, but it was fitted to {} features", x.shape(), self.width);
                return Err(TrustError::data(NAME, problem, "give the features of the training rows, in their order"));
            }
        };
        if n == 0 {
            return Ok(Vec::new());
        }
        let rows = Rows::from(&x.detach().contiguous());
        let mut chances = vec![0.0f64; n];
        for RandomizedPart { part, probability } in &self.parts {
            let decisions = part.decide(NAME, &rows)?;
            chances.iter_mut().zip(decisions).for_each(|(chance, decision)| *chance += probability * decision as f64);
        }
        Ok(chances.into_iter().map(|chance| chance.min(1.0)).collect())
    }

    /// The classifiers and probabilities as a record, which can be saved.
    pub fn record(&self) -> Record {
        let mut record = Record::new(NAME, VERSION);
        record.put("parts", self.parts.len());
        record.put("width", self.width);
        record.put("converged", self.converged);
        record.put("fits", self.fits);
        for (name, value) in [("error", self.error), ("violation", self.violation), ("duality_gap", self.duality_gap)] {
            record.put_real(name, value);
        }
        for (index, RandomizedPart { part, probability }) in self.parts.iter().enumerate() {
            record.put_real(&format!("probability{index}"), *probability);
            match &**part {
                Part::Constant(decision) => record.put(&format!("constant{index}"), *decision),
                Part::Model(model) => record.put_part(&format!("model{index}"), model.record()),
            }
        }
        record
    }

    /// Restores what [`RandomizedClassifier::record`] gave.
    ///
    /// # Errors
    /// Another kind, a newer version, missing or invalid values, a model of an unknown kind.
    pub fn restore(record: &Record) -> Result<RandomizedClassifier> {
        record.expect(NAME, VERSION)?;
        let (count, width) = (record.count("parts")?, record.count("width")?);
        if count == 0 || count > 10_000 {
            return Err(record.wrong("parts", "a number from 1 to 10000").into());
        }
        let mut parts = Vec::new();
        for index in 0..count {
            let probability = record.real(&format!("probability{index}"))?;
            let constant = format!("constant{index}");
            let part = match record.count(&constant) {
                Ok(decision) if decision <= 1 => Part::Constant(decision),
                Ok(_) => return Err(record.wrong(&constant, "0 or 1").into()),
                Err(_) => Part::Model(tove_learn::restore(&record.part(&format!("model{index}"))?)?),
            };
            if let Part::Model(model) = &part
                && model.width() != width
            {
                return Err(record.wrong("width", "the number of features of every model").into());
            }
            parts.push(RandomizedPart { part: std::sync::Arc::new(part), probability });
        }
        let valid = |part: &RandomizedPart| (0.0..=1.0).contains(&part.probability);
        let total: f64 = parts.iter().map(|part| part.probability).sum();
        if !parts.iter().all(valid) || (total - 1.0).abs() > 1e-6 {
            return Err(record.wrong("probability", "a list of probabilities with sum 1").into());
        }
        Ok(RandomizedClassifier {
            parts,
            width,
            error: record.real("error")?,
            violation: record.real("violation")?,
            duality_gap: record.real("duality_gap")?,
            converged: record.switch("converged")?,
            fits: record.count("fits")?,
        })
    }

    /// Writes a file atomically. Never overwrites an existing file unless asked.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, path: impl AsRef<Path>, options: WriteOptions) -> Result<()> {
        Ok(self.record().save(path, options)?)
    }

    /// Reads a file written by [`RandomizedClassifier::save`].
    ///
    /// # Errors
    /// As [`RandomizedClassifier::restore`].
    pub fn load(path: impl AsRef<Path>) -> Result<RandomizedClassifier> {
        RandomizedClassifier::restore(&Record::load(path)?)
    }
}
